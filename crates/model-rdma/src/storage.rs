//! Remote block I/O (marazakis2006 s2.5, s4.1 to 4.4): rank 0 is the initiator, rank 1 the target with eight
//! disks. Requests come from standard input and answers go to standard output, as [`block::Ask`] and
//! [`block::Answer`] have them: of a client who waits while simulated time stands still, or of a file.
//!
//! ```text
//! disk        a pending flag in each message tells that it is new
//! disk-tails  tails ring a doorbell behind messages, and heads are written back
//! disk-read   no stream: so many reads of so many bytes, in order
//! disk-write  the same, of writes
//! ```

use super::library::{Awaited, Buffer, Library, Queued};
use super::memory::{set_word, word, PAGE};
use super::module::pages;
use abi::MessageId;
use ahead::Ahead;
use block::{Answer, Array, Ask, Association, Command, Completion, Operation};
use block::{ASK_BYTES, COMMAND_WORDS, COMPLETION_WORDS, PIECE, SECTOR};
use des::{Duration, Time};
use machine::programs::native::{Workload, WorkloadKind};
use rank::Network;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;

mod ahead;
mod associate;
mod disks;
pub(super) use disks::Disks;

/// Bytes of an array: what the RAID controller of marazakis2006 s2.4 has, as whole sectors.
const BYTES_MAX: u64 = 614_100_000_000 / SECTOR * SECTOR;

const fn kind(name: &'static str) -> WorkloadKind {
    WorkloadKind { name, bytes: 64 << 20, bytes_max: BYTES_MAX, word: SECTOR, ranks: 2 }
}

/// The workloads.
pub(super) const DISKS: [WorkloadKind; 4] = [
    kind("disk"),
    kind("disk-tails"),
    WorkloadKind { bytes: 65536, bytes_max: LENGTH_MAX, ..kind("disk-read") },
    WorkloadKind { bytes: 65536, bytes_max: LENGTH_MAX, ..kind("disk-write") },
];

/// True if a workload is one of them.
pub(super) fn is_disk(workload: &Workload) -> bool {
    DISKS.iter().any(|disk| disk.name == workload.kind.name)
}

/// Requests under way, each with a buffer on both sides.
const SLOTS: u64 = 16;
/// Messages of a queue: more than there are requests.
const DEPTH: u64 = 32;
const COMMAND: u64 = 8 * COMMAND_WORDS as u64;
const COMPLETION: u64 = 8 * COMPLETION_WORDS as u64;
/// Looks for a message that no interrupt has told of.
const LOOKS_MAX: u32 = 200;
/// Times that a request is tried whose data are spoilt on their way.
const TRIES: u32 = 4;
/// Bytes of a request at most, from whoever writes to standard input.
const LENGTH_MAX: u64 = 64 << 20;

/// An end of the association.
pub(super) struct Storage<'a> {
    library: &'a Library,
    disks: Disks,
    launch: Time,
    rank: u32,
    /// Messages have pending flags.
    flags: bool,
    sectors: u64,
    workload: Workload,
    /// Messages that come; those that go are made in another page.
    queue: Buffer,
    made: Buffer,
    pool: Buffer,
    /// Network of the association, and what it has given: parameters, and the other side's queue and pool.
    network: Arc<Network>,
    agreed: OnceCell<(Association, [Buffer; 2])>,
    ahead: RefCell<Ahead>,
    /// Messages sent and taken.
    sent: Cell<u64>,
    taken: Cell<u64>,
}

impl<'a> Storage<'a> {
    /// Registers its pages.
    pub fn new(library: &'a Library, rank: u32, workload: &Workload, launch: Time) -> Storage<'a> {
        let disks = library.module().disks;
        let queue = library.register(0, PAGE);
        let made = library.register(0, PAGE);
        let pool = library.register(0, SLOTS * PIECE);
        Storage {
            library,
            disks,
            launch,
            rank,
            flags: disks.flags && workload.kind.name != "disk-tails",
            sectors: match workload.kind.name {
                "disk" | "disk-tails" => workload.bytes,
                _ => workload.bytes.saturating_mul(workload.times.into()).min(BYTES_MAX),
            } / SECTOR,
            workload: *workload,
            queue,
            made,
            pool,
            network: library.module().network.clone(),
            agreed: OnceCell::new(),
            ahead: RefCell::default(),
            sent: Cell::default(),
            taken: Cell::default(),
        }
    }

    /// Serves until the stream of requests ends; what is to be printed. The error is a sentence.
    pub fn run(&self) -> Result<String, String> {
        if self.rank < 2 {
            self.associate().map_err(|why| format!("the association: {why}"))?;
        }
        let text = match (self.rank, self.workload.kind.name) {
            (0, "disk" | "disk-tails") => {
                let served = self.serve_stream();
                served.map_err(|why| format!("the stream of disk requests: {why}"))?;
                String::new()
            }
            (0, name) => self.load(name == "disk-write")?,
            (1, _) => self.target().map(|()| String::new())?,
            _ => String::new(),
        };
        self.library.finish();
        Ok(text)
    }

    // ---- memory ------------------------------------------------------------------------------------------

    fn buffer(&self, slot: u64) -> Buffer {
        Buffer { offset: slot * PIECE, ..self.pool }
    }
    /// Parameters of the association, and the other side's queue and pool.
    fn agreed(&self) -> &(Association, [Buffer; 2]) {
        self.agreed.get().expect("they have associated")
    }
    fn peers_buffer(&self, slot: u64) -> Buffer {
        Buffer { offset: slot * PIECE, ..self.agreed().1[1] }
    }
    fn peer(&self) -> u32 {
        1 - self.rank
    }
    /// Puts data into a buffer of this host; the disk controller, or the client's page, is where it comes
    /// from: no processor copies it.
    fn put(&self, buffer: Buffer, data: &[u8]) {
        let mut memory = self.library.cpu().memory().borrow_mut();
        for (page, chunk) in (0..).zip(data.chunks(PAGE as usize)) {
            let written = memory.write_phys(buffer.phys(page * PAGE), chunk);
            written.expect("it is a pinned page");
        }
    }
    fn get(&self, buffer: Buffer, data: &mut [u8]) {
        let mut memory = self.library.cpu().memory().borrow_mut();
        for (page, chunk) in (0..).zip(data.chunks_mut(PAGE as usize)) {
            let read = memory.read_phys(buffer.phys(page * PAGE), chunk);
            read.expect("it is a pinned page");
        }
    }

    // ---- messages ----------------------------------------------------------------------------------------

    /// Turn of the queue in which message `number` stands.
    fn turn(number: u64) -> u64 {
        number / DEPTH + 1
    }

    /// Sends a message of `size` bytes, made by `words` for its turn.
    fn send(&self, what: Queued, size: u64, words: impl FnOnce(u64) -> Vec<u64>) {
        let number = self.sent.replace(self.sent.get() + 1);
        let offset = number % DEPTH * size;
        let made = Buffer { offset, ..self.made };
        for (place, word) in (0..).zip(words(Storage::turn(number))) {
            set_word(self.library.cpu().memory(), made.phys(8 * place), word);
        }
        let to = Buffer { offset, ..self.agreed().1[0] };
        self.library.queue(what, (made, to, size), self.flags);
        if !self.flags {
            self.library.ring(self.peer(), number + 1);
        }
    }

    /// Sleeps until the next message of `size` bytes is there, or until a time: its words and its name.
    fn receive(&self, size: u64, until: Time) -> Option<(Vec<u64>, Option<MessageId>)> {
        let (number, peer) = (self.taken.get(), self.peer());
        let at = Buffer { offset: number % DEPTH * size, ..self.queue };
        let sleep = |until| {
            if self.flags {
                let last = (peer, at.phys(size - 8), Storage::turn(number));
                self.library.sleep_until(last, until)
            } else {
                self.library.sleep_for(|rung| rung[peer as usize] > number, until)
            }
        };
        let cpu = self.library.cpu();
        let mut looks = 0;
        let there = loop {
            // What has not come after so long was lost: the run may end as a deadlock.
            looks += 1;
            let patient = looks > LOOKS_MAX;
            let look = if patient { until } else { until.min(cpu.now() + self.disks.timeout) };
            if sleep(look) {
                break true;
            }
            if look == until {
                break false;
            }
            // Interrupts get lost: the message may be there.
            self.library.module().look(cpu);
        };
        if !there {
            return None;
        }
        self.taken.set(number + 1);
        let name = self.library.dequeue(peer);
        if !self.flags {
            self.tell_head(number + 1);
        }
        let memory = self.library.cpu().memory();
        Some(((0..size / 8).map(|place| word(memory, at.phys(8 * place))).collect(), name))
    }

    /// Tells the sender that messages have been taken: its head, in the last word of its queue's page.
    fn tell_head(&self, head: u64) {
        let place = PAGE - 8;
        let made = Buffer { offset: place, ..self.made };
        set_word(self.library.cpu().memory(), made.phys(0), head);
        self.library.write(made, Buffer { offset: place, ..self.agreed().1[0] }, 8, Awaited::No);
    }

    // ---- the initiator -----------------------------------------------------------------------------------

    fn serve_stream(&self) -> Result<(), String> {
        let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout());
        let mut bytes = [0; ASK_BYTES];
        loop {
            match input.read_exact(&mut bytes) {
                Err(why) if why.kind() == ErrorKind::UnexpectedEof => break,
                read => read.map_err(|why| why.to_string())?,
            }
            let ask = Ask::parse(&bytes).ok_or("what is no request has come")?;
            let whole = ask.offset % SECTOR == 0 && ask.length % SECTOR == 0;
            if ask.operation == Operation::End || !whole || ask.length > LENGTH_MAX {
                return Err("a request is not of whole sectors, or too long".into());
            }
            let moves = matches!(ask.operation, Operation::Read | Operation::Write);
            let mut data = vec![0; if moves { ask.length as usize } else { 0 }];
            if ask.operation == Operation::Write {
                input.read_exact(&mut data).map_err(|why| why.to_string())?;
            }
            let (failed, took) = self.request(&ask, &mut data)?;
            let mut answer = Answer { failed, took: took.0 }.emit().to_vec();
            if ask.operation == Operation::Read && !failed {
                answer.extend(&data);
            }
            let written = output.write_all(&answer).and_then(|()| output.flush());
            written.map_err(|why| why.to_string())?;
        }
        self.end();
        Ok(())
    }

    /// Reads or writes, one request after the other, in the order of the disk.
    fn load(&self, writes: bool) -> Result<String, String> {
        let Workload { bytes: length, times, .. } = self.workload;
        let operation = if writes { Operation::Write } else { Operation::Read };
        let mut spent = Duration::ZERO;
        for number in 0..u64::from(times) {
            let offset = number % (self.sectors * SECTOR / length) * length;
            let value = if writes { number as u8 } else { 1 };
            let mut data = vec![value; length as usize];
            let ask = Ask { operation, offset, length };
            let (failed, took) = self.request(&ask, &mut data)?;
            if failed || !writes && data.iter().any(|byte| *byte != 0) {
                return Err(format!("request {number} has failed"));
            }
            spent = Duration(spent.0 + took.0);
        }
        self.end();
        let each = spent.as_ns() / f64::from(times);
        let rate = length as f64 / each * 1e9 / f64::from(1 << 20);
        Ok(format!("rank 0: {length} bytes, a request {each:.1} ns, {rate:.1} MiB/s\n"))
    }

    /// Carries a request out, again if sums are wrong: whether it has failed, and the time.
    fn request(&self, ask: &Ask, data: &mut [u8]) -> Result<(bool, Duration), String> {
        let start = self.library.cpu().now();
        let took = || self.library.cpu().now().since(start);
        if self.read_ahead(ask, data)? {
            return Ok((false, took()));
        }
        let mut failed = true;
        let tries = if self.disks.sums.is_some() { TRIES } else { 1 };
        for _ in 0..tries {
            let does = || self.carry_out(ask, data);
            failed = self.library.in_request(ask.operation, does)?;
            if !failed {
                break;
            }
        }
        Ok((failed, took()))
    }

    /// Sum of data, if they have one, for which the processor takes its time.
    fn sum(&self, data: &[u8]) -> u32 {
        let Some(rate) = self.disks.sums else { return 0 };
        let time = data.len() as u128 * 1_000_000_000_000 / u128::from(rate);
        self.library.cpu().spend(Duration(time as u64));
        block::sum(data)
    }

    /// The association ends.
    fn end(&self) {
        let (slot, sector, sectors, sum) = (0, 0, 0, 0);
        self.command(Command { operation: Operation::End, slot, sector, sectors, sum });
        let (_, request) = self.complete();
        self.library.end_request(request);
    }

    fn command(&self, command: Command) {
        let bytes = match command.operation {
            Operation::Read | Operation::Write => command.sectors * SECTOR,
            _ => 0,
        };
        let what = Queued::Command(command.operation, bytes);
        self.send(what, COMMAND, |turn| command.emit(turn).to_vec());
    }
    fn complete(&self) -> (Completion, Option<MessageId>) {
        let come = self.receive(COMPLETION, Time::NEVER);
        let (words, request) = come.expect("it has waited for ever");
        (Completion::parse(&[words[0], words[1]]), request)
    }

    /// Cuts a request in pieces, of which up to [`SLOTS`] are under way; true if one has failed.
    fn carry_out(&self, ask: &Ask, data: &mut [u8]) -> Result<bool, String> {
        let moves = !data.is_empty();
        // Zeroes need no buffer: they go in one piece.
        let piece = if moves { self.agreed().0.request } else { ask.length.max(1) };
        let count = ask.length.div_ceil(piece).max(1);
        let range = |number: u64| number * piece..ask.length.min((number + 1) * piece);
        let (mut begun, mut ended, mut failed) = (0, 0, false);
        while ended < count {
            while begun < count && begun - ended < SLOTS {
                let (slot, bytes) = (begun % SLOTS, range(begun));
                let length = bytes.end - bytes.start;
                self.library.cpu().spend(self.disks.submit);
                let mut sum = 0;
                if ask.operation == Operation::Write {
                    let data = &data[bytes.start as usize..bytes.end as usize];
                    sum = self.sum(data);
                    self.put(self.buffer(slot), data);
                    let (from, to) = (self.buffer(slot), self.peers_buffer(slot));
                    self.library.write(from, to, length, Awaited::No);
                }
                let sector = (ask.offset + bytes.start) / SECTOR;
                let (operation, sectors) = (ask.operation, length / SECTOR);
                self.command(Command { operation, slot, sector, sectors, sum });
                begun += 1;
            }
            // The target answers in the order of commands.
            let (slot, bytes) = (ended % SLOTS, range(ended));
            let (completion, request) = self.complete();
            if completion.slot != slot {
                let other = completion.slot;
                return Err(format!("a completion of request {other} has come for {slot}"));
            }
            failed |= completion.failed;
            if ask.operation == Operation::Read {
                let part = &mut data[bytes.start as usize..bytes.end as usize];
                self.get(self.buffer(slot), part);
                failed |= !completion.failed && self.sum(part) != completion.sum;
            }
            self.library.cpu().spend(self.disks.complete);
            self.library.end_request(request);
            ended += 1;
        }
        Ok(failed)
    }

    // ---- the target --------------------------------------------------------------------------------------

    fn target(&self) -> Result<(), String> {
        let mut array = Array::new(self.agreed().0.size / SECTOR, self.disks.kind);
        if self.disks.power_cut > Duration::ZERO {
            array.set_power_cut((self.launch + self.disks.power_cut).0);
        }
        let mut begun: VecDeque<Begun> = VecDeque::new();
        loop {
            // The disks work side by side; the initiator is answered in the order of its commands.
            let first = begun.front().map_or(Time::NEVER, |first| first.done);
            let come = match first <= self.library.cpu().now() {
                true => None,
                false => self.receive(COMMAND, first),
            };
            if let Some((words, request)) = come {
                let words = std::array::from_fn(|place| words[place]);
                let command = Command::parse(&words).ok_or("what is no command has come")?;
                begun.push_back(self.begin(&mut array, command, request));
            } else if let Some(first) = begun.pop_front() {
                if self.answer(&first) {
                    return Ok(());
                }
            }
        }
    }

    /// The disks begin with what a command wants.
    fn begin(&self, array: &mut Array, command: Command, request: Option<MessageId>) -> Begun {
        let Command { operation, slot, sector, sectors, sum } = command;
        let now = self.library.cpu().now();
        let mut begun = Begun { command, request, done: now, failed: false, data: Vec::new() };
        let bytes = (sectors * SECTOR) as usize;
        let done = match operation {
            _ if !array.holds(sector, sectors) => block::Done { at: now.0, failed: true },
            Operation::Read => {
                begun.data = vec![0; bytes];
                array.read(now.0, sector, &mut begun.data)
            }
            Operation::Write => {
                let mut data = vec![0; bytes];
                self.get(self.buffer(slot), &mut data);
                match self.sum(&data) == sum {
                    true => array.write(now.0, sector, &data),
                    // They were spoilt on their way.
                    false => block::Done { at: now.0, failed: true },
                }
            }
            Operation::Zero => array.zero(now.0, sector, sectors),
            Operation::Flush => array.flush(now.0),
            Operation::End => block::Done { at: now.0, failed: false },
        };
        Begun { done: Time(done.at), failed: done.failed, ..begun }
    }

    /// Answers a command that the disks have done; true if it was the last.
    fn answer(&self, begun: &Begun) -> bool {
        let Command { operation, slot, .. } = begun.command;
        self.library.disk_done(begun.done, begun.request);
        self.library.cpu().spend(self.disks.serve);
        let mut sum = 0;
        if operation == Operation::Read && !begun.failed {
            sum = self.sum(&begun.data);
            self.put(self.buffer(slot), &begun.data);
            let (from, to) = (self.buffer(slot), self.peers_buffer(slot));
            self.library.write(from, to, begun.data.len() as u64, Awaited::No);
        }
        let completion = Completion { slot, failed: begun.failed, sum };
        let words = |turn: u64| completion.emit(turn).to_vec();
        self.send(Queued::Completion(begun.request), COMPLETION, words);
        operation == Operation::End
    }
}

/// A command that the disks have begun.
struct Begun {
    command: Command,
    request: Option<MessageId>,
    /// Time at which they will have done it.
    done: Time,
    failed: bool,
    /// Data of a read.
    data: Vec<u8>,
}

/// Bindings that a node needs for handles.
pub(super) fn bindings(nodes: u32) -> u64 {
    u64::from(nodes) + 1 + pages(SLOTS * PIECE)
}

//! Remote block I/O (marazakis2006 s2.5, s4.1 to 4.4): rank 0 is the initiator, rank 1 the target with eight
//! disks. Requests come from standard input and answers go to standard output, as [`block::Ask`] and
//! [`block::Answer`] have them: of a client who waits while simulated time stands still, or of a file.
//!
//! ```text
//! disk        a pending flag in each message tells that it is new
//! disk-tails  tails ring a doorbell behind messages, and heads are written back
//! ```

use super::library::{Awaited, Buffer, Library};
use super::memory::{set_word, word, PAGE};
use super::module::{pages, OWN_PAGES};
use block::{Answer, Array, Ask, Command, Completion, Operation};
use block::{ASK_BYTES, COMMAND_WORDS, COMPLETION_WORDS, PIECE, SECTOR};
use machine::programs::native::{Workload, WorkloadKind};
use std::cell::Cell;
use std::io::{ErrorKind, Read, Write};

/// Bytes of an array: what the RAID controller of marazakis2006 s2.4 has, as whole sectors.
const BYTES_MAX: u64 = 614_100_000_000 / SECTOR * SECTOR;

const fn kind(name: &'static str) -> WorkloadKind {
    WorkloadKind { name, bytes: 64 << 20, bytes_max: BYTES_MAX, word: SECTOR, ranks: 2 }
}

/// The workloads.
pub(super) const DISKS: [WorkloadKind; 2] = [kind("disk"), kind("disk-tails")];

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
/// Bytes of a request at most, from whoever writes to standard input.
const LENGTH_MAX: u64 = 64 << 20;

/// An end of the association.
pub(super) struct Storage<'a> {
    library: &'a Library,
    rank: u32,
    /// Messages have pending flags.
    flags: bool,
    sectors: u64,
    /// Messages that come; those that go are made in another page.
    queue: Buffer,
    made: Buffer,
    pool: Buffer,
    peers: [Buffer; 2],
    /// Messages sent and taken.
    sent: Cell<u64>,
    taken: Cell<u64>,
}

impl<'a> Storage<'a> {
    /// Registers its pages: on both hosts they lie the same way.
    pub fn new(library: &'a Library, rank: u32, workload: &Workload) -> Storage<'a> {
        let queue = library.register(0, PAGE);
        let made = library.register(0, PAGE);
        let pool = library.register(0, SLOTS * PIECE);
        // Behind the pages of module and library.
        let at = |page| Buffer { nid: 1 - rank, page, offset: 0, binding: None };
        let first = OWN_PAGES + 1;
        let theirs = [library.bind(at(first), PAGE), library.bind(at(first + 2), SLOTS * PIECE)];
        Storage {
            library,
            rank,
            flags: workload.kind.name == "disk",
            sectors: workload.bytes / SECTOR,
            queue,
            made,
            pool,
            peers: theirs,
            sent: Cell::default(),
            taken: Cell::default(),
        }
    }

    /// Serves until the stream of requests ends. The error is a sentence.
    pub fn run(&self) -> Result<(), String> {
        match self.rank {
            0 => self.initiate().map_err(|why| format!("the stream of disk requests: {why}"))?,
            1 => self.target()?,
            _ => {}
        }
        self.library.finish();
        Ok(())
    }

    // ---- memory ------------------------------------------------------------------------------------------

    fn buffer(&self, slot: u64) -> Buffer {
        Buffer { offset: slot * PIECE, ..self.pool }
    }
    fn peers_buffer(&self, slot: u64) -> Buffer {
        Buffer { offset: slot * PIECE, ..self.peers[1] }
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
    fn send(&self, size: u64, words: impl FnOnce(u64) -> Vec<u64>) {
        let number = self.sent.replace(self.sent.get() + 1);
        let offset = number % DEPTH * size;
        let made = Buffer { offset, ..self.made };
        for (place, word) in (0..).zip(words(Storage::turn(number))) {
            set_word(self.library.cpu().memory(), made.phys(8 * place), word);
        }
        let to = Buffer { offset, ..self.peers[0] };
        if self.flags {
            self.library.write_telling(made, to, size);
        } else {
            self.library.write(made, to, size, Awaited::No);
            self.library.ring(self.peer(), number + 1);
        }
    }

    /// Sleeps until the next message of `size` bytes is there, and gives its words.
    fn receive(&self, size: u64) -> Vec<u64> {
        let number = self.taken.replace(self.taken.get() + 1);
        let at = Buffer { offset: number % DEPTH * size, ..self.queue };
        if self.flags {
            self.library.sleep_until(at.phys(size - 8), Storage::turn(number));
        } else {
            let peer = self.peer() as usize;
            self.library.sleep(|rung| rung[peer] > number);
            self.tell_head(number + 1);
        }
        let memory = self.library.cpu().memory();
        (0..size / 8).map(|place| word(memory, at.phys(8 * place))).collect()
    }

    /// Tells the sender that messages have been taken: its head, in the last word of its queue's page.
    fn tell_head(&self, head: u64) {
        let place = PAGE - 8;
        let made = Buffer { offset: place, ..self.made };
        set_word(self.library.cpu().memory(), made.phys(0), head);
        self.library.write(made, Buffer { offset: place, ..self.peers[0] }, 8, Awaited::No);
    }

    // ---- the initiator -----------------------------------------------------------------------------------

    fn initiate(&self) -> Result<(), String> {
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
            let start = self.library.cpu().now();
            let failed = self.carry_out(&ask, &mut data);
            let took = self.library.cpu().now().since(start).0;
            let mut answer = Answer { failed, took }.emit().to_vec();
            if ask.operation == Operation::Read && !failed {
                answer.extend(&data);
            }
            let written = output.write_all(&answer).and_then(|()| output.flush());
            written.map_err(|why| why.to_string())?;
        }
        self.command(Command { operation: Operation::End, slot: 0, sector: 0, sectors: 0 });
        self.complete();
        Ok(())
    }

    fn command(&self, command: Command) {
        self.send(COMMAND, |turn| command.emit(turn).to_vec());
    }
    fn complete(&self) -> Completion {
        let words = self.receive(COMPLETION);
        Completion::parse(&[words[0], words[1]])
    }

    /// Cuts a request in pieces, of which up to [`SLOTS`] are under way; true if one has failed.
    fn carry_out(&self, ask: &Ask, data: &mut [u8]) -> bool {
        let moves = !data.is_empty();
        // Zeroes need no buffer: they go in one piece.
        let piece = if moves { PIECE } else { ask.length.max(1) };
        let count = ask.length.div_ceil(piece).max(1);
        let range = |number: u64| number * piece..ask.length.min((number + 1) * piece);
        let (mut begun, mut ended, mut failed) = (0, 0, false);
        while ended < count {
            while begun < count && begun - ended < SLOTS {
                let (slot, bytes) = (begun % SLOTS, range(begun));
                let length = bytes.end - bytes.start;
                if ask.operation == Operation::Write {
                    self.put(self.buffer(slot), &data[bytes.start as usize..bytes.end as usize]);
                    let (from, to) = (self.buffer(slot), self.peers_buffer(slot));
                    self.library.write(from, to, length, Awaited::No);
                }
                let sector = (ask.offset + bytes.start) / SECTOR;
                let (operation, sectors) = (ask.operation, length / SECTOR);
                self.command(Command { operation, slot, sector, sectors });
                begun += 1;
            }
            // The target answers in the order of commands.
            let (slot, bytes) = (ended % SLOTS, range(ended));
            let completion = self.complete();
            assert_eq!(completion.slot, slot, "completions come in their order");
            failed |= completion.failed;
            if ask.operation == Operation::Read {
                let part = &mut data[bytes.start as usize..bytes.end as usize];
                self.get(self.buffer(slot), part);
            }
            ended += 1;
        }
        failed
    }

    // ---- the target --------------------------------------------------------------------------------------

    fn target(&self) -> Result<(), String> {
        let mut array = Array::new(self.sectors);
        loop {
            let words = self.receive(COMMAND);
            let words = std::array::from_fn(|place| words[place]);
            let command = Command::parse(&words).ok_or("what is no command has come")?;
            let Command { operation, slot, sector, sectors } = command;
            let bytes = (sectors * SECTOR) as usize;
            let failed = !array.holds(sector, sectors);
            match operation {
                _ if failed => {}
                Operation::Read => {
                    let mut data = vec![0; bytes];
                    array.read(sector, &mut data);
                    self.put(self.buffer(slot), &data);
                    let (from, to) = (self.buffer(slot), self.peers_buffer(slot));
                    self.library.write(from, to, bytes as u64, Awaited::No);
                }
                Operation::Write => {
                    let mut data = vec![0; bytes];
                    self.get(self.buffer(slot), &mut data);
                    array.write(sector, &data);
                }
                Operation::Zero => array.zero(sector, sectors),
                // Memory keeps what is written.
                Operation::Flush | Operation::End => {}
            }
            let completion = Completion { slot, failed };
            self.send(COMPLETION, |turn| completion.emit(turn).to_vec());
            if operation == Operation::End {
                return Ok(());
            }
        }
    }
}

/// Bindings that a node needs for handles.
pub(super) fn bindings(nodes: u32) -> u64 {
    u64::from(nodes) + 1 + pages(SLOTS * PIECE)
}

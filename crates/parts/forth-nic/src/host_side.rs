//! The DMA engine, request queue and registers: the NIC's half in the clock of the bus.

use crate::aids::{Aids, Seen};
use crate::bindings::Bindings;
use crate::nic::{Arrival, Crossing};
use crate::packet::{Entry, Header};
use crate::params::{Bug, Params};
use abi::forth::register::{Control, Status};
use abi::forth::{control, table, trace_point, Descriptor, FLOWS, QUEUE_SIZE, WORDS_MAX};
use pci::{Completion, DeviceIn, DeviceOut, Ended, Operation, Request, TargetWrite, BLOCK, WORD};
use std::collections::VecDeque;

/// Descriptors that one write-combining buffer can hold.
const BURST_DESCRIPTORS: usize = 4;

/// Words of a packet that are freed with its header: two of header, of which the FIFO holds one entry.
const HEADER_WORDS: u16 = 2;

/// Counters of the bus's half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCounters {
    /// Messages whose source has been read.
    pub sent_messages: u64,
    /// Messages written to memory.
    pub received_messages: u64,
    /// Payload words written to memory.
    pub received_words: u64,
    /// Interrupts raised.
    pub interrupts: u64,
}

impl HostCounters {
    /// These and those of before.
    pub fn plus(&self, before: &HostCounters) -> HostCounters {
        HostCounters {
            sent_messages: self.sent_messages + before.sent_messages,
            received_messages: self.received_messages + before.received_messages,
            received_words: self.received_words + before.received_words,
            interrupts: self.interrupts + before.interrupts,
        }
    }
}

/// Counts of events, for debugging.
#[derive(Clone, Copy, Debug, Default)]
struct Events {
    fetch_cycles: u64,
    fetch_words: u64,
    deposit_cycles: u64,
    disconnects: u64,
    descriptors: u64,
    interrupts_wanted: u64,
}

/// Owner of the transfer on the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Nobody,
    Fetch,
    Deposit,
    Notify,
}

/// A read whose data are to come.
#[derive(Clone, Copy, Debug)]
struct Fetching {
    header: Header,
    notify: bool,
    left: u16,
    tag: u8,
}

/// A packet on its way to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Depositing {
    header: Header,
    /// Next address, and words that are left.
    addr: u64,
    left: u16,
    /// Words that have left the FIFO and not been told of.
    freed: u16,
}

/// The half.
#[derive(Clone, Debug)]
pub(crate) struct HostSide {
    params: Params,
    stage: [u32; 4],
    queue: VecDeque<Descriptor>,
    bindings: Bindings,
    owner: Owner,
    fetching: VecDeque<Fetching>,
    /// Words that were asked for and have not come.
    reserved: u16,
    next_tag: u8,
    depositing: Option<Depositing>,
    arrival: Option<Arrival>,
    notify_addr: u64,
    /// Notifications: those that are due, and what was written last.
    notified: u64,
    written: u64,
    control: Control,
    /// Without FROZEN, which is a level between both halves.
    status: Status,
    interrupt_enabled: bool,
    interrupt_line: bool,
    read_word: u64,
    counters: HostCounters,
    events: Events,
    /// The DMA engine takes its next word from a register ([`Bug::CompletionMixed`]).
    mixed: bool,
    /// The host has asked for a reset with this edge.
    reset: bool,
    /// Words that come of reads from before a reset.
    stale: u16,
}

impl HostSide {
    pub fn new(params: Params) -> HostSide {
        HostSide {
            params,
            stage: [0; 4],
            queue: VecDeque::with_capacity(usize::from(params.queue_depth)),
            bindings: Bindings::new(params.bindings),
            owner: Owner::Nobody,
            fetching: VecDeque::with_capacity(usize::from(params.reads_max)),
            reserved: 0,
            next_tag: 0,
            depositing: None,
            arrival: None,
            notify_addr: 0,
            notified: 0,
            written: 0,
            control: Control::AFTER_RESET,
            status: Status::AFTER_RESET,
            interrupt_enabled: false,
            interrupt_line: false,
            read_word: 0,
            counters: HostCounters::default(),
            events: Events::default(),
            mixed: false,
            reset: false,
            stale: 0,
        }
    }

    pub fn counters(&self) -> &HostCounters {
        &self.counters
    }
    pub fn arrival(&self) -> Option<Arrival> {
        self.arrival
    }
    /// The half after a reset. Words of reads that are under way are to be left alone when they come, and no
    /// new read has the tag of one of these.
    pub fn after_reset(&self) -> HostSide {
        let (stale, next_tag) = (self.reserved + self.stale, self.next_tag);
        HostSide { stale, next_tag, ..HostSide::new(self.params) }
    }
    /// The host wants the card to begin anew.
    pub fn wants_reset(&self) -> bool {
        self.reset
    }
    pub fn is_quiet(&self) -> bool {
        let notified = self.written == self.notified;
        self.queue.is_empty() && self.fetching.is_empty() && self.depositing.is_none() && notified
    }

    pub fn outputs(&self, crossing: &Crossing) -> DeviceOut {
        let room = usize::from(self.params.queue_depth) - self.queue.len();
        DeviceOut {
            request: self.request(),
            write_word: match (self.owner, crossing.rx.front()) {
                (Owner::Notify, _) => self.notified,
                (_, Some(Entry::Data(data))) => data,
                _ => 0,
            },
            write_on: self.goes_on(crossing),
            read_word: self.read_word,
            busy: room <= BURST_DESCRIPTORS,
            interrupt: self.interrupt_line,
        }
    }

    fn request(&self) -> Option<Request> {
        let write = Operation::Write;
        match self.owner {
            Owner::Nobody => None,
            Owner::Notify => {
                Some(Request { operation: write, addr: self.notify_addr, bytes: 8, tag: 0 })
            }
            Owner::Deposit => self.depositing.map(|packet| Request {
                operation: write,
                addr: packet.addr,
                bytes: packet.left * WORD as u16,
                tag: 0,
            }),
            Owner::Fetch => self.queue.front().map(|head| Request {
                operation: Operation::Read,
                addr: source(head),
                bytes: words(head) * WORD as u16,
                tag: self.next_tag,
            }),
        }
    }

    /// At a boundary: the words of the next block are there.
    fn goes_on(&self, crossing: &Crossing) -> bool {
        let Some(packet) = self.depositing else { return false };
        let after = crossing.rx.len().saturating_sub(1);
        after >= usize::from(packet.left.saturating_sub(1)).min((BLOCK / WORD) as usize)
    }

    /// The edge.
    pub fn clock(&mut self, inputs: &DeviceIn, crossing: &mut Crossing, aids: &mut Aids) {
        self.arrival = None;
        let mut limit = None;
        if let Some(write) = inputs.write {
            limit = self.target_write(&write, crossing, aids);
        }
        crossing.levels.frozen |= crossing.stop_seen.seen();
        assert!(
            crossing.limits.write_edge(limit),
            "limits are set slower than the link takes them"
        );
        let sent = self.fetch_edge(inputs, crossing);
        let taken = self.deposit_edge(inputs, crossing);
        self.trace(sent, taken, crossing, aids);
        if let (Owner::Notify, Some(_)) = (self.owner, inputs.ended) {
            self.written = self.notified;
        }
        self.arbitrate(inputs, crossing);
    }

    fn trace(
        &self,
        sent: Option<Seen>,
        taken: Option<Entry>,
        crossing: &Crossing,
        aids: &mut Aids,
    ) {
        let wanted = &crossing.levels.aids;
        if wanted.trace.on() != 0 {
            let taken = (trace_point::RECEIVE_OUT, taken.map(Seen::from));
            aids.trace(wanted, crossing.levels.frozen, [(trace_point::SEND_IN, sent), taken]);
        }
    }

    /// Chooses whose transfer is next: what has arrived, notifications, what is to be sent.
    fn arbitrate(&mut self, inputs: &DeviceIn, crossing: &Crossing) {
        if self.owner != Owner::Nobody && !inputs.accepted && inputs.ended.is_none() {
            return;
        }
        self.owner = if crossing.levels.frozen {
            Owner::Nobody
        } else if self.deposit_wants(crossing) {
            Owner::Deposit
        } else if self.written != self.notified {
            Owner::Notify
        } else if self.fetch_wants(crossing) {
            Owner::Fetch
        } else {
            Owner::Nobody
        };
    }

    // ---- sending -----------------------------------------------------------------------------------------

    fn fetch_wants(&self, crossing: &Crossing) -> bool {
        let Some(head) = self.queue.front() else { return false };
        let room = crossing.tx_data.room() >= usize::from(self.reserved + words(head));
        let few = self.fetching.len() < usize::from(self.params.reads_max);
        self.control.send() && room && few && crossing.tx_messages.room() > 2
    }

    /// Gives what it has put into the sending FIFO.
    fn fetch_edge(&mut self, inputs: &DeviceIn, crossing: &mut Crossing) -> Option<Seen> {
        let waits = !self.fetching.is_empty() && inputs.completion.is_none();
        self.events.fetch_cycles += u64::from(waits);
        self.events.fetch_words += u64::from(inputs.completion.is_some());
        let mut message = None;
        let stale = inputs.completion.is_some() && self.stale > 0;
        self.stale -= u16::from(stale);
        let data = inputs.completion.filter(|_| !stale).map(|completion| {
            message = self.complete(&completion);
            if std::mem::take(&mut self.mixed) {
                return self.read_word;
            }
            completion.data
        });
        let mixes = inputs.read.is_some() && self.params.has(Bug::CompletionMixed);
        self.mixed |= mixes && !self.fetching.is_empty();
        let room = crossing.tx_data.write_edge(data);
        assert!(room, "space was reserved before the read");
        assert!(crossing.tx_messages.write_edge(message), "there is room for each read's message");
        let fetch = self.owner == Owner::Fetch;
        if fetch && inputs.accepted {
            self.accept();
        } else if fetch && inputs.ended.is_some_and(|ended| ended.aborted) {
            self.queue.pop_front();
            self.status.0 |= Status::ABORTED;
        }
        let seen = |data| message.map_or(Seen::Data(data), |_| Seen::End(data, true));
        data.map(seen)
    }

    fn accept(&mut self) {
        let head = self.queue.pop_front().expect("the request was its");
        let header = Header {
            destination: head.destination,
            words: words(&head),
            flow: flow(&head),
            source: self.params.source,
            interrupt: head.control & control::INTERRUPT != 0,
        };
        let (left, tag) = (header.words, self.next_tag);
        let notify = head.control & control::NOTIFY != 0;
        self.fetching.push_back(Fetching { header, notify, left, tag });
        self.reserved += header.words;
        self.next_tag = (self.next_tag + 1) % 32;
    }

    /// A word of the oldest read; with its last the message can be sent.
    fn complete(&mut self, completion: &Completion) -> Option<Header> {
        let read = self.fetching.front_mut().expect("only what was asked for comes");
        assert_eq!(completion.tag, read.tag, "the bridge answers reads in their order");
        read.left -= 1;
        self.reserved -= 1;
        if read.left > 0 {
            return None;
        }
        let read = self.fetching.pop_front().expect("it is the oldest");
        self.counters.sent_messages += 1;
        self.notified += u64::from(read.notify);
        Some(read.header)
    }

    // ---- receiving ---------------------------------------------------------------------------------------

    fn deposit_wants(&self, crossing: &Crossing) -> bool {
        let Some(packet) = self.depositing.filter(|packet| packet.left > 0) else { return false };
        let to_boundary = (BLOCK - packet.addr % BLOCK) / WORD;
        let words = u64::from(packet.left).min(to_boundary);
        self.control.receive() && crossing.rx.len() as u64 >= words
    }

    /// Gives what it has taken out of the receive FIFO.
    fn deposit_edge(&mut self, inputs: &DeviceIn, crossing: &mut Crossing) -> Option<Entry> {
        let mut freed = None;
        self.events.deposit_cycles += u64::from(self.owner == Owner::Deposit);
        let pop = match &mut self.depositing {
            None => self.begin(crossing),
            Some(packet) if packet.left == 0 => {
                let end = crossing.rx.front();
                let end = end.filter(|_| crossing.freed.room() > 1 && self.owner != Owner::Deposit);
                if let Some(Entry::End(good)) = end {
                    freed = Some((packet.header.flow, packet.freed + 1));
                    self.finish(good);
                }
                end.is_some()
            }
            Some(packet) => {
                let took = inputs.took_word && self.owner == Owner::Deposit;
                let ended = inputs.ended.filter(|_| self.owner == Owner::Deposit);
                freed = packet.advance(took, ended, crossing.freed.room() > 1);
                if ended.is_some_and(|ended| ended.aborted) {
                    self.status.0 |= Status::ABORTED;
                    crossing.levels.frozen = true;
                }
                self.events.disconnects += u64::from(ended.is_some() && packet.left > 0);
                self.counters.received_words += u64::from(took);
                took
            }
        };
        let taken = crossing.rx.front().filter(|_| pop);
        crossing.rx.read_edge(pop);
        crossing.freed.write_edge(freed);
        taken
    }

    /// Takes a header.
    fn begin(&mut self, crossing: &Crossing) -> bool {
        if !self.control.receive() || crossing.levels.frozen {
            return false;
        }
        let Some(Entry::Header(header)) = crossing.rx.front() else { return false };
        let (addr, left) = (u64::from(header.destination), header.words);
        self.depositing = Some(Depositing { header, addr, left, freed: HEADER_WORDS });
        true
    }

    /// The packet is in memory.
    fn finish(&mut self, good: bool) {
        let Some(packet) = self.depositing.take() else { return };
        self.arrival = Some(Arrival { header: packet.header, good });
        self.counters.received_messages += u64::from(good);
        self.events.interrupts_wanted += u64::from(good && packet.header.interrupt);
        // An interrupt that comes while interrupts are disabled raises nothing, later either.
        if good && packet.header.interrupt && self.interrupt_enabled && !self.interrupt_line {
            self.interrupt_line = true;
            self.counters.interrupts += 1;
        }
    }

    // ---- target ------------------------------------------------------------------------------------------

    fn target_write(
        &mut self,
        write: &TargetWrite,
        c: &mut Crossing,
        aids: &mut Aids,
    ) -> Option<(u8, u16)> {
        if write.offset < QUEUE_SIZE {
            self.post(write);
            return None;
        }
        if write.offset >= table::BINDINGS {
            self.bindings.set((write.offset - table::BINDINGS) / WORD as u32, write.data);
            return None;
        }
        if write.offset >= table::LIMITS {
            let flow = (write.offset - table::LIMITS) / WORD as u32;
            return (flow < FLOWS).then_some((flow as u8, write.data as u16));
        }
        self.write_register(write, c, aids);
        None
    }

    /// A word or two of a descriptor.
    fn post(&mut self, write: &TargetWrite) {
        for half in 0..2 {
            if write.enables >> (4 * half) & 0xF != 0xF {
                continue;
            }
            let place = (write.offset / 4 + half) as usize % 4;
            self.stage[place] = (write.data >> (32 * half)) as u32;
            if place == 3 {
                self.enqueue();
            }
        }
    }

    fn enqueue(&mut self) {
        let [source_lo, source_hi, destination, control] = self.stage;
        let mut descriptor = Descriptor { source_lo, source_hi, destination, control };
        let sized = (1..=WORDS_MAX as u16).contains(&words(&descriptor));
        if !sized || source_lo % 8 != 0 || destination % 8 != 0 {
            self.status.0 |= Status::BAD_DESCRIPTOR;
            return;
        }
        if self.control.handles() && !self.bindings.is_none() {
            let (flow, words) = (flow(&descriptor), words(&descriptor));
            let Some(address) = self.bindings.resolve(destination, flow, words) else {
                self.status.0 |= Status::BAD_HANDLE;
                return;
            };
            descriptor.destination = address;
        }
        assert!(self.queue.len() < usize::from(self.params.queue_depth), "a full queue is busy");
        self.queue.push_back(descriptor);
        self.events.descriptors += 1;
    }
}

impl Depositing {
    /// A cycle on the bus; gives the words that the sender may be told of.
    fn advance(&mut self, took: bool, ended: Option<Ended>, room: bool) -> Option<(u8, u16)> {
        if took {
            self.addr += WORD;
            self.left -= 1;
            self.freed += 1;
        }
        let enough = self.freed >= (BLOCK / WORD) as u16 || ended.is_some();
        if !enough || !room || self.freed == 0 {
            return None;
        }
        Some((self.header.flow, std::mem::take(&mut self.freed)))
    }
}

fn source(descriptor: &Descriptor) -> u64 {
    u64::from(descriptor.source_hi) << 32 | u64::from(descriptor.source_lo)
}
fn flow(descriptor: &Descriptor) -> u8 {
    (descriptor.control >> control::FLOW_SHIFT & control::FLOW_MASK) as u8
}
fn words(descriptor: &Descriptor) -> u16 {
    (descriptor.control & control::WORDS_MASK) as u16
}

#[path = "registers.rs"]
mod registers;

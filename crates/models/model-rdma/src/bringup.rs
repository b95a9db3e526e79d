//! Bring-up in stages (marazakis2006 s2.7, s3): a utility on each host exercises its card and prints what the
//! debugging aids say, a line each: `RANK KEY VALUE`. It judges nothing.
//!
//! ```text
//! nic-config    configuration space and target interface
//! nic-dma       from host memory and back, each word in the tracing memories; with registers polled, too
//! nic-loopback  both FIFOs and flow control on one card, with receive DMA off and on
//! nic-link      two cards: lanes, CRCs, interrupts
//! nic-switch    all to all through the crossbar
//! ```

mod link;

use super::library::{Buffer, Library};
use super::memory::{set_word, word, PAGE};
use super::module::Module;
use abi::forth::register::{self, Aids, Credits, DebugSelect, TraceIndex, TraceTag};
use abi::forth::{
    control, control_bit, table, trace_bit, trace_point, trace_tag, Descriptor, REGION_SIZE,
    TRACE_DEPTH,
};
use des::{Duration, Time};
use machine::programs::native::{Workload, WorkloadKind};
use pci::node::{CONFIG, REGION};
use pci::register as config;
use std::cell::{Cell, RefCell};
use std::fmt::{Display, Write};
use std::rc::Rc;

const fn kind(name: &'static str, ranks: u32) -> WorkloadKind {
    WorkloadKind { name, bytes: 8, bytes_max: 8, word: 8, ranks }
}

/// The stages.
pub(super) const STAGES: [WorkloadKind; 5] = [
    kind("nic-config", 2),
    kind("nic-dma", 2),
    kind("nic-loopback", 2),
    kind("nic-link", 2),
    kind("nic-switch", 3),
];

/// True if a workload is a stage.
pub(super) fn is_stage(workload: &Workload) -> bool {
    STAGES.iter().any(|stage| stage.name == workload.kind.name)
}

/// Pages that the utility has: sources, destinations, and one of which doorbells are rung.
const PAGES: u64 = 12;
/// Descriptors for which there is room where one is posted: with less than a write-combining buffer's the
/// card retries the host.
const ROOM: u64 = 6;
/// Looks for room before a message is given up, half a microsecond apart.
const LOOKS: u32 = 200;
/// Content of memory before anything is written there.
const OLD: u64 = 0x01D0_01D0_01D0_01D0;
const RUNNING: u32 = control_bit::SEND | control_bit::RECEIVE;

/// The utility in a rank.
pub(super) struct BringUp<'a> {
    library: &'a Library,
    module: Rc<Module>,
    rank: u32,
    ranks: u32,
    stage: &'static str,
    source: Buffer,
    target: Buffer,
    text: RefCell<String>,
    /// The card takes no descriptors any more.
    stuck: Cell<bool>,
    /// Time at which the stage began on all nodes.
    start: Time,
}

/// Differences of a sequence of words from the expected one.
#[derive(Default)]
struct Difference {
    changed: u64,
    omitted: u64,
    doubled: u64,
    first: Option<&'static str>,
}

impl Difference {
    /// Walks along both: a word may be another, left out, or come twice.
    fn of(right: &[u64], seen: &[u64]) -> Difference {
        let (mut found, mut at) = (Difference::default(), 0);
        for word in seen {
            let is = |place: Option<usize>| place.and_then(|place| right.get(place)) == Some(word);
            if is(Some(at)) {
                at += 1;
            } else if is(at.checked_sub(1)) {
                found.doubled += 1;
                found.first.get_or_insert("doubled");
            } else if is(Some(at + 1)) {
                found.omitted += 1;
                found.first.get_or_insert("omitted");
                at += 2;
            } else {
                found.changed += 1;
                found.first.get_or_insert("changed");
                at += 1;
            }
        }
        let missing = right.len().saturating_sub(at) as u64;
        found.omitted += missing;
        if missing > 0 {
            found.first.get_or_insert("omitted");
        }
        found
    }
}

impl<'a> BringUp<'a> {
    pub fn new(library: &'a Library, rank: u32, ranks: u32, workload: &Workload) -> BringUp<'a> {
        let module = library.module().clone();
        let source = library.register(0, PAGES * PAGE);
        let target = library.register(0, PAGES * PAGE);
        let stage = workload.kind.name;
        let (text, stuck, start) = (RefCell::default(), Cell::default(), Time::ZERO);
        BringUp { library, module, rank, ranks, stage, source, target, text, stuck, start }
    }

    /// Goes through the stage; gives what is to be printed.
    pub fn run(mut self) -> String {
        self.start = self.library.cpu().now();
        match self.stage {
            "nic-config" => self.config(),
            "nic-dma" => self.dma(),
            "nic-loopback" => self.loop_back(),
            "nic-link" => self.link(),
            _ => self.switch(),
        }
        self.reset();
        self.text.into_inner()
    }

    // ---- the card ----------------------------------------------------------------------------------------

    fn tell(&self, key: &str, value: impl Display) {
        writeln!(self.text.borrow_mut(), "{} {key} {value}", self.rank)
            .expect("a string takes everything");
    }
    fn read(&self, offset: u32) -> u64 {
        self.library.load(offset)
    }
    fn write(&self, offset: u32, value: impl Into<u64>) {
        let word: u64 = value.into();
        self.library.store(offset, &word.to_le_bytes());
    }
    /// Writes a register and waits until the lanes' half has seen it, too.
    fn set(&self, offset: u32, value: impl Into<u64>) {
        self.write(offset, value);
        self.library.load(offset);
        self.pass(Duration::from_ns(200));
    }
    fn pass(&self, time: Duration) {
        self.library.cpu().spend(time);
    }
    /// Until so long after the stage's start; a phase that has taken longer says so.
    fn until(&self, phase: Duration) {
        let (due, now) = (self.start + phase, self.library.cpu().now());
        if now > due {
            self.tell("late", now.since(due));
        }
        self.pass(due.since(now.min(due)));
    }
    /// All begins anew. A second reset takes what was on the lanes during the first.
    fn reset(&self) {
        for _ in 0..2 {
            self.set(register::CONTROL, control_bit::RESET);
            self.pass(Duration::from_ns(10_000));
        }
    }
    /// The card works again after a reset, with these bits of CONTROL.
    fn begin(&self, bits: u32) {
        self.reset();
        self.stuck.set(false);
        self.write(register::NOTIFY, self.module.notify_addr());
        for flow in (0..self.ranks).filter(|flow| *flow != self.rank) {
            self.write(table::LIMITS + 8 * flow, self.module.flow_words());
        }
        self.write(register::INTERRUPT, 1_u32);
        self.set(register::CONTROL, bits);
    }
    /// Posts a descriptor, if the card takes it: behind what it does not take the host could write nothing
    /// else.
    fn post(&self, from: u64, to: u64, flow: u32, words: u32, flags: u32) {
        let mut looks = 0;
        while !self.stuck.get() && self.read(register::QUEUE_FREE) < ROOM {
            looks += 1;
            self.stuck.set(looks > LOOKS);
            self.pass(Duration::from_ns(500));
        }
        if self.stuck.get() {
            return;
        }
        self.post_at_once(from, to, flow, words, flags);
    }
    /// The same without a look at the card.
    fn post_at_once(&self, from: u64, to: u64, flow: u32, words: u32, flags: u32) {
        self.library.post_raw(&Descriptor {
            source_lo: from as u32,
            source_hi: (from >> 32) as u32,
            destination: to as u32,
            control: words | flags | flow << control::FLOW_SHIFT,
        });
    }
    fn trace(&self, memories: u32, bits: u32) {
        self.set(register::TRACE_CONTROL, trace_bit::CLEAR | memories | bits);
    }
    /// The newest samples of a tracing memory: payload words alone, with the header's if so wanted.
    fn samples(&self, point: u32, most: u64) -> Vec<(u64, u8)> {
        let memory = TraceIndex(0).with_memory(point as u8);
        self.write(register::TRACE_INDEX, memory.0);
        let count = self.read(register::TRACE_COUNT);
        let depth = u64::from(TRACE_DEPTH);
        let first = count - count.min(depth).min(most);
        let sample = |index: u64| {
            self.write(register::TRACE_INDEX, memory.with_sample((index % depth) as u16).0);
            let data = self.read(register::TRACE_DATA);
            let tag = TraceTag(self.library.cpu().mmio_read(REGION + register::TRACE_TAG).into());
            (data, tag.kind())
        };
        (first..count).map(sample).collect()
    }
    fn counts(&self, flow: u32) -> [u64; 4] {
        self.write(register::DEBUG_SELECT, DebugSelect(0).with_flow(flow as u8).0);
        let counts = Credits(self.read(register::CREDITS));
        [counts.sent(), counts.credited(), counts.limit(), counts.freed()].map(u64::from)
    }
    fn peer(&self) -> u32 {
        (self.rank + 1) % self.ranks
    }
    /// A word of payload that no other place has.
    fn pattern(&self, rank: u32, place: u64) -> u64 {
        let number = u64::from(rank + 1) << 24 | (place + 1);
        number << 32 | number.wrapping_mul(0x9E37_79B9) & 0xFFFF_FFFF
    }
    fn fill(&self) {
        let memory = self.library.cpu().memory();
        for place in 0..PAGES * PAGE / 8 {
            set_word(memory, self.source.phys(8 * place), self.pattern(self.rank, place));
            set_word(memory, self.target.phys(8 * place), OLD);
        }
    }
    fn errors(&self, mark: &str) {
        for (key, offset) in [
            ("header_errors", register::HEADER_ERRORS),
            ("payload_errors", register::PAYLOAD_ERRORS),
            ("credit_errors", register::CREDIT_ERRORS),
            ("bond_errors", register::BOND_ERRORS),
            ("overflows", register::OVERFLOWS),
            ("received_messages", register::RECEIVED_MESSAGES),
        ] {
            self.tell(&format!("{mark}.{key}"), self.read(offset));
        }
    }
    fn parity(&self) -> u32 {
        self.library.cpu().mmio_read(CONFIG + u32::from(config::COMMAND)) >> 31
    }

    // ---- the stages --------------------------------------------------------------------------------------

    fn config(&self) {
        let cpu = self.library.cpu();
        let bar = CONFIG + u32::from(config::BAR0);
        self.tell("id", format_args!("{:#010x}", cpu.mmio_read(CONFIG + u32::from(config::ID))));
        let command = cpu.mmio_read(CONFIG + u32::from(config::COMMAND));
        cpu.mmio_write(CONFIG + u32::from(config::COMMAND), &[0; 2]);
        cpu.mmio_write(bar, &[0xFF; 4]);
        let size = (!(cpu.mmio_read(bar) & !0xF)).wrapping_add(1);
        cpu.mmio_write(bar, &REGION.to_le_bytes());
        cpu.mmio_write(CONFIG + u32::from(config::COMMAND), &command.to_le_bytes()[..2]);
        self.tell("bar_bytes", size);
        self.tell("registers_bytes", REGION_SIZE);
        self.tell("control", self.read(register::CONTROL));
        let last = cpu.mmio_read(REGION + REGION_SIZE - 8);
        self.tell("last_word", format_args!("{last:#x}"));
    }

    /// From memory to memory on one card, without and with registers polled meanwhile.
    fn dma(&self) {
        for (mark, polls) in [("still", false), ("polled", true)] {
            self.fill();
            self.begin(RUNNING | control_bit::LOOP_BACK);
            self.trace(trace_bit::ON, trace_bit::STOP);
            let sizes = [150_u64, 97, 203, 8];
            let (mut right, mut at) = (Vec::new(), 0);
            for (page, words) in (0..).zip(sizes) {
                let from = self.source.phys(page * PAGE);
                let to = self.target.phys(page * PAGE);
                self.post_at_once(from, to, self.peer(), words as u32, 0);
                let first = page * PAGE / 8;
                right.extend((first..first + words).map(|place| self.pattern(self.rank, place)));
                at += words;
            }
            for _ in 0..200 {
                if polls {
                    self.read(register::SENT_WORDS);
                }
                self.pass(Duration::from_ns(200));
            }
            self.tell(&format!("{mark}.words"), at);
            self.errors(mark);
            let names = ["send_in", "send_out", "receive_in", "receive_out"];
            for (point, name) in (0..).zip(names) {
                let payload = |(_, kind): &(u64, u8)| {
                    *kind == trace_tag::DATA
                        || point == trace_point::SEND_IN && *kind == trace_tag::END_GOOD
                };
                let seen = self.samples(point, TRACE_DEPTH.into()).into_iter().filter(payload);
                let seen: Vec<u64> = seen.map(|(data, _)| data).collect();
                self.differs(&format!("{mark}.{name}"), &Difference::of(&right, &seen));
            }
            let memory = self.library.cpu().memory();
            let (mut holes, mut changed) = (0, 0);
            let mut next = right.iter();
            for (page, words) in (0..).zip(sizes) {
                for place in 0..words {
                    let found = word(memory, self.target.phys(page * PAGE + 8 * place));
                    let right = next.next().expect("there are as many");
                    holes += u64::from(found == OLD);
                    changed += u64::from(found != OLD && found != *right);
                }
            }
            self.tell(&format!("{mark}.memory.holes"), holes);
            self.tell(&format!("{mark}.memory.changed"), changed);
            self.tell(&format!("{mark}.parity"), self.parity());
        }
    }

    fn differs(&self, key: &str, difference: &Difference) {
        self.tell(&format!("{key}.changed"), difference.changed);
        self.tell(&format!("{key}.omitted"), difference.omitted);
        self.tell(&format!("{key}.doubled"), difference.doubled);
        self.tell(&format!("{key}.first"), difference.first.unwrap_or("none"));
    }

    /// Flow control of a card with itself: bursts against receive DMA that is off, then short messages that
    /// carry the counts.
    fn loop_back(&self) {
        const BURSTS: u32 = 8;
        const MESSAGES: u64 = 12;
        self.fill();
        self.begin(RUNNING | control_bit::LOOP_BACK);
        self.tell("fifo_words", Aids(self.read(register::AIDS)).words());
        self.tell("limit", self.counts(self.peer())[2]);
        let mut spoilt = false;
        for burst in 0..BURSTS {
            self.set(register::CONTROL, control_bit::SEND | control_bit::LOOP_BACK);
            for message in 0..MESSAGES {
                let place = message % PAGES * PAGE;
                self.post(self.source.phys(place), self.target.phys(place), self.peer(), 128, 0);
            }
            self.pass(Duration::from_ns(40_000));
            let [sent, credited, ..] = self.counts(self.peer());
            self.tell(&format!("burst{burst}.sent"), sent);
            self.tell(&format!("burst{burst}.credited"), credited);
            let overflows = self.read(register::OVERFLOWS);
            self.tell(&format!("burst{burst}.overflows"), overflows);
            self.tell(&format!("burst{burst}.level"), self.read(register::RECEIVE_LEVEL));
            if overflows > 0 {
                spoilt = true;
                break; // Packets have lost their ends: the DMA engine finds no way in what is left.
            }
            self.set(register::CONTROL, RUNNING | control_bit::LOOP_BACK);
            self.pass(Duration::from_ns(60_000));
        }
        self.errors("bursts");
        if spoilt {
            return;
        }
        self.credits();
    }

    fn credits(&self) {
        self.begin(RUNNING | control_bit::LOOP_BACK | control_bit::CREDITS_IN_PAYLOAD);
        self.trace(1 << trace_point::RECEIVE_IN, trace_bit::STOP);
        for message in 0..160_u64 {
            let place = message % PAGES * PAGE;
            self.post(self.source.phys(place), self.target.phys(place), self.peer(), 8, 0);
        }
        self.pass(Duration::from_ns(150_000));
        let samples = self.samples(trace_point::RECEIVE_IN, TRACE_DEPTH.into());
        let ends = samples.windows(2).filter(|pair| pair[1].1 == trace_tag::END_GOOD);
        let counts: Vec<u64> = ends.map(|pair| Credits(pair[0].0).credited().into()).collect();
        // Of counters that wrap, what is more than half of their range ahead is behind.
        let words = Aids(self.read(register::AIDS)).words();
        let range = 4 * u64::from(words).next_power_of_two();
        let back = |pair: &&[u64]| (pair[1].wrapping_sub(pair[0]) & (range - 1)) > range / 2;
        self.tell("credits.told", counts.len());
        self.tell("credits.back", counts.windows(2).filter(back).count());
        let [sent, credited, ..] = self.counts(self.peer());
        self.tell("credits.slip", sent.wrapping_sub(credited) & (range - 1));
        self.errors("credits");
    }

    // ---- the crossbar ------------------------------------------------------------------------------------

    fn switch(&self) {
        self.fill();
        self.begin(RUNNING);
        self.until(Duration::from_ns(100_000));
        for message in 0..60_u64 {
            let place = message % PAGES * PAGE;
            let to =
                (self.rank + 1 + (message / 6 % u64::from(self.ranks - 1)) as u32) % self.ranks;
            let target = Buffer { nid: to, ..self.target }.phys(place);
            self.post(self.source.phys(place), target, to, 128, 0);
        }
        self.until(Duration::from_ns(1_000_000));
        self.errors("switch");
        let range = 4 * u64::from(self.module.flow_words()).next_power_of_two();
        for flow in (0..self.ranks).filter(|flow| *flow != self.rank) {
            let [sent, credited, ..] = self.counts(flow);
            let slip = sent.wrapping_sub(credited) & (range - 1);
            self.tell(&format!("switch.sent{flow}"), sent);
            self.tell(&format!("switch.slip{flow}"), slip);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Difference;

    #[test]
    fn words_that_are_left_out_doubled_or_other_are_told_apart() {
        let right = [1, 2, 3, 4, 5];
        for (seen, changed, omitted, doubled, first) in [
            (&[1, 2, 3, 4, 5][..], 0, 0, 0, None),
            (&[1, 3, 4, 5, 5], 0, 1, 1, Some("omitted")),
            (&[1, 2, 2, 3, 4], 0, 1, 1, Some("doubled")),
            (&[1, 9, 3, 4, 5], 1, 0, 0, Some("changed")),
            (&[1, 2], 0, 3, 0, Some("omitted")),
        ] {
            let found = Difference::of(&right, seen);
            let counts = (found.changed, found.omitted, found.doubled, found.first);
            assert_eq!(counts, (changed, omitted, doubled, first), "{seen:?}");
        }
    }
}

//! Bytes that are no whole word. The card writes words of 8 bytes, so the head and the tail of a write travel
//! as a record into memory of the peer's kernel module, with the card's interrupt there, and that module
//! stores them ([0107](../../../../docs/decisions/0107-partial-words.md)).
//!
//! ```text
//! outbox of the sender ─► card ─► inbox at the receiver: 64 slots for each sender, with an interrupt
//!                                     │ handler: stores the bytes, counts the record
//!     count of records taken  ◄─ card ◄─┘ once a drain; with an interrupt if a record asks for it
//! ```

use super::memory::{own_frame, set_word, word};
use super::module::Module;
use super::settings::NODES_MAX;
use super::tally::{add, Posting};
use super::trail::Drain;
use abi::forth::{control, Descriptor};
use host::{Cpu, SharedMemory};
use machine::instruments::stages::Piece;
use std::cell::{Cell, RefCell};
use std::ops::Range;

/// Bytes of a word of the card.
pub(super) const WORD: u64 = 8;
/// Records that a sender may have under way to a node.
pub(super) const SLOTS: u64 = 64;
/// Bytes of a slot, of which a record fills the last five words or fewer.
const SLOT: u64 = 64;
/// Byte of a slot at which a record's last word stands.
const LAST: u64 = 32;

/// Frames: inboxes by sender, outboxes by receiver, and one for counts.
pub(super) const FRAMES: u64 = 2 * NODES_MAX as u64 + 1;
const OUTBOXES: u64 = NODES_MAX as u64;
const COUNTS: u64 = 2 * NODES_MAX as u64;
/// Byte of the frame of counts from which on those stand that are sent.
const SENT_COUNTS: u64 = 2048;

/// Physical address of slot `number` for what `sender` sends here.
pub(super) fn inbox(sender: u32, number: u64) -> u64 {
    own_frame(sender.into()) + number % SLOTS * SLOT
}
/// Physical address of the slot out of which it is sent to `receiver`.
fn outbox(receiver: u32, number: u64) -> u64 {
    own_frame(OUTBOXES + u64::from(receiver)) + number % SLOTS * SLOT
}
/// Physical address of the count of records that `receiver` has taken of this node's.
pub(super) fn taken_by(receiver: u32) -> u64 {
    own_frame(COUNTS) + WORD * u64::from(receiver)
}
/// Physical address out of which the count for `sender` is sent.
fn count_for(sender: u32) -> u64 {
    taken_by(sender) + SENT_COUNTS
}

/// True if `source`'s records come to that address.
pub(super) fn is_inbox(source: u32, addr: u64) -> bool {
    (inbox(source, 0)..inbox(source, 0) + SLOTS * SLOT).contains(&addr)
}

/// Some bytes of a word at the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    /// Physical address of the first.
    pub addr: u64,
    /// 1 to 7.
    pub bytes: u64,
    /// They, lowest byte first.
    pub data: u64,
}

impl Part {
    /// As two words: the address with the number of bytes above it, and the bytes.
    fn words(&self) -> [u64; 2] {
        [self.bytes << 32 | self.addr, self.data]
    }
    fn parse([place, data]: [u64; 2]) -> Part {
        Part { addr: place & 0xFFFF_FFFF, bytes: (place >> 32).min(WORD - 1), data }
    }
}

/// Record of a write's head and tail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    /// Two at most; none: it only asks.
    pub parts: Vec<Part>,
    /// The count that says that it was taken is to come with an interrupt.
    pub asks: bool,
}

/// Bits of a record's last word below its number, which begins with 1.
const PARTS_MASK: u64 = 3;
const ASKS: u64 = 4;
const NUMBER_SHIFT: u32 = 3;

impl Record {
    /// Puts record `number` of `sender` into its slot for `receiver`: where it is read, where it goes, and
    /// its words.
    pub fn put(&self, memory: &SharedMemory, sender: u32, receiver: u32, number: u64) -> Way {
        let words = 2 * self.parts.len() as u64 + 1;
        let first = LAST - (words - 1) * WORD;
        let from = outbox(receiver, number);
        let asks = if self.asks { ASKS } else { 0 };
        let last = (number + 1) << NUMBER_SHIFT | asks | self.parts.len() as u64;
        let all = self.parts.iter().flat_map(Part::words).chain([last]);
        for (at, word) in (first..).step_by(WORD as usize).zip(all) {
            set_word(memory, from + at, word);
        }
        Way { from: from + first, to: inbox(sender, number) + first, words: words as u16 }
    }

    /// Record `number` of `sender`, if it has come. Its last word comes last.
    fn take(memory: &SharedMemory, sender: u32, number: u64) -> Option<Record> {
        let slot = inbox(sender, number);
        let last = word(memory, slot + LAST);
        if last >> NUMBER_SHIFT != number + 1 {
            return None;
        }
        let count = (last & PARTS_MASK).min(2);
        let part = |place| {
            let at = slot + LAST - (2 * count - 2 * place) * WORD;
            Part::parse([word(memory, at), word(memory, at + WORD)])
        };
        Some(Record { parts: (0..count).map(part).collect(), asks: last & ASKS != 0 })
    }
}

/// Way of words through the card: physical addresses here and there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    pub from: u64,
    pub to: u64,
    pub words: u16,
}

/// The module's side of records.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    /// A process has memory into which records may ask for stores.
    pub serves: Cell<bool>,
    /// Of each sender: records taken, and those of which it knows.
    taken: [Cell<u64>; NODES_MAX as usize],
    told: [Cell<u64>; NODES_MAX as usize],
    asked: [Cell<bool>; NODES_MAX as usize],
    /// Nodes that were asked for an interrupt here, and the counts that they will tell with it.
    pub awaited: RefCell<Vec<(u32, u64)>>,
}

impl Inbox {
    /// The oldest of those that have told it.
    pub fn event(&self, memory: &SharedMemory) -> Option<(u32, u64)> {
        let mut awaited = self.awaited.borrow_mut();
        let told = |(node, count): &(u32, u64)| word(memory, taken_by(*node)) >= *count;
        let first = awaited.iter().position(told)?;
        Some(awaited.remove(first))
    }
}

/// Cuts a write to byte `to` of memory: bytes before its first whole word, those in whole words, and those
/// behind.
pub(super) fn cut(to: u64, bytes: u64) -> [Range<u64>; 3] {
    let head = (WORD - to % WORD) % WORD;
    let head = if head + WORD > bytes { head.min(bytes) } else { head };
    let whole = head + (bytes - head) / WORD * WORD;
    [0..head, head..whole, whole..bytes]
}

impl Module {
    /// Takes the records that have come, in the handler; true if there were some.
    pub(super) fn take_records(&self, cpu: &Cpu, entered: des::Time) -> bool {
        if !self.inbox.serves.get() {
            return false;
        }
        let mut some = false;
        for sender in (0..self.nodes()).filter(|sender| *sender != self.nid) {
            let (at, inbox) = (sender as usize, &self.inbox);
            loop {
                cpu.spend(self.costs.doorbell);
                let Some(record) = Record::take(cpu.memory(), sender, inbox.taken[at].get()) else {
                    break;
                };
                record.parts.iter().for_each(|part| self.store_part(cpu, part));
                self.trail.drains(Drain { entered, now: cpu.now(), source: sender }, false, 1);
                add(&inbox.taken[at], 1);
                inbox.asked[at].set(inbox.asked[at].get() || record.asks);
                some = true;
            }
        }
        self.tell_taken(cpu);
        some
    }

    /// Looks, in the handler, at the counts for which a process may sleep; true if one is there.
    pub(super) fn looks_at_counts(&self, cpu: &Cpu) -> bool {
        let awaited = self.inbox.awaited.borrow().clone();
        let there = |(node, count): &(u32, u64)| {
            cpu.spend(self.costs.doorbell);
            word(cpu.memory(), taken_by(*node)) >= *count
        };
        awaited.iter().filter(|one| there(one)).count() > 0
    }

    /// Stores bytes for the card: a process that looks for them sees them.
    fn store_part(&self, cpu: &Cpu, part: &Part) {
        cpu.spend(cpu.copy_cost(part.bytes));
        let bytes = part.data.to_le_bytes();
        let memory = cpu.memory();
        // Where a program has unmapped what it registered nobody sees them.
        let _ = memory.borrow_mut().write_phys(part.addr, &bytes[..part.bytes as usize]);
        if self.watch.sees(part.addr - part.addr % WORD) {
            self.tally.wake();
        }
        add(&self.tally.parts, 1);
    }

    /// True if a sender waits for a count.
    pub(super) fn owes_counts(&self) -> bool {
        let Inbox { taken, told, .. } = &self.inbox;
        taken.iter().zip(told).any(|(taken, told)| taken != told)
    }

    /// Tells senders how many records were taken, unless a process is about to store a descriptor: it calls
    /// again when it has.
    pub(super) fn tell_taken(&self, cpu: &Cpu) {
        if self.queue.is_claimed() || !self.owes_counts() {
            return;
        }
        let Inbox { taken, told, asked, .. } = &self.inbox;
        for sender in 0..self.nodes() {
            let at = sender as usize;
            let count = taken[at].get();
            if told[at].replace(count) == count {
                continue;
            }
            let flags = if asked[at].take() { control::INTERRUPT } else { 0 };
            set_word(cpu.memory(), count_for(sender), count);
            let way = Way { from: count_for(sender), to: taken_by(self.nid), words: 1 };
            self.post_own(cpu, way, sender, flags);
        }
        self.queue.flush(cpu);
    }

    /// Posts a descriptor of the module's own: a message of one packet.
    fn post_own(&self, cpu: &Cpu, way: Way, to: u32, flags: u32) {
        cpu.spend(self.costs.post);
        let target = u32::try_from(way.to).expect("the module's frames lie below 4 GB");
        let bytes = WORD * u64::from(way.words);
        let id = self.trail.begins_in_module(cpu.now(), to, bytes);
        self.tally.posts(Posting {
            from: way.from,
            words: way.words,
            flow: to as u8,
            to: target,
            notify: false,
            interrupt: flags & control::INTERRUPT != 0,
        });
        self.trail.posts(cpu.now(), Piece::whole(id, to));
        let descriptor = Descriptor {
            source_lo: way.from as u32,
            source_hi: 0,
            destination: target,
            control: u32::from(way.words) | flags | to << control::FLOW_SHIFT,
        };
        self.queue.store(cpu, &descriptor);
        self.trail.hands_over(cpu.now(), id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_is_cut_at_words_of_the_receiver() {
        for to in 0..24 {
            for bytes in 1..40 {
                let [head, whole, tail] = cut(to, bytes);
                assert_eq!((head.start, head.end), (0, whole.start));
                assert_eq!((whole.end, tail.end), (tail.start, bytes));
                assert!(head.end < WORD && tail.end - tail.start < WORD);
                // Neither crosses the border of a word, and what could be whole words is.
                let within = |part: &Range<u64>| {
                    part.is_empty() || (to + part.start) / WORD == (to + part.end - 1) / WORD
                };
                assert!(within(&head) && within(&tail), "{to} {bytes}");
                assert_eq!((whole.end - whole.start) % WORD, 0);
                if !whole.is_empty() {
                    assert_eq!((to + whole.start) % WORD, 0);
                }
                let wholes = (to + bytes) / WORD - to.div_ceil(WORD).min((to + bytes) / WORD);
                assert_eq!((whole.end - whole.start) / WORD, wholes, "{to} {bytes}");
            }
        }
    }

    #[test]
    fn boxes_do_not_overlap() {
        let counts = taken_by(0)..taken_by(NODES_MAX);
        for node in 0..NODES_MAX {
            assert!(is_inbox(node, inbox(node, SLOTS - 1) + LAST));
            assert!(!is_inbox(node, outbox(node, 0)) && !is_inbox(node, taken_by(node)));
            assert!(!counts.contains(&count_for(node)) && count_for(node) % WORD == 0);
            assert_eq!(inbox(node, 0), inbox(node, SLOTS));
        }
    }
}

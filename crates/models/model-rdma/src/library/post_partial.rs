//! Writes of verbs, of any length between any addresses.

use super::super::partial::{cut, taken_by, Part, Record, Way, SLOTS, WORD};
use super::*;
use des::Duration;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;

/// Source of a write.
#[derive(Debug)]
pub enum Source {
    /// Registered memory, from its first byte on.
    Registered(Buffer),
    /// Bytes that were taken when the write was posted.
    Taken(Vec<u8>),
}

/// State of writes that are no whole words.
#[derive(Debug, Default)]
pub(super) struct Partial {
    /// Records sent to each node.
    sent: RefCell<BTreeMap<u32, u64>>,
    /// Pages in which bytes get the place in their words that they have at the receiver, one for each
    /// transfer under way, once there are any; and how many were used so far.
    pages: Cell<Option<Buffer>>,
    used: Cell<u64>,
}

impl Library {
    /// Writes whole words, for verbs; how many descriptors are over when it is. The last one asks for a
    /// notification if somebody waits for that.
    pub fn post_write(&self, from: Buffer, to: Buffer, bytes: u64, signalled: bool) -> u64 {
        let last = if signalled { control::NOTIFY } else { 0 };
        self.in_call(function::POST_SEND, || {
            self.settle(to.nid, 0);
            self.post_all(from, to, bytes, Awaited::No, last);
            self.flush();
        });
        self.posted.get()
    }

    /// The same for bytes that are no whole words, or stand in another place of their words than they will.
    /// `None`: there are too few pages to pin.
    pub fn post_partial(
        &self,
        from: &Source,
        to: Buffer,
        bytes: u64,
        signalled: bool,
    ) -> Option<u64> {
        let [head, whole, tail] = cut(to.phys(0), bytes);
        let aligned = |own: &Buffer| own.offset % WORD == to.offset % WORD;
        let direct = match from {
            Source::Registered(own) if aligned(own) => Some(*own),
            _ => None,
        };
        if direct.is_none() && !whole.is_empty() && !self.has_pages() {
            return None;
        }
        let last = if signalled { control::NOTIFY } else { 0 };
        self.in_call(function::POST_SEND, || {
            let parts: Vec<Range<u64>> =
                [head, tail].into_iter().filter(|r| !r.is_empty()).collect();
            // Stores of the peer's processor and writes of its card keep no order between them.
            self.settle(to.nid, if whole.is_empty() { SLOTS - 1 } else { 0 });
            let segments = self.shifted(direct, to, &whole);
            let packets = segments.len() as u32 + u32::from(!parts.is_empty());
            let message = self.begins(to.nid, bytes, packets, !parts.is_empty());
            for (place, (at, segment)) in (0..).zip(segments) {
                if direct.is_none() {
                    self.shift(from, at, &segment);
                }
                let flags = if place + 1 == packets { last } else { 0 };
                self.post(message, place, segment, flags);
            }
            if !parts.is_empty() {
                let record = Record { parts: self.parts(from, to, &parts), asks: false };
                self.post_record(message, packets - 1, &record, last);
            }
            self.flush();
        });
        Some(self.posted.get())
    }

    /// Asks a node's module for an interrupt here, behind all that was posted to it: how many of this node's
    /// records it has taken then.
    pub fn ask(&self, node: u32) -> u64 {
        self.in_call(function::REQ_NOTIFY_CQ, || {
            self.settle(node, SLOTS - 1);
            let message = self.begins(node, WORD, 1, true);
            let record = Record { parts: Vec::new(), asks: true };
            self.post_record(message, 0, &record, 0);
            self.flush();
        });
        let count = self.partial.sent.borrow()[&node];
        self.module.inbox.awaited.borrow_mut().push((node, count));
        count
    }

    /// Sleeps in the kernel until an interrupt has told that a node has taken so many records, or for
    /// `limit`; the node, and the number that was waited for.
    pub fn await_event(&self, limit: Duration) -> Option<(u32, u64)> {
        let deadline = Time(self.cpu.now().0.saturating_add(limit.0));
        self.in_call(function::GET_CQ_EVENT, || loop {
            let ready = self.cpu.kernel(|| self.module.event(&self.cpu));
            if ready.is_some() || self.cpu.now() >= deadline {
                self.module.wakes_nobody();
                return ready;
            }
            self.cpu.wait_until(Duration(1), deadline);
        })
    }

    /// Waits until at most so many records are under way to a node.
    fn settle(&self, node: u32, most: u64) {
        let sent = self.partial.sent.borrow().get(&node).copied().unwrap_or_default();
        let addr = taken_by(node);
        if sent - word(self.cpu.memory(), addr) > most {
            self.flush();
            self.poll(addr, |taken| sent - taken <= most);
            self.calls.awaited_interface(self.cpu.now());
        }
    }

    fn has_pages(&self) -> bool {
        let count = self.module.costs.handles + 1;
        if self.partial.pages.get().is_none() && count <= self.free_pages() {
            self.partial.pages.set(Some(self.register(0, count * PAGE)));
        }
        self.partial.pages.get().is_some()
    }

    /// The pieces of a range of a write, with the byte of the write at which each begins. Without a source
    /// that the card can read each comes from a page of its own.
    fn shifted(
        &self,
        direct: Option<Buffer>,
        to: Buffer,
        whole: &Range<u64>,
    ) -> Vec<(u64, Segment)> {
        let behind = |buffer: Buffer| Buffer { offset: buffer.offset + whole.start, ..buffer };
        let (target, bytes) = (behind(to), whole.end - whole.start);
        let mut at = whole.start;
        let mut place = |segment: Segment| {
            let begins = at;
            at += WORD * u64::from(segment.words);
            (begins, segment)
        };
        if let Some(own) = direct {
            return segments(behind(own), target, bytes).map(place).collect();
        }
        let Some(pages) = self.partial.pages.get() else { return Vec::new() };
        let in_page = target.phys(0) % PAGE;
        let same = Buffer { offset: in_page, ..pages };
        let count = self.module.costs.handles + 1;
        let turned = |(begins, segment): (u64, Segment)| {
            // Any page will do that no transfer under way is read from.
            let page = self.partial.used.replace(self.partial.used.get() + 1) % count;
            let from = pages.page_at(page) + u64::from(segment.to) % PAGE;
            (begins, Segment { from, ..segment })
        };
        segments(same, target, bytes).map(|segment| turned(place(segment))).collect()
    }

    /// Copies the bytes of a piece to where the card reads them.
    fn shift(&self, from: &Source, at: u64, segment: &Segment) {
        // Its page may be that of the transfer before all that may be under way.
        while self.posted.get() - self.freed.get() >= self.module.costs.handles {
            self.reclaim();
        }
        let bytes = WORD * u64::from(segment.words);
        self.cpu.spend(self.cpu.copy_cost(bytes));
        let data = self.bytes_of(from, at, bytes);
        let written = self.cpu.memory().borrow_mut().write_phys(segment.from, &data);
        written.expect("it is a pinned page");
    }

    fn bytes_of(&self, from: &Source, at: u64, bytes: u64) -> Vec<u8> {
        let own = match from {
            Source::Taken(data) => return data[at as usize..(at + bytes) as usize].to_vec(),
            Source::Registered(own) => own,
        };
        let mut data = vec![0; bytes as usize];
        let mut done = 0;
        while done < bytes {
            let phys = own.phys(at + done);
            let more = (PAGE - phys % PAGE).min(bytes - done);
            let piece = &mut data[done as usize..(done + more) as usize];
            // Zeroes, where a program has unmapped what it registered.
            let _ = self.cpu.memory().borrow_mut().read_phys(phys, piece);
            done += more;
        }
        data
    }

    fn parts(&self, from: &Source, to: Buffer, ranges: &[Range<u64>]) -> Vec<Part> {
        let part = |range: &Range<u64>| {
            let bytes = range.end - range.start;
            self.cpu.spend(self.cpu.copy_cost(bytes));
            let mut word = [0; 8];
            word[..bytes as usize].copy_from_slice(&self.bytes_of(from, range.start, bytes));
            Part { addr: to.phys(range.start), bytes, data: u64::from_le_bytes(word) }
        };
        ranges.iter().map(part).collect()
    }

    /// Sends a record, as packet `place` of a message, to its node's module, with an interrupt there.
    fn post_record(&self, message: Message, place: u32, record: &Record, flags: u32) {
        let node = message.to;
        let number = {
            let mut sent = self.partial.sent.borrow_mut();
            let sent = sent.entry(node).or_default();
            *sent += 1;
            *sent - 1
        };
        let Way { from, to, words } = record.put(self.cpu.memory(), self.nid, node, number);
        let to = u32::try_from(to).expect("the module's frames lie below 4 GB");
        let segment = Segment { from, to, destination: to, words };
        self.post(message, place, segment, flags | control::INTERRUPT);
    }
}

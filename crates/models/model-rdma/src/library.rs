//! The host library: remote writes of any length between registered buffers, out of descriptors of the card.

use super::mapped::MappedQueue;
use super::memory::{frame, set_word, word, PAGE};
use super::module::{doorbell, pages, Module};
use super::tally::{add, Posting};
use crate::message_path::DEPOSITED;
use abi::forth::{control, Descriptor, QUEUE_SIZE, WORDS_MAX};
use abi::MessageId;
use des::{Duration, Time};
use host::Cpu;
use machine::instruments::calls::{Calls, Function};
use machine::instruments::message_trace::Waypoint;
use machine::instruments::stages::Piece;
use pci::node::REGION;
use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;

mod post_partial;
mod request;
mod window;
pub(super) use post_partial::Source;
pub(super) use request::Queued;

/// A buffer of pinned pages on a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffer {
    pub nid: u32,
    /// Number of its first page.
    pub page: u64,
    /// Bytes from there to its first.
    pub offset: u64,
    /// Binding of its first page, if another node's card may be asked to write to it by handles only.
    pub binding: Option<u32>,
}

impl Buffer {
    /// Physical address of byte `at`.
    pub fn phys(&self, at: u64) -> u64 {
        let at = self.offset + at;
        frame(self.nid, self.page + at / PAGE) + at % PAGE
    }
    /// Physical address of one of its pages.
    pub fn page_at(&self, number: u64) -> u64 {
        frame(self.nid, self.page + number)
    }
    /// Destination of byte `at` in a descriptor.
    fn destination(&self, at: u64) -> u64 {
        let place = self.offset + at;
        let handle = |binding| (u64::from(binding) + place / PAGE) * PAGE + place % PAGE;
        self.binding.map_or(self.phys(at), handle)
    }
    /// Bytes from byte `at` to the end of its page.
    fn to_border(self, at: u64) -> u64 {
        PAGE - (self.offset + at) % PAGE
    }
}

/// A message that is posted for another node.
#[derive(Clone, Copy, Debug)]
struct Message {
    id: MessageId,
    to: u32,
    packets: u32,
}

/// A remote write of one descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    from: u64,
    /// Physical address at the receiver, and what the descriptor has for it.
    to: u32,
    destination: u32,
    words: u16,
}

/// The pieces of `bytes` from `from` to `to`: none longer than a descriptor may ask for, none across the
/// border of a page on either side.
fn segments(from: Buffer, to: Buffer, bytes: u64) -> impl Iterator<Item = Segment> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = bytes - at;
        if rest == 0 {
            return None;
        }
        let most = (u64::from(WORDS_MAX) * 8).min(from.to_border(at)).min(to.to_border(at));
        let length = rest.min(most);
        let low = |addr| u32::try_from(addr).expect("pinned pages lie below 4 GB");
        let (target, destination) = (low(to.phys(at)), low(to.destination(at)));
        let words = (length / 8) as u16;
        let segment = Segment { from: from.phys(at), to: target, destination, words };
        at += length;
        Some(segment)
    })
}

/// Its functions.
mod function {
    use machine::instruments::calls::Function;
    pub const WRITE: Function = (0, "rdma_write");
    pub const BEGIN: Function = (1, "rdma_begin");
    pub const FENCE: Function = (2, "rdma_fence");
    pub const RING: Function = (3, "rdma_ring");
    pub const WAIT: Function = (4, "rdma_wait");
    pub const SLEEP: Function = (5, "rdma_sleep");
    pub const FINISH: Function = (6, "rdma_finish");
    pub const POST_SEND: Function = (7, "ibv_post_send");
    pub const POLL_CQ: Function = (8, "ibv_poll_cq");
    pub const LOOK: Function = (9, "a look at registered memory");
    pub const LOAD: Function = (10, "a load from the card");
    pub const STORE: Function = (11, "a store to the card");
    pub const GET_CQ_EVENT: Function = (12, "ibv_get_cq_event");
    pub const REQ_NOTIFY_CQ: Function = (13, "ibv_req_notify_cq");
    pub const DISK: [Function; 5] = [
        (14, "disk_read"),
        (15, "disk_write"),
        (16, "disk_flush"),
        (17, "disk_zero"),
        (18, "disk_end"),
    ];
}

/// Receiver that waits at the other end for what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaited {
    /// Nobody: it is over when it is in memory.
    No,
    /// A process, which looks for it.
    ByProcess,
}

/// The library in a process.
pub(super) struct Library {
    cpu: Cpu,
    nid: u32,
    module: Rc<Module>,
    calls: Rc<Calls>,
    /// The program is in a function of it.
    inside: Cell<bool>,
    /// Descriptors posted, and those whose handles are free again.
    posted: Cell<u64>,
    freed: Cell<u64>,
    /// Descriptors that asked for a notification, by their number, oldest first.
    asked: std::cell::RefCell<VecDeque<u64>>,
    notified: Cell<u64>,
    /// Longest wait for a free handle, if what the card takes for good is noticed by someone.
    patience: Cell<Option<Duration>>,
    /// It was longer: the card is stuck, and gets nothing until it has begun anew.
    stuck: Cell<bool>,
    /// Page out of which doorbells are rung: a word for each ring under way.
    bells: u64,
    rings: Cell<u64>,
    /// The request queue, once it is a program's.
    mapped: std::cell::RefCell<Option<MappedQueue>>,
    partial: post_partial::Partial,
}

impl Library {
    /// In a process of node `nid`.
    pub fn new(cpu: &Cpu, nid: u32, module: Rc<Module>, calls: Rc<Calls>) -> Library {
        let bells = module.pin(cpu, 1);
        Library {
            cpu: cpu.clone(),
            nid,
            module,
            calls,
            inside: Cell::new(false),
            posted: Cell::new(0),
            freed: Cell::new(0),
            asked: Default::default(),
            notified: Cell::new(0),
            patience: Cell::default(),
            stuck: Cell::default(),
            bells,
            rings: Cell::new(0),
            mapped: Default::default(),
            partial: Default::default(),
        }
    }

    /// Registers a buffer of `bytes` that begins `offset` bytes behind the border of a page.
    pub fn register(&self, offset: u64, bytes: u64) -> Buffer {
        let page = self.module.pin(&self.cpu, pages(offset + bytes));
        Buffer { nid: self.nid, page, offset, binding: None }
    }

    /// Prepares for writes of `bytes` into a buffer of another node's.
    pub fn bind(&self, buffer: Buffer, bytes: u64) -> Buffer {
        let range = buffer.page..buffer.page + pages(buffer.offset + bytes);
        Buffer { binding: self.module.bind(&self.cpu, buffer.nid, range), ..buffer }
    }

    /// Writes `bytes` of a buffer here into one on another node.
    pub fn write(&self, from: Buffer, to: Buffer, bytes: u64, awaited: Awaited) {
        self.in_call(function::WRITE, || {
            self.post_all(from, to, bytes, awaited, 0);
            self.flush();
        });
    }

    /// The same, but what does not fill a buffer of write combining stays there until the fence.
    pub fn begin(&self, from: Buffer, to: Buffer, bytes: u64, awaited: Awaited) {
        self.in_call(function::BEGIN, || self.post_all(from, to, bytes, awaited, 0));
    }

    /// Number of descriptors that have completed, according to the word in memory; waits until it exceeds
    /// `beyond`, if that is given.
    pub fn over(&self, beyond: Option<u64>) -> u64 {
        self.in_call(function::POLL_CQ, || {
            if beyond.is_some_and(|known| known == self.freed.get() && known < self.posted.get()) {
                let known = self.notified.get();
                self.poll(self.module.notify_addr(), |count| count != known);
            }
            self.look_at_notifications();
        });
        self.freed.get()
    }

    /// Waits until the word at physical address `addr` is another.
    pub fn look(&self, addr: u64) {
        let before = word(self.cpu.memory(), addr);
        self.in_call(function::LOOK, || self.poll(addr, |now| now != before));
    }

    /// The driver.
    pub fn module(&self) -> &Rc<Module> {
        &self.module
    }
    /// Pages that can still be pinned.
    pub fn free_pages(&self) -> u64 {
        self.module.free_pages()
    }

    /// Posts a message, with flags of its last packet.
    fn post_all(&self, from: Buffer, to: Buffer, bytes: u64, awaited: Awaited, last: u32) {
        let packets = segments(from, to, bytes).count() as u32;
        let message = self.begins(to.nid, bytes, packets, awaited == Awaited::ByProcess);
        for (place, segment) in (0..).zip(segments(from, to, bytes)) {
            let flags = if place + 1 == packets { last } else { 0 };
            self.post(message, place, segment, flags);
        }
    }

    /// Tells of a message for another node.
    fn begins(&self, to: u32, bytes: u64, packets: u32, awaited: bool) -> Message {
        let trail = &self.module.trail;
        let id = trail.name();
        self.calls.sends(self.cpu.now(), id, to, bytes);
        trail.begins(id, packets, awaited);
        Message { id, to, packets }
    }

    /// The program calls a function.
    fn in_call<R>(&self, function: Function, does: impl FnOnce() -> R) -> R {
        if self.inside.replace(true) {
            return does(); // The function is another's, which tells of itself.
        }
        self.calls.enters(self.cpu.now(), function);
        let done = does();
        self.calls.returns(self.cpu.now());
        self.inside.set(false);
        done
    }

    /// The account of this host's bus begins anew.
    pub fn count_anew(&self) {
        self.module.tally.counts_anew.set(true);
    }

    /// Rings this sender's doorbell on another node, behind all that was written there: an interrupt.
    pub fn ring(&self, to: u32, count: u64) {
        let place = self.rings.get() % (PAGE / 8);
        add(&self.rings, 1);
        let from = frame(self.nid, self.bells) + 8 * place;
        set_word(self.cpu.memory(), from, count);
        let at = doorbell(to, self.nid);
        let target = u32::try_from(at).expect("pinned pages lie below 4 GB");
        let handle = |binding| binding * PAGE as u32 + (at % PAGE) as u32;
        let destination = self.module.doorbells(to).map_or(target, handle);
        self.in_call(function::RING, || {
            let message = self.begins(to, 8, 1, true);
            let segment = Segment { from, to: target, destination, words: 1 };
            self.post(message, 0, segment, control::INTERRUPT);
            self.flush();
        });
    }

    /// Posts the descriptor of packet `place` of a message.
    fn post(&self, message: Message, place: u32, segment: Segment, flags: u32) {
        let Message { id, to, packets } = message;
        let costs = self.module.costs;
        let (handles, every) = self.limits();
        while self.posted.get() - self.freed.get() >= handles && !self.stuck.get() {
            self.reclaim();
        }
        if self.stuck.get() {
            return self.module.trail.gives_up(id);
        }
        self.cpu.spend(costs.post);
        let number = self.posted.get();
        self.posted.set(number + 1);
        let notify = (number + 1) % every == 0 || flags & control::NOTIFY != 0;
        if notify {
            self.asked.borrow_mut().push_back(number);
        }
        let flags = flags | if notify { control::NOTIFY } else { 0 };
        let queue = &self.module.queue;
        queue.claim(true);
        self.module.trail.posts(self.cpu.now(), Piece::split(id, place, packets, to));
        self.module.tally.posts(Posting {
            from: segment.from,
            words: segment.words,
            flow: to as u8,
            to: segment.to,
            notify,
            interrupt: flags & control::INTERRUPT != 0,
        });
        let descriptor = Descriptor {
            source_lo: segment.from as u32,
            source_hi: (segment.from >> 32) as u32,
            destination: segment.destination,
            control: u32::from(segment.words) | flags | to << control::FLOW_SHIFT,
        };
        queue.store(&self.cpu, &descriptor);
        queue.claim(false);
        self.calls.handed_over(self.cpu.now(), id);
        if self.module.owes_counts() {
            self.cpu.kernel(|| self.module.tell_taken(&self.cpu));
        }
    }

    /// Posts a descriptor that is no message's, past handles and trail: for who looks at the card itself.
    pub fn post_raw(&self, descriptor: &Descriptor) {
        self.cpu.spend(self.module.costs.post);
        self.module.queue.store(&self.cpu, descriptor);
        self.flush();
    }

    /// Sends out of the processor what was posted.
    pub fn fence(&self) {
        self.in_call(function::FENCE, || {
            self.leave();
            self.flush();
        });
    }

    fn flush(&self) {
        self.module.queue.flush(&self.cpu);
    }

    /// Frees the handles of what the card has notified of, as far as the word in memory tells; waits for it
    /// if nothing is new.
    fn reclaim(&self) {
        add(&self.module.tally.stalls, 1);
        self.flush();
        let addr = self.module.notify_addr();
        let known = self.notified.get();
        let until = self.patience.get().map_or(Time::NEVER, |most| self.cpu.now() + most);
        if !self.poll_until(addr, |count| count != known, until) {
            return self.stuck.set(true);
        }
        self.calls.awaited_interface(self.cpu.now());
        self.look_at_notifications();
    }

    /// A look at the word of notifications.
    fn look_at_notifications(&self) {
        self.cpu.spend(self.module.costs.reclaim);
        let count = word(self.cpu.memory(), self.module.notify_addr());
        let mut asked = self.asked.borrow_mut();
        for _ in self.notified.get()..count {
            let Some(number) = asked.pop_front() else {
                self.cpu.fault(format_args!("the card notifies of {count} transfers, too many"));
            };
            add(&self.module.tally.reclaimed, number + 1 - self.freed.get());
            self.freed.set(number + 1);
        }
        self.notified.set(count);
        if let Err(why) = self.module.tally.notified(self.nid as u8, count) {
            self.cpu.fault(why);
        }
    }

    /// Waits for the last notifications: the process ends.
    pub fn finish(&self) {
        self.in_call(function::FINISH, || {
            while !self.asked.borrow().is_empty() && !self.stuck.get() {
                self.reclaim();
            }
        });
    }

    /// Waits until the word at physical address `addr`, which a message from node `from` writes, is as
    /// wanted.
    pub fn wait(&self, from: u32, addr: u64, wanted: impl Fn(u64) -> bool) {
        let taken = self.in_call(function::WAIT, || {
            self.poll(addr, wanted);
            let message = self.module.trail.found(self.cpu.now(), from);
            self.takes(message, DEPOSITED)
        });
        self.ends(taken);
    }

    fn takes(&self, message: Option<MessageId>, posted: Waypoint) -> Option<MessageId> {
        let message = message?;
        self.calls.takes(self.cpu.now(), message, posted);
        Some(message)
    }
    fn ends(&self, taken: Option<MessageId>) {
        if let Some(message) = taken {
            self.calls.ends(self.cpu.now(), message);
        }
    }

    /// Spins until the word at physical address `addr` is as wanted.
    fn poll(&self, addr: u64, wanted: impl Fn(u64) -> bool) {
        self.poll_until(addr, wanted, Time::NEVER);
    }
    /// The same, until a time at most; true if it is as wanted.
    fn poll_until(&self, addr: u64, wanted: impl Fn(u64) -> bool, until: Time) -> bool {
        self.module.watch.set(addr..addr + 8);
        self.module.tally.polls(Some(self.cpu.waker()));
        let mut there = wanted(word(self.cpu.memory(), addr));
        while !there && self.cpu.now() < until {
            self.cpu.wait_until(self.cpu.costs().poll_period, until);
            there = wanted(word(self.cpu.memory(), addr));
        }
        self.module.watch.clear();
        self.module.tally.polls(None);
        there
    }

    /// Sleeps until `done` of the counts that senders have rung with.
    pub fn sleep(&self, done: impl Fn(&[u64]) -> bool) {
        self.sleep_for(done, Time::NEVER);
    }
    /// The same, until a time at most; true if `done`.
    pub fn sleep_for(&self, done: impl Fn(&[u64]) -> bool, until: Time) -> bool {
        let (ready, taken) = self.in_call(function::SLEEP, || {
            let ready = self.module.sleep(&self.cpu, done, until);
            (ready, self.takes(self.module.trail.woken(), Waypoint::COMPLETION_DRAINED))
        });
        self.ends(taken);
        ready
    }
    /// Time at which a sender has first rung.
    pub fn first_ring(&self, sender: u32) -> Time {
        self.module.first_ring(sender).expect("it has slept until then")
    }
    /// The processor.
    pub fn cpu(&self) -> &Cpu {
        &self.cpu
    }
    /// Payload words that came from each node.
    pub fn words_from(&self) -> Vec<u64> {
        self.module.tally.words_from.borrow().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_end_at_the_borders_of_both_sides() {
        let buffer =
            |nid, offset| Buffer { nid, page: 5, offset, binding: (nid == 1).then_some(9) };
        for (from, to, bytes, count) in [
            (0, 0, 8, 1),
            (0, 0, 4096, 1),
            (0, 0, 4104, 2),
            (8, 0, 4096, 2),
            (8, 16, 4096, 3),
            (4088, 4088, 16, 2),
            (2048, 1024, 8192, 5),
        ] {
            let (from, to) = (buffer(0, from), buffer(1, to));
            let all: Vec<Segment> = segments(from, to, bytes).collect();
            assert_eq!(all.len(), count, "{from:?} {to:?} {bytes}");
            let mut at = 0;
            for segment in all {
                let length = 8 * u64::from(segment.words);
                assert_eq!(segment.from, from.phys(at));
                assert_eq!(u64::from(segment.to), to.phys(at));
                // Bindings follow one another as pages do.
                assert_eq!(u64::from(segment.destination), 9 * PAGE + to.offset + at);
                for end in [segment.from, segment.to.into()].map(|start| start + length - 1) {
                    assert!(end / PAGE == (end + 1 - length) / PAGE && length <= 4096);
                }
                at += length;
            }
            assert_eq!(at, bytes);
        }
    }
}

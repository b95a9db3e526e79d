//! The event rings of a node's accelerated processes, for who carries the firmware's stores.

use super::told::{announces, Memory, Search, Seen};
use super::Accelerated;
use crate::kernel::Kernel;
use abi::seastar::{
    event_line, EventLine, PortalsHeader, CAM_ENTRIES, RX_HEADER_BASE, RX_HEADER_SIZE,
};
use des::Time;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::{Rc, Weak};

const LINE: u64 = EventLine::SIZE as u64;
/// Offset, in a header, of the last of the match bits.
const BITS: u64 = abi::seastar::portals_header::MATCH_BITS as u64 + 4;

/// An event ring: where it is in host memory, and where the processor sees it.
struct Ring {
    user: Rc<Accelerated>,
    phys: Range<u64>,
    local: Range<u64>,
}

/// The processor's work on the header of a message.
#[derive(Clone, Copy)]
struct Work {
    /// The header's local-bus address.
    header: u64,
    /// The processor has its match bits.
    since: Time,
    /// It stores the first word of what it has found: it has searched the match list.
    until: Option<Time>,
}

/// The accelerated processes of a node.
#[derive(Default)]
pub struct Rings {
    kernel: OnceCell<Weak<Kernel>>,
    all: RefCell<Vec<Ring>>,
    /// Of processes that have left: the place of the next command in the mailbox, and the last serial number
    /// of a message.
    left: RefCell<BTreeMap<u32, (u32, u32)>>,
    /// Acknowledgements that the firmware has sent by itself.
    acks: Cell<u32>,
    /// Bytes that the firmware's stores to processes' memory have overwritten since the last word in a ring,
    /// if there is a judge.
    overwritten: RefCell<Vec<(u64, Vec<u8>)>>,
    /// The message that the processor works on.
    work: Cell<Option<Work>>,
}

impl Rings {
    pub(in crate::nal::seastar) fn join(&self, kernel: &Rc<Kernel>) {
        let _ = self.kernel.set(Rc::downgrade(kernel));
    }
    pub(super) fn add(&self, user: Rc<Accelerated>) {
        let phys = user.driver.region.events();
        let first = u64::from(user.driver.region.events_local());
        let local = first..first + (phys.end - phys.start);
        self.all.borrow_mut().push(Ring { user, phys, local });
    }
    pub(super) fn at(&self, process: u32) -> Option<Rc<Accelerated>> {
        let all = self.all.borrow();
        let ring = all.iter().find(|ring| ring.user.driver.process == process)?;
        Some(ring.user.clone())
    }
    /// The place in a process's mailbox at which it begins, and the serial number behind which it does.
    pub(super) fn begins(&self, process: u32) -> (u32, u32) {
        self.left.borrow().get(&process).copied().unwrap_or_default()
    }
    pub(super) fn remove(&self, process: u32) {
        if let Some(user) = self.at(process) {
            let left = (user.driver.mailbox.next(), user.serial.get());
            self.left.borrow_mut().insert(process, left);
        }
        self.all.borrow_mut().retain(|ring| ring.user.driver.process != process);
    }
    fn kernel(&self) -> Option<Rc<Kernel>> {
        self.kernel.get()?.upgrade()
    }
    fn user(&self, of: impl Fn(&Ring) -> bool) -> Option<Rc<Accelerated>> {
        let all = self.all.borrow();
        Some(all.iter().find(|ring| of(ring))?.user.clone())
    }

    /// True if the processor's stores to local-bus address `addr` go into a ring.
    pub fn holds(&self, addr: u64) -> bool {
        self.all.borrow().iter().any(|ring| ring.local.contains(&addr))
    }

    /// The header whose match bits end in `length` bytes at `addr`, a word or a line, if a message has
    /// brought it there.
    #[inline(always)]
    pub fn header_in(addr: u64, length: usize) -> Option<u64> {
        let first = u64::from(RX_HEADER_BASE);
        let size = u64::from(RX_HEADER_SIZE);
        let at = addr.wrapping_sub(first);
        let bits = BITS.wrapping_sub(at % size) < length as u64;
        (at < u64::from(CAM_ENTRIES) * size && bits).then_some(addr - at % size)
    }

    /// The processor has loaded such bits of `header` at `at`: by lines each time anew, by words as often as
    /// it uses them.
    pub fn loaded(&self, at: Time, header: u64, length: usize) {
        let again = length <= 4 && self.work.get().is_some_and(|work| work.header == header);
        if !again {
            self.work.set(Some(Work { header, since: at, until: None }));
        }
    }

    /// The header of the message that the processor works on.
    pub fn header(&self) -> Option<u64> {
        self.work.get().map(|work| work.header)
    }

    /// The processor stores `word` into a ring, at local-bus address `addr`. `look` reads host memory as it
    /// will be when that is there, and `header` is that of [`Rings::header`].
    pub fn stores(
        &self,
        at: Time,
        addr: u64,
        word: u32,
        header: &PortalsHeader,
        look: &mut dyn FnMut(u64, &mut [u8]),
    ) {
        let slot = self.all.borrow().iter().find_map(|ring| {
            let at = ring.local.contains(&addr).then(|| addr - ring.local.start)?;
            Some((ring.user.clone(), ring.phys.start + (at - at % LINE), (at % LINE) as usize))
        });
        let Some((user, line, offset)) = slot else { return };
        if offset == event_line::ENTRY
            && let Some(work) = self.work.get()
        {
            self.work.set(Some(Work { until: work.until.or(Some(at)), ..work }));
        }
        if offset != event_line::WORD {
            return;
        }
        let mut bytes = [0; EventLine::SIZE];
        look(line, &mut bytes);
        let line = EventLine { word, ..EventLine::parse(&bytes).expect("its size") };
        if let Some(kernel) = self.kernel() {
            if let Some(Work { since, until: Some(until), .. }) = self.work.get() {
                user.searched(&kernel, Search { since, until, stored: at }, &line, header);
            }
            let memory = Memory { look, overwritten: &self.overwritten.borrow() };
            user.posted(&kernel, at, Seen { header: *header, found: line }, &self.acks, memory);
        }
        if announces(word) {
            self.work.set(None);
        }
        self.overwritten.borrow_mut().clear();
    }

    /// The processor stores over these bytes of host memory.
    pub fn overwritten(&self, phys: u64, found: Vec<u8>) {
        self.overwritten.borrow_mut().push((phys, found));
    }

    /// `length` bytes have come into host memory at `phys`: an event, if its word is among them.
    pub fn landed(&self, at: Time, phys: u64, length: usize) {
        let user = self.user(|ring| {
            let word = |at| at % LINE == event_line::WORD as u64;
            ring.phys.contains(&phys)
                && (phys..phys + length as u64).any(|phys| word(phys - ring.phys.start))
        });
        if let (Some(user), Some(kernel)) = (user, self.kernel()) {
            user.landed(&kernel, at);
        }
    }

    /// Posts that the firmware refused, because a message had come before.
    pub fn posts_refused(&self) -> u64 {
        self.kernel().map_or(0, |kernel| kernel.counters().posts_refused)
    }

    /// Receives and sends for which the network interface had no room, so that a library above kept them.
    pub fn kept(&self) -> (u64, u64) {
        let counters = self.kernel().map(|kernel| kernel.counters()).unwrap_or_default();
        (counters.receives_kept, counters.sends_kept)
    }

    /// Atomic operations that the firmware performed, as far as libraries know.
    pub fn atomics(&self) -> u64 {
        self.kernel().map_or(0, |kernel| kernel.counters().nic_atomics)
    }
}

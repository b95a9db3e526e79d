//! The event rings of a node's accelerated processes, for who carries the firmware's stores.

use super::told::{Memory, Search};
use super::Accelerated;
use crate::kernel::Kernel;
use abi::seastar::{PortalsHeader, UpperPending, CAM_ENTRIES, RX_HEADER_BASE, RX_HEADER_SIZE};
use des::Time;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::{Rc, Weak};

const UPPER: u64 = UpperPending::SIZE as u64;
/// Offset of what a search has found: it stands behind the header.
const FOUND: u64 = PortalsHeader::SIZE as u64;

/// An event ring: where it is in host memory, and where the processor sees it.
struct Ring {
    user: Rc<Accelerated>,
    phys: Range<u64>,
    local: Range<u64>,
    /// Upper pendings, as the processor sees them.
    uppers: Range<u64>,
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
    /// The time of the processor's load of the last word of a header, and that of its store of the first
    /// word of what it found: it has searched the match list in between.
    loaded: Cell<Time>,
    searched: Cell<Option<Time>>,
}

impl Rings {
    pub(in crate::nal::seastar) fn join(&self, kernel: &Rc<Kernel>) {
        let _ = self.kernel.set(Rc::downgrade(kernel));
    }
    pub(super) fn add(&self, user: Rc<Accelerated>) {
        let phys = user.driver.region.events();
        let first = u64::from(user.driver.region.events_local());
        let local = first..first + (phys.end - phys.start);
        let first = u64::from(user.driver.region.pendings_local());
        let uppers = first..first + u64::from(user.driver.pendings()) * UPPER;
        self.all.borrow_mut().push(Ring { user, phys, local, uppers });
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

    /// True if `length` bytes at `addr`, a word or a line, have the last word of a header that a message has
    /// brought.
    #[inline(always)]
    pub fn ends_header(addr: u64, length: usize) -> bool {
        let first = u64::from(RX_HEADER_BASE);
        let size = u64::from(RX_HEADER_SIZE);
        addr.wrapping_sub(first) < u64::from(CAM_ENTRIES) * size
            && (addr - first) % size + length as u64 == size
    }

    /// The processor has loaded such a word at `at`.
    pub fn loaded(&self, at: Time) {
        self.loaded.set(at);
        self.searched.set(None);
    }

    /// The processor stores to local-bus address `addr`.
    pub fn stores(&self, at: Time, addr: u64) {
        let begins = |ring: &Ring| {
            ring.uppers.contains(&addr) && (addr - ring.uppers.start) % UPPER == FOUND
        };
        if self.searched.get().is_none() && self.all.borrow().iter().any(begins) {
            self.searched.set(Some(at));
        }
    }

    /// The processor stores `word` at local-bus address `addr`. `look` reads host memory as it will be when
    /// that is there.
    pub fn posted(&self, at: Time, addr: u64, word: u32, look: &mut dyn FnMut(u64, &mut [u8])) {
        let user = self.user(|ring| ring.local.contains(&addr));
        if let (Some(user), Some(kernel)) = (user, self.kernel()) {
            if let Some(until) = self.searched.take() {
                let search = Search { since: self.loaded.get(), until, stored: at };
                user.searched(&kernel, search, word, look);
            }
            let memory = Memory { look, overwritten: &self.overwritten.borrow() };
            user.posted(&kernel, at, word, &self.acks, memory);
        }
        self.overwritten.borrow_mut().clear();
    }

    /// The processor stores over these bytes of host memory.
    pub fn overwritten(&self, phys: u64, found: Vec<u8>) {
        self.overwritten.borrow_mut().push((phys, found));
    }

    /// Something has come into host memory at `phys`.
    pub fn landed(&self, at: Time, phys: u64) {
        let user = self.user(|ring| ring.phys.contains(&phys));
        if let (Some(user), Some(kernel)) = (user, self.kernel()) {
            user.landed(&kernel, at);
        }
    }

    /// Posts that the firmware refused, because a message had come before.
    pub fn posts_refused(&self) -> u64 {
        self.kernel().map_or(0, |kernel| kernel.counters().posts_refused)
    }

    /// Atomic operations that the firmware performed, as far as libraries know.
    pub fn atomics(&self) -> u64 {
        self.kernel().map_or(0, |kernel| kernel.counters().nic_atomics)
    }
}

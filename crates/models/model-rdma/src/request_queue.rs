//! The card's request queue, as software of its host stores to it: the library of a process, and the kernel
//! module in the handler of its interrupt.

use super::card::FENCE;
use abi::forth::Descriptor;
use host::Cpu;
use pci::node::REGION;
use std::cell::Cell;

/// Descriptors that a buffer of write combining takes before it leaves by itself.
const LINE_DESCRIPTORS: u32 = pci::LINE as u32 / Descriptor::SIZE as u32;

/// The queue, mapped.
#[derive(Debug)]
pub(super) struct RequestQueue {
    /// With write combining.
    combining: bool,
    /// Descriptors in the buffer of write combining. It must be filled from its beginning on: it keeps no
    /// order.
    gathered: Cell<u32>,
    /// A process is about to store a descriptor: one of the handler's own may not come in between.
    claimed: Cell<bool>,
}

impl RequestQueue {
    /// Queue without a store.
    pub fn new(combining: bool) -> RequestQueue {
        RequestQueue { combining, gathered: Cell::default(), claimed: Cell::default() }
    }

    /// True if it is mapped with write combining.
    pub fn is_combining(&self) -> bool {
        self.combining
    }

    /// A process claims the queue, or gives it back.
    pub fn claim(&self, claims: bool) {
        self.claimed.set(claims);
    }

    /// True if it is claimed.
    pub fn is_claimed(&self) -> bool {
        self.claimed.get()
    }

    /// Posts a descriptor. It may stay in the processor until [`RequestQueue::flush`].
    pub fn store(&self, cpu: &Cpu, descriptor: &Descriptor) {
        let mut bytes = [0; Descriptor::SIZE];
        descriptor.emit(&mut bytes);
        let line = REGION + self.gathered.get() * Descriptor::SIZE as u32;
        self.gathered.set((self.gathered.get() + 1) % LINE_DESCRIPTORS);
        let step = if self.combining { 8 } else { 4 };
        for (offset, word) in (0..).step_by(step).zip(bytes.chunks(step)) {
            cpu.mmio_write(line + offset, word);
        }
    }

    /// Sends out of the processor what was posted.
    pub fn flush(&self, cpu: &Cpu) {
        if self.combining {
            cpu.mmio_write(FENCE, &[0; 4]);
            self.gathered.set(0);
        }
    }
}

//! The card's region in a program: loads and stores of its own instructions.

use super::super::mapped::{taken, MappedQueue};
use super::*;

impl Library {
    /// The request queue becomes the program's, with its own stores; false if the library has posted there.
    pub fn map(&self) -> bool {
        let free = self.posted.get() == 0 && !self.is_mapped();
        if free {
            *self.mapped.borrow_mut() = Some(MappedQueue::new(self.module.queue.is_combining()));
        }
        free
    }
    /// True if it is.
    pub fn is_mapped(&self) -> bool {
        self.mapped.borrow().is_some()
    }

    /// The word at `offset` of the card's region, by two loads.
    pub fn load(&self, offset: u32) -> u64 {
        self.in_call(function::LOAD, || {
            self.leave();
            let low = self.cpu.mmio_read(REGION + offset);
            let high = self.cpu.mmio_read(REGION + offset + 4);
            u64::from(high) << 32 | u64::from(low)
        })
    }

    /// Stores bytes there, as one instruction of the program's does.
    pub fn store(&self, offset: u32, bytes: &[u8]) {
        self.in_call(function::STORE, || {
            if offset >= QUEUE_SIZE {
                self.leave();
                return self.cpu.mmio_write(REGION + offset, bytes);
            }
            let mut mapped = self.mapped.borrow_mut();
            let queue = mapped.as_mut().expect("it is the program's");
            queue.store(offset, bytes).iter().for_each(|one| self.posts_own(one));
            self.cpu.mmio_write(REGION + offset, bytes);
        });
    }

    /// Empties the processor's buffers.
    pub(super) fn leave(&self) {
        if let Some(queue) = &mut *self.mapped.borrow_mut() {
            queue.flush().iter().for_each(|one| self.posts_own(one));
        }
    }

    /// A descriptor of the program's own leaves the processor: a message of one packet.
    fn posts_own(&self, descriptor: &Descriptor) {
        let trail = &self.module.trail;
        let (now, dropped) = (self.cpu.now(), Piece::nobody(self.nid));
        let Some((words, to)) = taken(descriptor) else { return trail.posts(now, dropped) };
        let from = u64::from(descriptor.source_hi) << 32 | u64::from(descriptor.source_lo);
        self.module.tally.posts(Posting {
            from,
            words,
            flow: to as u8,
            to: descriptor.destination,
            notify: descriptor.control & control::NOTIFY != 0,
            interrupt: descriptor.control & control::INTERRUPT != 0,
        });
        if to >= self.module.nodes() || to == self.nid {
            return trail.posts(now, dropped); // it waits for credits that there are not
        }
        let Message { id, .. } = self.begins(to, 8 * u64::from(words), 1, false);
        trail.posts(now, Piece::whole(id, to));
        self.calls.handed_over(self.cpu.now(), id);
    }
}

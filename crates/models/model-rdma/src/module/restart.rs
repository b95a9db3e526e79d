//! A card that begins anew while its host goes on: what an error on the lanes takes with it, its words and
//! their credits, only a reset of both ends gives back.

use super::{memory, Module};
use abi::forth::register::{Aids, Status};
use abi::forth::{control_bit, register, table};
use des::Duration;
use host::Cpu;
use pci::node::REGION;

/// Time after which a reset card has nothing of the past in it (assumed: as bring-up has it).
const SETTLES: Duration = Duration(10_000_000);

impl Module {
    /// True if a reset of both ends helps: the peer is another card, for a crosspoint keeps counts of its
    /// own. A card that has no aids (`AIDS` is 0) is taken to have no reset either.
    pub fn can_restart(&self, cpu: &Cpu) -> bool {
        let aids = || Aids(cpu.mmio_read(REGION + register::AIDS).into());
        self.nodes == 2 && !self.crossed && aids().words() > 0
    }

    /// The card stops at the first error of its lanes from now on, with everything that came behind.
    pub fn stop_at_errors(&self, cpu: &Cpu) {
        self.control.set(self.control.get() | control_bit::FREEZE);
        self.set(cpu, register::CONTROL, self.control.get().into());
    }

    /// True if an error has stopped the card.
    pub fn has_stopped(&self, cpu: &Cpu) -> bool {
        Status(cpu.mmio_read(REGION + register::STATUS).into()).frozen()
    }

    /// The card reads no descriptor any more, or does so again.
    pub fn send_on(&self, cpu: &Cpu, on: bool) {
        let control = self.control.get();
        let control = if on { control } else { control & !control_bit::SEND };
        self.set(cpu, register::CONTROL, control.into());
        // Behind all that was posted before.
        cpu.mmio_read(REGION + register::CONTROL);
    }

    /// The card begins anew, without sending. Whatever was posted is lost.
    pub fn restart(&self, cpu: &Cpu) {
        self.queue.flush(cpu);
        // A second reset takes what was on the lanes during the first.
        for _ in 0..2 {
            self.tally.resets(true);
            self.set(cpu, register::CONTROL, control_bit::RESET.into());
            cpu.mmio_read(REGION + register::CONTROL);
            cpu.spend(SETTLES);
        }
        self.tally.resets(false);
        self.trail.begins_anew(cpu.now());
        memory::set_word(cpu.memory(), self.notify_addr(), 0);
        self.set_up(cpu);
        for (number, word) in self.bindings_set.borrow().iter() {
            self.set(cpu, table::BINDINGS + 8 * number, *word);
        }
        self.send_on(cpu, false);
    }
}

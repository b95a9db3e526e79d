//! Coherence of the processor's data cache: it does not see the accesses of others to local memory, and is
//! told of them here, after the event.

use super::ports::Touched;
use super::Station;
use machine::node::Ports;

impl Station {
    /// Tells the processor what others did to local memory. It can be a fault of the firmware.
    pub(super) fn tell_of_memory(&mut self, ports: &mut Ports<Station>) {
        for touched in self.chipset.touched.drain(..) {
            match touched {
                Touched::Written { addr, len } => self.core.written_outside(addr, len),
                Touched::Read { addr, data } => self.core.read_outside(addr, &data),
            }
        }
        self.acts = self.core.now();
        self.firmware_fault(ports);
    }

    /// Ends the run if the processor has stopped with a fault.
    pub(super) fn firmware_fault(&mut self, ports: &mut Ports<Station>) {
        if let Some(fault) = self.core.fault() {
            let place = self.symbols.describe(fault.pc);
            ports.fail(fault.at, format!("firmware fault in {place}: {fault}"));
        }
    }
}

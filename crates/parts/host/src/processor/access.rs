//! A core's reads from a device: they leave, the core stalls, and goes on with the reply.

use super::Processor;
use crate::accounting::Class;
use crate::core::Line;
use crate::host::Ports;
use crate::LINE;
use des::{Duration, Time};

impl Processor {
    /// A read leaves the core, which stalls; the reply goes into the line, or is the fibre's answer.
    pub(super) fn load(&mut self, addr: u64, len: u8, into: Option<Line>, ports: &mut impl Ports) {
        self.core.account.borrow_mut().times.mmio_reads += 1;
        (self.stalled, self.wanted, self.into) = (true, len.into(), into);
        self.core.shared.reads.borrow_mut().push_back(self.core.index);
        self.enter(Class::Stall);
        ports.mmio_read(self.core.now(), addr, len.into());
    }

    /// Answers an uncached read with its bytes.
    pub(crate) fn mmio_reply(&mut self, now: Time, data: &[u8], ports: &mut impl Ports) {
        assert_eq!(data.len(), self.wanted, "a read is answered in full");
        let fibre = self.current.filter(|_| self.stalled).expect("a read is outstanding");
        self.core.now.set(now);
        self.stalled = false;
        match self.into.take() {
            Some(into) => {
                let mut line = [0; LINE];
                line[..data.len()].copy_from_slice(data);
                into.set(line);
            }
            None => {
                let mut bytes = [0; 8];
                bytes[..data.len()].copy_from_slice(data);
                self.fibres[fibre].answer = u64::from_le_bytes(bytes);
            }
        }
        self.ends = now;
        self.enter(self.mode());
        if self.must_interrupt() {
            self.take_interrupt(ports);
        } else if self.rests() {
            self.busy_for(Duration::ZERO, ports);
        } else {
            self.run(ports);
        }
        self.go_on(ports);
    }
}

//! The card around its processor, for who stops that and looks.

use crate::inside::Inside;
use crate::local::{decode, LocalBus, Target};
use crate::Ports;
use abi::offload::unit_register;
use bus::Bus;
use des::Time;

/// All of a card but its processor, which is halted.
pub struct Around<'a, P> {
    pub(crate) inside: &'a mut Inside,
    pub(crate) ports: &'a mut P,
}

impl<P: Ports> Around<'_, P> {
    /// Reads from an address of the card's bus at `now`, without an effect. False if not all of
    /// it answers: ports and windows cannot be read.
    pub fn look(&mut self, now: Time, addr: u64, bytes: &mut [u8]) -> bool {
        let word = match decode(addr) {
            Target::Memory => return self.inside.memory.read(addr, bytes).is_ok(),
            Target::Rom => return self.inside.rom.read(addr, bytes).is_ok(),
            Target::Register(offset) if bytes.len() == 4 => self.inside.register(offset),
            Target::Unit(which, unit_register::RESULT) if bytes.len() == 4 => {
                self.inside.result(now, which)
            }
            _ => return false,
        };
        bytes.copy_from_slice(&word.to_le_bytes());
        true
    }

    /// Writes as the processor does: registers, ports and windows do what they do then. False if nothing
    /// answers.
    pub fn write(&mut self, now: Time, addr: u64, bytes: &[u8]) -> bool {
        let Around { inside, ports } = self;
        inside.idle = 0;
        match decode(addr) {
            Target::Memory => inside.memory.write(addr, bytes).is_ok(),
            _ => LocalBus { inside, ports: &mut **ports, horizon: now }
                .write(now, addr, bytes)
                .is_ok(),
        }
    }

    /// Its node.
    pub fn ports(&self) -> &P {
        self.ports
    }

    /// The firmware may have something to do that it had not.
    pub fn changed(&mut self) {
        self.inside.idle = 0;
    }
}

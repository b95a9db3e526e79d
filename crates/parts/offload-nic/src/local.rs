//! The processor's way to the rest of the card.

use crate::inside::Inside;
use crate::Ports;
use abi::offload as of;
use abi::offload::{register, unit_register};
use bus::{Access, Bus, BusError};
use des::{Duration, Time};

/// Bytes of a beat: the processor moves as many at once, except for cache lines.
const BEAT: usize = 16;

/// Bytes of a unit's page of registers.
const UNIT_PAGE: u32 = of::UNEXPECTED_UNIT - of::POSTED_UNIT;

/// Target that answers an address.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    Memory,
    Rom,
    Register(u32),
    Unit(usize, u32),
    Port,
    Window,
    Nothing,
}

pub(crate) fn decode(addr: u64) -> Target {
    let Ok(addr) = u32::try_from(addr) else { return Target::Nothing };
    let in_page = |base: u32, size: u32| addr >= base && addr - base < size;
    if in_page(of::MEMORY_BASE, of::MEMORY_SIZE) {
        Target::Memory
    } else if in_page(of::REGISTER_BASE, of::POSTED_UNIT - of::REGISTER_BASE) {
        Target::Register(addr - of::REGISTER_BASE)
    } else if in_page(of::POSTED_UNIT, 2 * UNIT_PAGE) {
        let offset = addr - of::POSTED_UNIT;
        Target::Unit((offset / UNIT_PAGE) as usize, offset % UNIT_PAGE)
    } else if in_page(of::PORT_BASE, of::PORT_SIZE) {
        Target::Port
    } else if in_page(of::WINDOW_BASE, of::PROCESSES * of::WINDOW_SIZE) {
        Target::Window
    } else if addr >= of::ROM_BASE {
        Target::Rom
    } else {
        Target::Nothing
    }
}

/// The bus as the processor uses it.
pub(crate) struct LocalBus<'a, P> {
    pub inside: &'a mut Inside,
    pub ports: &'a mut P,
    /// Time of the first event outside, or of the end of the window.
    pub horizon: Time,
}

impl<P: Ports> LocalBus<'_, P> {
    fn beats(&self, len: usize) -> Duration {
        self.inside.params.bus_beat * len.div_ceil(BEAT).max(1) as u64
    }

    /// The bus is lent to a transaction that is requested at `now`, on the path for reads or for writes.
    fn book(&mut self, path: usize, now: Time, len: usize) -> Time {
        let granted = now.max(self.inside.free[path]);
        self.inside.free[path] = granted + self.beats(len);
        granted
    }
}

const READ: usize = 0;
const WRITE: usize = 1;

fn nobody(addr: u64, len: usize, write: bool) -> BusError {
    BusError { addr, len, write, why: "no device answers" }
}

impl<P: Ports> Bus for LocalBus<'_, P> {
    fn horizon(&self) -> Time {
        self.horizon.min(self.ports.due())
    }

    fn read(&mut self, now: Time, addr: u64, buf: &mut [u8]) -> Result<Time, BusError> {
        let granted = self.book(READ, now, buf.len());
        let there = granted + self.inside.params.bus_delay * 2;
        let value = match decode(addr) {
            Target::Memory => {
                self.inside.memory.read(addr, buf)?;
                self.inside.fetches(granted, addr);
                return Ok(there + self.inside.params.memory);
            }
            Target::Rom => {
                self.inside.rom.read(addr, buf)?;
                return Ok(there + self.inside.params.memory);
            }
            Target::Register(offset) if buf.len() == 4 => {
                self.inside.settle(granted);
                self.inside.register(offset)
            }
            Target::Unit(which, offset) if buf.len() == 4 => {
                self.inside.unit_register(granted, which, offset)
            }
            _ => return Err(nobody(addr, buf.len(), false)),
        };
        buf.copy_from_slice(&value.to_le_bytes());
        Ok(there)
    }

    fn write(&mut self, now: Time, addr: u64, data: &[u8]) -> Result<Time, BusError> {
        let granted = self.book(WRITE, now, data.len());
        let target = decode(addr);
        let offset = addr as u32;
        if target != Target::Memory && target != Target::Register(register::HEARTBEAT) {
            self.inside.idle = 0;
            self.inside.acted = granted;
            // A result that is taken away is no end of a search: it may be that the list comes next.
            if !matches!(target, Target::Unit(_, unit_register::POP)) {
                self.inside.acts(granted);
            }
        }
        let waits = match target {
            Target::Memory => {
                self.inside.memory.write(addr, data)?;
                0
            }
            Target::Register(offset) if data.len() == 4 => {
                let value = u32::from_le_bytes(data.try_into().expect("four bytes"));
                self.inside.set_register(granted, offset, value);
                0
            }
            Target::Unit(which, offset) if data.len() == 4 => {
                let value = u32::from_le_bytes(data.try_into().expect("four bytes"));
                self.inside.set_unit_register(granted, which, offset, value)
            }
            Target::Port => self.inside.set_port(granted, offset, data, self.ports),
            Target::Window => {
                self.inside.set_window(granted, offset, data, self.ports);
                0
            }
            _ => return Err(nobody(addr, data.len(), true)),
        };
        if waits > 0 {
            let clock = self.inside.params.units.as_ref().map(|units| units.clock);
            let waited = clock.map_or(Duration::ZERO, |clock| clock.cycles(waits));
            self.inside.free[WRITE] += waited;
        }
        Ok(self.inside.free[WRITE])
    }

    fn free(&self) -> Option<[Time; 2]> {
        Some(self.inside.free)
    }

    fn peek(&mut self, addr: u64, buf: &mut [u8]) -> bool {
        match decode(addr) {
            Target::Memory => self.inside.memory.read(addr, buf).is_ok(),
            // Counts do not change while nothing happens. Results of a unit do.
            Target::Register(offset @ (register::STATUS | register::TAILS)) if buf.len() == 4 => {
                let value = self.inside.register(offset);
                buf.copy_from_slice(&value.to_le_bytes());
                true
            }
            _ => false,
        }
    }

    fn repeatable(&self, addr: u64) -> bool {
        match decode(addr) {
            Target::Memory => true,
            Target::Register(offset) => offset == register::HEARTBEAT,
            _ => false,
        }
    }

    fn repeat(&mut self, turns: u64, accesses: &[Access], free: [Time; 2]) {
        self.inside.free = free;
        for access in accesses.iter().filter(|access| access.write) {
            if let Target::Register(_) = decode(access.addr) {
                self.inside.idle += turns;
                self.inside.counters.turns += turns;
            } else {
                let written = self.inside.memory.write(access.addr, access.bytes());
                written.expect("the processor has written there before");
            }
        }
    }
}

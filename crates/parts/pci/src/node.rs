//! A node's PCI bus, for the models whose card is on one: the processor's accesses, in order; its
//! clock, which stops while nothing moves; and the judge of every cycle.

use crate::{Burst, Bus, ConfigSpace, Counters, Cycle, Device, DeviceOut, HostMemory, HostRead};
use crate::{Monitor, Params, Phase, WORD};
use bus::BusError;
use des::{Clock, Time};
use host::SharedMemory;
use std::collections::VecDeque;

/// Address at which a driver puts the card's region.
pub const REGION: u32 = 0xF000_0000;
/// Address of the slot's configuration space for the processor; below, nothing is the bus's.
pub const CONFIG: u32 = 0xE000_0000;
const SPACE: u64 = CONFIG as u64;

/// A clock that may be stopped.
pub struct Domain {
    clock: Clock,
    /// Number of the next edge.
    pub next: u64,
    /// True if it runs.
    pub runs: bool,
}

impl Domain {
    /// A clock that has not begun to run.
    pub fn new(clock: Clock) -> Domain {
        Domain { clock, next: 0, runs: false }
    }
    /// Time of the next edge.
    pub fn time(&self) -> Time {
        self.clock.edge(self.next)
    }
    /// Runs again, from the first edge at or after `now` on that has not been; gives the edges left out.
    pub fn start(&mut self, now: Time) -> u64 {
        let first = self.clock.edge_at_or_after(now).max(self.next);
        let skipped = first - self.next;
        (self.next, self.runs) = (first, true);
        skipped
    }
}

/// Access of the processor.
enum Access {
    Write(Burst),
    Config { offset: u8, value: u32, enables: u8 },
    Read(HostRead),
}

/// The bus, with its bridge, in front of `M`.
pub struct PciBus<M> {
    bus: Bus<M>,
    monitor: Monitor,
    accesses: VecDeque<Access>,
    accesses_max: usize,
    clock: Domain,
    line: bool,
}

impl<M: HostMemory> PciBus<M> {
    /// Bus with one device.
    pub fn new(params: Params, memory: M, space: ConfigSpace) -> PciBus<M> {
        PciBus {
            bus: Bus::new(params, memory, vec![space]),
            monitor: Monitor::new(params),
            accesses: VecDeque::new(),
            accesses_max: 0,
            clock: Domain::new(Clock::from_hz(params.hertz)),
            line: false,
        }
    }

    // ---- the processor -----------------------------------------------------------------------------------

    /// Bytes that leave the processor together.
    pub fn post(&mut self, burst: Burst) {
        self.accesses.push_back(Access::Write(burst));
    }

    /// A store of up to 8 bytes within a word, if it is the bus's at all.
    pub fn store(&mut self, addr: u64, data: &[u8]) {
        if addr >= REGION.into() {
            self.post(single(addr, data));
        } else if (SPACE..SPACE + 0x100).contains(&addr) {
            // A register of one or two bytes is at its lanes of the word.
            let lane = (addr % 4) as usize;
            let len = data.len().min(4 - lane);
            let mut value = [0; 4];
            value[lane..lane + len].copy_from_slice(&data[..len]);
            let enables = ((1_u8 << len) - 1) << lane;
            let (offset, value) = ((addr - SPACE) as u8, u32::from_le_bytes(value));
            self.accesses.push_back(Access::Config { offset, value, enables });
        }
    }

    /// A load of 4 bytes; [`PciBus::answer`] has the word.
    pub fn load(&mut self, addr: u64) {
        let read = if addr >= REGION.into() {
            let upper = addr % WORD >= 4;
            let enables = if upper { 0xF0 } else { 0x0F };
            HostRead::Memory { addr: addr & !(WORD - 1), enables }
        } else {
            HostRead::Config { slot: 0, offset: (addr.wrapping_sub(SPACE) & 0xFC) as u8 }
        };
        self.accesses.push_back(Access::Read(read));
    }

    /// The next answer to a load.
    pub fn answer(&mut self) -> Option<u32> {
        let value = self.bus.bridge.answer()?;
        let upper = value.token & 4 != 0;
        Some((value.data >> if upper { 32 } else { 0 }) as u32)
    }

    /// True if the processor waits for the bus to take something.
    pub fn is_wanted(&mut self) -> bool {
        self.accesses_max = self.accesses_max.max(self.accesses.len());
        !self.accesses.is_empty()
    }

    /// The processor's stores go to the bridge as far as it has room.
    fn hand_over(&mut self) {
        while let Some(access) = self.accesses.front() {
            let bridge = &mut self.bus.bridge;
            let taken = match *access {
                Access::Write(ref burst) => bridge.post(burst),
                Access::Config { offset, value, enables } => {
                    bridge.config_write(0, offset, value, enables)
                }
                Access::Read(read @ HostRead::Memory { enables, .. }) => {
                    bridge.read(read, if enables & 0xF == 0 { 4 } else { 0 })
                }
                Access::Read(read) => bridge.read(read, 0),
            };
            if !taken {
                return;
            }
            self.accesses.pop_front();
        }
    }

    // ---- the clock ---------------------------------------------------------------------------------------

    /// Starts the clock, if it is stopped; the number of cycles that were left out.
    pub fn start(&mut self, now: Time) -> Option<u64> {
        if self.clock.runs {
            return None;
        }
        let skipped = self.clock.start(now);
        if skipped > 0 {
            self.bus.pass(skipped);
            self.monitor.pass(skipped);
        }
        Some(skipped)
    }

    /// Time of the next edge.
    pub fn next(&self) -> Time {
        self.clock.time()
    }

    /// A cycle, judged.
    pub fn cycle(&mut self, device: &mut impl Device) -> Cycle {
        self.hand_over();
        let cycle = self.bus.clock(std::slice::from_mut(device));
        self.monitor.judge(&cycle).unwrap_or_else(|violation| panic!("{violation}"));
        self.clock.next += 1;
        cycle
    }

    /// True if the interrupt line has risen with the last cycle.
    pub fn rises(&mut self) -> bool {
        let line = self.bus.bridge.interrupt();
        let before = std::mem::replace(&mut self.line, line);
        line && !before
    }

    /// Level of the interrupt line at the last call of [`PciBus::rises`].
    pub fn line(&self) -> bool {
        self.line
    }

    /// True if nothing moves, as long as the device drives what it does.
    pub fn rests(&self, out: &DeviceOut) -> bool {
        let quiet = self.accesses.is_empty() && self.bus.is_at_rest();
        quiet && out.request.is_none() && out.interrupt == self.line
    }

    /// Stops the clock.
    pub fn stop(&mut self) {
        self.clock.runs = false;
    }

    // ---- what it tells -----------------------------------------------------------------------------------

    /// Words that the device has posted and memory has not taken yet.
    pub fn posted_words(&self) -> usize {
        self.bus.bridge.posted_words()
    }
    /// Use of the bus so far.
    pub fn counters(&self) -> &Counters {
        self.bus.counters()
    }
    /// Accesses of the processor that wait.
    pub fn waiting(&self) -> usize {
        self.accesses.len()
    }
    /// Most accesses of the processor that have ever waited.
    pub fn accesses_max(&self) -> usize {
        self.accesses_max
    }
}

/// A store of up to 8 bytes within a word that is not combined, as what leaves the processor.
pub fn single(addr: u64, data: &[u8]) -> Burst {
    let lane = (addr % WORD) as usize;
    let mut value = [0; 8];
    value[lane..lane + data.len()].copy_from_slice(data);
    let mut burst = Burst { addr: addr & !(WORD - 1), data: [0; 8], enables: [0; 8], words: 1 };
    burst.data[0] = u64::from_le_bytes(value);
    burst.enables[0] = (((1_u16 << data.len()) - 1) << lane) as u8;
    burst
}

/// Digest of a cycle of the bus, for the trace hash.
pub fn digest(cycle: &Cycle) -> u32 {
    let phase = match cycle.phase {
        Phase::Idle => 0,
        Phase::Data { last, .. } => 1 + u32::from(last),
        Phase::TurnAround => 3,
        _ => 4 + u32::from(cycle.cbe),
    };
    fold(cycle.ad as u32, (cycle.ad >> 32) as u32) ^ phase
}

/// Two words in one.
pub fn fold(a: u32, b: u32) -> u32 {
    a.wrapping_mul(0x9E37_79B9) ^ b.wrapping_mul(0x85EB_CA6B)
}

/// True if `len` bytes at `addr` are a host's memory: both ends are.
pub fn is_memory(memory: &SharedMemory, addr: u64, len: usize) -> bool {
    let last = addr + len.max(8) as u64 - 8;
    let ends = [addr, last];
    ends.iter().all(|at| memory.borrow_mut().read_phys(*at, &mut [0; 8]).is_ok())
}

/// A host's memory behind its bridge.
pub struct Behind(pub SharedMemory);

impl HostMemory for Behind {
    fn contains(&self, addr: u64, len: usize) -> bool {
        is_memory(&self.0, addr, len)
    }
    fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), BusError> {
        self.0.borrow_mut().read_phys(addr, buf)
    }
    fn write(&mut self, addr: u64, data: &[u8]) -> Result<(), BusError> {
        self.0.borrow_mut().write_phys(addr, data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DeviceIn, DeviceOut};

    /// A device that does nothing, and claims nothing.
    struct Silent;

    impl Device for Silent {
        fn outputs(&self) -> DeviceOut {
            DeviceOut::default()
        }
        fn clock(&mut self, _inputs: &DeviceIn) {}
    }

    /// Memory is not asked for.
    struct Nothing;

    impl HostMemory for Nothing {
        fn contains(&self, _addr: u64, _len: usize) -> bool {
            false
        }
        fn read(&self, _addr: u64, _buf: &mut [u8]) -> Result<(), BusError> {
            unreachable!("no device reads")
        }
        fn write(&mut self, _addr: u64, _data: &[u8]) -> Result<(), BusError> {
            unreachable!("no device writes")
        }
    }

    /// Command and status, at offset 4, after these stores.
    fn command_after(stores: &[(u64, &[u8])]) -> u32 {
        let space = ConfigSpace::new(1, 2, 0, 128, false);
        let mut bus = PciBus::new(Params::pci_32_33(), Nothing, space);
        stores.iter().for_each(|(offset, data)| bus.store(SPACE + offset, data));
        bus.load(SPACE + 4);
        (0..1000)
            .find_map(|_| {
                bus.cycle(&mut Silent);
                bus.answer()
            })
            .expect("an answer")
    }

    /// Bits of the command: memory 1, master 2, no interrupts 10.
    #[test]
    fn a_part_of_a_word_of_the_configuration_is_stored_in_its_lanes() {
        assert_eq!(command_after(&[(4, &[6, 4, 0, 0])]), 0x406);
        assert_eq!(command_after(&[(4, &[6, 4])]), 0x406);
        assert_eq!(command_after(&[(4, &[6]), (5, &[4])]), 0x406);
        // The status, which clears what is one.
        assert_eq!(command_after(&[(4, &[6]), (6, &[6, 4])]), 6);
        assert_eq!(command_after(&[(4, &[6]), (7, &[4])]), 6);
        // What does not fit into the word is not in the next.
        assert_eq!(command_after(&[(4, &[6]), (3, &[0, 0])]), 6);
    }
}

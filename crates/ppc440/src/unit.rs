//! The load and store unit: the slow path of loads and stores, and the data side of the bus.
//!
//! An instruction here may use the bus several times: for a victim and a fill, for the pieces of a
//! misaligned access to an uncached page, for the words of a multiple. Before each transaction it
//! asks the horizon; if it may not go on, the instruction is left as if it had not begun, and is
//! executed again later. Only uncached transactions must not be done twice: [`Replay`] remembers
//! those that are done already. A victim is written back before the line that replaces it is read,
//! so that each transaction leaves a consistent cache.

use crate::arrays::LINE;
use crate::core::{Core, Flow};
use crate::exception::Exception;
use crate::fault::FaultKind;
use crate::memory::doublewords;
use crate::special::{CCR0_FLSTA, CCR1_FFF, MMUCR_SWOA};
use crate::tlb::{page, Real};
use bus::{Bus, BusError};
use des::Time;

/// Uncached transactions that the current instruction has done, in case it must be executed again.
#[derive(Clone, Hash)]
pub(crate) struct Replay {
    /// How many; 0 if none.
    pub count: u32,
    /// Cycle after the last of them.
    at: u64,
    /// What the reads returned.
    bytes: [u8; 128],
    len: usize,
}

/// Turns of a loop that have happened again (see `turn`).
pub(crate) struct Again {
    pub turns: u64,
    pub period: u64,
    /// Cycle in which the last of them ended, and that in which the one they repeat had ended.
    pub cycle: u64,
    pub end_cycle: u64,
}

/// The load and store unit.
#[derive(Clone, Hash)]
pub(crate) struct Unit {
    /// Cycle in which the current instruction's next transaction can issue.
    at: u64,
    /// Transactions of the current execution so far, and bytes taken from the replay.
    step: u32,
    taken: usize,
    pub replay: Replay,
    /// When the result of the instruction just executed is there.
    pub data_at: u64,
    /// Nothing issues before that cycle after the instruction just executed.
    pub stall: u64,
    /// Line fills outstanding: real line, cycle of arrival.
    fills: [(u32, u64); 4],
    /// Arrival of the last of them.
    pub filled: u64,
    /// Writes outstanding: when each slot is free, the first one first.
    writes: [u64; 8],
    line_fills: usize,
    write_slots: usize,
    load_latency: u64,
}

impl Unit {
    pub fn new(timing: &crate::Timing) -> Unit {
        assert!((1..=4).contains(&timing.line_fills), "1 to 4 line fills");
        assert!((1..=8).contains(&timing.write_slots), "1 to 8 write slots");
        Unit {
            at: 0,
            step: 0,
            taken: 0,
            replay: Replay { count: 0, at: 0, bytes: [0; 128], len: 0 },
            data_at: 0,
            stall: 0,
            fills: [(0, 0); 4],
            filled: 0,
            writes: [0; 8],
            line_fills: timing.line_fills.into(),
            write_slots: timing.write_slots.into(),
            load_latency: timing.load.into(),
        }
    }
    /// Nothing is outstanding from that cycle on.
    pub fn quiet_at(&self) -> u64 {
        self.writes.iter().fold(self.filled, |latest, &free| latest.max(free))
    }
    /// The instruction has completed, or will never complete.
    pub fn replay_forgotten(&mut self) {
        self.replay.count = 0;
        self.replay.len = 0;
    }
    /// When a write slot is free.
    fn free_write(&self) -> u64 {
        self.writes[0]
    }
    /// Occupies the write slot that is free first.
    fn occupy_write(&mut self, until: u64) {
        let writes = &mut self.writes[..self.write_slots];
        let later = writes[1..].iter().take_while(|&&other| other < until).count();
        writes.copy_within(1..1 + later, 0);
        writes[later] = until;
    }
    /// Nothing is outstanding in `cycle`, so that only new transactions have to be waited for.
    pub fn is_quiet(&self, cycle: u64) -> bool {
        self.quiet_at() <= cycle && self.replay.count == 0
    }
    /// The ends of the last `count` writes, if there are so many slots.
    pub fn last_writes(&self, count: usize) -> Option<Vec<u64>> {
        let first = self.write_slots.checked_sub(count)?;
        Some(self.writes[first..self.write_slots].to_vec())
    }
    /// What happened between `start` and `end` has happened `turns` times over, `period` apart, to
    /// end in `cycle`; `writes` are the ends of the writes of the turn that ended in `end_cycle`.
    pub fn repeat(&mut self, again: &Again, start: &Unit, end: &Unit, writes: &[u64]) {
        let &Again { turns, period, cycle, end_cycle } = again;
        let shift = cycle.wrapping_sub(end_cycle);
        for turn in (0..turns.min(self.write_slots as u64)).rev() {
            for write in writes {
                self.occupy_write(write.wrapping_add(shift) - turn * period);
            }
        }
        let moved = |mine: &mut u64, before: u64, after: u64| {
            if after == 0 {
                *mine = 0;
            } else if before != after {
                *mine = after.wrapping_add(shift);
            }
        };
        moved(&mut self.at, start.at, end.at);
        moved(&mut self.data_at, start.data_at, end.data_at);
        moved(&mut self.stall, start.stall, end.stall);
        moved(&mut self.replay.at, start.replay.at, end.replay.at);
        self.step = end.step;
        self.taken = end.taken;
    }
    fn free_fill(&self) -> usize {
        (0..self.line_fills).min_by_key(|&slot| self.fills[slot].1).unwrap_or(0)
    }
}

impl Core {
    /// Translates a data address for an access that needs `need` (`page::READ` or `page::WRITE`).
    /// The TID is not filled in.
    pub(crate) fn translate(&mut self, addr: u32, need: u8) -> Result<Real, Flow> {
        let mapped = self.tlb.mapped(addr);
        if mapped.key == self.tlb.key(addr) && mapped.flags & need != 0 {
            let real = u64::from(mapped.line) << 5 | u64::from(addr & 0x3ff);
            return Ok(Real { addr: real, flags: mapped.flags, tid: 0 });
        }
        let store = need == page::WRITE;
        match self.translate_quietly(addr) {
            None => Err(self.raise(Exception::DataMiss { addr, store })),
            Some(real) if real.flags & need == 0 => {
                Err(self.raise(Exception::DataStorage { addr, store }))
            }
            Some(real) => Ok(real),
        }
    }

    /// Translates a data address; `None` if no entry matches.
    pub(crate) fn translate_quietly(&mut self, addr: u32) -> Option<Real> {
        let real =
            self.tlb.translate(addr, self.data_space(), self.special.pid as u8, self.user())?;
        if self.special.ccr0 & CCR0_FLSTA == 0 {
            self.tlb.remember(addr, real);
        }
        Some(real)
    }

    /// Begins the slow path of an instruction.
    pub(crate) fn begin(&mut self) {
        let unit = &mut self.unit;
        unit.at = self.issue;
        unit.step = 0;
        unit.taken = 0;
        unit.data_at = 0;
        unit.stall = 0;
    }

    /// Ends the slow path of an instruction that returns nothing.
    pub(crate) fn settle(&mut self) {
        self.unit.data_at = 0;
        self.unit.stall = self.unit.at;
    }

    /// The instant of the next transaction, if the horizon allows it.
    pub(crate) fn instant<B: Bus>(&mut self, bus: &B) -> Result<Time, Flow> {
        let now = self.edge(self.unit.at);
        if now >= bus.horizon() {
            self.blocked = now;
            return Err(Flow::Retry);
        }
        Ok(now)
    }

    fn bus_fault(&mut self, error: BusError) -> Flow {
        self.stop(FaultKind::Bus(error), Some(error.addr))
    }

    /// Reads memory in pieces of up to four bytes within a quadword. Returns whether the first page
    /// is little-endian.
    pub(crate) fn read_bytes<B: Bus>(
        &mut self,
        bus: &mut B,
        addr: u32,
        out: &mut [u8],
    ) -> Result<bool, Flow> {
        self.begin();
        let first = self.translate(addr, page::READ)?;
        let little = first.flags & page::LITTLE != 0;
        if first.flags & page::INHIBITED != 0 && is_single(addr, out.len()) {
            // One transaction and done: what firmware does when it polls.
            let now = self.instant(bus)?;
            let there = bus.read(now, first.addr, out).map_err(|error| self.bus_fault(error))?;
            self.counters.uncached_reads += 1;
            self.unit.at = self.cycle_at(there);
            self.unit.data_at = self.unit.at;
            self.unit.stall = self.unit.at;
            return Ok(little);
        }
        self.translate(addr.wrapping_add(out.len() as u32 - 1), page::READ)?;
        let mut done = 0;
        while done < out.len() {
            let piece = addr.wrapping_add(done as u32);
            let len = (out.len() - done).min(4).min(16 - piece as usize % 16);
            // Each piece takes its turn in the pipe.
            self.unit.at = self.unit.at.max(self.issue + (done > 0) as u64);
            let real = self.translate(piece, page::READ)?;
            if real.flags & page::INHIBITED != 0 {
                self.uncached_read(bus, real.addr, &mut out[done..done + len])?;
            } else {
                let index = self.resident(bus, (real.addr >> 5) as u32)?;
                let offset = index * LINE + piece as usize % LINE;
                out[done..done + len].copy_from_slice(&self.dcache.data[offset..offset + len]);
                self.unit.data_at = self.unit.data_at.max(self.unit.at + self.unit.load_latency);
                self.unit.stall = self.unit.stall.max(self.unit.at);
                self.unit.at += 1;
            }
            done += len;
        }
        Ok(little)
    }

    /// An uncached read, in naturally aligned transactions. The core stalls until the data are
    /// there.
    fn uncached_read<B: Bus>(
        &mut self,
        bus: &mut B,
        addr: u64,
        out: &mut [u8],
    ) -> Result<(), Flow> {
        let mut done = 0;
        while done < out.len() {
            let addr = addr + done as u64;
            let len = aligned_len(addr, out.len() - done);
            let chunk = &mut out[done..done + len];
            if self.unit.step < self.unit.replay.count {
                let taken = self.unit.taken;
                chunk.copy_from_slice(&self.unit.replay.bytes[taken..taken + len]);
            } else {
                let now = self.instant(bus)?;
                let there = bus.read(now, addr, chunk).map_err(|error| self.bus_fault(error))?;
                self.counters.uncached_reads += 1;
                let at = self.cycle_at(there);
                let replay = &mut self.unit.replay;
                replay.bytes[replay.len..replay.len + len].copy_from_slice(chunk);
                replay.len += len;
                replay.count += 1;
                replay.at = at;
            }
            self.unit.step += 1;
            self.unit.taken += len;
            if self.unit.step == self.unit.replay.count {
                self.unit.at = self.unit.at.max(self.unit.replay.at);
            }
            done += len;
        }
        self.unit.data_at = self.unit.data_at.max(self.unit.at);
        self.unit.stall = self.unit.stall.max(self.unit.at);
        Ok(())
    }

    /// Writes memory in pieces of up to four bytes within a quadword.
    pub(crate) fn write_bytes<B: Bus>(
        &mut self,
        bus: &mut B,
        addr: u32,
        data: &[u8],
    ) -> Result<(), Flow> {
        self.begin();
        let first = self.translate(addr, page::WRITE)?;
        if is_single(addr, data.len()) {
            self.write_piece(bus, first, data)?;
            self.unit.stall = self.unit.at;
            return Ok(());
        }
        self.translate(addr.wrapping_add(data.len() as u32 - 1), page::WRITE)?;
        let mut done = 0;
        while done < data.len() {
            let piece = addr.wrapping_add(done as u32);
            let len = (data.len() - done).min(4).min(16 - piece as usize % 16);
            let real = self.translate(piece, page::WRITE)?;
            self.write_piece(bus, real, &data[done..done + len])?;
            self.unit.stall = self.unit.stall.max(self.unit.at);
            self.unit.at += 1;
            done += len;
        }
        Ok(())
    }

    /// A store within a quadword: to the bus, to the cache, or to both.
    fn write_piece<B: Bus>(&mut self, bus: &mut B, real: Real, data: &[u8]) -> Result<(), Flow> {
        if real.flags & page::INHIBITED != 0 {
            return self.bus_write(bus, real.addr, data);
        }
        let line = (real.addr >> 5) as u32;
        let index = match self.dcache.find(line) {
            Some(index) => index,
            None if self.special.mmucr & MMUCR_SWOA != 0 => {
                return self.bus_write(bus, real.addr, data);
            }
            None => self.fill(bus, line)?,
        };
        let through = real.flags & page::THROUGH != 0;
        if through {
            self.bus_write(bus, real.addr, data)?;
        }
        let offset = index * LINE + real.addr as usize % LINE;
        self.dcache.data[offset..offset + data.len()].copy_from_slice(data);
        if !through {
            self.dcache.dirty[index] |= doublewords(real.addr as u32, data.len());
        }
        Ok(())
    }

    /// A write on the bus, in naturally aligned transactions, each in a slot of its own. The core
    /// waits only for a slot.
    fn bus_write<B: Bus>(&mut self, bus: &mut B, addr: u64, data: &[u8]) -> Result<(), Flow> {
        let mut done = 0;
        while done < data.len() {
            let addr = addr + done as u64;
            let len = aligned_len(addr, data.len() - done);
            if self.unit.step >= self.unit.replay.count {
                self.unit.at = self.unit.at.max(self.unit.free_write());
                let now = self.instant(bus)?;
                let chunk = &data[done..done + len];
                let free = bus.write(now, addr, chunk).map_err(|error| self.bus_fault(error))?;
                self.counters.uncached_writes += 1;
                let free = self.cycle_at(free);
                self.unit.occupy_write(free);
                self.unit.replay.count += 1;
                self.unit.replay.at = self.unit.at;
            }
            self.unit.step += 1;
            if self.unit.step == self.unit.replay.count {
                self.unit.at = self.unit.at.max(self.unit.replay.at);
            }
            done += len;
        }
        Ok(())
    }

    /// Index of a real line in the data cache, filled if it must be.
    fn resident<B: Bus>(&mut self, bus: &mut B, line: u32) -> Result<usize, Flow> {
        if let Some(index) = self.dcache.find(line) {
            let fills = self.unit.fills;
            if let Some((_, there)) =
                fills.iter().find(|fill| fill.0 == line && fill.1 > self.unit.at)
            {
                self.unit.data_at = self.unit.data_at.max(*there);
            }
            return Ok(index);
        }
        self.fill(bus, line)
    }

    /// Reads a line into the data cache. The core goes on meanwhile, unless all fill buffers are
    /// busy.
    pub(crate) fn fill<B: Bus>(&mut self, bus: &mut B, line: u32) -> Result<usize, Flow> {
        self.write_back(bus, self.dcache.victim(line))?;
        let slot = self.unit.free_fill();
        self.unit.at = self.unit.at.max(self.unit.fills[slot].1);
        let now = self.instant(bus)?;
        let mut data = [0; LINE];
        let there = bus
            .read(now, u64::from(line) << 5, &mut data)
            .map_err(|error| self.bus_fault(error))?;
        self.counters.dcache_misses += 1;
        let index = self.dcache.install(line);
        self.dcache.line_mut(index).copy_from_slice(&data);
        let there = self.cycle_at(there);
        self.unit.fills[slot] = (line, there);
        self.unit.filled = self.unit.filled.max(there);
        self.unit.data_at = self.unit.data_at.max(there);
        Ok(index)
    }

    /// Writes the dirty part of a line to the bus: a doubleword, a quadword or all of it.
    pub(crate) fn write_back<B: Bus>(&mut self, bus: &mut B, index: usize) -> Result<(), Flow> {
        let dirty = match self.dcache.dirty[index] {
            0 => return Ok(()),
            _ if self.special.ccr1 & CCR1_FFF != 0 => 15,
            dirty => dirty,
        };
        let (first, len) = match dirty {
            1 | 2 | 4 | 8 => (dirty.trailing_zeros() as usize * 8, 8),
            3 => (0, 16),
            12 => (16, 16),
            _ => (0, LINE),
        };
        self.unit.at = self.unit.at.max(self.unit.free_write());
        let now = self.instant(bus)?;
        let addr = (u64::from(self.dcache.tags[index]) << 5) + first as u64;
        let data = &self.dcache.line(index)[first..first + len];
        let free = bus.write(now, addr, data).map_err(|error| self.bus_fault(error))?;
        let free = self.cycle_at(free);
        self.unit.occupy_write(free);
        self.dcache.dirty[index] = 0;
        self.counters.writebacks += 1;
        Ok(())
    }
}

/// The access is a single transaction.
pub(crate) fn is_single(addr: u32, len: usize) -> bool {
    len <= 4 && len.is_power_of_two() && addr as usize & (len - 1) == 0
}

/// The longest naturally aligned access at `addr` of at most `len` bytes.
fn aligned_len(addr: u64, len: usize) -> usize {
    let natural = 1 << addr.trailing_zeros().min(2);
    let mut size = natural;
    while size > len {
        size /= 2;
    }
    size
}

//! The load and store unit: the slow path of loads and stores, and the data side of the bus.
//!
//! A load that must wait for the bus delays its uses, not the core: up to four of them, of which
//! three can fill a line each, are outstanding while others hit; the next one waits. Stores go to
//! `gather`. Reads of data are answered in the order in which they were requested (the local bus
//! pipelines requests, but one master's data come in order: assumed of the NIC's).
//!
//! An instruction here may use the bus several times: for a victim and a fill, for the pieces of a
//! misaligned access, for the words of a multiple. Before each transaction it asks the horizon; if
//! it may not go on, the instruction is left as if it had not begun, and is executed again later.
//! Nothing must be done twice: [`Replay`] remembers the pieces that are done already, and `resume`
//! the due time of the transaction that could not be done. A victim is written back before the
//! line that replaces it is read, so that each transaction leaves a consistent cache.

use super::arrays::LINE;
use super::gather::Gather;
use super::slots::Slots;
use super::tlb::{page, Real};
use crate::core::{Core, Flow};
use crate::exception::Exception;
use crate::fault::FaultKind;
use crate::semantics::memory::doublewords;
use crate::special::{CCR0_FLSTA, CCR1_FFF, MMUCR_SWOA};
use bus::{Bus, BusError};
use des::Time;

mod under;

pub(crate) use under::Under;

/// Pieces of the current instruction that are done, in case it must be executed again.
#[derive(Clone, Hash)]
pub(crate) struct Replay {
    /// Number of bytes; 0 if none.
    pub count: u32,
    /// Bytes read.
    bytes: [u8; 128],
    len: usize,
    /// Cycle in which the last of the data arrives.
    data_at: u64,
}

/// The load and store unit.
#[derive(Clone, Hash)]
#[repr(C)]
pub(crate) struct Unit {
    /// Cycle in which the current instruction's next transaction can issue.
    pub at: u64,
    /// No earlier than that, if a transaction was not allowed; else 0.
    pub resume: u64,
    /// Pieces of the current execution so far, and bytes taken from the replay.
    step: u32,
    taken: usize,
    /// Cycle in which the result of the instruction just executed is available.
    pub data_at: u64,
    /// Nothing issues before that cycle after the instruction just executed.
    pub stall: u64,
    /// Arrival of the last line fill.
    pub filled: u64,
    /// Cycles in which stores can join a write.
    pub window: u64,
    line_fills: usize,
    load_latency: u64,
    /// The write that stores can still join.
    pub gather: Gather,
    /// Loads that wait for the bus.
    loads: Slots,
    /// Writes on the bus, until they are taken.
    pub writes: Slots,
    pub replay: Replay,
    /// Line fills outstanding: real line, cycle of arrival.
    fills: [(u32, u64); 4],
}

impl Unit {
    pub fn new(timing: &crate::Timing) -> Unit {
        assert!((1..=4).contains(&timing.line_fills), "1 to 4 line fills");
        Unit {
            at: 0,
            resume: 0,
            step: 0,
            taken: 0,
            replay: Replay { count: 0, bytes: [0; 128], len: 0, data_at: 0 },
            data_at: 0,
            stall: 0,
            fills: [(0, 0); 4],
            filled: 0,
            loads: Slots::new(timing.load_slots),
            writes: Slots::new(timing.write_slots),
            gather: Gather::EMPTY,
            window: timing.gather.into(),
            line_fills: timing.line_fills.into(),
            load_latency: timing.load.into(),
        }
    }
    /// No request to the bus is outstanding from that cycle on.
    pub fn quiet_at(&self) -> u64 {
        self.answered().max(self.writes.all_free())
    }
    /// Cycle in which the last requested read is answered.
    fn answered(&self) -> u64 {
        self.filled.max(self.loads.all_free())
    }
    /// The instruction has completed, or will never complete.
    pub fn replay_forgotten(&mut self) {
        self.replay.count = 0;
        self.replay.len = 0;
        self.replay.data_at = 0;
        self.resume = 0;
    }
    /// True if the piece that comes next is done already; a load gets what it has read.
    fn is_done(&mut self, out: &mut [u8]) -> bool {
        if self.step >= self.replay.count {
            return false;
        }
        out.copy_from_slice(&self.replay.bytes[self.taken..self.taken + out.len()]);
        self.step += 1;
        self.taken += out.len();
        self.data_at = self.data_at.max(self.replay.data_at);
        true
    }
    /// A piece is done; a load has read `bytes`.
    fn done(&mut self, bytes: &[u8]) {
        let replay = &mut self.replay;
        replay.bytes[replay.len..replay.len + bytes.len()].copy_from_slice(bytes);
        replay.len += bytes.len();
        replay.count += 1;
        replay.data_at = self.data_at;
        self.step += 1;
    }
    fn free_fill(&self) -> usize {
        (0..self.line_fills).min_by_key(|&slot| self.fills[slot].1).unwrap_or(0)
    }
}

impl Core {
    /// Translates a data address for an access that needs `need` (`page::READ` or `page::WRITE`).
    /// The TID is not filled in.
    #[inline(always)]
    pub(crate) fn translate(&mut self, addr: u32, need: u8) -> Result<Real, Flow> {
        if let Some(mapped) = self.tlb.mapped(addr).filter(|mapped| mapped.flags() & need != 0) {
            let real = self.tlb.real(mapped, addr);
            return Ok(Real { addr: real, flags: mapped.flags(), tid: 0 });
        }
        self.translate_anew(addr, need)
    }

    #[cold]
    #[inline(never)]
    fn translate_anew(&mut self, addr: u32, need: u8) -> Result<Real, Flow> {
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
    #[inline(always)]
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

    /// The instant of the next transaction, if the horizon allows it. A write that is held and due
    /// goes first.
    #[inline(always)]
    pub(crate) fn instant<B: Bus>(&mut self, bus: &mut B) -> Result<Time, Flow> {
        self.unit.at = self.unit.at.max(self.unit.resume);
        if self.unit.gather.due <= self.unit.at {
            self.drain(bus)?;
        }
        let now = self.edge(self.unit.at);
        if now >= bus.horizon() {
            self.blocked = now;
            self.unit.resume = self.unit.at;
            return Err(Flow::Retry);
        }
        self.unit.resume = 0;
        Ok(now)
    }

    pub(crate) fn bus_fault(&mut self, error: BusError) -> Flow {
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
        if is_one_block(addr, out.len()) {
            self.read_piece(bus, first, out)?;
            self.unit.stall = self.unit.at;
            return Ok(little);
        }
        self.translate(addr.wrapping_add(out.len() as u32 - 1), page::READ)?;
        let mut done = 0;
        while done < out.len() {
            let piece = addr.wrapping_add(done as u32);
            let len = (out.len() - done).min(4).min(16 - piece as usize % 16);
            let chunk = &mut out[done..done + len];
            if !self.unit.is_done(chunk) {
                let real = self.translate(piece, page::READ)?;
                self.read_piece(bus, real, chunk)?;
                self.unit.done(chunk);
            }
            // Each piece takes its turn in the pipe.
            self.unit.stall = self.unit.at;
            self.unit.at += 1;
            done += len;
        }
        Ok(little)
    }

    /// A load within a quadword: from the cache or from the bus.
    #[inline(always)]
    fn read_piece<B: Bus>(&mut self, bus: &mut B, real: Real, out: &mut [u8]) -> Result<(), Flow> {
        if real.flags & page::INHIBITED != 0 {
            return self.read_around(bus, real.addr, out);
        }
        let index = self.resident(bus, (real.addr >> 5) as u32)?;
        let offset = index * LINE + real.addr as usize % LINE;
        if self.dcache.stale_lines > 0 {
            self.check_fresh(real, offset, out.len())?;
        }
        out.copy_from_slice(&self.dcache.data[offset..offset + out.len()]);
        self.unit.data_at = self.unit.data_at.max(self.unit.at + self.unit.load_latency);
        Ok(())
    }

    /// A load within a quadword that goes around the cache.
    #[inline(always)]
    fn read_around<B: Bus>(&mut self, bus: &mut B, addr: u64, out: &mut [u8]) -> Result<(), Flow> {
        self.drain(bus)?;
        self.unit.at = self.unit.at.max(self.unit.loads.free());
        let now = self.instant(bus)?;
        let there = bus.read(now, addr, out).map_err(|error| self.bus_fault(error))?;
        self.counters.uncached_reads += 1;
        let there = self.cycle_at(there).max(self.unit.answered());
        self.unit.loads.occupy(there);
        self.unit.data_at = self.unit.data_at.max(there);
        Ok(())
    }

    /// All of an aligned load that goes around the cache.
    #[inline(always)]
    pub(crate) fn read_single<B: Bus>(
        &mut self,
        bus: &mut B,
        addr: u64,
        out: &mut [u8],
    ) -> Result<(), Flow> {
        self.begin();
        self.read_around(bus, addr, out)?;
        self.unit.stall = self.unit.at;
        Ok(())
    }

    /// All of an aligned store that goes around the cache.
    #[inline(always)]
    pub(crate) fn write_single<B: Bus>(
        &mut self,
        bus: &mut B,
        real: Real,
        data: &[u8],
    ) -> Result<(), Flow> {
        self.begin();
        self.bus_write(bus, real, data)?;
        self.unit.stall = self.unit.at;
        Ok(())
    }

    /// Writes memory in pieces of up to four bytes within a quadword.
    pub(crate) fn write_bytes<B: Bus>(
        &mut self,
        bus: &mut B,
        addr: u32,
        data: &[u8],
    ) -> Result<(), Flow> {
        let first = self.translate(addr, page::WRITE)?;
        self.write_translated(bus, addr, first, data)
    }

    /// The same, where the first page is known.
    #[inline(always)]
    pub(crate) fn write_translated<B: Bus>(
        &mut self,
        bus: &mut B,
        addr: u32,
        first: Real,
        data: &[u8],
    ) -> Result<(), Flow> {
        self.begin();
        if is_one_block(addr, data.len()) {
            self.write_piece(bus, first, data)?;
            self.unit.stall = self.unit.at;
            return Ok(());
        }
        self.write_pieces(bus, addr, data)
    }

    fn write_pieces<B: Bus>(&mut self, bus: &mut B, addr: u32, data: &[u8]) -> Result<(), Flow> {
        self.translate(addr.wrapping_add(data.len() as u32 - 1), page::WRITE)?;
        let mut done = 0;
        while done < data.len() {
            let piece = addr.wrapping_add(done as u32);
            let len = (data.len() - done).min(4).min(16 - piece as usize % 16);
            if !self.unit.is_done(&mut []) {
                let real = self.translate(piece, page::WRITE)?;
                self.write_piece(bus, real, &data[done..done + len])?;
                self.unit.done(&[]);
            }
            self.unit.stall = self.unit.at;
            self.unit.at += 1;
            done += len;
        }
        Ok(())
    }

    /// A store within a quadword: to the bus, to the cache, or to both.
    #[inline(always)]
    fn write_piece<B: Bus>(&mut self, bus: &mut B, real: Real, data: &[u8]) -> Result<(), Flow> {
        if real.flags & page::INHIBITED != 0 {
            return self.bus_write(bus, real, data);
        }
        let line = (real.addr >> 5) as u32;
        let index = match self.dcache.find(line) {
            Some(index) => index,
            None if self.special.mmucr & MMUCR_SWOA != 0 => {
                return self.bus_write(bus, real, data);
            }
            None => self.fill(bus, line)?.0,
        };
        let through = real.flags & page::THROUGH != 0;
        if through {
            self.bus_write(bus, real, data)?;
        }
        let offset = index * LINE + real.addr as usize % LINE;
        self.dcache.data[offset..offset + data.len()].copy_from_slice(data);
        self.dcache.freshen(index, offset % LINE, data.len());
        if !through {
            let dirty = self.dcache.dirty(index) | doublewords(real.addr as u32, data.len());
            self.dcache.set_dirty(index, dirty);
        }
        Ok(())
    }

    /// Index of a real line in the data cache for a load, filled if it must be.
    fn resident<B: Bus>(&mut self, bus: &mut B, line: u32) -> Result<usize, Flow> {
        let (index, there) = match self.dcache.find(line) {
            None => {
                self.unit.at = self.unit.at.max(self.unit.loads.free());
                self.fill(bus, line)?
            }
            Some(index) => {
                let at = self.unit.at;
                match self.unit.fills.iter().find(|fill| fill.0 == line && fill.1 > at) {
                    None => return Ok(index),
                    Some(&(_, there)) => {
                        self.unit.at = at.max(self.unit.loads.free());
                        (index, there)
                    }
                }
            }
        };
        self.unit.loads.occupy(there);
        self.unit.data_at = self.unit.data_at.max(there);
        Ok(index)
    }

    /// Reads a line into the data cache. The core goes on meanwhile, unless all fill buffers are
    /// busy. Returns its index, and the cycle of its arrival.
    pub(crate) fn fill<B: Bus>(&mut self, bus: &mut B, line: u32) -> Result<(usize, u64), Flow> {
        self.drain(bus)?;
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
        let there = self.cycle_at(there).max(self.unit.answered());
        self.unit.fills[slot] = (line, there);
        self.unit.filled = self.unit.filled.max(there);
        Ok((index, there))
    }

    /// Writes the dirty part of a line to the bus: a doubleword, a quadword or all of it.
    pub(crate) fn write_back<B: Bus>(&mut self, bus: &mut B, index: usize) -> Result<(), Flow> {
        let dirty = match self.dcache.dirty(index) {
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
        self.drain(bus)?;
        self.unit.at = self.unit.at.max(self.unit.writes.free());
        let now = self.instant(bus)?;
        let addr = (u64::from(self.dcache.line_number(index)) << 5) + first as u64;
        let data = &self.dcache.line(index)[first..first + len];
        let free = bus.write(now, addr, data).map_err(|error| self.bus_fault(error))?;
        let free = self.cycle_at(free);
        self.unit.writes.occupy(free);
        self.dcache.set_dirty(index, 0);
        self.counters.writebacks += 1;
        Ok(())
    }
}

/// The access is a single piece.
fn is_one_block(addr: u32, len: usize) -> bool {
    len <= 4 && addr as usize % 16 + len <= 16
}

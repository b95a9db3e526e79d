//! Loads and stores: semantics, the data cache, and the bus behind it.
//!
//! A load or store that hits the data cache, within a quadword, takes the fast path. Everything else takes the slow
//! path, which may use the bus several times: for a victim and a fill, for the pieces of a misaligned access to an
//! uncached page, for the words of a multiple. Before each transaction it asks the horizon; if it may not go on, the
//! instruction is left as if it had not begun, and is executed again later. Only uncached transactions must not be
//! done twice: [`Replay`] remembers those that are done already.

use crate::arrays::LINE;
use crate::core::{Core, Flow};
use crate::decode::Op;
use crate::exception::Exception;
use crate::fault::FaultKind;
use crate::registers::EQ;
use crate::special::{CCR0_FLSTA, CCR1_FFF, MMUCR_SWOA};
use crate::tlb::{page, Real};
use bus::{Bus, BusError};
use des::Time;

/// Forms of loads and stores, as bits of a constant parameter.
pub(crate) const INDEXED: u8 = 1;
pub(crate) const UPDATE: u8 = 2;
pub(crate) const SIGNED: u8 = 4;
pub(crate) const REVERSE: u8 = 8;

/// Uncached transactions that the current instruction has done, in case it must be executed again.
#[derive(Clone)]
pub(crate) struct Replay {
    /// How many; 0 if none.
    pub count: u32,
    /// Cycle after the last of them.
    at: u64,
    /// What the reads returned.
    bytes: [u8; 128],
    len: usize,
}

/// The load and store unit.
#[derive(Clone)]
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
    /// Writes outstanding: when each slot is free.
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
    fn free_write(&self) -> usize {
        (0..self.write_slots).min_by_key(|&slot| self.writes[slot]).unwrap_or(0)
    }
    fn free_fill(&self) -> usize {
        (0..self.line_fills).min_by_key(|&slot| self.fills[slot].1).unwrap_or(0)
    }
}

/// The bytes of a word or part of one as a number.
#[inline(always)]
fn number<const N: usize>(bytes: [u8; N], little: bool) -> u32 {
    let mut wide = [0; 4];
    if little {
        wide[..N].copy_from_slice(&bytes);
        u32::from_le_bytes(wide)
    } else {
        wide[4 - N..].copy_from_slice(&bytes);
        u32::from_be_bytes(wide)
    }
}

/// A number's last `N` bytes in memory order.
#[inline(always)]
fn bytes<const N: usize>(value: u32, little: bool) -> [u8; N] {
    let mut out = [0; N];
    if little {
        out.copy_from_slice(&value.to_le_bytes()[..N]);
    } else {
        out.copy_from_slice(&value.to_be_bytes()[4 - N..]);
    }
    out
}

#[inline(always)]
fn address<const FORM: u8>(core: &Core, op: Op) -> u32 {
    let index = if FORM & INDEXED != 0 { core.registers.get(op.rb) } else { op.imm };
    core.registers.get(op.ra).wrapping_add(index)
}

#[inline(always)]
fn loaded<const N: usize, const FORM: u8>(
    core: &mut Core,
    op: Op,
    addr: u32,
    bytes: [u8; N],
    little: bool,
) {
    let value = number(bytes, little != (FORM & REVERSE != 0));
    let value = if FORM & SIGNED != 0 { value as i16 as u32 } else { value };
    if FORM & UPDATE != 0 {
        core.registers.set(op.ra, addr);
    }
    core.registers.set(op.rt, value);
}

/// lbz to lwbrx.
#[inline(always)]
pub(crate) fn load<B: Bus, const N: usize, const FORM: u8>(
    core: &mut Core,
    bus: &mut B,
    op: Op,
) -> Flow {
    let addr = address::<FORM>(core, op);
    if let Some((offset, little)) = core.hit::<N>(addr, page::READ, page::INHIBITED) {
        if core.issue >= core.unit.filled {
            if let Some(bytes) = core.dcache.data[offset..].first_chunk() {
                let bytes = *bytes;
                loaded::<N, FORM>(core, op, addr, bytes, little);
                return Flow::Next;
            }
        }
    }
    load_slow::<B, N, FORM>(core, bus, op, addr)
}

#[cold]
#[inline(never)]
fn load_slow<B: Bus, const N: usize, const FORM: u8>(
    core: &mut Core,
    bus: &mut B,
    op: Op,
    addr: u32,
) -> Flow {
    let mut bytes = [0; N];
    match core.aligned(addr, N, false).and_then(|()| core.read_bytes(bus, addr, &mut bytes)) {
        Ok(little) => {
            loaded::<N, FORM>(core, op, addr, bytes, little);
            Flow::Late
        }
        Err(flow) => flow,
    }
}

/// stb to stwbrx.
#[inline(always)]
pub(crate) fn store<B: Bus, const N: usize, const FORM: u8>(
    core: &mut Core,
    bus: &mut B,
    op: Op,
) -> Flow {
    let addr = address::<FORM>(core, op);
    let value = core.registers.get(op.rt);
    let hit = core.hit::<N>(addr, page::WRITE, page::INHIBITED | page::THROUGH);
    if let Some((offset, little)) = hit {
        if let Some(place) = core.dcache.data[offset..].first_chunk_mut() {
            *place = bytes::<N>(value, little != (FORM & REVERSE != 0));
            core.dcache.dirty[offset / LINE] |= doublewords(addr, N);
            if FORM & UPDATE != 0 {
                core.registers.set(op.ra, addr);
            }
            return Flow::Next;
        }
    }
    store_slow::<B, N, FORM>(core, bus, op, addr)
}

/// Dirty bits of the doublewords that `len` bytes at `addr` touch, within a line.
#[inline(always)]
fn doublewords(addr: u32, len: usize) -> u8 {
    let first = addr >> 3 & 3;
    let last = (addr + len as u32 - 1) >> 3 & 3;
    1 << first | 1 << last
}

#[cold]
#[inline(never)]
fn store_slow<B: Bus, const N: usize, const FORM: u8>(
    core: &mut Core,
    bus: &mut B,
    op: Op,
    addr: u32,
) -> Flow {
    let value = core.registers.get(op.rt);
    let written = core.aligned(addr, N, true).and_then(|()| {
        let little = core.translate(addr, page::WRITE)?.flags & page::LITTLE != 0;
        let data = bytes::<N>(value, little != (FORM & REVERSE != 0));
        core.write_bytes(bus, addr, &data)
    });
    match written {
        Ok(()) => {
            if FORM & UPDATE != 0 {
                core.registers.set(op.ra, addr);
            }
            Flow::Late
        }
        Err(flow) => flow,
    }
}

/// lwarx: always the slow path, so that the operand's alignment is checked in one place.
pub(crate) fn load_reserve<B: Bus>(core: &mut Core, bus: &mut B, op: Op) -> Flow {
    let addr = address::<INDEXED>(core, op);
    if addr & 3 != 0 {
        return core.raise(Exception::Alignment { addr, store: false });
    }
    let flow = load_slow::<B, 4, INDEXED>(core, bus, op, addr);
    if flow == Flow::Late {
        core.registers.reserved = true;
    }
    flow
}

/// stwcx.: the 440 has one reservation without an address.
pub(crate) fn store_conditional<B: Bus>(core: &mut Core, bus: &mut B, op: Op) -> Flow {
    let addr = address::<INDEXED>(core, op);
    if addr & 3 != 0 {
        return core.raise(Exception::Alignment { addr, store: true });
    }
    let mut result = u8::from(core.registers.so);
    let mut flow = Flow::Next;
    if core.registers.reserved {
        flow = store_slow::<B, 4, INDEXED>(core, bus, op, addr);
        if flow != Flow::Late {
            return flow;
        }
        result |= EQ;
    }
    core.registers.reserved = false;
    core.registers.cr[0] = result;
    flow
}

/// Registers RT to 31, a word each.
pub(crate) fn load_multiple<B: Bus>(core: &mut Core, bus: &mut B, op: Op) -> Flow {
    let addr = address::<0>(core, op);
    let count = 32 - usize::from(op.rt);
    let mut buffer = [0; 128];
    let read = core
        .aligned(addr, 4, false)
        .and_then(|()| core.read_bytes(bus, addr, &mut buffer[..4 * count]));
    let little = match read {
        Ok(little) => little,
        Err(flow) => return flow,
    };
    for (index, word) in buffer.chunks_exact(4).take(count).enumerate() {
        core.registers
            .set(op.rt + index as u8, number([word[0], word[1], word[2], word[3]], little));
        core.pipeline.late_register(op.rt + index as u8, core.unit.data_at);
    }
    Flow::Late
}

pub(crate) fn store_multiple<B: Bus>(core: &mut Core, bus: &mut B, op: Op) -> Flow {
    let addr = address::<0>(core, op);
    let count = 32 - usize::from(op.rt);
    let written = core.aligned(addr, 4, true).and_then(|()| {
        let little = core.translate(addr, page::WRITE)?.flags & page::LITTLE != 0;
        let mut buffer = [0; 128];
        for (index, word) in buffer.chunks_exact_mut(4).take(count).enumerate() {
            let value = core.registers.get(op.rt + index as u8);
            word.copy_from_slice(&bytes::<4>(value, little));
        }
        core.write_bytes(bus, addr, &buffer[..4 * count])
    });
    written.map_or_else(|flow| flow, |()| Flow::Late)
}

pub(crate) fn load_string_immediate<B: Bus>(core: &mut Core, bus: &mut B, op: Op) -> Flow {
    load_bytes(core, bus, op, core.registers.get(op.ra), op.imm as usize)
}

pub(crate) fn load_string<B: Bus>(core: &mut Core, bus: &mut B, op: Op) -> Flow {
    load_bytes(core, bus, op, address::<INDEXED>(core, op), core.registers.count.into())
}

/// Bytes in memory order, whatever the page's byte order, into RT and on, from the left of each register.
fn load_bytes<B: Bus>(core: &mut Core, bus: &mut B, op: Op, addr: u32, len: usize) -> Flow {
    let mut buffer = [0; 128];
    if len == 0 {
        return Flow::Next;
    }
    if let Err(flow) = core.read_bytes(bus, addr, &mut buffer[..len]) {
        return flow;
    }
    for (index, word) in buffer[..len.next_multiple_of(4)].chunks_exact(4).enumerate() {
        let register = (op.rt + index as u8) & 31;
        core.registers.set(register, number([word[0], word[1], word[2], word[3]], false));
        core.pipeline.late_register(register, core.unit.data_at);
    }
    Flow::Late
}

pub(crate) fn store_string_immediate<B: Bus>(core: &mut Core, bus: &mut B, op: Op) -> Flow {
    store_bytes(core, bus, op, core.registers.get(op.ra), op.imm as usize)
}

pub(crate) fn store_string<B: Bus>(core: &mut Core, bus: &mut B, op: Op) -> Flow {
    store_bytes(core, bus, op, address::<INDEXED>(core, op), core.registers.count.into())
}

fn store_bytes<B: Bus>(core: &mut Core, bus: &mut B, op: Op, addr: u32, len: usize) -> Flow {
    let mut buffer = [0; 128];
    if len == 0 {
        return Flow::Next;
    }
    for (index, word) in buffer.chunks_exact_mut(4).enumerate().take(len.div_ceil(4)) {
        word.copy_from_slice(&core.registers.get((op.rt + index as u8) & 31).to_be_bytes());
    }
    core.write_bytes(bus, addr, &buffer[..len]).map_or_else(|flow| flow, |()| Flow::Late)
}

impl Core {
    /// Where `N` bytes at `addr` stand in the data cache's array, and whether the page is little-endian; `None` if
    /// the fast path does not suffice.
    #[inline(always)]
    fn hit<const N: usize>(&self, addr: u32, need: u8, forbid: u8) -> Option<(usize, bool)> {
        let mapped = self.tlb.mapped(addr);
        if mapped.key != self.tlb.key(addr)
            || mapped.flags & (need | forbid) != need
            || addr as usize % 16 > 16 - N
        {
            return None;
        }
        let index = self.dcache.hinted(mapped.line + (addr >> 5 & 31))?;
        Some((index * LINE + addr as usize % LINE, mapped.flags & page::LITTLE != 0))
    }

    /// With CCR0[FLSTA] every misaligned access is an alignment exception.
    fn aligned(&mut self, addr: u32, size: usize, store: bool) -> Result<(), Flow> {
        if self.special.ccr0 & CCR0_FLSTA != 0 && addr as usize % size != 0 {
            return Err(self.raise(Exception::Alignment { addr, store }));
        }
        Ok(())
    }

    /// Translates a data address for an access that needs `need` (`page::READ` or `page::WRITE`).
    pub(crate) fn translate(&mut self, addr: u32, need: u8) -> Result<Real, Flow> {
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
        let now = self.clock.edge(self.unit.at);
        if now >= bus.horizon() {
            self.blocked = now;
            return Err(Flow::Retry);
        }
        Ok(now)
    }

    fn bus_fault(&mut self, error: BusError) -> Flow {
        self.stop(FaultKind::Bus(error), Some(error.addr))
    }

    /// Reads memory in pieces of up to four bytes within a quadword. Returns whether the first page is
    /// little-endian.
    fn read_bytes<B: Bus>(&mut self, bus: &mut B, addr: u32, out: &mut [u8]) -> Result<bool, Flow> {
        self.begin();
        let little = self.translate(addr, page::READ)?.flags & page::LITTLE != 0;
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

    /// An uncached read, in naturally aligned transactions. The core stalls until the data are there.
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
                let at = self.clock.edge_at_or_after(there);
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
    fn write_bytes<B: Bus>(&mut self, bus: &mut B, addr: u32, data: &[u8]) -> Result<(), Flow> {
        self.begin();
        self.translate(addr, page::WRITE)?;
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

    /// A write on the bus, in naturally aligned transactions, each in a slot of its own. The core waits only for
    /// a slot.
    fn bus_write<B: Bus>(&mut self, bus: &mut B, addr: u64, data: &[u8]) -> Result<(), Flow> {
        let mut done = 0;
        while done < data.len() {
            let addr = addr + done as u64;
            let len = aligned_len(addr, data.len() - done);
            if self.unit.step >= self.unit.replay.count {
                let slot = self.unit.free_write();
                self.unit.at = self.unit.at.max(self.unit.writes[slot]);
                let now = self.instant(bus)?;
                let chunk = &data[done..done + len];
                let free = bus.write(now, addr, chunk).map_err(|error| self.bus_fault(error))?;
                self.counters.uncached_writes += 1;
                self.unit.writes[slot] = self.clock.edge_at_or_after(free);
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

    /// Reads a line into the data cache. The core goes on meanwhile, unless all fill buffers are busy.
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
        let there = self.clock.edge_at_or_after(there);
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
        let slot = self.unit.free_write();
        self.unit.at = self.unit.at.max(self.unit.writes[slot]);
        let now = self.instant(bus)?;
        let addr = (u64::from(self.dcache.tags[index]) << 5) + first as u64;
        let data = &self.dcache.line(index)[first..first + len];
        let free = bus.write(now, addr, data).map_err(|error| self.bus_fault(error))?;
        self.unit.writes[slot] = self.clock.edge_at_or_after(free);
        self.dcache.dirty[index] = 0;
        self.counters.writebacks += 1;
        Ok(())
    }
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

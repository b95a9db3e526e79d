//! Semantics of loads and stores, and their fast path: a hit in the data cache within a quadword.
//! Everything else goes to the load and store unit (`unit`).

use crate::core::{Core, Flow};
use crate::decode::Op;
use crate::exception::Exception;
use crate::registers::EQ;
use crate::special::CCR0_FLSTA;
use crate::storage::arrays::LINE;
use crate::storage::tlb::{page, Real};
use bus::Bus;

/// Forms of loads and stores, as bits of a constant parameter.
pub(crate) const INDEXED: u8 = 1;
pub(crate) const UPDATE: u8 = 2;
pub(crate) const SIGNED: u8 = 4;
pub(crate) const REVERSE: u8 = 8;

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
fn address<const FORM: u8>(core: &Core, op: &Op) -> u32 {
    let index = if FORM & INDEXED != 0 { core.registers.get(op.rb) } else { op.imm };
    core.registers.get(op.ra).wrapping_add(index)
}

#[inline(always)]
fn loaded<const N: usize, const FORM: u8>(
    core: &mut Core,
    op: &Op,
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
    op: &Op,
) -> Flow {
    let addr = address::<FORM>(core, op);
    if let Some((_, offset, little)) = core.hit::<N>(addr, page::READ, page::INHIBITED)
        && core.issue >= core.unit.filled
        && let Some(bytes) = core.dcache.data[offset..].first_chunk()
    {
        let bytes = *bytes;
        loaded::<N, FORM>(core, op, addr, bytes, little);
        return Flow::Next;
    }
    load_slow::<B, N, FORM>(core, bus, op, addr)
}

/// The same where it is most likely no hit, but goes around the cache.
#[inline(always)]
pub(crate) fn load_around<B: Bus, const N: usize, const FORM: u8>(
    core: &mut Core,
    bus: &mut B,
    op: &Op,
) -> Flow {
    let addr = address::<FORM>(core, op);
    match core.around::<N>(addr, page::READ) {
        Some(real) => load_single::<B, N, FORM>(core, bus, op, addr, real),
        None => load::<B, N, FORM>(core, bus, op),
    }
}

/// A load that is no quick hit. An aligned one that goes around the cache has a short way: it is
/// what firmware does most of all that is slow.
#[inline(never)]
fn load_slow<B: Bus, const N: usize, const FORM: u8>(
    core: &mut Core,
    bus: &mut B,
    op: &Op,
    addr: u32,
) -> Flow {
    match core.around::<N>(addr, page::READ) {
        Some(real) => load_single::<B, N, FORM>(core, bus, op, addr, real),
        None => load_pieces::<B, N, FORM>(core, bus, op, addr),
    }
}

#[inline(always)]
fn load_single<B: Bus, const N: usize, const FORM: u8>(
    core: &mut Core,
    bus: &mut B,
    op: &Op,
    addr: u32,
    real: Real,
) -> Flow {
    let mut bytes = [0; N];
    if let Err(flow) = core.read_single(bus, real.addr, &mut bytes) {
        return flow;
    }
    loaded::<N, FORM>(core, op, addr, bytes, real.flags & page::LITTLE != 0);
    Flow::Late
}

#[inline(never)]
fn load_pieces<B: Bus, const N: usize, const FORM: u8>(
    core: &mut Core,
    bus: &mut B,
    op: &Op,
    addr: u32,
) -> Flow {
    let mut bytes = [0; N];
    let read = core.aligned(addr, N, false).and_then(|()| core.read_bytes(bus, addr, &mut bytes));
    match read {
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
    op: &Op,
) -> Flow {
    let addr = address::<FORM>(core, op);
    let value = core.registers.get(op.rt);
    let hit = core.hit::<N>(addr, page::WRITE, page::INHIBITED | page::THROUGH);
    if let Some((line, offset, little)) = hit
        && let Some(place) = core.dcache.data[offset..].first_chunk_mut()
    {
        *place = bytes::<N>(value, little != (FORM & REVERSE != 0));
        core.dcache.soil_hinted(line, doublewords(addr, N));
        if FORM & UPDATE != 0 {
            core.registers.set(op.ra, addr);
        }
        return Flow::Next;
    }
    store_slow::<B, N, FORM>(core, bus, op, addr)
}

/// The same where it is most likely no hit, but goes around the cache.
#[inline(always)]
pub(crate) fn store_around<B: Bus, const N: usize, const FORM: u8>(
    core: &mut Core,
    bus: &mut B,
    op: &Op,
) -> Flow {
    let addr = address::<FORM>(core, op);
    match core.around::<N>(addr, page::WRITE) {
        Some(real) => store_single::<B, N, FORM>(core, bus, op, addr, real),
        None => store::<B, N, FORM>(core, bus, op),
    }
}

/// Dirty bits of the doublewords that `len` bytes at `addr` touch, within a line.
#[inline(always)]
pub(crate) fn doublewords(addr: u32, len: usize) -> u8 {
    let first = addr >> 3 & 3;
    let last = (addr + len as u32 - 1) >> 3 & 3;
    1 << first | 1 << last
}

/// A store that is no quick hit; as of loads.
#[inline(never)]
fn store_slow<B: Bus, const N: usize, const FORM: u8>(
    core: &mut Core,
    bus: &mut B,
    op: &Op,
    addr: u32,
) -> Flow {
    match core.around::<N>(addr, page::WRITE) {
        Some(real) => store_single::<B, N, FORM>(core, bus, op, addr, real),
        None => store_pieces::<B, N, FORM>(core, bus, op, addr),
    }
}

#[inline(always)]
fn store_single<B: Bus, const N: usize, const FORM: u8>(
    core: &mut Core,
    bus: &mut B,
    op: &Op,
    addr: u32,
    real: Real,
) -> Flow {
    let little = real.flags & page::LITTLE != 0;
    let data = bytes::<N>(core.registers.get(op.rt), little != (FORM & REVERSE != 0));
    let written = core.write_single(bus, real, &data);
    stored::<FORM>(core, op, addr, written)
}

#[inline(never)]
fn store_pieces<B: Bus, const N: usize, const FORM: u8>(
    core: &mut Core,
    bus: &mut B,
    op: &Op,
    addr: u32,
) -> Flow {
    let value = core.registers.get(op.rt);
    let written = core.aligned(addr, N, true).and_then(|()| {
        let real = core.translate(addr, page::WRITE)?;
        let little = real.flags & page::LITTLE != 0;
        let data = bytes::<N>(value, little != (FORM & REVERSE != 0));
        core.write_translated(bus, addr, real, &data)
    });
    stored::<FORM>(core, op, addr, written)
}

#[inline(always)]
fn stored<const FORM: u8>(core: &mut Core, op: &Op, addr: u32, written: Result<(), Flow>) -> Flow {
    if let Err(flow) = written {
        return flow;
    }
    if FORM & UPDATE != 0 {
        core.registers.set(op.ra, addr);
    }
    Flow::Late
}

/// lwarx: always the slow path, so that the operand's alignment is checked in one place.
pub(crate) fn load_reserve<B: Bus>(core: &mut Core, bus: &mut B, op: &Op) -> Flow {
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
pub(crate) fn store_conditional<B: Bus>(core: &mut Core, bus: &mut B, op: &Op) -> Flow {
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
pub(crate) fn load_multiple<B: Bus>(core: &mut Core, bus: &mut B, op: &Op) -> Flow {
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

pub(crate) fn store_multiple<B: Bus>(core: &mut Core, bus: &mut B, op: &Op) -> Flow {
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

pub(crate) fn load_string_immediate<B: Bus>(core: &mut Core, bus: &mut B, op: &Op) -> Flow {
    load_bytes(core, bus, op, core.registers.get(op.ra), op.imm as usize)
}

pub(crate) fn load_string<B: Bus>(core: &mut Core, bus: &mut B, op: &Op) -> Flow {
    load_bytes(core, bus, op, address::<INDEXED>(core, op), core.registers.count.into())
}

/// Bytes in memory order, whatever the page's byte order, into RT and on, from the left of each
/// register.
fn load_bytes<B: Bus>(core: &mut Core, bus: &mut B, op: &Op, addr: u32, len: usize) -> Flow {
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

pub(crate) fn store_string_immediate<B: Bus>(core: &mut Core, bus: &mut B, op: &Op) -> Flow {
    store_bytes(core, bus, op, core.registers.get(op.ra), op.imm as usize)
}

pub(crate) fn store_string<B: Bus>(core: &mut Core, bus: &mut B, op: &Op) -> Flow {
    store_bytes(core, bus, op, address::<INDEXED>(core, op), core.registers.count.into())
}

fn store_bytes<B: Bus>(core: &mut Core, bus: &mut B, op: &Op, addr: u32, len: usize) -> Flow {
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
    /// Line of `N` bytes at `addr`, their index in the data cache's array, and whether the page is
    /// little-endian; `None` if the fast path does not suffice.
    #[inline(always)]
    fn hit<const N: usize>(&self, addr: u32, need: u8, forbid: u8) -> Option<(u32, usize, bool)> {
        let mapped = self.tlb.mapped(addr)?;
        if mapped.flags() & (need | forbid) != need || addr as usize % 16 > 16 - N {
            return None;
        }
        let line = self.tlb.line(mapped, addr);
        let index = self.dcache.hinted(line)?;
        Some((line, index * LINE + addr as usize % LINE, mapped.flags() & page::LITTLE != 0))
    }

    /// Real address of `N` aligned bytes at `addr`, if they are on a page that has just been translated,
    /// permits the access, and bypasses the cache.
    #[inline(always)]
    fn around<const N: usize>(&self, addr: u32, need: u8) -> Option<Real> {
        let mapped = self.tlb.mapped(addr)?;
        let flags = mapped.flags();
        let around = need | page::INHIBITED;
        let short = flags & around == around && addr as usize % N == 0;
        short.then(|| Real { addr: self.tlb.real(mapped, addr), flags, tid: 0 })
    }

    /// Raises an alignment exception for a misaligned access, if `CCR0[FLSTA]` is set.
    fn aligned(&mut self, addr: u32, size: usize, store: bool) -> Result<(), Flow> {
        if self.special.ccr0 & CCR0_FLSTA != 0 && addr as usize % size != 0 {
            return Err(self.raise(Exception::Alignment { addr, store }));
        }
        Ok(())
    }
}

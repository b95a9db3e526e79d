//! Semantics of cache control, and msync.

use crate::core::{Core, Flow};
use crate::decode::Op;
use crate::exception::Exception;
use crate::storage::arrays::{self, LINE};
use crate::storage::tlb::page;
use bus::Bus;

fn address(core: &Core, op: &Op) -> u32 {
    core.registers.get(op.ra).wrapping_add(core.registers.get(op.rb))
}

fn flow(result: Result<(), Flow>) -> Flow {
    result.map_or_else(|flow| flow, |()| Flow::Late)
}

/// dcbf: write back if dirty, then invalidate.
pub(crate) fn data_flush<B: Bus>(core: &mut Core, bus: &mut B, op: &Op) -> Flow {
    flow(push(core, bus, op, true))
}

/// dcbst: write back if dirty.
pub(crate) fn data_store<B: Bus>(core: &mut Core, bus: &mut B, op: &Op) -> Flow {
    flow(push(core, bus, op, false))
}

fn push<B: Bus>(core: &mut Core, bus: &mut B, op: &Op, invalidate: bool) -> Result<(), Flow> {
    core.begin();
    let real = core.translate(address(core, op), page::READ)?;
    if let Some(index) = core.dcache.find((real.addr >> 5) as u32) {
        core.write_back(bus, index)?;
        if invalidate {
            core.dcache.invalidate(index);
        }
    }
    core.settle();
    Ok(())
}

/// dcbi: invalidate, modified data are lost. Counts as a store.
pub(crate) fn data_invalidate<B: Bus>(core: &mut Core, _bus: &mut B, op: &Op) -> Flow {
    core.begin();
    let real = match core.translate(address(core, op), page::WRITE) {
        Ok(real) => real,
        Err(flow) => return flow,
    };
    if let Some(index) = core.dcache.find((real.addr >> 5) as u32) {
        core.dcache.invalidate(index);
    }
    Flow::Next
}

/// dcbt, dcbtst: a fill if the page is cacheable; never an exception.
pub(crate) fn data_touch<B: Bus>(core: &mut Core, bus: &mut B, op: &Op) -> Flow {
    core.begin();
    let Some(real) = core.translate_quietly(address(core, op)) else {
        return Flow::Next;
    };
    let line = (real.addr >> 5) as u32;
    if real.flags & (page::READ | page::INHIBITED) != page::READ || core.dcache.find(line).is_some()
    {
        return Flow::Next;
    }
    let touched = core.fill(bus, line).map(|_| core.settle());
    flow(touched)
}

/// dcbz: a line of zeros without a read.
pub(crate) fn data_zero<B: Bus>(core: &mut Core, bus: &mut B, op: &Op) -> Flow {
    let addr = address(core, op);
    core.begin();
    let zero = core.translate(addr, page::WRITE).and_then(|real| {
        if real.flags & (page::INHIBITED | page::THROUGH) != 0 {
            return Err(core.raise(Exception::Alignment { addr, store: true }));
        }
        let line = (real.addr >> 5) as u32;
        let index = match core.dcache.find(line) {
            Some(index) => index,
            None => {
                core.write_back(bus, core.dcache.victim(line))?;
                core.dcache.install(line)
            }
        };
        core.dcache.line_mut(index).copy_from_slice(&[0; LINE]);
        core.dcache.freshen(index, 0, LINE);
        core.dcache.set_dirty(index, 15);
        core.settle();
        Ok(())
    });
    flow(zero)
}

/// dccci: invalidates the whole data cache; modified data are lost.
pub(crate) fn data_invalidate_all(core: &mut Core, _op: &Op) -> Flow {
    core.dcache.invalidate_all();
    Flow::Next
}

/// icbi: invalidates the line with this virtual address in the space of data accesses.
pub(crate) fn instruction_invalidate(core: &mut Core, op: &Op) -> Flow {
    let addr = address(core, op);
    if let Err(flow) = core.translate(addr, page::READ) {
        return flow;
    }
    let tid = core.translate_quietly(addr).map_or(0, |real| real.tid);
    let tag = arrays::tag(addr, core.data_space(), tid);
    core.icache.invalidate(tag);
    Flow::Refetch
}

/// icbt: a fill if the page is cacheable and executable; never an exception.
pub(crate) fn instruction_touch<B: Bus>(core: &mut Core, bus: &mut B, op: &Op) -> Flow {
    let addr = address(core, op);
    core.begin();
    let Some(real) = core.translate_quietly(addr) else {
        return Flow::Next;
    };
    let tag = arrays::tag(addr, core.data_space(), real.tid);
    if real.flags & (page::EXECUTE | page::INHIBITED) != page::EXECUTE
        || core.icache.find(tag).is_some()
    {
        return Flow::Next;
    }
    match core.read_line(bus, real) {
        Ok((words, _)) => {
            core.counters.icache_misses += 1;
            core.icache.install(tag, words);
            Flow::Refetch
        }
        Err(flow) => flow,
    }
}

/// iccci: invalidates the whole instruction cache.
pub(crate) fn instruction_invalidate_all(core: &mut Core, _op: &Op) -> Flow {
    core.icache.invalidate_all();
    Flow::Refetch
}

/// msync and mbar: wait until all that is outstanding has completed. To the architecture mbar only
/// orders accesses; the 440 has one implementation for both (PPC440x5 manual, storage ordering).
pub(crate) fn storage_synchronise<B: Bus>(core: &mut Core, bus: &mut B, _op: &Op) -> Flow {
    core.begin();
    if let Err(flow) = core.drain(bus) {
        return flow;
    }
    core.unit.stall = core.unit.at.max(core.unit.quiet_at());
    Flow::Late
}

//! Stores on their way to the bus, and how they are gathered.
//!
//! A store that goes to the bus is held until its request is made, [`Timing::gather`] cycles later;
//! a store within the same aligned quadword that is contiguous with the held bytes joins them, and both
//! are one write. Nothing is gathered on guarded pages, across msync and mbar, or with `CCR0[DSTG]`
//! (PPC440x5 manual, store gathering and table of store accesses). What is held is written earlier
//! if anything else needs the data side of the bus: the bus sees loads and stores in the order of
//! the program.
//!
//! [`Timing::gather`]: crate::Timing

use super::tlb::{page, Real};
use crate::core::{Core, Flow};
use crate::fault::FaultKind;
use crate::special::CCR0_DSTG;
use bus::Bus;

const QUADWORD: usize = 16;

/// The write that stores can still join.
#[derive(Clone, Hash)]
pub(crate) struct Gather {
    /// Cycle in which it is requested; `u64::MAX` if there is none.
    pub due: u64,
    /// Its first byte, and how many.
    addr: u64,
    len: usize,
    /// The quadword, of which those bytes count.
    data: [u8; QUADWORD],
    /// One of its stores is to a caching-inhibited page: no byte is written twice.
    inhibited: bool,
    /// The first of its stores.
    pc: u32,
}

impl Gather {
    pub const EMPTY: Gather =
        Gather { due: u64::MAX, addr: 0, len: 0, data: [0; QUADWORD], inhibited: false, pc: 0 };

    pub fn is_empty(&self) -> bool {
        self.due == u64::MAX
    }
    /// It began with the store at `pc`.
    pub fn holds(&self, pc: u32) -> bool {
        !self.is_empty() && self.pc == pc
    }
    /// Joins a store that issues in `at`, if it may.
    #[inline(always)]
    fn join(&mut self, at: u64, real: Real, bytes: &[u8]) -> bool {
        // Also if there is none, or its time has come.
        if at >= self.due || self.is_empty() || (real.addr ^ self.addr) >> 4 != 0 {
            return false;
        }
        let inhibited = self.inhibited || real.flags & page::INHIBITED != 0;
        let (start, end) = (self.addr, self.addr + self.len as u64);
        let (first, last) = (real.addr, real.addr + bytes.len() as u64);
        let contiguous =
            if inhibited { first == end || last == start } else { first <= end && last >= start };
        if !contiguous {
            return false;
        }
        self.addr = start.min(first);
        self.len = (end.max(last) - self.addr) as usize;
        self.inhibited = inhibited;
        self.put(real, bytes);
        true
    }
    #[inline(always)]
    fn put(&mut self, real: Real, bytes: &[u8]) {
        let offset = real.addr as usize % QUADWORD;
        bus::copy(&mut self.data[offset..offset + bytes.len()], bytes);
    }
    /// Adds this pending write to bytes read from memory at `addr`.
    pub fn overlay(&self, addr: u64, bytes: &mut [u8]) {
        if !self.is_empty() {
            for (at, byte) in (self.addr..).zip(self.bytes()) {
                if let Some(to) = bytes.get_mut(at.wrapping_sub(addr) as usize) {
                    *to = *byte;
                }
            }
        }
    }
    /// Another value for those of these bytes that it writes.
    pub fn replace(&mut self, addr: u64, bytes: &[u8]) {
        let (held, len) = (self.addr, self.len as u64);
        for (at, byte) in (addr..).zip(bytes) {
            if !self.is_empty() && (held..held + len).contains(&at) {
                self.data[at as usize % QUADWORD] = *byte;
            }
        }
    }
    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        let offset = self.addr as usize % QUADWORD;
        &self.data[offset..offset + self.len]
    }
}

impl Core {
    /// True if stores to a page with these attributes are gathered.
    pub(crate) fn gathers(&self, flags: u8) -> bool {
        flags & page::GUARDED == 0 && self.special.ccr0 & CCR0_DSTG == 0 && self.unit.window != 0
    }

    /// A store of up to four bytes within a quadword that goes to the bus. The core waits only for
    /// a slot.
    #[inline(always)]
    pub(crate) fn bus_write<B: Bus>(
        &mut self,
        bus: &mut B,
        real: Real,
        data: &[u8],
    ) -> Result<(), Flow> {
        self.unit.at = self.unit.at.max(self.unit.resume);
        let gathers = self.gathers(real.flags);
        if gathers && self.unit.gather.join(self.unit.at, real, data) {
            self.counters.gathered_stores += 1;
            self.unit.resume = 0;
            return Ok(());
        }
        self.drain(bus)?;
        self.unit.at = self.unit.at.max(self.unit.writes.free());
        if !gathers {
            let now = self.instant(bus)?;
            let free = bus.write(now, real.addr, data).map_err(|error| self.bus_fault(error))?;
            self.counters.uncached_writes += 1;
            let free = self.cycle_at(free);
            self.unit.writes.occupy(free);
            return Ok(());
        }
        self.unit.resume = 0;
        let due = self.unit.at + self.unit.window;
        let gather = &mut self.unit.gather;
        gather.due = due;
        gather.addr = real.addr;
        gather.len = data.len();
        gather.inhibited = real.flags & page::INHIBITED != 0;
        gather.pc = self.registers.pc;
        gather.put(real, data);
        self.look_up_at(due);
        Ok(())
    }

    /// Requests the write that is held, before another access.
    #[inline(always)]
    pub(crate) fn drain<B: Bus>(&mut self, bus: &mut B) -> Result<(), Flow> {
        self.unit.at = self.unit.at.max(self.unit.resume);
        if self.unit.gather.is_empty() {
            return Ok(());
        }
        let cycle = self.unit.gather.due.min(self.unit.at);
        let written = self.write_gathered(bus, cycle);
        if written == Err(Flow::Retry) {
            self.unit.resume = self.unit.at;
        }
        written
    }

    /// Asks for the write that is held in `cycle`. It has a slot, for which the first of its stores
    /// has waited.
    pub(crate) fn write_gathered<B: Bus>(&mut self, bus: &mut B, cycle: u64) -> Result<(), Flow> {
        let now = self.edge(cycle);
        if now >= bus.horizon() {
            self.blocked = now;
            return Err(Flow::Retry);
        }
        self.unit.gather.due = u64::MAX;
        self.limit = self.calm_limit;
        let gather = &self.unit.gather;
        match bus.write(now, gather.addr, gather.bytes()) {
            Ok(free) => {
                self.counters.uncached_writes += 1;
                let free = self.cycle_at(free);
                self.unit.writes.occupy(free);
                Ok(())
            }
            Err(error) => {
                let (pc, addr) = (gather.pc, Some(error.addr));
                Err(self.stop_at(now, pc, FaultKind::Bus(error), addr))
            }
        }
    }
}

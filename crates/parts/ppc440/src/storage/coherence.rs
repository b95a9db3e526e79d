//! The data cache is not coherent with anything: what others write in memory, and read from it, and
//! what that makes of the lines that the cache holds.
//!
//! Both wrongs are recorded as faults when a wrong byte is used, if [`Config::coherence_faults`] is
//! on: a load that hits a byte that was written in memory since (whatever was written), and a read
//! of others that misses a byte that was stored. `dcbi`, `dcbf`, `dccci`, replacement, and
//! stores to the bytes make a line fresh again. With the option off the data are just as old as the
//! hardware's.
//!
//! [`Config::coherence_faults`]: crate::Config

use super::arrays::LINE;
use super::tlb::Real;
use crate::core::{Core, Flow, State};
use crate::FaultKind;

/// The parts of `len` bytes at a real address, a line each: line number, first byte in the line,
/// how many, and how many came before.
pub(crate) fn lines(addr: u64, len: usize) -> impl Iterator<Item = (u32, usize, usize, usize)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = addr + done as u64;
        let first = at as usize % LINE;
        let part = (LINE - first).min(len - done);
        let before = done;
        done += part;
        (part > 0).then_some(((at >> 5) as u32, first, part, before))
    })
}

impl Core {
    /// Reports that others have written `len` bytes of memory at real address `addr`.
    pub fn written_outside(&mut self, addr: u64, len: usize) {
        self.disturb();
        if self.coherence_faults {
            for (line, first, len, _) in lines(addr, len) {
                self.dcache.make_stale(line, first, len);
            }
        }
    }

    /// Reports that others have read `data` from memory at real address `addr`. It can be a fault, which
    /// stops the core.
    pub fn read_outside(&mut self, addr: u64, data: &[u8]) {
        if !self.coherence_faults || self.state != State::Running {
            return;
        }
        for (line, first, len, before) in lines(addr, data.len()) {
            let data = &data[before..before + len];
            if let Some(byte) = self.dcache.first_unflushed(line, first, data) {
                let addr = addr + (before + byte) as u64;
                self.issue = self.pipeline.cycle();
                self.stop(FaultKind::Unflushed { addr }, Some(addr));
                return;
            }
        }
    }

    /// A load of `len` bytes, which are at `offset` in the cache's array.
    pub(crate) fn check_fresh(
        &mut self,
        real: Real,
        offset: usize,
        len: usize,
    ) -> Result<(), Flow> {
        match self.dcache.first_stale(offset, len) {
            None => Ok(()),
            Some(byte) => {
                let addr = real.addr + byte as u64;
                Err(self.stop(FaultKind::Stale { addr }, Some(addr)))
            }
        }
    }
}

//! Instruction fetch: through translation and the instruction cache, or, from a caching-inhibited
//! page, into the line fetch buffer, which holds the line until another one is fetched or the
//! context is synchronised.

use crate::arrays::{self, BUFFER};
use crate::core::{Core, Flow};
use crate::exception::Exception;
use crate::fault::FaultKind;
use crate::registers::MSR_IS;
use crate::tlb::{page, Real};
use bus::Bus;

impl Core {
    /// The line of the instruction cache, or the buffer, that holds the next instruction.
    #[inline(always)]
    pub(crate) fn fetch<B: Bus>(&mut self, bus: &mut B) -> Result<usize, Flow> {
        let key = self.fetch_key();
        match self.icache.mapped(key) {
            Some(line) => Ok(line),
            None => self.fetch_slow(bus, key),
        }
    }

    /// Key of the present line in the fetch map.
    #[inline(always)]
    pub(crate) fn fetch_key(&self) -> u64 {
        self.tlb.fetch_generation << 32 | u64::from(self.registers.pc >> 5)
    }

    #[cold]
    #[inline(never)]
    fn fetch_slow<B: Bus>(&mut self, bus: &mut B, key: u64) -> Result<usize, Flow> {
        if self.icache.buffered == Some(key) {
            return Ok(BUFFER);
        }
        let pc = self.registers.pc;
        let space = self.registers.msr & MSR_IS != 0;
        let real = self.tlb.translate(pc, space, self.special.pid as u8, self.user());
        let Some(real) = real else {
            return Err(self.raise(Exception::InstructionMiss));
        };
        if real.flags & page::EXECUTE == 0 {
            return Err(self.raise(Exception::InstructionStorage));
        }
        self.issue = self.pipeline.cycle;
        if real.flags & page::INHIBITED != 0 {
            self.begin();
            let words = self.read_line(bus, real)?;
            self.icache.set_words(BUFFER, words);
            self.icache.buffered = Some(key);
            self.pipeline.stall(self.unit.stall);
            return Ok(BUFFER);
        }
        let tag = arrays::tag(pc, space, real.tid);
        let line = match self.icache.find(tag) {
            Some(line) => line,
            None => {
                self.begin();
                let words = self.read_line(bus, real)?;
                self.pipeline.stall(self.unit.stall);
                self.icache.install(tag, words)
            }
        };
        self.icache.remember(key, line);
        Ok(line)
    }

    /// Reads the eight instructions of a line from the bus, in the page's byte order.
    pub(crate) fn read_line<B: Bus>(&mut self, bus: &mut B, real: Real) -> Result<[u32; 8], Flow> {
        let now = self.instant(bus)?;
        let mut data = [0; arrays::LINE];
        let addr = real.addr & !31;
        let there = bus
            .read(now, addr, &mut data)
            .map_err(|error| self.stop(FaultKind::Bus(error), Some(error.addr)))?;
        self.counters.icache_misses += 1;
        self.unit.stall = self.cycle_at(there);
        let mut words = [0; 8];
        for (word, bytes) in words.iter_mut().zip(data.chunks_exact(4)) {
            let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
            *word = if real.flags & page::LITTLE != 0 {
                u32::from_le_bytes(bytes)
            } else {
                u32::from_be_bytes(bytes)
            };
        }
        Ok(words)
    }
}

//! Instruction fetch: through translation and the instruction cache, or, from a caching-inhibited
//! page, into the line fetch buffer, which holds the line until another one is fetched or the
//! context is synchronised.
//!
//! A line is requested when nothing of the line before is left to issue, with the word that is
//! needed first; execution goes on when that is there (PPC440x5 manual, ICC operations). That the
//! rest of the line follows in time is assumed: it comes a beat of the bus later, and two pairs of
//! instructions are there to issue.
//!
//! After a line that missed the cache requests up to three lines behind it, `CCR0[ICSLC]` of them, of
//! cacheable pages (PPC440x5 manual, speculative prefetch). They wait in `Ahead` until they are
//! needed or another line misses. That one abandons what has not begun to arrive; with `CCR0[ICSLT]`
//! 0 the first such line is completed. Assumed: the lines stay within a kilobyte, the smallest
//! page, up to the first that is in the cache already; lines arrive whole; the bus has carried what
//! is abandoned.

use crate::code::{self, Text};
use crate::core::{Core, Flow};
use crate::exception::Exception;
use crate::fault::FaultKind;
use crate::registers::MSR_IS;
use crate::special::{CCR0_ICSLC, CCR0_ICSLT};
use crate::storage::arrays;
use crate::storage::tlb::{page, Real};
use bus::Bus;
use std::sync::Arc;

/// Lines that were fetched ahead and are not in the cache, in the order of their addresses.
#[derive(Clone, Hash, Default)]
pub(crate) struct Ahead {
    lines: [Line; 3],
    count: usize,
}

/// One of them: its virtual tag, its instructions, and the cycle of its arrival.
#[derive(Clone, Copy, Hash, Default)]
struct Line {
    tag: u64,
    words: [u32; 8],
    there: u64,
}

impl Ahead {
    pub fn forget(&mut self) {
        *self = Ahead::default();
    }
    fn lines(&self) -> &[Line] {
        &self.lines[..self.count]
    }
    fn push(&mut self, line: Line) {
        self.lines[self.count] = line;
        self.count += 1;
    }
    /// Takes all of them.
    fn take(&mut self) -> Ahead {
        std::mem::take(self)
    }
}

impl Core {
    /// The line of the next instruction, if it is one of the text and in the cache.
    #[inline(always)]
    pub(crate) fn fetched<'a>(&self, text: &'a Text) -> Option<&'a code::Line> {
        self.icache.fetched(text, self.tlb.fetch_generation, self.registers.pc >> 5)
    }

    /// The line of the next instruction, wherever it is.
    #[cold]
    #[inline(never)]
    pub(crate) fn fetch<B: Bus>(
        &mut self,
        bus: &mut B,
        text: &Text,
    ) -> Result<Arc<code::Line>, Flow> {
        let (generation, number) = (self.tlb.fetch_generation, self.registers.pc >> 5);
        if let Some(line) = self.icache.buffered(generation, number) {
            return Ok(line);
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
        self.issue = self.pipeline.cycle();
        if real.flags & page::INHIBITED != 0 {
            self.begin();
            let (words, there) = self.read_line(bus, real)?;
            self.counters.icache_misses += 1;
            self.pipeline.stall(there);
            return Ok(self.icache.buffer(generation, number, words));
        }
        let tag = arrays::tag(pc, space, real.tid);
        let index = match self.icache.find(tag) {
            Some(index) => index,
            None => self.miss(bus, tag, real)?,
        };
        Ok(self.icache.remember(text, generation, number, index))
    }

    /// Fills the line that is executed next.
    fn miss<B: Bus>(&mut self, bus: &mut B, tag: u64, real: Real) -> Result<usize, Flow> {
        if let Some(&Line { words, there, .. }) =
            self.icache.ahead.lines().iter().find(|line| line.tag == tag)
        {
            // The lines before it were jumped over and have arrived before it.
            for line in self.icache.ahead.take().lines() {
                if line.tag < tag {
                    self.install(line);
                } else if line.tag > tag {
                    self.icache.ahead.push(*line);
                }
            }
            self.pipeline.stall(there);
            return Ok(self.install(&Line { tag, words, there }));
        }
        self.begin();
        let (words, there) = self.read_line(bus, real)?;
        self.abandon();
        self.fetch_ahead(bus, tag, real)?;
        self.pipeline.stall(there);
        Ok(self.install(&Line { tag, words, there }))
    }

    fn install(&mut self, line: &Line) -> usize {
        self.counters.icache_misses += 1;
        self.icache.install(line.tag, line.words)
    }

    /// Another line misses: lines ahead that have arrived go to the cache, others are dropped.
    fn abandon(&mut self) {
        let cycle = self.pipeline.cycle();
        let mut complete = self.special.ccr0 & CCR0_ICSLT == 0;
        for line in self.icache.ahead.take().lines() {
            if line.there <= cycle || std::mem::take(&mut complete) {
                self.install(line);
            }
        }
    }

    fn fetch_ahead<B: Bus>(&mut self, bus: &mut B, tag: u64, real: Real) -> Result<(), Flow> {
        for ahead in 1..=u64::from((self.special.ccr0 & CCR0_ICSLC) >> 2) {
            let addr = (real.addr & !31) + 32 * ahead;
            let tag = tag + ahead;
            if (addr ^ real.addr) >> 10 != 0 || self.icache.find(tag).is_some() {
                break;
            }
            let (words, there) = self.read_line(bus, Real { addr, ..real })?;
            self.icache.ahead.push(Line { tag, words, there });
        }
        Ok(())
    }

    /// Reads the eight instructions of a line from the bus, in the page's byte order, and returns the cycle
    /// of their arrival.
    pub(crate) fn read_line<B: Bus>(
        &mut self,
        bus: &mut B,
        real: Real,
    ) -> Result<([u32; 8], u64), Flow> {
        let now = self.instant(bus)?;
        let mut data = [0; arrays::LINE];
        let addr = real.addr & !31;
        let there = bus
            .read(now, addr, &mut data)
            .map_err(|error| self.stop(FaultKind::Bus(error), Some(error.addr)))?;
        let there = self.cycle_at(there);
        let mut words = [0; 8];
        for (word, bytes) in words.iter_mut().zip(data.chunks_exact(4)) {
            let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
            *word = if real.flags & page::LITTLE != 0 {
                u32::from_le_bytes(bytes)
            } else {
                u32::from_be_bytes(bytes)
            };
        }
        Ok((words, there))
    }
}

//! Decoded instructions, a page of the memory at a time. The processor has no cache, so an instruction is
//! forgotten as soon as it is written: its place holds [`Op::stale`] until it is executed again. Data may
//! lie beside code, so a page is not forgotten as a whole.

use crate::decode::{decode, Op};

/// Words a page.
const WORDS: usize = 256;
/// Bytes a page, as a shift.
const SHIFT: u32 = 10;
/// A page that is not decoded.
const NONE: u32 = u32::MAX;

/// The decoded pages.
pub(crate) struct Code {
    /// First instruction of each page of the memory in `ops`.
    pages: Vec<u32>,
    ops: Vec<Op>,
}

impl Code {
    pub(crate) fn new() -> Code {
        Code { pages: Vec::new(), ops: Vec::new() }
    }

    /// The instruction at `pc`, a multiple of 4, if its page is decoded.
    #[inline(always)]
    pub(crate) fn get(&self, pc: u32) -> Option<&Op> {
        let first = *self.pages.get((pc >> SHIFT) as usize)?;
        self.ops.get((first as usize).wrapping_add((pc >> 2) as usize % WORDS))
    }

    /// Decodes the page of `pc`, or if that is decoded the instruction, which is stale. False if the memory
    /// ends before it.
    #[cold]
    pub(crate) fn decode(&mut self, sram: &[u8], pc: u32) -> bool {
        let page = (pc >> SHIFT) as usize;
        let Some(bytes) = sram.get(page << SHIFT..(page + 1) << SHIFT) else {
            return false;
        };
        let word = |word: &[u8]| decode(u32::from_be_bytes([word[0], word[1], word[2], word[3]]));
        self.pages.resize(self.pages.len().max(sram.len() >> SHIFT), NONE);
        match self.pages[page] {
            NONE => {
                self.pages[page] = self.ops.len() as u32;
                self.ops.extend(bytes.chunks_exact(4).map(word));
            }
            first => {
                let place = (pc >> 2) as usize % WORDS;
                self.ops[first as usize + place] = word(&bytes[4 * place..][..4]);
            }
        }
        true
    }

    /// Forgets the instruction at `addr`, which has been written.
    #[inline(always)]
    pub(crate) fn written(&mut self, addr: u32) {
        let Some(first) = self.pages.get((addr >> SHIFT) as usize) else { return };
        if *first != NONE {
            self.ops[*first as usize + (addr >> 2) as usize % WORDS] = Op::stale();
        }
    }

    /// Forgets all instructions that have a byte of `addr..addr + len`.
    pub(crate) fn changed(&mut self, addr: u32, len: usize) {
        let end = (addr as usize + len).div_ceil(1 << SHIFT).min(self.pages.len());
        for page in (addr >> SHIFT) as usize..end {
            if self.pages[page] != NONE {
                let from = (addr as usize).max(page << SHIFT) & !3;
                let to = (addr as usize + len).min((page + 1) << SHIFT);
                (from..to).step_by(4).for_each(|addr| self.written(addr as u32));
            }
        }
    }
}

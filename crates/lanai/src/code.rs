//! Decoded instructions, a page of the memory at a time. The processor has no cache, so a page is
//! forgotten as soon as anything in it is written.

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
    /// Places in `ops` that are free again.
    free: Vec<u32>,
}

impl Code {
    pub(crate) fn new() -> Code {
        Code { pages: Vec::new(), ops: Vec::new(), free: Vec::new() }
    }

    /// The instruction at `pc`, a multiple of 4, if its page is decoded.
    #[inline(always)]
    pub(crate) fn get(&self, pc: u32) -> Option<&Op> {
        let first = *self.pages.get((pc >> SHIFT) as usize)?;
        self.ops.get((first as usize).wrapping_add((pc >> 2) as usize % WORDS))
    }

    /// Decodes the page of `pc`. False if the memory ends before it.
    #[cold]
    pub(crate) fn decode(&mut self, sram: &[u8], pc: u32) -> bool {
        let page = (pc >> SHIFT) as usize;
        let Some(bytes) = sram.get(page << SHIFT..(page + 1) << SHIFT) else {
            return false;
        };
        self.pages.resize(self.pages.len().max(sram.len() >> SHIFT), NONE);
        let words = bytes.chunks_exact(4);
        let ops =
            words.map(|word| decode(u32::from_be_bytes([word[0], word[1], word[2], word[3]])));
        self.pages[page] = match self.free.pop() {
            Some(first) => {
                let place = &mut self.ops[first as usize..][..WORDS];
                place.iter_mut().zip(ops).for_each(|(place, op)| *place = op);
                first
            }
            None => {
                self.ops.extend(ops);
                (self.ops.len() - WORDS) as u32
            }
        };
        true
    }

    /// Forgets the page of `addr`, which has been written.
    #[inline(always)]
    pub(crate) fn written(&mut self, addr: u32) {
        let page = (addr >> SHIFT) as usize;
        if self.pages.get(page).is_some_and(|first| *first != NONE) {
            self.forget(page);
        }
    }

    /// Forgets all pages that have a byte of `addr..addr + len`.
    pub(crate) fn changed(&mut self, addr: u32, len: usize) {
        let end = (addr as usize + len).div_ceil(1 << SHIFT).min(self.pages.len());
        for page in (addr >> SHIFT) as usize..end {
            self.written((page << SHIFT) as u32);
        }
    }

    #[cold]
    fn forget(&mut self, page: usize) {
        self.free.push(self.pages[page]);
        self.pages[page] = NONE;
    }
}

//! Plain memory.

use crate::BusError;
use std::fmt;
use std::sync::Arc;

/// Bytes at a base address. Blocks that were always zero need next to no memory of the simulator: the
/// simulator's memory is in huge pages, of which the operating system gives a whole one for a single byte.
pub struct Memory {
    base: u64,
    len: usize,
    blocks: Vec<Slot>,
}

/// Contents of a block.
#[derive(Clone, Default)]
enum Slot {
    /// Zeros.
    #[default]
    Zeros,
    /// Bytes of this memory.
    Own(Box<Block>),
    /// Bytes shared with the memory of which this one is a clone, until one of the two writes to them.
    Shared(Arc<Block>),
}

impl Slot {
    #[inline]
    fn bytes(&self) -> Option<&Block> {
        match self {
            Slot::Zeros => None,
            Slot::Own(block) => Some(block),
            Slot::Shared(block) => Some(block),
        }
    }
    /// Its bytes, to be written to.
    #[cold]
    fn own(&mut self) -> &mut Block {
        if !matches!(self, Slot::Own(_)) {
            *self = Slot::Own(Box::new(*self.bytes().unwrap_or(&ZEROS)));
        }
        match self {
            Slot::Own(block) => block,
            _ => unreachable!("it was made its own"),
        }
    }
}

/// Bytes of a block.
const BLOCK: usize = 4096;

type Block = [u8; BLOCK];

const ZEROS: Block = [0; BLOCK];

impl fmt::Debug for Memory {
    /// Prints the contents, independent of their representation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Memory { base, len, .. } = self;
        let blocks = self.blocks.iter().enumerate();
        let blocks = blocks.filter_map(|(number, slot)| Some((number, slot.bytes()?)));
        let blocks: Vec<_> = blocks.filter(|(_, block)| **block != ZEROS).collect();
        write!(f, "Memory {{ base: {base:#x}, len: {len:#x}, blocks: {blocks:?} }}")
    }
}

impl Clone for Memory {
    fn clone(&self) -> Memory {
        // Zeros that were written are none any more.
        let copy = |slot: &Slot| match slot {
            Slot::Own(block) if **block == ZEROS => Slot::Zeros,
            slot => slot.clone(),
        };
        Memory { base: self.base, len: self.len, blocks: self.blocks.iter().map(copy).collect() }
    }
}

impl PartialEq for Memory {
    fn eq(&self, other: &Memory) -> bool {
        let mut blocks = self.blocks.iter().zip(&other.blocks);
        (self.base, self.len) == (other.base, other.len)
            && blocks.all(|(a, b)| a.bytes().unwrap_or(&ZEROS) == b.bytes().unwrap_or(&ZEROS))
    }
}

impl Eq for Memory {}

/// Copies as many bytes as both have; short copies of loads and stores need no call.
#[inline(always)]
pub fn copy(to: &mut [u8], from: &[u8]) {
    match from.len() {
        4 => to[..4].copy_from_slice(&from[..4]),
        2 => to[..2].copy_from_slice(&from[..2]),
        1 => to[0] = from[0],
        _ => to.copy_from_slice(from),
    }
}

impl Memory {
    /// `len` zero bytes from `base` on.
    pub fn new(base: u64, len: usize) -> Memory {
        Memory { base, len, blocks: vec![Slot::Zeros; len.div_ceil(BLOCK)] }
    }
    /// Makes this memory copy-on-write: clones share blocks that neither has changed.
    pub fn share(&mut self) {
        for slot in &mut self.blocks {
            match std::mem::take(slot) {
                Slot::Own(block) if *block == ZEROS => {}
                Slot::Own(block) => *slot = Slot::Shared(Arc::from(block)),
                other => *slot = other,
            }
        }
    }
    /// First address.
    pub fn base(&self) -> u64 {
        self.base
    }
    /// Size in bytes.
    pub fn len(&self) -> usize {
        self.len
    }
    /// True if it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// True if all of `addr .. addr + len` lies inside.
    pub fn contains(&self, addr: u64, len: usize) -> bool {
        self.offset(addr, len).is_some()
    }
    #[inline]
    fn offset(&self, addr: u64, len: usize) -> Option<usize> {
        let start = usize::try_from(addr.checked_sub(self.base)?).ok()?;
        (start.checked_add(len)? <= self.len).then_some(start)
    }
    /// Block of `addr`, and the offset in it, for an access of `len` bytes.
    #[inline]
    fn place(&self, addr: u64, len: usize, write: bool) -> Result<(usize, usize), BusError> {
        let error = BusError { addr, len, write, why: "outside of the memory" };
        let offset = self.offset(addr, len).ok_or(error)?;
        Ok((offset / BLOCK, offset % BLOCK))
    }
    /// Fills `buf` from `addr`.
    #[inline]
    pub fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), BusError> {
        let (block, at) = self.place(addr, buf.len(), false)?;
        if at + buf.len() > BLOCK {
            return self.read_across(addr, BLOCK - at, buf);
        }
        match self.blocks.get(block).and_then(Slot::bytes) {
            Some(block) => copy(buf, &block[at..at + buf.len()]),
            None => buf.fill(0),
        }
        Ok(())
    }
    /// Stores `data` at `addr`.
    #[inline]
    pub fn write(&mut self, addr: u64, data: &[u8]) -> Result<(), BusError> {
        let (block, at) = self.place(addr, data.len(), true)?;
        if at + data.len() > BLOCK {
            return self.write_across(addr, BLOCK - at, data);
        }
        match self.blocks.get_mut(block) {
            Some(Slot::Own(block)) => copy(&mut block[at..at + data.len()], data),
            Some(Slot::Zeros) if data.iter().all(|&byte| byte == 0) => {}
            Some(slot) => copy(&mut slot.own()[at..at + data.len()], data),
            None => {}
        }
        Ok(())
    }
    /// Fills `buf` from two or more blocks, with `first` bytes of the first one.
    #[cold]
    fn read_across(&self, addr: u64, first: usize, buf: &mut [u8]) -> Result<(), BusError> {
        let (first, rest) = buf.split_at_mut(first);
        self.read(addr, first)?;
        self.read(addr + first.len() as u64, rest)
    }
    #[cold]
    fn write_across(&mut self, addr: u64, first: usize, data: &[u8]) -> Result<(), BusError> {
        let (first, rest) = data.split_at(first);
        self.write(addr, first)?;
        self.write(addr + first.len() as u64, rest)
    }
    /// A copy of the bytes `addr .. addr + len`.
    pub fn bytes(&self, addr: u64, len: usize) -> Result<Vec<u8>, BusError> {
        let mut bytes = vec![0; len];
        self.read(addr, &mut bytes).map(|()| bytes)
    }
    /// A copy of all bytes.
    pub fn all(&self) -> Vec<u8> {
        let blocks = self.blocks.iter().map(|block| block.bytes().unwrap_or(&ZEROS));
        let mut all = blocks.copied().collect::<Vec<_>>().concat();
        all.truncate(self.len);
        all
    }
    /// Little-endian word at `addr`.
    pub fn read_u32(&self, addr: u64) -> Result<u32, BusError> {
        let mut word = [0; 4];
        self.read(addr, &mut word).map(|()| u32::from_le_bytes(word))
    }
    /// Stores a little-endian word.
    pub fn write_u32(&mut self, addr: u64, word: u32) -> Result<(), BusError> {
        self.write(addr, &word.to_le_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use des::Random;

    #[test]
    fn blocks_are_not_to_be_seen() {
        let (base, len) = (0x1000, 3 * BLOCK + 100);
        let (mut memory, mut plain) = (Memory::new(base, len), vec![0u8; len]);
        let mut random = Random::new(1);
        for round in 0..20_000u32 {
            let size = 1 + random.below(if round % 50 == 0 { 6_000 } else { 40 }) as usize;
            let at = random.below(len as u64 + 20) as usize;
            let addr = base + at as u64;
            let fits = at + size <= len;
            assert_eq!(memory.contains(addr, size), fits);
            let data: Vec<u8> =
                (0..size).map(|_| random.below(3) as u8 * random.below(2) as u8).collect();
            assert_eq!(memory.write(addr, &data).is_ok(), fits);
            if fits {
                plain[at..at + size].copy_from_slice(&data);
            }
            let from = random.below(len as u64) as usize;
            let size = size.min(len - from);
            let found = memory.bytes(base + from as u64, size).unwrap();
            assert_eq!(found, plain[from..from + size]);
            if round % 1_000 == 0 {
                assert_eq!(memory.all(), plain);
                assert_eq!(memory, memory.clone());
            }
        }
        assert!(
            memory.read(base - 1, &mut [0]).is_err() && memory.read(u64::MAX, &mut [0]).is_err()
        );
    }

    #[test]
    fn zeros_need_no_blocks_and_are_equal_to_those_that_were_written() {
        let mut memory = Memory::new(0, 2 * BLOCK);
        memory.write(10, &[0; 5_000]).unwrap();
        let zeros = |slot: &Slot| matches!(slot, Slot::Zeros);
        assert!(memory.blocks.iter().all(zeros));
        memory.write_u32(0, 1).unwrap();
        assert_ne!(memory, Memory::new(0, 2 * BLOCK));
        memory.write_u32(0, 0).unwrap();
        assert!(!zeros(&memory.blocks[0]) && zeros(&memory.clone().blocks[0]));
        assert_eq!(memory, Memory::new(0, 2 * BLOCK));
    }

    #[test]
    fn what_is_shared_is_nobody_elses_to_write() {
        let mut memory = Memory::new(0, 3 * BLOCK);
        memory.write(0, &[1; 2 * BLOCK]).unwrap();
        memory.write(BLOCK as u64, &[0; BLOCK]).unwrap();
        memory.share();
        let mut twin = memory.clone();
        assert!(matches!(twin.blocks[0], Slot::Shared(_)));
        assert!(matches!(twin.blocks[1], Slot::Zeros));
        assert_eq!(memory, twin);
        twin.write_u32(8, 7).unwrap();
        memory.write_u32(16, 9).unwrap();
        assert_eq!((twin.read_u32(8), twin.read_u32(16)), (Ok(7), Ok(0x0101_0101)));
        assert_eq!((memory.read_u32(8), memory.read_u32(16)), (Ok(0x0101_0101), Ok(9)));
        assert_ne!(memory, twin);
    }
}

//! Plain memory.

use crate::BusError;
use des::{Checkpoint, Checkpointed};

/// Bytes at a base address.
#[derive(Debug)]
pub struct Memory {
    base: u64,
    bytes: Vec<u8>,
}

/// Bytes that are copied or left out together.
const BLOCK: usize = 4096;

impl Clone for Memory {
    /// Blocks of zeros are not written, so that the operating system need not give memory for them.
    fn clone(&self) -> Memory {
        let mut bytes = vec![0; self.bytes.len()];
        for (to, from) in bytes.chunks_mut(BLOCK).zip(self.bytes.chunks(BLOCK)) {
            if from.iter().any(|&byte| byte != 0) {
                to.copy_from_slice(from);
            }
        }
        Memory { base: self.base, bytes }
    }
}

impl Checkpointed for Memory {
    /// As when it is copied, blocks of zeros stay as they are.
    fn pass(&mut self, checkpoint: &mut Checkpoint<'_>) {
        let reads = checkpoint.reads();
        let mut block = [0; BLOCK];
        for bytes in self.bytes.chunks_mut(BLOCK) {
            if !reads {
                checkpoint.bytes(bytes);
                continue;
            }
            let block = &mut block[..bytes.len()];
            checkpoint.bytes(block);
            if block != bytes {
                bytes.copy_from_slice(block);
            }
        }
    }
}

/// Copies as many bytes as there are of both; what a load or store moves without a call.
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
        Memory { base, bytes: vec![0; len] }
    }
    /// The bytes themselves.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
    /// First address.
    pub fn base(&self) -> u64 {
        self.base
    }
    /// Size in bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }
    /// True if it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
    /// True if all of `addr .. addr + len` lies inside.
    pub fn contains(&self, addr: u64, len: usize) -> bool {
        self.offset(addr, len).is_some()
    }
    #[inline]
    fn offset(&self, addr: u64, len: usize) -> Option<usize> {
        let start = usize::try_from(addr.checked_sub(self.base)?).ok()?;
        (start.checked_add(len)? <= self.bytes.len()).then_some(start)
    }
    /// The bytes `addr .. addr + len`.
    #[inline]
    pub fn slice(&self, addr: u64, len: usize) -> Result<&[u8], BusError> {
        let error = BusError { addr, len, write: false, why: "outside of the memory" };
        self.offset(addr, len).map(|start| &self.bytes[start..start + len]).ok_or(error)
    }
    /// The bytes `addr .. addr + len`, to write.
    #[inline]
    pub fn slice_mut(&mut self, addr: u64, len: usize) -> Result<&mut [u8], BusError> {
        let error = BusError { addr, len, write: true, why: "outside of the memory" };
        self.offset(addr, len).map(|start| &mut self.bytes[start..start + len]).ok_or(error)
    }
    /// All of it.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
    /// All of it, to write.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
    /// Fills `buf` from `addr`.
    #[inline]
    pub fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), BusError> {
        self.slice(addr, buf.len()).map(|bytes| copy(buf, bytes))
    }
    /// Stores `data` at `addr`.
    #[inline]
    pub fn write(&mut self, addr: u64, data: &[u8]) -> Result<(), BusError> {
        self.slice_mut(addr, data.len()).map(|bytes| copy(bytes, data))
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

//! The device's side of a virtio queue (virtio 1.2, section 2.7: split virtqueues).

use crate::memory::GuestMemory;
use crate::sys::wrong;
use bus::BusError;
use std::io;

/// A descriptor is followed by another; the device writes into its buffer.
const NEXT: u16 = 1;
const WRITE: u16 = 2;

/// Most bytes of a buffer, and of a command to the device: the largest region of a card.
pub(crate) const BYTES_MAX: usize = 1 << 24;

/// A queue. All of it is the guest's word, which may be wrong.
#[derive(Clone, Copy, Default)]
pub(crate) struct Ring {
    pub size: u16,
    /// Addresses of its three parts.
    pub descriptors: u64,
    pub available: u64,
    pub used: u64,
    /// Number of buffers taken, modulo 2^16.
    pub taken: u16,
}

/// A buffer that the guest has put in.
pub(crate) struct Buffer {
    head: u16,
    /// Bytes from the guest.
    pub bytes: Vec<u8>,
    /// Memory for the answer: address and length of each part.
    pub room: Vec<(u64, u32)>,
}

impl Buffer {
    /// Bytes of answer that it has room for.
    pub fn wants(&self) -> usize {
        self.room.iter().map(|(_, len)| *len as usize).sum()
    }
    /// Stores an answer, as far as there is room.
    pub fn fill(&self, memory: &GuestMemory, answer: &[u8]) -> Result<(), BusError> {
        let mut left = answer;
        for (addr, len) in &self.room {
            let (piece, rest) = left.split_at(left.len().min(*len as usize));
            memory.write(*addr, piece)?;
            left = rest;
        }
        Ok(())
    }
}

impl Ring {
    /// The next buffer, if there is one.
    pub fn take(&mut self, memory: &GuestMemory) -> io::Result<Option<Buffer>> {
        if self.size == 0
            || memory.u16(self.available.wrapping_add(2)).map_err(wrong)? == self.taken
        {
            return Ok(None);
        }
        let slot = u64::from(self.taken % self.size);
        let head = memory.u16(self.available.wrapping_add(4 + 2 * slot)).map_err(wrong)?;
        self.taken = self.taken.wrapping_add(1);
        let mut buffer = Buffer { head, bytes: Vec::new(), room: Vec::new() };
        let mut at = head;
        // No chain is longer than the queue.
        for _ in 0..self.size {
            let mut raw = [0; 16];
            let descriptor = self.descriptors.wrapping_add(16 * u64::from(at));
            memory.read(descriptor, &mut raw).map_err(wrong)?;
            let [a, b, c, d, e, f, g, h, l0, l1, l2, l3, f0, f1, n0, n1] = raw;
            let addr = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
            let len = u32::from_le_bytes([l0, l1, l2, l3]);
            let flags = u16::from_le_bytes([f0, f1]);
            let sum = buffer.bytes.len() + buffer.wants() + len as usize;
            if sum > BYTES_MAX {
                return Err(wrong(format!(
                    "its kernel has a buffer of {sum} bytes for its device"
                )));
            }
            if flags & WRITE != 0 {
                buffer.room.push((addr, len));
            } else {
                let start = buffer.bytes.len();
                buffer.bytes.resize(start + len as usize, 0);
                memory.read(addr, &mut buffer.bytes[start..]).map_err(wrong)?;
            }
            if flags & NEXT == 0 {
                break;
            }
            at = u16::from_le_bytes([n0, n1]);
        }
        Ok(Some(buffer))
    }

    /// Gives a buffer back, with `len` bytes of answer.
    pub fn give_back(
        &self,
        memory: &GuestMemory,
        buffer: &Buffer,
        len: u32,
    ) -> Result<(), BusError> {
        let index = memory.u16(self.used.wrapping_add(2))?;
        let slot = u64::from(index % self.size.max(1));
        let mut element = [0; 8];
        element[..4].copy_from_slice(&u32::from(buffer.head).to_le_bytes());
        element[4..].copy_from_slice(&len.to_le_bytes());
        memory.write(self.used.wrapping_add(4 + 8 * slot), &element)?;
        memory.write(self.used.wrapping_add(2), &index.wrapping_add(1).to_le_bytes())
    }
}

//! The page table: Catamount's large contiguous segments.
//!
//! Catamount maps a process's memory to physically contiguous frames, so that a buffer is one extent
//! (pedretti2005 s4.3.1). Here an address space is cut into segments of 64 GB, and each segment gets a frame of
//! 64 GB of the 40-bit physical space when it is first used: physical addresses follow from the order of use and
//! from the program's own addresses, never from the simulator's.

use bus::BusError;

/// Bits of a host physical address (brightwell2007).
pub const PHYSICAL_BITS: u32 = 40;
/// Bytes of a segment and of a frame.
pub const SEGMENT_SIZE: u64 = 1 << SEGMENT_BITS;

const SEGMENT_BITS: u32 = 36;
const FRAMES: usize = 1 << (PHYSICAL_BITS - SEGMENT_BITS);
/// First frame that is not the kernel's.
const FIRST_FRAME: usize = 1;

/// Names an address space of one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SpaceId(pub(crate) u16);

/// Physically contiguous bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Physical address of the first byte.
    pub phys: u64,
    /// Bytes.
    pub len: u64,
}

/// Which segment of which space a frame holds, in order of first use.
#[derive(Debug, Default)]
pub(crate) struct PageTable {
    frames: Vec<(SpaceId, u64)>,
}

impl PageTable {
    /// Physical address of `va`, mapping its segment if this is its first use.
    fn map(&mut self, space: SpaceId, va: u64) -> Result<u64, BusError> {
        let owner = (space, va >> SEGMENT_BITS);
        let index = match self.frames.iter().position(|frame| *frame == owner) {
            Some(index) => index,
            None if self.frames.len() + FIRST_FRAME < FRAMES => {
                self.frames.push(owner);
                self.frames.len() - 1
            }
            None => {
                let why = "the host's 40-bit physical address space is used up";
                return Err(BusError { addr: va, len: 0, write: false, why });
            }
        };
        Ok(((index + FIRST_FRAME) as u64) << SEGMENT_BITS | va & (SEGMENT_SIZE - 1))
    }

    /// Appends the extents of `len` bytes at `va`; adjoining extents are joined. None for no bytes.
    pub(crate) fn translate(
        &mut self,
        space: SpaceId,
        va: u64,
        len: u64,
        extents: &mut Vec<Extent>,
    ) -> Result<(), BusError> {
        let error = |why| BusError { addr: va, len: len as usize, write: false, why };
        let end = va.checked_add(len).ok_or(error("the buffer wraps around the address space"))?;
        let mut at = va;
        while at < end {
            let piece = (SEGMENT_SIZE - (at & (SEGMENT_SIZE - 1))).min(end - at);
            let phys = self.map(space, at)?;
            match extents.last_mut() {
                Some(last) if last.phys + last.len == phys => last.len += piece,
                _ => extents.push(Extent { phys, len: piece }),
            }
            at += piece;
        }
        Ok(())
    }

    /// The space and address behind a physical address; `None` for the kernel's frame and for frames that
    /// nobody has.
    pub(crate) fn owner(&self, phys: u64) -> Option<(SpaceId, u64)> {
        let frame = usize::try_from(phys >> SEGMENT_BITS).ok()?.checked_sub(FIRST_FRAME)?;
        let (space, segment) = *self.frames.get(frame)?;
        Some((space, segment << SEGMENT_BITS | phys & (SEGMENT_SIZE - 1)))
    }
}

//! Page tables: Catamount's large contiguous segments, and Linux's scattered pages.
//!
//! Catamount maps a process's memory to physically contiguous frames, so that a buffer is one extent
//! (pedretti2005 s4.3.1). Here an address space is cut into segments of 64 GB, and each segment gets a
//! frame of 64 GB of the 40-bit physical space when it is first used. Where so many processes share a host
//! that this would not be enough for all of them, segments and frames are of 4 GB
//! ([`PageTable::make_room`]).
//!
//! The part of a segment that is used first is in the middle of its frame, and the main thread's stack has a
//! segment of its own. So physical addresses, which commands carry and the trace hash contains, depend
//! neither on the size of the workstation's libraries, below which memory is mapped, nor on that of its
//! environment, below which the stack begins.
//!
//! Linux maps pages of 4 KB. They get frames in order of first use, out of a frame of 64 GB, in an order that
//! is as scattered as the free list of a system that has run for long (`scatter`).
//!
//! Either way physical addresses follow from the order of use and from the program's own addresses, never
//! from the simulator's.

use crate::scatter::{Scatter, SLOT_BITS};
use bus::BusError;
use std::collections::BTreeMap;
use std::ops::Range;

/// Bits of a host physical address (brightwell2007).
pub const PHYSICAL_BITS: u32 = 40;
/// Bytes of the kernel's frame, and of a segment and of a frame unless many processes share a host.
pub const SEGMENT_SIZE: u64 = 1 << SEGMENT_BITS;
/// Bytes of a page.
pub const PAGE_SIZE: u64 = 1 << PAGE_BITS;

const SEGMENT_BITS: u32 = 36;
/// The same where many processes share a host: 15 frames for each of 16.
const SMALL_SEGMENT_BITS: u32 = 32;
const PAGE_BITS: u32 = 12;
/// Segments that a process uses as a rule: its program's and heap's, its libraries', its stack's, and that of
/// the libraries that live in the simulator.
const SEGMENTS_EACH: u64 = 4;
/// The end of a process's address space, which Linux keeps for the main thread's stack: 128 MB or more.
const STACK: Range<u64> = (1 << 47) - (128 << 20)..1 << 47;
/// The stack's first byte is only known to be aligned to this.
const STACK_ALIGNMENT: u64 = 16;
/// Physical addresses behind the kernel's frame.
const FREE_SPACE: u64 = (1 << PHYSICAL_BITS) - SEGMENT_SIZE;
/// Pages that one node of the table of pages maps: 2 MB, as x86-64 has it.
const NODE_BITS: u32 = 9;
const NODE_PAGES: usize = 1 << NODE_BITS;

const _: () = assert!(SLOT_BITS == SEGMENT_BITS - PAGE_BITS, "a frame is all slots");

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

/// Mapping of an address space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paging {
    /// Catamount: contiguous segments. Also the kernel's own memory, under any system.
    #[default]
    Segments,
    /// Linux: pages of 4 KB, of which `run` (a power of two, up to 1024) that are first used one after the
    /// other are physical neighbours.
    Pages {
        /// Pages of a run.
        run: u32,
    },
}

/// Contents of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frame {
    /// The segment of a space that begins at this address.
    Segment(SpaceId, u64),
    /// The pages from this one on, in order of first use.
    Pages(usize),
}

/// Page table of a host: the space and memory that each frame holds, in order of first use.
#[derive(Debug)]
pub(crate) struct PageTable {
    /// Bits of the size of a segment and of a frame.
    bits: u32,
    paging: Vec<Paging>,
    frames: Vec<Frame>,
    /// Address in the middle of each frame of a segment: the page that was used first, or the stack's first
    /// 16 bytes.
    middles: Vec<u64>,
    /// Space and page number of every page, in order of first use.
    pages: Vec<(SpaceId, u64)>,
    /// Number in `pages` and 1, by space and page number; 0: not used yet.
    nodes: BTreeMap<(SpaceId, u64), Box<[u32; NODE_PAGES]>>,
    scatter: Scatter,
}

impl Default for PageTable {
    fn default() -> PageTable {
        PageTable {
            bits: SEGMENT_BITS,
            paging: Vec::new(),
            frames: Vec::new(),
            middles: Vec::new(),
            pages: Vec::new(),
            nodes: BTreeMap::new(),
            scatter: Scatter::default(),
        }
    }
}

impl PageTable {
    /// Sets the number of processes with segments that will share the host. It must be called before anything
    /// is mapped.
    pub(crate) fn make_room(&mut self, processes: u32) {
        assert!(self.frames.is_empty(), "frames are of one size");
        if u64::from(processes) * SEGMENTS_EACH > FREE_SPACE >> SEGMENT_BITS {
            self.bits = SMALL_SEGMENT_BITS;
        }
    }

    /// Bytes of a segment and of a frame.
    fn size(&self) -> u64 {
        1 << self.bits
    }

    /// A new space, with the next number.
    pub(crate) fn add_space(&mut self, paging: Paging) {
        if let Paging::Pages { run } = paging {
            assert_eq!(self.bits, SEGMENT_BITS, "pages are scattered over frames of 64 GB");
            self.scatter = Scatter::new(run);
        }
        self.paging.push(paging);
    }

    /// True if a space has segments.
    pub(crate) fn is_contiguous(&self, space: SpaceId) -> bool {
        self.paging[usize::from(space.0)] == Paging::Segments
    }

    /// Number of pages of `len` bytes at `va`; 0 for segments.
    pub(crate) fn pages(&self, space: SpaceId, va: u64, len: u64) -> u64 {
        match (self.paging[usize::from(space.0)], len.checked_sub(1)) {
            (Paging::Pages { .. }, Some(last)) => {
                (va.saturating_add(last) >> PAGE_BITS) - (va >> PAGE_BITS) + 1
            }
            _ => 0,
        }
    }

    /// Physical address of `va`, mapping it if this is its first use, and number of bytes from there on that
    /// are contiguous for certain.
    fn map(&mut self, space: SpaceId, va: u64) -> Result<(u64, u64), BusError> {
        match self.paging[usize::from(space.0)] {
            Paging::Segments => {
                let Range { start, end } = self.segment(va);
                let frame = self.frame(va, Frame::Segment(space, start))?;
                let from_middle = va.wrapping_sub(self.middles[frame]);
                let offset = from_middle.wrapping_add(self.size() / 2) & (self.size() - 1);
                Ok((self.base(frame) | offset, (end - va).min(self.size() - offset)))
            }
            Paging::Pages { .. } => {
                let offset = va & (PAGE_SIZE - 1);
                Ok((self.page(space, va)? | offset, PAGE_SIZE - offset))
            }
        }
    }

    /// Addresses of the segment of `va`.
    fn segment(&self, va: u64) -> Range<u64> {
        if STACK.contains(&va) {
            return STACK;
        }
        let start = va & !(self.size() - 1);
        // The last one of all ends where addresses do.
        let end = start.saturating_add(self.size());
        start..if (va..end).contains(&STACK.start) { STACK.start } else { end }
    }

    /// Number of the frame that holds `what`, which is used at `va`.
    fn frame(&mut self, va: u64, what: Frame) -> Result<usize, BusError> {
        if let Some(index) = self.frames.iter().position(|frame| *frame == what) {
            return Ok(index);
        }
        if self.frames.len() as u64 == FREE_SPACE >> self.bits {
            let why = "the host's 40-bit physical address space is used up";
            return Err(BusError { addr: va, len: 0, write: false, why });
        }
        let alignment = if STACK.contains(&va) { STACK_ALIGNMENT } else { PAGE_SIZE };
        self.frames.push(what);
        self.middles.push(va & !(alignment - 1));
        Ok(self.frames.len() - 1)
    }

    /// Physical address of a frame.
    fn base(&self, frame: usize) -> u64 {
        SEGMENT_SIZE + ((frame as u64) << self.bits)
    }

    /// Physical address of the page of `va`.
    fn page(&mut self, space: SpaceId, va: u64) -> Result<u64, BusError> {
        let page = va >> PAGE_BITS;
        let next = self.pages.len();
        let node = self.nodes.entry((space, page >> NODE_BITS));
        let entry =
            &mut node.or_insert_with(|| Box::new([0; NODE_PAGES]))[page as usize % NODE_PAGES];
        let number = match entry.checked_sub(1) {
            Some(number) => number as usize,
            None => {
                *entry = u32::try_from(next + 1).expect("15 frames have less than 2^28 pages");
                self.pages.push((space, page));
                next
            }
        };
        let slot = number & ((1 << SLOT_BITS) - 1);
        let frame = self.frame(va, Frame::Pages(number - slot))?;
        Ok(self.base(frame) | u64::from(self.scatter.slot(slot as u32)) << PAGE_BITS)
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
            let (phys, contiguous) = self.map(space, at)?;
            let piece = contiguous.min(end - at);
            match extents.last_mut() {
                Some(last) if last.phys + last.len == phys => last.len += piece,
                _ => extents.push(Extent { phys, len: piece }),
            }
            at += piece;
        }
        Ok(())
    }

    /// The space and address behind a physical address; `None` for the kernel's frame and for unused frames.
    pub(crate) fn owner(&self, phys: u64) -> Option<(SpaceId, u64)> {
        let frame = self.holder(phys)?;
        match self.frames[frame] {
            Frame::Segment(space, start) => Some((space, self.address(frame, start, phys))),
            Frame::Pages(first) => {
                let slot = (phys & (SEGMENT_SIZE - 1)) >> PAGE_BITS;
                let number = first + self.scatter.order(slot as u32) as usize;
                let (space, page) = *self.pages.get(number)?;
                Some((space, page << PAGE_BITS | phys & (PAGE_SIZE - 1)))
            }
        }
    }

    /// Number of bytes from `phys` on that are contiguous for certain.
    pub(crate) fn contiguous(&self, phys: u64) -> u64 {
        let Some(frame) = self.holder(phys) else {
            return SEGMENT_SIZE - (phys & (SEGMENT_SIZE - 1));
        };
        match self.frames[frame] {
            Frame::Pages(_) => PAGE_SIZE - (phys & (PAGE_SIZE - 1)),
            Frame::Segment(_, start) => {
                let at = self.address(frame, start, phys);
                let left = self.size() - (phys & (self.size() - 1));
                left.min(self.segment(at).end - at)
            }
        }
    }

    /// Address of the memory at `phys` in a frame, which holds the segment from `start` on.
    fn address(&self, frame: usize, start: u64, phys: u64) -> u64 {
        let from_middle = phys.wrapping_sub(self.size() / 2);
        let from_start = self.middles[frame].wrapping_sub(start).wrapping_add(from_middle);
        start + (from_start & (self.size() - 1))
    }

    /// Number of the frame at `phys`, if it holds anything.
    fn holder(&self, phys: u64) -> Option<usize> {
        let frame = usize::try_from(phys.checked_sub(SEGMENT_SIZE)? >> self.bits).ok()?;
        (frame < self.frames.len()).then_some(frame)
    }
}

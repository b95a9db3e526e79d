//! The host's memory: the kernel's, the libraries' that live in the simulator, and the programs' own.

use crate::pages::{Extent, PageTable, Paging, SpaceId, SEGMENT_SIZE};
use crate::regions::Regions;
use crate::space::{read_each, write_each, AddressSpace, Nothing};
use bus::BusError;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

/// First address of the libraries' memory in every address space: above all user addresses of x86-64.
pub const LIBRARY_BASE: u64 = 1 << 48;

/// Bytes that the libraries may allocate at first in an address space. Then physical memory suffices for all
/// processes of a host, with later allocations and the program's own segments.
pub const LIBRARY_MAX: u64 = SEGMENT_SIZE / 2;

/// Physical address of the kernel's first byte: low addresses stay empty, so that 0 is never valid.
const KERNEL_BASE: u64 = 1 << 20;
/// Alignment of library allocations: a cache line.
const LIBRARY_ALIGN: u64 = 64;
/// Contiguous device writes are gathered up to this many bytes before they go to a process.
const GATHER_MAX: usize = 64 << 10;
/// Device reads of a process's memory up to this size go through the page cache.
const PAGE_SIZE: usize = 4096;
/// Pages of a process that are known to be there; a power of two.
const KNOWN_PAGES: usize = 64;

/// A host's memory as its fibres and its devices share it. Never hold a borrow across a [`crate::Cpu`] call.
pub type SharedMemory = Rc<RefCell<Memory>>;

struct Space {
    process: Box<dyn AddressSpace>,
    library: Regions,
    /// Numbers of pages in which [`Memory::probe`] has found memory; the index is the number modulo the size.
    known: [u64; KNOWN_PAGES],
}

/// The number of no page.
const NO_PAGE: u64 = u64::MAX;

/// Contiguous device writes to a process that have not reached it yet.
struct Gather {
    space: SpaceId,
    va: u64,
    bytes: Vec<u8>,
    /// The kernel's frame behind them, of a page that is bound to the process.
    frame: Option<u64>,
}

/// The page of a process that a device read last.
struct Page {
    /// Its space and address; `None`: nothing is cached.
    at: Option<(SpaceId, u64)>,
    bytes: Box<[u8; PAGE_SIZE]>,
}

/// A host's memory. Addresses are physical (what devices see) or virtual within a space.
pub struct Memory {
    kernel: Regions,
    spaces: Vec<Space>,
    paging: Paging,
    table: PageTable,
    gather: Gather,
    /// First gathered write for which there was no memory, until it is reported.
    lost: Option<BusError>,
    /// Last write of a library that failed in a process.
    refused: Option<(SpaceId, u64)>,
    page: Page,
    /// Pages of the kernel that are bound to a process's: its space and page, by their physical addresses.
    bound: BTreeMap<u64, (SpaceId, u64)>,
    /// Guest that owns all of the memory, by physical addresses.
    guest: Option<Box<dyn AddressSpace>>,
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spaces = self.spaces.len();
        f.debug_struct("Memory").field("kernel", &self.kernel).field("spaces", &spaces).finish()
    }
}

impl Default for Memory {
    fn default() -> Self {
        Memory {
            kernel: Regions::new(KERNEL_BASE),
            spaces: Vec::new(),
            paging: Paging::default(),
            table: PageTable::default(),
            gather: Gather { space: SpaceId(0), va: 0, bytes: Vec::new(), frame: None },
            lost: None,
            refused: None,
            page: Page { at: None, bytes: Box::new([0; PAGE_SIZE]) },
            bound: BTreeMap::new(),
            guest: None,
        }
    }
}

impl Memory {
    /// An empty memory, ready to be shared.
    pub fn shared() -> SharedMemory {
        Rc::new(RefCell::new(Memory::default()))
    }

    /// `len` zero bytes of kernel memory, aligned to `align` (a power of two); their physical address.
    pub fn alloc_kernel(&mut self, len: u64, align: u64) -> u64 {
        let phys = self.kernel.alloc(len, align);
        assert!(self.kernel.end() <= SEGMENT_SIZE, "the kernel's memory fits in its frame");
        phys
    }

    /// Tells how many of Catamount's processes will share the memory, before there is one: if they are many,
    /// their segments are smaller, so that the physical space has room for all.
    pub fn make_room(&mut self, processes: u32) {
        self.table.make_room(processes);
    }

    /// Sets the mapping of the processes that are added from now on.
    pub fn set_paging(&mut self, paging: Paging) {
        self.paging = paging;
    }

    /// Adds the address space of a process.
    pub fn add_space(&mut self, process: Box<dyn AddressSpace>) -> SpaceId {
        self.add_mapped(process, self.paging)
    }

    /// Adds the buffers of a user in the kernel, which are contiguous under any system: there are only those
    /// that [`Memory::alloc_library`] gives.
    pub fn add_kernel_space(&mut self) -> SpaceId {
        self.add_program_space(Box::new(Nothing))
    }

    /// Adds the memory of a program that runs in the kernel, which is contiguous under any system.
    pub fn add_program_space(&mut self, program: Box<dyn AddressSpace>) -> SpaceId {
        self.add_mapped(program, Paging::Segments)
    }

    fn add_mapped(&mut self, process: Box<dyn AddressSpace>, paging: Paging) -> SpaceId {
        self.table.add_space(paging);
        let id = SpaceId(u16::try_from(self.spaces.len()).expect("few processes a host"));
        let (library, known) = (Regions::new(LIBRARY_BASE), [NO_PAGE; KNOWN_PAGES]);
        self.spaces.push(Space { process, library, known });
        id
    }

    /// `len` zero bytes for a library that lives in the simulator, in `space` at or above [`LIBRARY_BASE`]
    /// (aligned to 64 bytes); their virtual address.
    pub fn alloc_library(&mut self, space: SpaceId, len: u64) -> u64 {
        self.spaces[usize::from(space.0)].library.alloc(len, LIBRARY_ALIGN)
    }

    /// True if a process's memory is physically contiguous (Catamount's segments).
    pub fn is_contiguous(&self, space: SpaceId) -> bool {
        self.table.is_contiguous(space)
    }
    /// Number of pages that the system must translate for `len` bytes at `va` of `space`; 0 if it has no
    /// pages.
    pub fn pages(&self, space: SpaceId, va: u64, len: u64) -> u64 {
        self.table.pages(space, va, len)
    }

    /// Physical addresses of `len` bytes at `va`. Catamount: one extent unless the buffer crosses a boundary
    /// between segments that are not neighbours. Linux: an extent for each page, but neighbouring pages may
    /// share one. Whether the process has memory there shows only when it is read or written.
    pub fn translate(
        &mut self,
        space: SpaceId,
        va: u64,
        len: u64,
    ) -> Result<Vec<Extent>, BusError> {
        let mut extents = Vec::new();
        self.table.translate(space, va, len, &mut extents)?;
        Ok(extents)
    }

    /// As [`Memory::translate`], behind what `extents` already holds: nothing is allocated once it has grown.
    pub fn translate_into(
        &mut self,
        space: SpaceId,
        va: u64,
        len: u64,
        extents: &mut Vec<Extent>,
    ) -> Result<(), BusError> {
        self.table.translate(space, va, len, extents)
    }

    /// Makes a guest's memory the only memory that devices find.
    pub fn set_guest(&mut self, guest: Box<dyn AddressSpace>) {
        self.guest = Some(guest);
    }

    /// Fills `buf` from physical address `phys`, for a device.
    pub fn read_phys(&mut self, phys: u64, buf: &mut [u8]) -> Result<(), BusError> {
        if let Some(guest) = &self.guest {
            return guest.read(phys, buf);
        }
        let mut done = 0;
        while done < buf.len() {
            let at = phys + done as u64;
            let piece = self.piece(at, buf.len() - done);
            self.read_frame(at, &mut buf[done..done + piece])?;
            done += piece;
        }
        Ok(())
    }

    /// Stores `data` at physical address `phys`, for a device. Contiguous writes to a process reach it
    /// together, at the latest at the next [`Memory::settle`], which reports errors.
    pub fn write_phys(&mut self, phys: u64, data: &[u8]) -> Result<(), BusError> {
        if let Some(guest) = &self.guest {
            return guest.write(phys, data);
        }
        let mut done = 0;
        while done < data.len() {
            let at = phys + done as u64;
            let piece = self.piece(at, data.len() - done);
            self.write_frame(at, &data[done..done + piece])?;
            done += piece;
        }
        Ok(())
    }

    /// Fills `buf` from virtual address `va` of `space`.
    pub fn read(&mut self, space: SpaceId, va: u64, buf: &mut [u8]) -> Result<(), BusError> {
        self.flush();
        let owner = &mut self.spaces[usize::from(space.0)];
        if va >= LIBRARY_BASE {
            owner.library.read(va, buf)
        } else {
            owner.process.read(va, buf)
        }
    }

    /// Fails if `space` has no memory at `va`. Pages that were found lately are not checked again: if one has
    /// been unmapped meanwhile, [`Memory::read`] and [`Memory::write`] fail.
    pub fn probe(&mut self, space: SpaceId, va: u64) -> Result<(), BusError> {
        let page = va / PAGE_SIZE as u64;
        let (owner, slot) = (usize::from(space.0), page as usize % KNOWN_PAGES);
        if self.spaces[owner].known[slot] != page {
            self.read(space, va, &mut [0])?;
            if va < LIBRARY_BASE {
                self.spaces[owner].known[slot] = page;
            }
        }
        Ok(())
    }

    /// Clears the pages of `space` that [`Memory::probe`] has found, so that it looks again.
    pub fn distrust(&mut self, space: SpaceId) {
        self.spaces[usize::from(space.0)].known = [NO_PAGE; KNOWN_PAGES];
    }

    /// As [`Memory::read`], for an observer: it has no effect on other calls.
    pub fn peek(&mut self, space: SpaceId, va: u64, buf: &mut [u8]) -> Result<(), BusError> {
        let owner = &mut self.spaces[usize::from(space.0)];
        if va >= LIBRARY_BASE {
            return owner.library.read(va, buf);
        }
        owner.process.read(va, buf)?;
        // Gathered writes count as done.
        let Gather { space: gathered, va: start, ref bytes, .. } = self.gather;
        if gathered == space {
            let from = va.max(start);
            let to = (va + buf.len() as u64).min(start + bytes.len() as u64);
            if from < to {
                let (from, to) = (from - va, to - va);
                let gathered = &bytes[(va + from - start) as usize..(va + to - start) as usize];
                buf[from as usize..to as usize].copy_from_slice(gathered);
            }
        }
        Ok(())
    }

    /// Space and virtual address of the memory at physical address `phys`; `None` for the kernel's.
    pub fn owner_of(&self, phys: u64) -> Option<(SpaceId, u64)> {
        (phys >= SEGMENT_SIZE).then(|| self.table.owner(phys)).flatten()
    }

    /// Stores `data` at virtual address `va` of `space`.
    pub fn write(&mut self, space: SpaceId, va: u64, data: &[u8]) -> Result<(), BusError> {
        self.forget();
        self.flush();
        let owner = &mut self.spaces[usize::from(space.0)];
        if va >= LIBRARY_BASE {
            owner.library.write(va, data)
        } else {
            owner.process.write(va, data).inspect_err(|_| self.refused = Some((space, va)))
        }
    }

    /// As [`Memory::read`] for many pieces (address and length), which fill `buf` one after the other.
    pub fn read_pieces(
        &mut self,
        space: SpaceId,
        pieces: &[(u64, usize)],
        buf: &mut [u8],
    ) -> Result<(), BusError> {
        if pieces.iter().any(|&(va, _)| va >= LIBRARY_BASE) {
            return read_each(pieces, buf, |va, piece| self.read(space, va, piece));
        }
        self.flush();
        self.spaces[usize::from(space.0)].process.read_pieces(pieces, buf)
    }

    /// As [`Memory::write`] for many pieces (address and length), to which `data` goes one after the other.
    pub fn write_pieces(
        &mut self,
        space: SpaceId,
        pieces: &[(u64, usize)],
        data: &[u8],
    ) -> Result<(), BusError> {
        if pieces.iter().any(|&(va, _)| va >= LIBRARY_BASE) {
            return write_each(pieces, data, |va, piece| self.write(space, va, piece));
        }
        self.forget();
        self.flush();
        let process = &self.spaces[usize::from(space.0)].process;
        process.write_pieces(pieces, data).inspect_err(|error| {
            self.refused = Some((space, error.addr));
        })
    }

    /// True if the last library write that failed in a process began within these `len` bytes of `space`.
    /// Each is reported once.
    pub fn take_refused(&mut self, space: SpaceId, va: u64, len: u64) -> bool {
        let here = |&mut (of, at): &mut (SpaceId, u64)| of == space && (va..va + len).contains(&at);
        self.refused.take_if(here).is_some()
    }

    /// Sends gathered device writes to their process, and drops cached pages. It must be called before a
    /// process may run (the host does it before it resumes a fibre). An error names the first byte without
    /// memory; the length depends on how the writes were gathered.
    pub fn settle(&mut self) -> Result<(), BusError> {
        self.forget();
        self.flush();
        self.lost.take().map_or(Ok(()), Err)
    }

    /// Drops the cached page, which may have changed.
    pub(crate) fn forget(&mut self) {
        self.page.at = None;
    }

    /// Sends gathered writes to their process. An error is not that of the caller: it is kept for
    /// [`Memory::settle`].
    fn flush(&mut self) {
        if self.gather.bytes.is_empty() {
            return;
        }
        let Gather { space, va, ref mut bytes, frame } = self.gather;
        let mut result = self.spaces[usize::from(space.0)].process.write(va, bytes);
        if let (Err(_), Some(frame)) = (&result, frame) {
            result = self.kernel.write(frame, bytes);
        }
        bytes.clear();
        self.lost = self.lost.take().or(result.err());
    }

    /// Binds the kernel's page at physical address `phys` to the page of a process at `va`, for devices that
    /// can only reach the kernel's. [`Memory::unbind`] restores the old contents. The page is pinned: when
    /// the process has unmapped it, the kernel's frame is still there.
    pub fn bind(&mut self, phys: u64, space: SpaceId, va: u64) {
        let page = PAGE_SIZE as u64;
        debug_assert!(phys % page == 0 && va % page == 0 && phys < SEGMENT_SIZE, "a page");
        self.bound.insert(phys, (space, va));
    }
    /// Makes the page the kernel's again.
    pub fn unbind(&mut self, phys: u64) {
        self.forget();
        self.flush();
        self.bound.remove(&phys);
    }
    /// Space and address to which the kernel's page at `phys` is bound.
    fn bound(&self, phys: u64) -> Option<(SpaceId, u64)> {
        if self.bound.is_empty() {
            return None; // as mostly
        }
        let offset = phys % PAGE_SIZE as u64;
        self.bound.get(&(phys - offset)).map(|(space, va)| (*space, va + offset))
    }

    fn read_frame(&mut self, phys: u64, buf: &mut [u8]) -> Result<(), BusError> {
        let (space, va) = match self.bound(phys) {
            Some((space, va)) => {
                let read = self.read_process(space, va, buf);
                return read.or_else(|_| self.kernel.read(phys, buf));
            }
            None if phys < SEGMENT_SIZE => return self.kernel.read(phys, buf),
            None => self.owner(phys, buf.len(), false)?,
        };
        if va >= LIBRARY_BASE {
            return self.spaces[usize::from(space.0)].library.read(va, buf);
        }
        self.read_process(space, va, buf)
    }

    fn read_process(&mut self, space: SpaceId, va: u64, buf: &mut [u8]) -> Result<(), BusError> {
        self.flush();
        let process = &self.spaces[usize::from(space.0)].process;
        let offset = va as usize % PAGE_SIZE;
        if offset + buf.len() > PAGE_SIZE {
            return process.read(va, buf);
        }
        let page = (space, va - offset as u64);
        if self.page.at != Some(page) {
            self.page.at = None;
            // A page is mapped whole or not at all, so reading all of it cannot fail where a part would not;
            // if it does fail (a space that is not made of pages), only the part is asked for.
            if process.read(page.1, &mut self.page.bytes[..]).is_err() {
                return process.read(va, buf);
            }
            self.page.at = Some(page);
        }
        buf.copy_from_slice(&self.page.bytes[offset..offset + buf.len()]);
        Ok(())
    }

    fn write_frame(&mut self, phys: u64, data: &[u8]) -> Result<(), BusError> {
        let bound = self.bound(phys);
        let (space, va) = match bound {
            Some(bound) => bound,
            None if phys < SEGMENT_SIZE => return self.kernel.write(phys, data),
            None => self.owner(phys, data.len(), true)?,
        };
        if va >= LIBRARY_BASE && bound.is_none() {
            return self.spaces[usize::from(space.0)].library.write(va, data);
        }
        self.forget();
        let gathered = self.gather.bytes.len();
        let fits = gathered + data.len() <= GATHER_MAX;
        // Frames behind pages that follow one another do not.
        let frame = bound.map(|_| phys);
        let same = self.gather.frame.map(|first| first + gathered as u64) == frame
            && frame.is_none_or(|at| at % PAGE_SIZE as u64 != 0);
        let end = self.gather.va + gathered as u64;
        if gathered == 0 || space != self.gather.space || va != end || !fits || !same {
            self.flush();
            self.gather.space = space;
            self.gather.va = va;
            self.gather.frame = frame;
        }
        self.gather.bytes.extend_from_slice(data);
        Ok(())
    }

    fn owner(&self, phys: u64, len: usize, write: bool) -> Result<(SpaceId, u64), BusError> {
        let why = "no memory at this physical address";
        self.table.owner(phys).ok_or(BusError { addr: phys, len, write, why })
    }

    /// Number of bytes at `phys`, of `len`, that are contiguous in their space.
    pub fn piece(&self, phys: u64, len: usize) -> usize {
        usize::try_from(self.table.contiguous(phys)).map_or(len, |left| left.min(len))
    }
}

//! Portals calls of a process. In generic mode every call enters the kernel, except that event queues,
//! which are in the process's own memory, are read without it.

mod collective;
mod moves;
mod on_nic;
mod queues;
mod room;
mod way;

use crate::kernel::{Bridge, Kernel, ObjectCall, Returned, Slot, Told};
use crate::library::{
    option, AccessEntry, Buffer, Criteria, EntryPair, EqHandle, Error, Event, Identity, Interface,
    IoVec, Limits, Md, MdHandle, MeHandle, OnPortal, Position, ProcessId, StatusRegister, Unlink,
};
use crate::seastar::Accelerated;
use des::Time;
use host::{Cpu, SpaceId};
use std::cell::Cell;
use std::rc::Rc;
use way::Way;

pub use collective::{GroupStep, Reduced};

/// Bytes of a region in a process's list: address and length.
const IOVEC_SIZE: usize = 16;

/// An event from one of several queues (PtlEQPoll).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Polled {
    /// The event.
    pub event: Event,
    /// True if events before it in its queue were overwritten (`PTL_EQ_DROPPED`).
    pub dropped: bool,
    /// Index of its queue among those that were polled.
    pub which: usize,
}

/// Target of a put or get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The process.
    pub id: ProcessId,
    /// Its portal.
    pub pt_index: u32,
    /// Its access control entry.
    pub ac_index: u32,
    /// Bits to compare with its match entries.
    pub match_bits: u64,
    /// Offset for memory descriptors that are managed remotely.
    pub offset: u64,
}

/// A process's Portals interface. It belongs to the fibre that opened it.
pub struct Ni {
    cpu: Cpu,
    kernel: Rc<Kernel>,
    slot: Slot,
    space: SpaceId,
    id: ProcessId,
    way: Way,
    on_nic: Option<Rc<Accelerated>>,
    /// The user above waits for room to transmit.
    wants_room: Cell<bool>,
}

impl Ni {
    /// Opens the interface of process `pid`, whose memory is `space` (PtlNIInit): on the network interface if
    /// that has room for it ([`Ni::is_on_nic`]), else in the kernel.
    pub fn init(cpu: &Cpu, kernel: &Rc<Kernel>, pid: u32, space: SpaceId) -> Result<Ni, Error> {
        Ni::open(cpu, kernel, pid, space, Way::User(kernel.config.system.bridge), true)
    }

    /// The same in the kernel, whatever the network interface has room for.
    pub fn init_generic(
        cpu: &Cpu,
        kernel: &Rc<Kernel>,
        pid: u32,
        space: SpaceId,
    ) -> Result<Ni, Error> {
        Ni::open(cpu, kernel, pid, space, Way::User(kernel.config.system.bridge), false)
    }

    /// True if the process's match lists are on the network interface.
    pub fn is_on_nic(&self) -> bool {
        self.on_nic.is_some()
    }

    /// Opens an interface for a user in the kernel (kbridge), whose buffers are in a space of
    /// `Memory::add_kernel_space`. On Catamount its match lists are on the network interface if that has a
    /// place for them; on Linux users in the kernel are generic, as processes are.
    pub fn init_in_kernel(
        cpu: &Cpu,
        kernel: &Rc<Kernel>,
        pid: u32,
        space: SpaceId,
    ) -> Result<Ni, Error> {
        let catamount = kernel.config.system.bridge == Bridge::Qk;
        Ni::open(cpu, kernel, pid, space, Way::Kbridge, catamount)
    }

    fn open(
        cpu: &Cpu,
        kernel: &Rc<Kernel>,
        pid: u32,
        space: SpaceId,
        way: Way,
        on_nic: bool,
    ) -> Result<Ni, Error> {
        cpu.spend(kernel.config.costs.api_call);
        let slot = way.enter(cpu, kernel, || {
            cpu.spend(kernel.config.costs.api_check + kernel.config.costs.object);
            kernel.open(cpu, pid, space, on_nic)
        })?;
        let id = ProcessId { nid: u32::from(kernel.nid), pid };
        let on_nic = kernel.on_nic(slot);
        let (cpu, kernel, wants_room) = (cpu.clone(), kernel.clone(), Cell::new(false));
        Ok(Ni { cpu, kernel, slot, space, id, way, on_nic, wants_room })
    }

    /// Closes it (PtlNIFini), when the operations under way have ended: their memory may go after this call.
    /// What still arrives is dropped.
    pub fn fini(self) {
        match &self.on_nic {
            Some(_) => self.kernel.leave(&self.cpu, self.slot),
            None => self.enter(|| self.kernel.leave(&self.cpu, self.slot)),
        }
        while !self.kernel.close(&self.cpu, self.slot) {
            self.cpu.wait_until(self.cpu.costs().poll_period, Time::NEVER);
        }
    }

    /// The process's id (PtlGetId).
    pub fn id(&self) -> ProcessId {
        self.id
    }

    /// The address space that buffers are in.
    pub fn space(&self) -> SpaceId {
        self.space
    }

    /// Limits of the interface.
    pub fn limits(&self) -> Limits {
        self.with(|interface| interface.limits())
    }

    /// A counter of the interface (PtlNIStatus).
    pub fn ni_status(&self, register: StatusRegister) -> u64 {
        self.enter(|| {
            self.kernel.look(&self.cpu, self.slot);
            let value = self.with(|interface| interface.status(register));
            self.tell(ObjectCall::Status { register }, &[], &Ok(value));
            value
        })
    }

    /// Distance to a process (PtlNIDist): 0 to this node, 1 to all others.
    pub fn ni_dist(&self, process: ProcessId) -> u32 {
        self.enter(|| u32::from(process.nid != self.id.nid))
    }

    /// User and job of the process (PtlGetUid, PtlGetJid).
    pub fn identity(&self) -> Identity {
        self.with(|interface| interface.identity())
    }

    /// True if `raw` is the handle of one of the interface's objects (PtlNIHandle).
    pub fn owns(&self, raw: u32) -> bool {
        self.with(|interface| interface.owns(raw))
    }

    /// The `index`-th event queue: its handle, events that it holds, events that wait (PtlNIEqDump).
    pub fn eq_dump(&self, index: usize) -> Option<(EqHandle, u64, u64)> {
        self.with(|interface| interface.eq_dump(index))
    }

    fn with<R>(&self, f: impl FnOnce(&mut Interface) -> R) -> R {
        self.kernel.with(self.slot, f).expect("an open interface is there")
    }

    /// A call into the kernel.
    fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        self.cpu.spend(self.kernel.config.costs.api_call);
        self.library(|| {
            self.cpu.spend(self.kernel.config.costs.api_check);
            f()
        })
    }

    /// Runs `f` where the process's library is: in the kernel, or here.
    fn library<R>(&self, f: impl FnOnce() -> R) -> R {
        match &self.on_nic {
            Some(_) => f(),
            None => self.way.enter(&self.cpu, &self.kernel, f),
        }
    }

    /// A call that makes, changes or frees an object.
    fn object<R: Copy + Into<Returned>>(
        &self,
        call: ObjectCall,
        f: impl FnOnce(&mut Interface) -> Result<R, Error>,
    ) -> Result<R, Error> {
        if let Some(user) = &self.on_nic {
            return self.object_on_nic(user, call, f);
        }
        self.enter(|| {
            self.cpu.spend(self.kernel.config.costs.object);
            let result = self.with(f);
            self.tell(call, &[], &result);
            result
        })
    }

    /// The same for a memory descriptor, whose buffer must be the process's.
    fn buffer<R: Copy + Into<Returned>>(
        &self,
        md: Md,
        call: ObjectCall,
        f: impl FnOnce(&mut Interface, Buffer) -> Result<R, Error>,
    ) -> Result<R, Error> {
        if let Some(user) = &self.on_nic {
            return self.buffer_on_nic(user, md, call, f);
        }
        self.cpu.spend(self.kernel.config.costs.api_call);
        self.way.cross(&self.cpu, || {
            self.cpu.spend(self.kernel.config.costs.api_check);
            // The process's own memory needs no lock, and pinning its pages could not be done under one.
            let regions = self.regions(&md);
            let regions = regions.inspect_err(|error| self.tell::<()>(call, &[], &Err(*error)))?;
            if md.options & option::IOVEC == 0 {
                self.check(md.start, md.length)?;
            }
            for region in &regions {
                self.check(region.start, region.length)?;
            }
            self.kernel.lock.hold(&self.cpu, || {
                self.cpu.spend(self.kernel.config.costs.object);
                let result = self.with(|interface| f(interface, Buffer { md, regions: &regions }));
                self.tell(call, &regions, &result);
                result
            })
        })
    }

    /// Reports a call. A process's memory is its own affair: `Segv` is not judged.
    fn tell<R: Copy + Into<Returned>>(
        &self,
        call: ObjectCall,
        regions: &[IoVec],
        result: &Result<R, Error>,
    ) {
        if *result.as_ref().err().unwrap_or(&Error::EqEmpty) != Error::Segv {
            let result = result.map(Into::into);
            self.kernel.tell(&self.cpu, || Told::Called {
                slot: self.slot.0,
                call,
                regions,
                result,
            });
        }
    }

    /// The list that `md` points to, if it has one; a copy, so that the process may reuse it after the call.
    fn regions(&self, md: &Md) -> Result<Vec<IoVec>, Error> {
        if md.options & option::IOVEC == 0 {
            return Ok(Vec::new());
        }
        if md.length > u64::from(self.limits().max_md_iovecs) {
            return Err(Error::MdIllegal);
        }
        let mut list = vec![0; md.length as usize * IOVEC_SIZE];
        self.cpu.spend(self.cpu.copy_cost(list.len() as u64));
        let read = self.cpu.memory().borrow_mut().read(self.space, md.start, &mut list);
        read.map_err(|_| Error::Segv)?;
        let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        let region = |entry: &[u8]| IoVec { start: word(&entry[..8]), length: word(&entry[8..]) };
        Ok(list.chunks_exact(IOVEC_SIZE).map(region).collect())
    }

    fn check(&self, start: u64, length: u64) -> Result<(), Error> {
        self.cpu.spend(self.kernel.config.costs.translate);
        let Some(last) = length.checked_sub(1) else { return Ok(()) };
        let last = start.checked_add(last).ok_or(Error::Segv)?;
        let mut memory = self.cpu.memory().borrow_mut();
        let mut probe = |va| memory.probe(self.space, va).map_err(|_| Error::Segv);
        probe(start)?;
        // The ends represent the middle: memory between them that is missing shows when it is used.
        if last / 4096 != start / 4096 {
            probe(last)?;
        }
        let mut extents = self.kernel.no_extents();
        let translated = memory.translate_into(self.space, start, length, &mut extents);
        let pages = memory.pages(self.space, start, length);
        drop(memory);
        self.kernel.keep_extents(extents);
        translated.map_err(|_| Error::Segv)?;
        // The interrupt handler cannot wait for a page, so the pages are pinned now.
        self.kernel.count(|counters| counters.pages_pinned += pages);
        self.cpu.spend(self.kernel.config.system.pin_page * pages);
        Ok(())
    }

    /// PtlACEntry.
    pub fn ac_entry(&self, index: u32, entry: AccessEntry) -> Result<(), Error> {
        let call = ObjectCall::AcEntry { index, entry };
        self.object(call, |interface| interface.ac_entry(index, entry))
    }

    /// PtlMEAttach: `Before` is the head of the portal's list, `After` its tail.
    pub fn me_attach(
        &self,
        pt_index: u32,
        criteria: Criteria,
        unlink: Unlink,
        position: Position,
    ) -> Result<MeHandle, Error> {
        let call = ObjectCall::MeAttach { pt_index, criteria, unlink, position };
        self.object(call, |interface| interface.me_attach(pt_index, criteria, unlink, position))
    }

    /// PtlMEAttachAny: the first portal that was never used, and the match entry.
    pub fn me_attach_any(&self, criteria: Criteria, unlink: Unlink) -> Result<OnPortal, Error> {
        let call = ObjectCall::MeAttachAny { criteria, unlink };
        self.object(call, |interface| interface.me_attach_any(criteria, unlink))
    }

    /// PtlMEInsert.
    pub fn me_insert(
        &self,
        base: MeHandle,
        criteria: Criteria,
        unlink: Unlink,
        position: Position,
    ) -> Result<MeHandle, Error> {
        let call = ObjectCall::MeInsert { base, criteria, unlink, position };
        self.object(call, |interface| interface.me_insert(base, criteria, unlink, position))
    }

    /// PtlMEUnlink.
    pub fn me_unlink(&self, me: MeHandle) -> Result<(), Error> {
        self.object(ObjectCall::MeUnlink { me }, |interface| interface.me_unlink(me))
    }

    /// PtlMDAttach.
    pub fn md_attach(&self, me: MeHandle, md: Md, unlink: Unlink) -> Result<MdHandle, Error> {
        let call = ObjectCall::MdAttach { me, md, unlink };
        self.buffer(md, call, |interface, md| interface.md_attach(me, md, unlink))
    }

    /// PtlMDBind.
    pub fn md_bind(&self, md: Md, unlink: Unlink) -> Result<MdHandle, Error> {
        let call = ObjectCall::MdBind { md, unlink };
        self.buffer(md, call, |interface, md| interface.md_bind(md, unlink))
    }

    /// PtlMDUnlink.
    pub fn md_unlink(&self, md: MdHandle) -> Result<(), Error> {
        self.object(ObjectCall::MdUnlink { md }, |interface| interface.md_unlink(md))
    }

    /// PtlMDUpdate: the former description. With `test`, nothing is changed and `MdNoUpdate` returned unless
    /// that event queue is empty and nothing under way will post to it.
    pub fn md_update(
        &self,
        md: MdHandle,
        new: Option<Md>,
        test: Option<EqHandle>,
    ) -> Result<Md, Error> {
        let call = ObjectCall::MdUpdate { md, new, test };
        match new {
            Some(new) => {
                self.buffer(new, call, |interface, new| interface.md_update(md, Some(new), test))
            }
            None => self.object(call, |interface| interface.md_update(md, None, test)),
        }
    }

    /// PtlMEMDPost: match entry and memory descriptor in one call, if `test` is empty and stays so.
    #[allow(clippy::too_many_arguments)] // The call's own arguments.
    pub fn me_md_post(
        &self,
        base: MeHandle,
        criteria: Criteria,
        unlink_me: Unlink,
        position: Position,
        md: Md,
        unlink_md: Unlink,
        test: EqHandle,
    ) -> Result<EntryPair, Error> {
        loop {
            let posted = self.post(base, criteria, unlink_me, position, md, unlink_md, test);
            if let Some(posted) = self.settle_post(posted) {
                return posted;
            }
        }
    }

    /// PtlEQAlloc: room for at least `count` events.
    pub fn eq_alloc(&self, count: u32) -> Result<EqHandle, Error> {
        let call = ObjectCall::EqAlloc { count, growth: 0 };
        self.object(call, |interface| interface.eq_alloc(count))
    }

    /// An event queue that holds `count` events at first and grows by `growth` events in the process's memory
    /// whenever it is full, so that it loses none. Portals 3.3 has no such queue; it would be an option of
    /// PtlEQAlloc. Whoever posts the event makes the room and takes the time for it.
    pub fn eq_alloc_growing(&self, count: u32, growth: u32) -> Result<EqHandle, Error> {
        let call = ObjectCall::EqAlloc { count, growth };
        self.object(call, |interface| interface.eq_alloc_growing(count, growth))
    }

    /// Has messages for this process refused while `eq` has no room, where the kernel recovers
    /// (`firmware.overflow=host`), instead of overwriting events. Portals 3.3 has no such call; it would be an
    /// option of PtlEQAlloc, and takes no time of its own.
    pub fn eq_refuses(&self, eq: EqHandle) {
        self.with(|interface| interface.eq_refuses(eq));
    }

    /// PtlEQFree.
    pub fn eq_free(&self, eq: EqHandle) -> Result<(), Error> {
        self.object(ObjectCall::EqFree { eq }, |interface| interface.eq_free(eq))
    }
}

//! One process's Portals interface: its portal table, match entries, memory descriptors, event queues and
//! access control table (Portals 3.3 s3.6 to s3.12). The calls that move data are in `deliver`.

use super::eq::{EventQueue, Next};
use super::error::Error;
use super::handle::{EntryPair, EqHandle, MdHandle, MeHandle, OnPortal, Slab};
use super::md::MemoryDescriptor;
use super::me::{Criteria, MatchEntry, MatchList};
use super::span::{Buffer, Span};
use super::types::{
    Limits, Md, Position, ProcessId, StatusRegister, Unlink, JID_ANY, PT_INDEX_ANY, UID_ANY,
};

/// Initiators that an access control entry admits; each part may be a wildcard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessEntry {
    /// Initiators.
    pub match_id: ProcessId,
    /// Their user.
    pub uid: u32,
    /// Their job. The wire header does not carry it: only this job's own id or `JID_ANY` admit anybody.
    pub jid: u32,
    /// The portal that they may use.
    pub pt_index: u32,
}

impl AccessEntry {
    /// Admits everybody everywhere.
    pub const OPEN: AccessEntry = AccessEntry {
        match_id: ProcessId::ANY,
        uid: UID_ANY,
        jid: JID_ANY,
        pt_index: PT_INDEX_ANY,
    };
}

/// A memory descriptor as it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    pub(crate) user: Md,
    pub(crate) unlink: Unlink,
    pub(crate) bytes: u64,
    pub(crate) active: bool,
    /// Operations under way.
    pub(crate) pending: u32,
    pub(crate) me: Option<MeHandle>,
}

/// Counters of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) dropped: u64,
    pub(crate) dropped_bytes: u64,
    pub(crate) received: u64,
    pub(crate) received_bytes: u64,
    pub(crate) sent: u64,
    pub(crate) sent_bytes: u64,
}

/// Owner of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The process.
    pub id: ProcessId,
    /// Its user.
    pub uid: u32,
    /// Its job.
    pub jid: u32,
}

/// The Portals interface of one process.
pub struct Interface {
    pub(crate) identity: Identity,
    pub(crate) limits: Limits,
    pub(crate) portals: Vec<MatchList>,
    pub(crate) access: Vec<Option<AccessEntry>>,
    pub(crate) mes: Slab<MatchEntry>,
    pub(crate) mds: Slab<MemoryDescriptor>,
    pub(crate) eqs: Slab<EventQueue>,
    pub(crate) status: Status,
    /// Its process is leaving: no new request is admitted.
    pub(crate) leaving: bool,
    /// Events stay hidden until they are published.
    holds_back: bool,
}

impl Interface {
    /// An empty interface. Access control entry 0 admits everybody, the others nobody.
    pub fn new(identity: Identity, limits: Limits) -> Interface {
        let mut access = vec![None; limits.max_ac_index as usize + 1];
        access[0] = Some(AccessEntry::OPEN);
        Interface {
            identity,
            limits,
            portals: vec![MatchList::EMPTY; limits.max_pt_index as usize + 1],
            access,
            mes: Slab::new(limits.max_mes),
            mds: Slab::new(limits.max_mds),
            eqs: Slab::new(limits.max_eqs),
            status: Status::default(),
            leaving: false,
            holds_back: false,
        }
    }

    /// Hides events from the process until [`Interface::publish_events`]: posting takes time, in
    /// which it may look. For queues that are made later.
    pub fn hold_events_back(&mut self) {
        self.holds_back = true;
    }

    /// True if a queue holds an event that cannot be read yet.
    pub fn is_writing(&self, eq: EqHandle) -> bool {
        self.eqs.get(eq.raw()).is_some_and(EventQueue::is_writing)
    }

    /// Makes all posted events readable.
    pub fn publish_events(&mut self) {
        self.eqs.iter_mut().for_each(EventQueue::publish);
    }

    /// The process leaves: from now on requests are dropped. Answers are taken as before.
    pub fn leave(&mut self) {
        self.leaving = true;
    }

    /// True while operations are under way, whose memory must stay.
    pub fn is_busy(&self) -> bool {
        self.mds.iter().any(|(_, md)| md.pending > 0)
    }

    /// True once the process is leaving.
    pub fn is_leaving(&self) -> bool {
        self.leaving
    }

    /// Owner of the interface.
    pub fn identity(&self) -> Identity {
        self.identity
    }
    /// Limits of the interface.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// A counter (PtlNIStatus).
    pub fn status(&self, register: StatusRegister) -> u64 {
        match register {
            StatusRegister::DropCount => self.status.dropped,
            StatusRegister::DropLength => self.status.dropped_bytes,
            StatusRegister::RecvCount => self.status.received,
            StatusRegister::RecvLength => self.status.received_bytes,
            StatusRegister::SendCount => self.status.sent,
            StatusRegister::SendLength => self.status.sent_bytes,
        }
    }

    /// Sets an access control entry (PtlACEntry).
    pub fn ac_entry(&mut self, index: u32, entry: AccessEntry) -> Result<(), Error> {
        if entry.pt_index != PT_INDEX_ANY && entry.pt_index > self.limits.max_pt_index {
            return Err(Error::PtIndexInvalid);
        }
        let slot = self.access.get_mut(index as usize).ok_or(Error::AcIndexInvalid)?;
        *slot = Some(entry);
        Ok(())
    }

    // Match entries.

    /// Attaches a match entry at the head or tail of a portal's list (PtlMEAttach).
    pub fn me_attach(
        &mut self,
        pt_index: u32,
        criteria: Criteria,
        unlink: Unlink,
        position: Position,
    ) -> Result<MeHandle, Error> {
        if pt_index > self.limits.max_pt_index {
            return Err(Error::PtIndexInvalid);
        }
        let me = self.me_new(pt_index, criteria, unlink)?;
        self.portals[pt_index as usize].attach(&mut self.mes, me.index(), position);
        Ok(me)
    }

    /// Attaches a match entry to the first portal that was never used (PtlMEAttachAny).
    pub fn me_attach_any(&mut self, criteria: Criteria, unlink: Unlink) -> Result<OnPortal, Error> {
        let unused = self.portals.iter().position(|list| !list.used).ok_or(Error::PtFull)?;
        let pt_index = unused as u32;
        let me = self.me_attach(pt_index, criteria, unlink, Position::After)?;
        Ok(OnPortal { pt_index, me })
    }

    /// Inserts a match entry beside another (PtlMEInsert).
    pub fn me_insert(
        &mut self,
        base: MeHandle,
        criteria: Criteria,
        unlink: Unlink,
        position: Position,
    ) -> Result<MeHandle, Error> {
        let portal = self.mes.get(base.raw()).ok_or(Error::MeInvalid)?.portal;
        let me = self.me_new(portal, criteria, unlink)?;
        self.portals[portal as usize].insert(&mut self.mes, me.index(), base, position);
        Ok(me)
    }

    fn me_new(
        &mut self,
        portal: u32,
        criteria: Criteria,
        unlink: Unlink,
    ) -> Result<MeHandle, Error> {
        if self.portals[portal as usize].length >= self.limits.max_me_list {
            return Err(Error::MeListTooLong);
        }
        let entry = MatchEntry::new(portal, criteria, unlink);
        Ok(MeHandle::from_raw(self.mes.insert(entry).ok_or(Error::NoSpace)?))
    }

    /// Unlinks a match entry and the memory descriptor on it (PtlMEUnlink).
    pub fn me_unlink(&mut self, me: MeHandle) -> Result<(), Error> {
        let md = self.mes.get(me.raw()).ok_or(Error::MeInvalid)?.md;
        if let Some(md) = md {
            let attached = self.mds.get(md.raw()).expect("a match entry names a live descriptor");
            if attached.pending > 0 {
                return Err(Error::MeInUse);
            }
            self.mds.remove(md.raw());
        }
        self.me_remove(me);
        Ok(())
    }

    fn me_remove(&mut self, me: MeHandle) {
        let portal = self.mes.at(me.index()).portal;
        self.portals[portal as usize].unlink(&mut self.mes, me.index());
        self.mes.remove(me.raw());
    }

    // Memory descriptors.

    /// Attaches a memory descriptor to a match entry that has none (PtlMDAttach).
    pub fn md_attach<'a>(
        &mut self,
        me: MeHandle,
        md: impl Into<Buffer<'a>>,
        unlink: Unlink,
    ) -> Result<MdHandle, Error> {
        match self.mes.get(me.raw()) {
            None => return Err(Error::MeInvalid),
            Some(entry) if entry.md.is_some() => return Err(Error::MeInUse),
            Some(_) => {}
        }
        let handle = self.md_new(md.into(), unlink, Some(me))?;
        self.mes.at_mut(me.index()).md = Some(handle);
        Ok(handle)
    }

    /// Makes a memory descriptor that hangs on no match entry (PtlMDBind).
    pub fn md_bind<'a>(
        &mut self,
        md: impl Into<Buffer<'a>>,
        unlink: Unlink,
    ) -> Result<MdHandle, Error> {
        self.md_new(md.into(), unlink, None)
    }

    fn md_new(
        &mut self,
        md: Buffer,
        unlink: Unlink,
        me: Option<MeHandle>,
    ) -> Result<MdHandle, Error> {
        self.md_check(&md)?;
        let raw = self.mds.insert(MemoryDescriptor::new(md, unlink, me)).ok_or(Error::NoSpace)?;
        Ok(MdHandle::from_raw(raw))
    }

    fn md_check(&self, buffer: &Buffer) -> Result<(), Error> {
        MemoryDescriptor::check(buffer, self.limits.max_md_iovecs)?;
        match buffer.md.eq {
            Some(eq) if self.eqs.get(eq.raw()).is_none() => Err(Error::EqInvalid),
            _ => Ok(()),
        }
    }

    /// Unlinks a memory descriptor, and its match entry if that has `Unlink` (PtlMDUnlink).
    pub fn md_unlink(&mut self, md: MdHandle) -> Result<(), Error> {
        if self.mds.get(md.raw()).ok_or(Error::MdInvalid)?.pending > 0 {
            return Err(Error::MdInUse);
        }
        self.md_remove(md);
        Ok(())
    }

    pub(crate) fn md_remove(&mut self, md: MdHandle) {
        let Some(removed) = self.mds.remove(md.raw()) else { return };
        let Some(me) = removed.me else { return };
        let entry = self.mes.get_mut(me.raw()).expect("a descriptor hangs on a live match entry");
        entry.md = None;
        if entry.unlink == Unlink::Unlink {
            self.me_remove(me);
        }
    }

    /// Reads and then replaces a memory descriptor (PtlMDUpdate). With `test`, only if that event queue is
    /// empty, no operation under way will still post to it, and none uses the descriptor.
    pub fn md_update(
        &mut self,
        md: MdHandle,
        new: Option<Buffer>,
        test: Option<EqHandle>,
    ) -> Result<Md, Error> {
        let present = self.mds.get(md.raw()).ok_or(Error::MdInvalid)?;
        let (old, pending) = (present.user, present.pending);
        let Some(new) = new else { return Ok(old) };
        self.md_check(&new)?;
        if let Some(test) = test
            && (pending > 0 || !self.eq_quiet(test)?)
        {
            return Err(Error::MdNoUpdate);
        }
        let descriptor = self.mds.get_mut(md.raw()).expect("looked up above");
        let broken_promise = std::mem::take(&mut descriptor.unlink_promised);
        descriptor.set(new);
        if broken_promise {
            self.promise(old.eq, -1);
        }
        Ok(old)
    }

    /// Attaches a match entry and a memory descriptor beside `base` if `test` is empty (PtlMEMDPost).
    #[allow(clippy::too_many_arguments)] // The call's own arguments.
    pub fn me_md_post(
        &mut self,
        base: MeHandle,
        criteria: Criteria,
        unlink_me: Unlink,
        position: Position,
        md: Buffer,
        unlink_md: Unlink,
        test: EqHandle,
    ) -> Result<EntryPair, Error> {
        self.md_check(&md)?;
        if self.mes.get(base.raw()).is_none() {
            return Err(Error::MeInvalid);
        }
        if !self.eq_quiet(test)? {
            return Err(Error::MdNoUpdate);
        }
        let me = self.me_insert(base, criteria, unlink_me, position)?;
        match self.md_attach(me, md, unlink_md) {
            Ok(md) => Ok(EntryPair { me, md }),
            Err(error) => {
                self.me_remove(me);
                Err(error)
            }
        }
    }

    /// True if `raw` is the handle of a match entry, memory descriptor or event queue that exists
    /// (PtlNIHandle).
    pub fn owns(&self, raw: u32) -> bool {
        self.mes.get(raw).is_some() || self.mds.get(raw).is_some() || self.eqs.get(raw).is_some()
    }

    // State for a copy on the network interface.

    /// A memory descriptor: its number there, what it is now, whether it goes when used up, and the number of
    /// its match entry.
    pub(crate) fn look(&self, md: MdHandle) -> Option<Look> {
        let found = self.mds.get(md.raw())?;
        let (user, unlink) = (found.user, found.unlink);
        let (active, pending) = (found.active(), found.pending);
        Some(Look { user, unlink, bytes: found.bytes, active, pending, me: found.me })
    }
    /// The bytes of a memory descriptor.
    pub(crate) fn whole(&self, md: MdHandle) -> Option<Span> {
        let found = self.mds.get(md.raw())?;
        Some(found.span(0, found.bytes))
    }
    /// A part of them.
    pub(crate) fn part(&self, md: MdHandle, offset: u64, length: u64) -> Option<Span> {
        Some(self.mds.get(md.raw())?.span(offset, length))
    }
    /// The descriptor on a match entry: whether there is such an entry, and its descriptor.
    pub(crate) fn hangs_on(&self, me: MeHandle) -> Option<Option<MdHandle>> {
        Some(self.mes.get(me.raw())?.md)
    }
    /// The portal of a match entry, and whether it goes with its descriptor.
    pub(crate) fn place_of(&self, me: MeHandle) -> Option<(u32, Unlink)> {
        let entry = self.mes.get(me.raw())?;
        Some((entry.portal, entry.unlink))
    }

    // Event queues.

    /// True if nothing is in a queue, and nothing that has begun will post to it.
    pub(crate) fn is_quiet(&self, eq: EqHandle) -> bool {
        self.eq_quiet(eq).unwrap_or(false)
    }

    /// Makes an event queue of at least `count` events (PtlEQAlloc).
    pub fn eq_alloc(&mut self, count: u32) -> Result<EqHandle, Error> {
        if count > 1 << 20 {
            return Err(Error::NoSpace);
        }
        self.eq_insert(EventQueue::new(count, self.holds_back))
    }

    /// Makes an event queue that holds `count` events at first, and grows by `growth` whenever it is full.
    pub fn eq_alloc_growing(&mut self, count: u32, growth: u32) -> Result<EqHandle, Error> {
        if count.max(growth) > 1 << 20 {
            return Err(Error::NoSpace);
        }
        self.eq_insert(EventQueue::new(count, self.holds_back).growing(growth))
    }

    fn eq_insert(&mut self, queue: EventQueue) -> Result<EqHandle, Error> {
        Ok(EqHandle::from_raw(self.eqs.insert(queue).ok_or(Error::NoSpace)?))
    }

    /// Has messages refused while an event queue is full, if the kernel can.
    pub fn eq_refuses(&mut self, eq: EqHandle) {
        if let Some(queue) = self.eqs.get_mut(eq.raw()) {
            queue.refuses = true;
        }
    }

    /// True if such a queue has no room for the events of one more message.
    pub(crate) fn is_crowded(&self) -> bool {
        !self.leaving && self.eqs.iter().any(|(_, queue)| queue.is_crowded())
    }

    /// True if all such queues are half empty.
    pub(crate) fn is_roomy(&self) -> bool {
        self.leaving || self.eqs.iter().all(|(_, queue)| queue.is_roomy())
    }

    /// Frees an event queue (PtlEQFree). Events of descriptors that still name it vanish.
    pub fn eq_free(&mut self, eq: EqHandle) -> Result<(), Error> {
        self.eqs.remove(eq.raw()).map(|_| ()).ok_or(Error::EqInvalid)
    }

    /// Takes the next event, `EqEmpty` if there is none (PtlEQGet).
    pub fn eq_get(&mut self, eq: EqHandle) -> Result<Next, Error> {
        self.eqs.get_mut(eq.raw()).ok_or(Error::EqInvalid)?.get().ok_or(Error::EqEmpty)
    }

    /// The `index`-th event queue: its handle, events that it holds, events that wait (PtlNIEqDump).
    pub fn eq_dump(&self, index: usize) -> Option<(EqHandle, u64, u64)> {
        let (raw, queue) = self.eqs.iter().nth(index)?;
        let (slots, waiting) = queue.fill();
        Some((EqHandle::from_raw(raw), slots, waiting))
    }

    fn eq_quiet(&self, eq: EqHandle) -> Result<bool, Error> {
        let queue = self.eqs.get(eq.raw()).ok_or(Error::EqInvalid)?;
        Ok(queue.is_empty() && queue.promised == 0)
    }

    /// Counts events that will still be posted, or no longer.
    pub(crate) fn promise(&mut self, eq: Option<EqHandle>, change: i32) {
        if let Some(queue) = eq.and_then(|eq| self.eqs.get_mut(eq.raw())) {
            let promised = queue.promised.checked_add_signed(change);
            queue.promised = promised.expect("no more events are posted than were promised");
        }
    }
}

//! Calls of a process whose match lists are on the network interface: the library's copy changes, and a
//! command tells the firmware. The library asks it for changes that it may have made meanwhile.

use super::Ni;
use crate::kernel::{ObjectCall, Returned};
use crate::library::{
    option, Buffer, Criteria, EntryPair, EqHandle, Error, Interface, IoVec, Md, MdHandle, MeHandle,
    Position, Unlink,
};
use crate::seastar::{Accelerated, NewEntry};
use abi::seastar::entry_result;

impl Ni {
    /// Time of a call that stays in the library, up to where it looks at its objects.
    fn begin_on_nic(&self, user: &Accelerated) {
        let costs = &self.kernel.config.costs;
        self.cpu.spend(costs.api_call + costs.api_check + costs.object);
        user.drain(&self.kernel, &self.cpu);
    }

    /// A call that makes, changes or frees an object.
    pub(super) fn object_on_nic<R: Copy + Into<Returned>>(
        &self,
        user: &Accelerated,
        call: ObjectCall,
        f: impl FnOnce(&mut Interface) -> Result<R, Error>,
    ) -> Result<R, Error> {
        self.begin_on_nic(user);
        match call {
            ObjectCall::MeUnlink { me } => {
                let there = self.with(|interface| interface.hangs_on(me)).is_some();
                if there {
                    user.unlink(&self.kernel, &self.cpu, me, false, call)?;
                    return self.with(f);
                }
            }
            ObjectCall::MdUnlink { md } => {
                let look = self.with(|interface| interface.look(md));
                if let Some(me) = look.and_then(|look| look.me) {
                    user.unlink(&self.kernel, &self.cpu, me, true, call)?;
                    return self.with(f);
                }
            }
            // An entry that goes by itself may have gone.
            ObjectCall::MeInsert { base, .. } => {
                let span = self.with(|interface| interface.place_of(base));
                if span.is_some_and(|(_, unlink)| unlink == Unlink::Unlink) {
                    user.sync(&self.kernel, &self.cpu);
                }
            }
            // Descriptors of which the firmware has not been told name the queue.
            ObjectCall::EqFree { .. } | ObjectCall::MdUpdate { .. } => {
                user.sync(&self.kernel, &self.cpu);
            }
            _ => {}
        }
        let result = self.with(f);
        let returned = result.map(Into::into);
        match (call, returned) {
            (
                ObjectCall::MeAttach { pt_index, criteria, unlink, position },
                Ok(Returned::Handle(me)),
            ) => {
                user.tell_later(&self.kernel, call, returned);
                let me = MeHandle::from_raw(me);
                let entry = NewEntry { me, criteria, unlink, position };
                user.attach(&self.cpu, pt_index, entry, None);
            }
            (ObjectCall::MeAttachAny { criteria, unlink }, Ok(Returned::Portal(portal, me))) => {
                user.tell_later(&self.kernel, call, returned);
                let (me, position) = (MeHandle::from_raw(me), Position::After);
                let entry = NewEntry { me, criteria, unlink, position };
                user.attach(&self.cpu, portal, entry, None);
            }
            (
                ObjectCall::MeInsert { base, criteria, unlink, position },
                Ok(Returned::Handle(me)),
            ) => {
                user.tell_later(&self.kernel, call, returned);
                let me = MeHandle::from_raw(me);
                let portal = self.with(|interface| interface.place_of(me));
                let portal = portal.expect("it was just made").0;
                let entry = NewEntry { me, criteria, unlink, position };
                user.attach(&self.cpu, portal, entry, Some(base));
            }
            (ObjectCall::AcEntry { index, entry }, Ok(_)) => {
                user.tell_later(&self.kernel, call, returned);
                let jid = self.identity().jid;
                user.admit(&self.cpu, index, entry, jid);
            }
            (_, Ok(_)) => {
                self.tell(call, &[], &result);
                return result;
            }
            // The library alone knows of such a descriptor, and it may be in use no longer after a while.
            (ObjectCall::MdUnlink { .. }, Err(Error::MdInUse)) => {
                self.tell(call, &[], &result);
                return result;
            }
            (_, Err(_)) => {
                user.sync(&self.kernel, &self.cpu);
                self.tell(call, &[], &result);
                return result;
            }
        }
        result
    }

    /// The same for a memory descriptor, whose buffer must be the process's.
    pub(super) fn buffer_on_nic<R: Copy + Into<Returned>>(
        &self,
        user: &Accelerated,
        mut md: Md,
        call: ObjectCall,
        f: impl FnOnce(&mut Interface, Buffer) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let regions = self.regions(&md);
        self.begin_on_nic(user);
        let regions: Vec<IoVec> = match regions {
            Ok(regions) => regions,
            Err(error) => {
                self.tell::<()>(call, &[], &Err(error));
                return Err(error);
            }
        };
        if md.options & option::IOVEC == 0 {
            self.check(md.start, md.length)?;
        }
        for region in &regions {
            self.check(region.start, region.length)?;
        }
        // A list of one region is that region to the firmware.
        if let [only] = regions[..] {
            (md.start, md.length) = (only.start, only.length);
        }
        if let ObjectCall::MdUpdate { md: of, test, .. } = call {
            if let Some(me) = self.attached(of) {
                let of = EntryPair { me, md: of };
                return self.update_on_nic(user, of, md, test, call, |interface| {
                    f(interface, Buffer { md: call_md(call, md), regions: &regions })
                });
            }
            user.sync(&self.kernel, &self.cpu);
        }
        // Between this look and the change no time passes.
        user.drain(&self.kernel, &self.cpu);
        if matches!(call, ObjectCall::MeMdPost { .. }) && user.has_refused() {
            // Or it would overtake those. To the judge neither they nor this have been made.
            return Err(Error::MdNoUpdate);
        }
        let own = call_md(call, md);
        let result = self.with(|interface| f(interface, Buffer { md: own, regions: &regions }));
        let returned = result.map(Into::into);
        match (call, returned) {
            (ObjectCall::MdAttach { me, .. }, Ok(Returned::Handle(md))) => {
                user.tell_later(&self.kernel, call, returned);
                user.attach_md(&self.kernel, &self.cpu, me, MdHandle::from_raw(md));
            }
            (
                ObjectCall::MeMdPost { base, criteria, unlink_me, position, test, .. },
                Ok(Returned::Pair(me, md)),
            ) => {
                user.tell_later(&self.kernel, call, returned);
                let (me, md) = (MeHandle::from_raw(me), MdHandle::from_raw(md));
                let entry = NewEntry { me, criteria, unlink: unlink_me, position };
                user.post(&self.kernel, &self.cpu, entry, md, base, test);
            }
            (_, Ok(_)) => {
                self.tell(call, &regions, &result);
                return result;
            }
            (_, Err(error)) => {
                if error != Error::MdNoUpdate {
                    user.sync(&self.kernel, &self.cpu);
                }
                self.tell(call, &regions, &result);
                return result;
            }
        }
        result
    }

    fn update_on_nic<R>(
        &self,
        user: &Accelerated,
        of: EntryPair,
        new: Md,
        test: Option<EqHandle>,
        call: ObjectCall,
        f: impl FnOnce(&mut Interface) -> Result<R, Error>,
    ) -> Result<R, Error> {
        // Conditions that do not depend on messages are checked on a copy of the request.
        user.drain(&self.kernel, &self.cpu);
        let refused = test.is_some_and(|test| !self.with(|interface| interface.is_quiet(test)));
        let look = self.with(|interface| interface.look(of.md));
        let busy = test.is_some() && look.is_some_and(|look| look.pending > 0);
        if refused || busy || look.is_none() {
            user.sync(&self.kernel, &self.cpu);
            return self.with(f);
        }
        match user.update(&self.kernel, &self.cpu, of, &new, test, call) {
            entry_result::DONE => self.with(f),
            entry_result::GONE => Err(Error::MdInvalid),
            _ => Err(Error::MdNoUpdate),
        }
    }

    /// The match entry of a descriptor, if it has one.
    fn attached(&self, md: MdHandle) -> Option<MeHandle> {
        self.with(|interface| interface.look(md))?.me
    }

    /// An operation begins on a descriptor: if a match entry has it, the firmware counts, too.
    pub(super) fn count_on_nic(&self, md: MdHandle) {
        let Some(user) = &self.on_nic else { return };
        if let Some(me) = self.attached(md) {
            user.count(&self.kernel, &self.cpu, me, md);
        }
    }

    /// An operation is refused: what was asked for before it is known to all first.
    pub(super) fn sync_on_nic(&self) {
        let Some(user) = &self.on_nic else { return };
        user.sync(&self.kernel, &self.cpu);
    }

    /// An answer will come for a descriptor: the firmware must know where it goes.
    pub(super) fn expect_on_nic(&self, md: MdHandle) {
        let Some(user) = &self.on_nic else { return };
        let look = self.with(|interface| interface.look(md));
        match look {
            Some(look) if look.me.is_some() => user.sync(&self.kernel, &self.cpu),
            Some(look) if look.active => user.expect_answer(&self.kernel, &self.cpu, md),
            _ => {}
        }
    }

    pub(super) fn has_refused(&self) -> bool {
        self.on_nic.as_ref().is_some_and(|user| user.has_refused())
    }

    /// A post that a message overtook, so that it was refused ([`Ni::post`]): the oldest.
    pub fn next_refused(&self) -> Option<MeHandle> {
        self.on_nic.as_ref()?.next_refused()
    }

    /// Posts as [`Ni::me_md_post`], but does not wait for the network interface: where match lists are on
    /// it, a post may be refused later. Then polls return `MdNoUpdate` until [`Ni::next_refused`] has
    /// returned all.
    #[allow(clippy::too_many_arguments)] // The call's own arguments.
    pub fn post(
        &self,
        base: MeHandle,
        criteria: Criteria,
        unlink_me: Unlink,
        position: Position,
        md: Md,
        unlink_md: Unlink,
        test: EqHandle,
    ) -> Result<EntryPair, Error> {
        let call =
            ObjectCall::MeMdPost { base, criteria, unlink_me, position, md, unlink_md, test };
        self.buffer(md, call, |interface, md| {
            interface.me_md_post(base, criteria, unlink_me, position, md, unlink_md, test)
        })
    }

    /// Waits until the firmware has taken a post, or refused it.
    pub(super) fn settle_post(
        &self,
        posted: Result<EntryPair, Error>,
    ) -> Option<Result<EntryPair, Error>> {
        let (Some(user), Ok(EntryPair { me, .. })) = (&self.on_nic, posted) else {
            return Some(posted);
        };
        user.sync(&self.kernel, &self.cpu);
        // Refused: try again, and if a message waits now, not at all.
        (!user.was_refused(me)).then_some(posted)
    }
}

/// The description that a call brings; the firmware's own view of its buffer may differ.
fn call_md(call: ObjectCall, seen: Md) -> Md {
    match call {
        ObjectCall::MdAttach { md, .. }
        | ObjectCall::MdBind { md, .. }
        | ObjectCall::MeMdPost { md, .. }
        | ObjectCall::MdUpdate { new: Some(md), .. } => md,
        _ => seen,
    }
}

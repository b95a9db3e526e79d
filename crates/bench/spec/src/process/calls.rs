//! Calls that make, change and free objects (Portals 3.3 s3.5 to s3.12), and what they return. Where several
//! things are wrong with a call the standard leaves open which is told, so any of them will do.

use super::{visible, Entry, Memory, Process, Queue, EVENTS_MAX};
use crate::types::{option, same, Call, Code, Criteria, Md, Value, Wrong, ANY};
use std::collections::VecDeque;

const CLAUSE: &str = "Portals 3.3 s3.5 to s3.12 (return codes)";

impl Process {
    /// The process has made a call, and it returned this.
    pub fn called(&mut self, call: &Call, result: Result<&Value, Code>) -> Result<(), Wrong> {
        let reasons = self.reasons(call);
        let name = call.name();
        let what = || format!("result of {name}");
        match result {
            Err(code) if reasons.contains(&code) => Ok(()),
            Err("PTL_MD_IN_USE") if self.may_use(call) => Ok(()),
            Err(code) if reasons.is_empty() => same(CLAUSE, what, &"PTL_OK", &code),
            Err(code) => same(CLAUSE, what, &reasons.join(" or "), &code.to_owned()),
            Ok(_) if !reasons.is_empty() => {
                same(CLAUSE, what, &reasons.join(" or "), &"PTL_OK".to_owned())
            }
            Ok(value) => self.does(call, value),
        }
    }

    /// True if the library, which decides about descriptors that no match entry has, could not know yet that
    /// the last operation on one has ended.
    fn may_use(&self, call: &Call) -> bool {
        let Call::MdUnlink { md } = call else { return false };
        self.mds.get(md).is_none_or(|memory| memory.me.is_none()) && self.flying.uses(*md)
    }

    /// All codes of what is wrong with a call.
    fn reasons(&self, call: &Call) -> Vec<Code> {
        let mut codes = Vec::new();
        let mut wrong = |is: bool, code: Code| {
            if is {
                codes.push(code);
            }
        };
        let limits = &self.limits;
        let many_mes = self.mes.len() >= limits.max_mes as usize;
        let many_mds = self.mds.len() >= limits.max_mds as usize;
        let long = |portal: u32| {
            let list = self.portals.get(portal as usize);
            list.is_some_and(|list| list.len() >= limits.max_me_list as usize)
        };
        let busy = |md: &u32| self.mds.get(md).is_some_and(|md| md.pending > 0);
        match call {
            Call::AcEntry { index, entry } => {
                wrong(*index > limits.max_ac_index, "PTL_AC_INDEX_INVALID");
                let portal = entry.portal;
                wrong(portal != ANY && portal > limits.max_pt_index, "PTL_PT_INDEX_INVALID");
            }
            Call::MeAttach { portal, .. } => {
                wrong(*portal > limits.max_pt_index, "PTL_PT_INDEX_INVALID");
                wrong(long(*portal), "PTL_ME_LIST_TOO_LONG");
                wrong(many_mes, "PTL_NO_SPACE");
            }
            Call::MeAttachAny { .. } => {
                wrong(self.used.iter().all(|used| *used), "PTL_PT_FULL");
                wrong(many_mes, "PTL_NO_SPACE");
            }
            Call::MeInsert { base, .. } => {
                let base = self.mes.get(base);
                wrong(base.is_none(), "PTL_ME_INVALID");
                wrong(base.is_some_and(|base| long(base.portal)), "PTL_ME_LIST_TOO_LONG");
                wrong(many_mes, "PTL_NO_SPACE");
            }
            Call::MeUnlink { me } => {
                let me = self.mes.get(me);
                wrong(me.is_none(), "PTL_ME_INVALID");
                wrong(me.and_then(|me| me.md).is_some_and(|md| busy(&md)), "PTL_ME_IN_USE");
            }
            Call::MdAttach { me, md, .. } => {
                let me = self.mes.get(me);
                wrong(me.is_none(), "PTL_ME_INVALID");
                wrong(me.is_some_and(|me| me.md.is_some()), "PTL_ME_IN_USE");
                self.description(md, &mut wrong);
                wrong(many_mds, "PTL_NO_SPACE");
            }
            Call::MdBind { md, .. } => {
                self.description(md, &mut wrong);
                wrong(many_mds, "PTL_NO_SPACE");
            }
            Call::MdUnlink { md } => {
                wrong(!self.mds.contains_key(md), "PTL_MD_INVALID");
                wrong(busy(md), "PTL_MD_IN_USE");
            }
            Call::MdUpdate { md, new, test } => {
                wrong(!self.mds.contains_key(md), "PTL_MD_INVALID");
                if let Some(new) = new {
                    self.description(new, &mut wrong);
                    if let Some(test) = test {
                        wrong(!self.eqs.contains_key(test), "PTL_EQ_INVALID");
                        wrong(busy(md) || !self.is_quiet(*test), "PTL_MD_NO_UPDATE");
                    }
                }
            }
            Call::MeMdPost { base, md, test, .. } => {
                let base = self.mes.get(base);
                wrong(base.is_none(), "PTL_ME_INVALID");
                wrong(base.is_some_and(|base| long(base.portal)), "PTL_ME_LIST_TOO_LONG");
                self.description(md, &mut wrong);
                wrong(!self.eqs.contains_key(test), "PTL_EQ_INVALID");
                wrong(!self.is_quiet(*test), "PTL_MD_NO_UPDATE");
                wrong(many_mes || many_mds, "PTL_NO_SPACE");
            }
            Call::EqAlloc { count, .. } => {
                let many = self.eqs.len() >= limits.max_eqs as usize;
                wrong(many || *count > EVENTS_MAX, "PTL_NO_SPACE");
            }
            Call::EqFree { eq } => wrong(!self.eqs.contains_key(eq), "PTL_EQ_INVALID"),
            Call::Status { .. } => {}
        }
        codes
    }

    /// Checks a description (s3.10.1).
    fn description(&self, md: &Md, wrong: &mut impl FnMut(bool, Code)) {
        wrong(is_illegal(md, self.limits.max_md_iovecs), "PTL_MD_ILLEGAL");
        wrong(md.eq.is_some_and(|eq| !self.eqs.contains_key(&eq)), "PTL_EQ_INVALID");
    }

    /// True if an event queue is empty and nothing under way will post to it (s3.10.5).
    fn is_quiet(&self, eq: u32) -> bool {
        let empty =
            self.eqs.get(&eq).is_none_or(|queue| queue.waiting.is_empty()) && !self.flying.has(eq);
        let ends = self.running.values().any(|operation| operation.end == Some(eq));
        let unlinks = self
            .mds
            .values()
            .any(|md| md.spent() && md.pending > 0 && md.eventful() && md.md.eq == Some(eq));
        empty && !ends && !unlinks
    }

    /// A call has its effect.
    fn does(&mut self, call: &Call, value: &Value) -> Result<(), Wrong> {
        match (call, value) {
            (Call::AcEntry { index, entry }, Value::Nothing) => {
                self.access[*index as usize] = Some(*entry);
            }
            (Call::MeAttach { portal, criteria, unlink, at_head }, Value::Handle(me)) => {
                let end = self.portals[*portal as usize].len();
                let at = if *at_head { 0 } else { end };
                self.new_entry(*me, *portal, at, *criteria, *unlink)?;
            }
            (Call::MeAttachAny { criteria, unlink }, Value::Portal(portal, me)) => {
                let first = self.used.iter().position(|used| !used).unwrap_or_default() as u32;
                same(CLAUSE, || "portal of PtlMEAttachAny".to_owned(), &first, portal)?;
                self.new_entry(*me, first, 0, *criteria, *unlink)?;
            }
            (Call::MeInsert { base, criteria, unlink, before }, Value::Handle(me)) => {
                let (portal, at) = self.beside(*base, *before);
                self.new_entry(*me, portal, at, *criteria, *unlink)?;
            }
            (Call::MeUnlink { me }, Value::Nothing) => {
                if let Some(md) = self.mes.get(me).and_then(|me| me.md) {
                    self.mds.remove(&md);
                }
                self.remove_entry(*me);
            }
            (Call::MdAttach { me, md, unlink }, Value::Handle(handle)) => {
                self.new_memory(*handle, md, *unlink, Some(*me))?;
            }
            (Call::MdBind { md, unlink }, Value::Handle(handle)) => {
                self.new_memory(*handle, md, *unlink, None)?;
            }
            (Call::MdUnlink { md }, Value::Nothing) => self.remove_memory(*md),
            (Call::MdUpdate { md, new: Some(new), .. }, Value::Unseen) => {
                let memory = self.mds.get_mut(md).expect("the call had no reason to fail");
                memory.md = new.clone();
                (memory.local_offset, memory.full) = (0, false);
            }
            (Call::MdUpdate { md, new, .. }, Value::Md(old)) => {
                let memory = self.mds.get_mut(md).expect("the call had no reason to fail");
                let what = || "former description told by PtlMDUpdate".to_owned();
                same(CLAUSE, what, &visible(&memory.md), &visible(old))?;
                if let Some(new) = new {
                    memory.md = new.clone();
                    (memory.local_offset, memory.full) = (0, false);
                }
            }
            (
                Call::MeMdPost { base, criteria, unlink_me, before, md, unlink_md, .. },
                Value::Pair(me, handle),
            ) => {
                let (portal, at) = self.beside(*base, *before);
                self.new_entry(*me, portal, at, *criteria, *unlink_me)?;
                self.new_memory(*handle, md, *unlink_md, Some(*me))?;
            }
            (Call::EqAlloc { count, grows }, Value::Handle(eq)) => {
                self.is_new(*eq, 2)?;
                let slots = match grows {
                    true => usize::MAX,
                    false => (*count).max(1).next_power_of_two() as usize,
                };
                let (waiting, dropped) = (VecDeque::new(), false);
                self.eqs.insert(*eq, Queue { waiting, slots, written: 0, dropped });
            }
            (Call::EqFree { eq }, Value::Nothing) => {
                self.eqs.remove(eq);
            }
            (Call::Status { register }, Value::Number(got)) => {
                let counted = self.counters[*register as usize];
                same("Portals 3.3 s3.5 (PtlNIStatus)", || format!("{register:?}"), &counted, got)?;
            }
            (call, value) => panic!("{} cannot return {value:?}", call.name()),
        }
        Ok(())
    }

    /// A new handle must not be one of the kind that still names something.
    fn is_new(&self, handle: u32, kind: usize) -> Result<(), Wrong> {
        let taken = self.has(handle)[kind];
        same(CLAUSE, || format!("new handle {handle:#x} is another's"), &false, &taken)
    }

    /// Portal and place of a new entry before or after another.
    fn beside(&self, base: u32, before: bool) -> (u32, usize) {
        let portal = self.mes[&base].portal;
        let list = &self.portals[portal as usize];
        let at = list.iter().position(|me| *me == base).expect("an entry is in its list");
        (portal, if before { at } else { at + 1 })
    }

    fn new_entry(
        &mut self,
        me: u32,
        portal: u32,
        at: usize,
        criteria: Criteria,
        unlink: bool,
    ) -> Result<(), Wrong> {
        self.is_new(me, 0)?;
        self.portals[portal as usize].insert(at, me);
        self.used[portal as usize] = true;
        self.mes.insert(me, Entry { criteria, unlink, portal, md: None });
        Ok(())
    }

    fn new_memory(
        &mut self,
        handle: u32,
        md: &Md,
        unlink: bool,
        me: Option<u32>,
    ) -> Result<(), Wrong> {
        self.is_new(handle, 1)?;
        self.numbers += 1;
        let memory = Memory {
            md: md.clone(),
            unlink,
            me,
            number: self.numbers,
            local_offset: 0,
            full: false,
            pending: 0,
        };
        self.mds.insert(handle, memory);
        if let Some(entry) = me.and_then(|me| self.mes.get_mut(&me)) {
            entry.md = Some(handle);
        }
        Ok(())
    }

    fn remove_entry(&mut self, me: u32) {
        if let Some(entry) = self.mes.remove(&me) {
            self.portals[entry.portal as usize].retain(|other| *other != me);
        }
    }

    /// A descriptor goes, and with it the match entry if that says so (s3.9.1).
    pub(super) fn remove_memory(&mut self, md: u32) {
        let me = self.mds.remove(&md).and_then(|memory| memory.me);
        let Some(me) = me else { return };
        let Some(entry) = self.mes.get_mut(&me) else { return };
        entry.md = None;
        if entry.unlink {
            self.remove_entry(me);
        }
    }
}

/// True for a description that no process may give (s3.10.1).
fn is_illegal(md: &Md, iovecs: u32) -> bool {
    let region = |start: u64, length: u64| start.checked_add(length).is_none();
    let space = match md.options & option::IOVEC {
        0 => region(md.start, md.length),
        _ => {
            let mut all = md.regions.iter();
            let sum = all.clone().try_fold(0u64, |sum, next| sum.checked_add(next.1));
            md.length > iovecs.into()
                || md.regions.len() as u64 != md.length
                || all.any(|(start, length)| region(*start, *length))
                || sum.is_none()
        }
    };
    space || md.options & !option::ALL != 0 || md.threshold < -1
}

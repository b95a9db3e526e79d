//! Match entries, and the lists that portals keep of them: doubly linked by index, so that inserting and
//! unlinking anywhere is one step.

use super::handle::{MdHandle, MeHandle, Slab};
use super::types::{Position, ProcessId, Unlink};
use crate::mutant::{is_mutant, Mutant};

/// No entry.
pub(crate) const NONE: u32 = u32::MAX;

/// Messages that a match entry accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Criteria {
    /// Initiators; wildcards allowed.
    pub match_id: ProcessId,
    /// Match bits.
    pub match_bits: u64,
    /// Bits that are not compared.
    pub ignore_bits: u64,
}

impl Criteria {
    /// True if a request from `initiator` with `bits` meets them.
    pub fn admit(&self, initiator: ProcessId, bits: u64) -> bool {
        if is_mutant(Mutant::IgnoresTheWrongBits) {
            return (self.match_bits ^ bits) & self.ignore_bits == 0;
        }
        self.match_id.admits(initiator) && (self.match_bits ^ bits) & !self.ignore_bits == 0
    }
}

/// One match entry.
pub(crate) struct MatchEntry {
    pub(crate) criteria: Criteria,
    pub(crate) unlink: Unlink,
    pub(crate) portal: u32,
    pub(crate) md: Option<MdHandle>,
    pub(crate) next: u32,
    previous: u32,
}

impl MatchEntry {
    pub(crate) fn new(portal: u32, criteria: Criteria, unlink: Unlink) -> MatchEntry {
        MatchEntry { criteria, unlink, portal, md: None, next: NONE, previous: NONE }
    }
}

/// The match list of one portal.
#[derive(Clone, Copy)]
pub(crate) struct MatchList {
    pub(crate) head: u32,
    tail: u32,
    pub(crate) length: u32,
    /// A match entry was attached at some time (PtlMEAttachAny takes portals that were never used).
    pub(crate) used: bool,
}

impl MatchList {
    pub(crate) const EMPTY: MatchList =
        MatchList { head: NONE, tail: NONE, length: 0, used: false };

    /// Links entry `index` at the head or tail.
    pub(crate) fn attach(&mut self, mes: &mut Slab<MatchEntry>, index: u32, at: Position) {
        match at {
            Position::Before if is_mutant(Mutant::HeadIsTail) => {
                self.link(mes, index, self.tail, NONE);
            }
            Position::Before => self.link(mes, index, NONE, self.head),
            Position::After => self.link(mes, index, self.tail, NONE),
        }
    }

    /// Links entry `index` beside entry `base`.
    pub(crate) fn insert(
        &mut self,
        mes: &mut Slab<MatchEntry>,
        index: u32,
        base: MeHandle,
        at: Position,
    ) {
        let base = base.index();
        match at {
            Position::Before => self.link(mes, index, mes.at(base).previous, base),
            Position::After => self.link(mes, index, base, mes.at(base).next),
        }
    }

    fn link(&mut self, mes: &mut Slab<MatchEntry>, index: u32, previous: u32, next: u32) {
        let entry = mes.at_mut(index);
        (entry.previous, entry.next) = (previous, next);
        match previous {
            NONE => self.head = index,
            _ => mes.at_mut(previous).next = index,
        }
        match next {
            NONE => self.tail = index,
            _ => mes.at_mut(next).previous = index,
        }
        self.length += 1;
        self.used = true;
    }

    /// Takes entry `index` out of the list.
    pub(crate) fn unlink(&mut self, mes: &mut Slab<MatchEntry>, index: u32) {
        let (previous, next) = (mes.at(index).previous, mes.at(index).next);
        match previous {
            NONE => self.head = next,
            _ => mes.at_mut(previous).next = next,
        }
        match next {
            NONE => self.tail = previous,
            _ => mes.at_mut(next).previous = previous,
        }
        self.length -= 1;
    }
}

//! One process's Portals interface, as the standard describes it and as simply as possible: maps by the
//! handles that the library gave out, plain lists, no links. `calls` makes and changes objects, `operations`
//! moves data.

mod calls;
mod flying;
mod operations;

pub use operations::{Issue, Key, Role};

use flying::Of;

use crate::types::{
    option, same, Access, Code, Criteria, Descriptor, Event, EventKind, Grant, Id, Limits, Md,
    Register, Wrong, ANY,
};
use std::collections::{BTreeMap, VecDeque};

/// A match entry (s3.9).
#[derive(Clone, Debug)]
struct Entry {
    criteria: Criteria,
    unlink: bool,
    portal: u32,
    md: Option<u32>,
}

/// A memory descriptor and what has become of it (s3.10).
#[derive(Clone, Debug)]
struct Memory {
    md: Md,
    unlink: bool,
    me: Option<u32>,
    /// Number among all that the process ever had: handles may come back.
    number: u64,
    /// Bytes taken so far.
    local_offset: u64,
    /// Less than `max_size` was left at some time.
    full: bool,
    /// Operations under way.
    pending: u32,
}

impl Memory {
    fn has(&self, options: u32) -> bool {
        self.md.options & options == options
    }
    fn bytes(&self) -> u64 {
        match self.has(option::IOVEC) {
            true => self.md.regions.iter().map(|region| region.1).sum(),
            false => self.md.length,
        }
    }
    /// Takes part in operations (s3.10.1: threshold, max_size).
    fn active(&self) -> bool {
        self.md.threshold != 0 && !self.full
    }
    fn count(&mut self) {
        if self.md.threshold > 0 {
            self.md.threshold -= 1;
        }
    }
    /// Posts events without START and END: one that refuses both refuses all (s3.10.1).
    fn eventful(&self) -> bool {
        self.md.eq.is_some() && !self.has(option::START_DISABLE | option::END_DISABLE)
    }
    fn posts(&self, disable: u32) -> Option<u32> {
        self.md.eq.filter(|_| !self.has(disable))
    }
    /// Used up, and to be unlinked for that (s3.10.2).
    fn spent(&self) -> bool {
        self.unlink && !self.active()
    }
    /// Addresses and lengths of `length` bytes from `offset` on, counted through the regions.
    fn pieces(&self, offset: u64, length: u64) -> Vec<(u64, u64)> {
        let whole = [(self.md.start, self.md.length)];
        let regions = if self.has(option::IOVEC) { &self.md.regions[..] } else { &whole };
        let (mut skip, mut left) = (offset, length);
        let mut pieces = Vec::new();
        for &(start, bytes) in regions {
            let skipped = skip.min(bytes);
            skip -= skipped;
            let taken = left.min(bytes - skipped);
            left -= taken;
            if taken > 0 {
                pieces.push((start + skipped, taken));
            }
        }
        merged(&pieces)
    }
}

/// An event queue (s3.11).
#[derive(Clone, Debug)]
struct Queue {
    waiting: VecDeque<Event>,
    slots: usize,
    written: u64,
    dropped: bool,
}

/// An operation under way.
#[derive(Clone, Debug)]
struct Operation {
    md: u32,
    /// The queue that gets END, if anyone does.
    end: Option<u32>,
    /// The END event, but for sequence and failure.
    event: Event,
}

/// The interface of one process.
#[derive(Clone, Debug)]
pub struct Process {
    id: Id,
    uid: u32,
    jid: u32,
    limits: Limits,
    portals: Vec<Vec<u32>>,
    used: Vec<bool>,
    access: Vec<Option<Access>>,
    mes: BTreeMap<u32, Entry>,
    mds: BTreeMap<u32, Memory>,
    eqs: BTreeMap<u32, Queue>,
    running: BTreeMap<Key, Operation>,
    counters: [u64; 6],
    leaving: bool,
    /// Descriptors so far.
    numbers: u64,
    posted: u32,
    visits: u64,
    flying: flying::Flying,
}

/// Event queues are made no longer than this (a limit of the implementation).
const EVENTS_MAX: u32 = 1 << 20;

impl Process {
    /// A new interface: access control entry 0 admits everybody, the others nobody.
    pub fn new(id: Id, uid: u32, jid: u32, limits: Limits) -> Process {
        let anybody = Id { nid: ANY, pid: ANY };
        let mut access = vec![None; limits.max_ac_index as usize + 1];
        access[0] = Some(Access { from: anybody, uid: ANY, jid: ANY, portal: ANY });
        let portals = limits.max_pt_index as usize + 1;
        Process {
            id,
            uid,
            jid,
            limits,
            portals: vec![Vec::new(); portals],
            used: vec![false; portals],
            access,
            mes: BTreeMap::new(),
            mds: BTreeMap::new(),
            eqs: BTreeMap::new(),
            running: BTreeMap::new(),
            counters: [0; 6],
            leaving: false,
            numbers: 0,
            posted: 0,
            visits: 0,
            flying: flying::Flying::default(),
        }
    }

    /// The process.
    pub fn id(&self) -> Id {
        self.id
    }
    /// Its user.
    pub fn uid(&self) -> u32 {
        self.uid
    }
    /// It leaves: requests are dropped from now on, answers are taken.
    pub fn leave(&mut self) {
        self.leaving = true;
    }
    /// True if an operation is under way.
    pub fn is_busy(&self) -> bool {
        !self.running.is_empty()
    }
    /// Events posted since the last question.
    pub fn take_posted(&mut self) -> u32 {
        std::mem::take(&mut self.posted)
    }
    /// Match entries looked at since the last question.
    pub fn take_visits(&mut self) -> u64 {
        std::mem::take(&mut self.visits)
    }
    /// The descriptor that a handle names now.
    pub fn descriptor(&self, handle: u32) -> Option<Descriptor> {
        self.mds.get(&handle).map(|md| Descriptor { handle, number: md.number })
    }
    /// The description of a handle's descriptor as it is now.
    pub fn described(&self, handle: u32) -> Option<&Md> {
        self.mds.get(&handle).map(|memory| &memory.md)
    }
    /// True if a handle names a match entry, descriptor or event queue.
    pub fn has(&self, handle: u32) -> [bool; 3] {
        [
            self.mes.contains_key(&handle),
            self.mds.contains_key(&handle),
            self.eqs.contains_key(&handle),
        ]
    }
    /// Something of `bytes` found nobody.
    pub fn dropped(&mut self, bytes: u64) {
        self.counted(Register::DropCount, 1);
        self.counted(Register::DropLength, bytes);
    }

    fn counted(&mut self, register: Register, by: u64) {
        if self.flying.keeps_count(register, by) {
            return;
        }
        self.counters[register as usize] += by;
    }

    fn post(&mut self, eq: Option<u32>, event: Event, of: Of) {
        match self.flying.keeps(eq, event, of) {
            Some(event) => self.show(eq, event),
            None => self.posted += 1,
        }
    }

    /// Puts an event into its queue.
    fn show(&mut self, eq: Option<u32>, mut event: Event) {
        let Some(queue) = eq.and_then(|eq| self.eqs.get_mut(&eq)) else { return };
        self.posted += 1;
        queue.written += 1;
        event.sequence = queue.written;
        queue.waiting.push_back(event);
        if queue.waiting.len() > queue.slots {
            queue.waiting.pop_front();
            queue.dropped = true;
        }
    }

    /// The next event of a queue, for a process that has no library (s3.11).
    pub fn take_event(&mut self, eq: u32) -> Option<Event> {
        self.eqs.get_mut(&eq)?.waiting.pop_front()
    }

    /// The process has asked for the next event (s3.11) and got this, and whether events before it were lost.
    pub fn next_event(&mut self, eq: u32, got: Result<(&Event, bool), Code>) -> Result<(), Wrong> {
        const CLAUSE: &str = "Portals 3.3 s3.11 (PtlEQGet)";
        let what = |what: &str| format!("{what} of event queue {eq:#x}");
        let Some(queue) = self.eqs.get_mut(&eq) else {
            let got = got.map(|(event, _)| event.kind);
            return same(CLAUSE, || what("what comes out"), &Err("PTL_EQ_INVALID"), &got);
        };
        match (queue.waiting.pop_front(), got) {
            (None, Err("PTL_EQ_EMPTY")) => Ok(()),
            (Some(expected), Ok((event, dropped))) => {
                let lost = std::mem::take(&mut queue.dropped);
                same(CLAUSE, || what("PTL_EQ_DROPPED"), &lost, &dropped)?;
                compare_events(&expected, event)
            }
            (expected, got) => {
                let expected = expected.map(|event| event.kind).ok_or("PTL_EQ_EMPTY");
                let got = got.map(|(event, _)| event.kind);
                same(CLAUSE, || what("what comes out"), &expected, &got)
            }
        }
    }
}

/// Part of a description that the standard lets a process see: a descriptor that the initiator manages has
/// no `max_size` (s3.10.1).
fn visible(md: &Md) -> Md {
    let ignored = if md.options & option::MANAGE_REMOTE != 0 { option::MAX_SIZE } else { 0 };
    Md { options: md.options & !ignored, regions: Vec::new(), ..md.clone() }
}

fn compare_events(expected: &Event, got: &Event) -> Result<(), Wrong> {
    const CLAUSE: &str = "Portals 3.3 s3.11 (ptl_event_t)";
    let named = |field: &str| format!("{field} of the {:?} event", expected.kind);
    let kinds = || format!("kind of event {}", expected.sequence);
    same("Portals 3.3 s3.11 (event kinds and their order)", kinds, &expected.kind, &got.kind)?;
    let numbers = |event: &Event| {
        [
            ("sequence", event.sequence),
            ("md_handle", event.md_handle.into()),
            ("link", event.link),
            ("initiator.nid", event.initiator.nid.into()),
            ("initiator.pid", event.initiator.pid.into()),
            ("uid", event.uid.into()),
            ("jid", event.jid.into()),
            ("pt_index", event.portal.into()),
            ("match_bits", event.bits),
            ("rlength", event.rlength),
            ("mlength", event.mlength),
            ("offset", event.offset),
            ("hdr_data", event.hdr_data),
            ("ni_fail_type", event.failed.into()),
        ]
    };
    // Of an UNLINK event only descriptor and place in the queue mean anything.
    let count = if expected.kind == EventKind::Unlink { 3 } else { 14 };
    for ((field, expected), (_, got)) in numbers(expected).into_iter().zip(numbers(got)).take(count)
    {
        same(CLAUSE, || named(field), &expected, &got)?;
    }
    same(CLAUSE, || named("md"), &visible(&expected.md), &visible(&got.md))
}

/// Compares two grants.
pub(crate) fn compare_grants(
    clause: &'static str,
    message: &str,
    expected: Option<&Grant>,
    got: Option<&Grant>,
) -> Result<(), Wrong> {
    let taker = |grant: Option<&Grant>| match grant {
        Some(grant) => format!("taken by descriptor {:#x}", grant.md),
        None => "dropped".to_owned(),
    };
    let what = |what: &str| format!("{what} of {message}");
    let (want, have) = (taker(expected), taker(got));
    if want != have {
        return Err(Wrong { clause, what: what("fate"), expected: want, got: have });
    }
    let (Some(expected), Some(got)) = (expected, got) else { return Ok(()) };
    same(clause, || what("offset"), &expected.offset, &got.offset)?;
    same(clause, || what("length"), &expected.mlength, &got.mlength)?;
    same(clause, || what("place"), &merged(&expected.pieces), &merged(&got.pieces))?;
    same(clause, || what("acknowledgement"), &expected.ack, &got.ack)
}

/// Neighbouring pieces joined.
fn merged(pieces: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut all: Vec<(u64, u64)> = Vec::new();
    for &(start, length) in pieces {
        match all.last_mut() {
            Some(last) if last.0 + last.1 == start => last.1 += length,
            _ => all.push((start, length)),
        }
    }
    all
}

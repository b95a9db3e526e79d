//! Portals' matching and event rules written down once more, as simply as possible: plain vectors, no
//! handles, no links. What the library does is compared with it.

use portals::{option, EventKind};

/// A match entry, with its descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The test's own name for it.
    pub name: usize,
    /// Node and process that may send; None for any.
    pub from: (Option<u32>, Option<u32>),
    pub bits: u64,
    pub ignore: u64,
    pub unlink: bool,
    pub md: Option<Descriptor>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    pub length: u64,
    /// None: unlimited.
    pub threshold: Option<u32>,
    pub max_size: u64,
    pub options: u32,
    pub unlink: bool,
    pub eventful: bool,
    pub offset: u64,
    pub full: bool,
    pub pending: u32,
}

impl Descriptor {
    pub fn new(length: u64, options: u32) -> Descriptor {
        Descriptor {
            length,
            threshold: None,
            max_size: 0,
            options,
            unlink: false,
            eventful: true,
            offset: 0,
            full: false,
            pending: 0,
        }
    }
    fn active(&self) -> bool {
        self.threshold != Some(0) && !self.full
    }
    fn has(&self, option: u32) -> bool {
        self.options & option != 0
    }
    fn posts(&self, disable: u32) -> bool {
        self.eventful && !self.has(disable)
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Put,
    Get,
    Swap,
    Add,
}

impl Kind {
    fn options(self) -> u32 {
        match self {
            Kind::Put => option::OP_PUT,
            Kind::Get => option::OP_GET,
            Kind::Swap | Kind::Add => option::OP_PUT | option::OP_GET,
        }
    }
    pub fn events(self) -> [EventKind; 2] {
        match self {
            Kind::Put => [EventKind::PutStart, EventKind::PutEnd],
            Kind::Get => [EventKind::GetStart, EventKind::GetEnd],
            Kind::Swap | Kind::Add => [EventKind::GetPutStart, EventKind::GetPutEnd],
        }
    }
}

/// A request from node `from.0`, process `from.1`.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub kind: Kind,
    pub from: (u32, u32),
    pub bits: u64,
    pub length: u64,
    pub offset: u64,
}

/// What a request gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    pub entry: usize,
    pub offset: u64,
    pub mlength: u64,
}

/// One portal.
#[derive(Clone, Debug, Default)]
pub struct Portal {
    pub list: Vec<Entry>,
    /// Kinds of the events posted so far, with the entry that they are about.
    pub events: Vec<(EventKind, usize)>,
    pub drops: u64,
    /// Entries that searches looked at.
    pub visits: u64,
}

impl Portal {
    pub fn arrive(&mut self, request: &Request) -> Option<Grant> {
        if request.kind == Kind::Add && ![4, 8].contains(&request.length) {
            self.drops += 1;
            return None;
        }
        for entry in &mut self.list {
            self.visits += 1;
            let (nid, pid) = entry.from;
            let wanted = nid.is_none_or(|nid| nid == request.from.0)
                && pid.is_none_or(|pid| pid == request.from.1)
                && (0..64).all(|bit| {
                    let ignored = entry.ignore >> bit & 1 == 1;
                    ignored || entry.bits >> bit & 1 == request.bits >> bit & 1
                });
            let Some(md) = entry.md.as_mut().filter(|md| wanted && md.active()) else { continue };
            let options = request.kind.options();
            if md.options & options != options {
                continue;
            }
            let remote = md.has(option::MANAGE_REMOTE);
            let offset = if remote { request.offset } else { md.offset };
            let fits = offset + request.length <= md.length;
            let truncates =
                md.has(option::TRUNCATE) && offset <= md.length && request.kind != Kind::Add;
            if !fits && !truncates {
                continue;
            }
            let mlength = request.length.min(md.length - offset);
            md.threshold = md.threshold.map(|left| left - 1);
            md.offset += mlength;
            if md.has(option::MAX_SIZE) && !remote && md.length - md.offset < md.max_size {
                md.full = true;
            }
            md.pending += 1;
            if md.posts(option::EVENT_START_DISABLE) {
                self.events.push((request.kind.events()[0], entry.name));
            }
            return Some(Grant { entry: entry.name, offset, mlength });
        }
        self.drops += 1;
        None
    }

    /// A request that entry `name` took has ended.
    pub fn complete(&mut self, name: usize, kind: Kind) {
        let at = self.list.iter().position(|entry| entry.name == name).unwrap();
        let entry = &mut self.list[at];
        let md = entry.md.as_mut().unwrap();
        md.pending -= 1;
        if md.posts(option::EVENT_END_DISABLE) {
            self.events.push((kind.events()[1], name));
        }
        if md.unlink && !md.active() && md.pending == 0 {
            if md.posts(option::EVENT_START_DISABLE) || md.posts(option::EVENT_END_DISABLE) {
                self.events.push((EventKind::Unlink, name));
            }
            entry.md = None;
            if entry.unlink {
                self.list.remove(at);
            }
        }
    }

    /// False if the entry's descriptor is in use.
    pub fn unlink(&mut self, name: usize) -> bool {
        let at = self.list.iter().position(|entry| entry.name == name).unwrap();
        let idle = self.list[at].md.as_ref().is_none_or(|md| md.pending == 0);
        if idle {
            self.list.remove(at);
        }
        idle
    }
}

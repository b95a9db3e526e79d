//! The library against the naive specification: every match list of up to four entries, and random lives of
//! longer ones.

#![allow(clippy::unwrap_used)] // A test may panic anywhere.

mod naive;

use abi::MessageId;
use naive::{Descriptor, Entry, Kind, Portal};
use portals::library::{Atomic, Buffer, Identity, Interface, IoVec, Operation, RequestKind};
use portals::{
    option, Criteria, EqHandle, Error, EventKind, Limits, Md, MdHandle, MeHandle, NiFail, Position,
    ProcessId, StatusRegister, Unlink, NID_ANY, PID_ANY, THRESH_INF,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

const BASE: u64 = 1 << 32;
/// Bytes between the regions of a descriptor that has several.
const GAP: u64 = 1000;

/// A descriptor's bytes cut into three regions, the middle one empty if there are few.
fn regions(base: u64, bytes: u64) -> [IoVec; 3] {
    let first = bytes / 2;
    let second = (bytes - first).saturating_sub(3);
    let third = bytes - first - second;
    [
        IoVec { start: base, length: first },
        IoVec { start: base + first + GAP, length: second },
        IoVec { start: base + first + second + 2 * GAP, length: third },
    ]
}

/// The address of a descriptor's byte.
fn address(base: u64, bytes: u64, scattered: bool, at: u64) -> u64 {
    let [first, second, _] = regions(base, bytes);
    let gaps = u64::from(at >= first.length) + u64::from(at >= first.length + second.length);
    base + at + if scattered { gaps * GAP } else { 0 }
}

fn unlink(yes: bool) -> Unlink {
    if yes {
        Unlink::Unlink
    } else {
        Unlink::Retain
    }
}

/// The library and the specification, told the same things.
struct World {
    interface: Interface,
    eq: EqHandle,
    handles: BTreeMap<usize, (MeHandle, Option<MdHandle>)>,
    spec: Portal,
    running: Vec<(usize, Kind, Operation)>,
    visits: u64,
    seen: usize,
}

impl World {
    fn new() -> World {
        let id = ProcessId { nid: 1, pid: 1 };
        let limits = Limits { max_pt_index: 0, ..Limits::default() };
        let mut interface = Interface::new(Identity { id, uid: 0, jid: 0 }, limits);
        let eq = interface.eq_alloc(64).unwrap();
        World {
            interface,
            eq,
            handles: BTreeMap::new(),
            spec: Portal::default(),
            running: Vec::new(),
            visits: 0,
            seen: 0,
        }
    }

    /// Puts an entry at place `at` of the list.
    fn insert(&mut self, entry: Entry, at: usize) {
        let match_id = ProcessId {
            nid: entry.from.0.unwrap_or(NID_ANY),
            pid: entry.from.1.unwrap_or(PID_ANY),
        };
        let criteria = Criteria { match_id, match_bits: entry.bits, ignore_bits: entry.ignore };
        let op = unlink(entry.unlink);
        let list = &self.spec.list;
        let interface = &mut self.interface;
        let me = if at == list.len() {
            interface.me_attach(0, criteria, op, Position::After)
        } else if at == 0 {
            interface.me_attach(0, criteria, op, Position::Before)
        } else if at % 2 == 0 {
            interface.me_insert(self.handles[&list[at].name].0, criteria, op, Position::Before)
        } else {
            interface.me_insert(self.handles[&list[at - 1].name].0, criteria, op, Position::After)
        };
        let me = me.unwrap();
        let md = entry.md.as_ref().map(|md| {
            let base = BASE * entry.name as u64;
            let listed = if md.options & option::IOVEC == 0 { 0 } else { 3 };
            let regions = &regions(base, md.length)[..listed];
            let user = Md {
                start: base,
                length: if listed == 0 { md.length } else { 3 },
                threshold: md.threshold.map_or(THRESH_INF, |left| left as i32),
                max_size: md.max_size,
                options: md.options,
                user_ptr: entry.name as u64,
                eq: md.eventful.then_some(self.eq),
            };
            let user = Buffer { md: user, regions };
            interface.md_attach(me, user, unlink(md.unlink)).unwrap()
        });
        self.handles.insert(entry.name, (me, md));
        self.spec.list.insert(at, entry);
    }

    fn arrive(&mut self, request: &naive::Request) {
        let kind = match request.kind {
            Kind::Put => RequestKind::Put,
            Kind::Get => RequestKind::Get,
            Kind::Swap => RequestKind::Atomic(Atomic::Swap),
            Kind::Add => RequestKind::Atomic(Atomic::Add),
        };
        let delivery = self.interface.deliver(&portals::library::Request {
            kind,
            initiator: ProcessId { nid: request.from.0, pid: request.from.1 },
            uid: 0,
            pt_index: 0,
            ac_index: 0,
            match_bits: request.bits,
            rlength: request.length,
            offset: request.offset,
            hdr_data: 0,
            ack: false,
            message: MessageId::default(),
        });
        self.visits += u64::from(delivery.work.entries);
        let expected = self.spec.arrive(request);
        let found = delivery.grant.as_ref().map(|grant| naive::Grant {
            entry: grant.operation.event().md.user_ptr as usize,
            offset: grant.offset,
            mlength: grant.mlength,
        });
        assert_eq!(found, expected);
        if let Some(grant) = delivery.grant {
            let entry = grant.operation.event().md.user_ptr as usize;
            let pieces = grant.place.pieces();
            let found: Vec<u64> =
                pieces.flat_map(|piece| piece.start..piece.start + piece.length).collect();
            // An entry that was found is in the list.
            let md = self.spec.list.iter().find(|listed| listed.name == entry);
            let md = md.and_then(|listed| listed.md.as_ref()).unwrap();
            let scattered = md.options & option::IOVEC != 0;
            let bytes = grant.offset..grant.offset + grant.mlength;
            let address = |at| address(BASE * entry as u64, md.length, scattered, at);
            assert_eq!(found, bytes.map(address).collect::<Vec<_>>());
            self.running.push((entry, request.kind, grant.operation));
        }
        self.compare();
    }

    fn complete(&mut self, which: usize) {
        if self.running.is_empty() {
            return;
        }
        let (entry, kind, operation) = self.running.remove(which % self.running.len());
        self.interface.complete(&operation, NiFail::Ok);
        self.spec.complete(entry, kind);
        self.compare();
    }

    fn unlink(&mut self, which: usize) {
        if self.spec.list.is_empty() {
            return;
        }
        let name = self.spec.list[which % self.spec.list.len()].name;
        let result = self.interface.me_unlink(self.handles[&name].0);
        let expected = if self.spec.unlink(name) { Ok(()) } else { Err(Error::MeInUse) };
        assert_eq!(result, expected);
        self.compare();
    }

    fn compare(&mut self) {
        while let Some((kind, entry)) = self.spec.events.get(self.seen) {
            let event = self.interface.eq_get(self.eq).unwrap().event;
            assert_eq!((event.kind, event.md.user_ptr), (*kind, *entry as u64));
            let starts = [EventKind::PutStart, EventKind::GetStart, EventKind::GetPutStart];
            let start = starts.contains(kind);
            assert!(!start || event.link == event.sequence);
            self.seen += 1;
        }
        assert_eq!(self.interface.eq_get(self.eq), Err(Error::EqEmpty));
        assert_eq!(self.interface.status(StatusRegister::DropCount), self.spec.drops);
        assert_eq!(self.visits, self.spec.visits);
    }

    /// What has gone is gone, and nothing else.
    fn compare_handles(&mut self) {
        for (name, (me, md)) in &self.handles {
            let entry = self.spec.list.iter().find(|entry| entry.name == *name);
            let alive = md.map(|md| self.interface.md_update(md, None, None).is_ok());
            assert_eq!(alive.unwrap_or(false), entry.is_some_and(|entry| entry.md.is_some()));
            if entry.is_none() {
                assert_eq!(self.interface.me_unlink(*me), Err(Error::MeInvalid));
            }
        }
    }
}

/// The entries that small worlds are made of.
fn kinds() -> Vec<Entry> {
    let put = option::OP_PUT;
    let descriptors = [
        Some(Descriptor { threshold: Some(1), unlink: true, ..Descriptor::new(8, put) }),
        Some(Descriptor::new(3, put)),
        Some(Descriptor::new(3, put | option::TRUNCATE)),
        Some(Descriptor { threshold: Some(0), ..Descriptor::new(8, put) }),
    ];
    let mut kinds = Vec::new();
    for (bits, ignore) in [(0, 0), (1, 0), (0, 1)] {
        for from in [(None, None), (Some(1), None)] {
            for md in &descriptors {
                let md = md.clone();
                kinds.push(Entry { name: 0, from, bits, ignore, unlink: true, md });
            }
        }
    }
    kinds
}

#[test]
fn every_list_of_up_to_four_entries_gives_messages_to_whom_the_specification_does() {
    let kinds = kinds();
    let requests: Vec<naive::Request> = [(0, 1), (1, 1), (0, 2), (1, 2)]
        .into_iter()
        .map(|(bits, nid)| naive::Request {
            kind: Kind::Put,
            from: (nid, 5),
            bits,
            length: 4,
            offset: 0,
        })
        .collect();
    let mut worlds = 0;
    for length in 0..=4 {
        for mut code in 0..kinds.len().pow(length) {
            let mut world = World::new();
            for name in 0..length as usize {
                let entry = Entry { name, ..kinds[code % kinds.len()].clone() };
                code /= kinds.len();
                world.insert(entry, name);
            }
            // Twice each, so that what is used up is seen to be gone.
            for request in requests.iter().chain(&requests) {
                world.arrive(request);
            }
            while !world.running.is_empty() {
                world.complete(worlds);
            }
            worlds += 1;
        }
    }
    assert_eq!(worlds, 1 + 24 + 576 + 13_824 + 331_776);
}

/// A step of a random life.
#[derive(Clone, Debug)]
enum Step {
    Insert(Entry, usize),
    Arrive(naive::Request),
    Complete(usize),
    Unlink(usize),
}

fn descriptor() -> impl Strategy<Value = Descriptor> {
    (
        0..40u64,
        proptest::option::of(0..3u32),
        0..12u64,
        0..0x200u32,
        any::<bool>(),
        prop::bool::weighted(0.8),
    )
        .prop_map(|(length, threshold, max_size, options, unlink, eventful)| Descriptor {
            threshold,
            max_size,
            unlink,
            eventful,
            ..Descriptor::new(length, options & option::ALL)
        })
}

fn entry() -> impl Strategy<Value = Entry> {
    (
        (proptest::option::of(1..3u32), proptest::option::of(1..3u32)),
        0..4u64,
        0..4u64,
        any::<bool>(),
        prop::option::weighted(0.9, descriptor()),
    )
        .prop_map(|(from, bits, ignore, unlink, md)| Entry {
            name: 0,
            from,
            bits,
            ignore,
            unlink,
            md,
        })
}

fn step() -> impl Strategy<Value = Step> {
    let kind = prop::sample::select(vec![Kind::Put, Kind::Get, Kind::Swap, Kind::Add]);
    let request = (kind, (1..3u32, 1..3u32), 0..4u64, 0..16u64, 0..16u64).prop_map(
        |(kind, from, bits, length, offset)| naive::Request { kind, from, bits, length, offset },
    );
    prop_oneof![
        3 => (entry(), 0..8usize).prop_map(|(entry, at)| Step::Insert(entry, at)),
        5 => request.prop_map(Step::Arrive),
        4 => any::<usize>().prop_map(Step::Complete),
        1 => any::<usize>().prop_map(Step::Unlink),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn random_lives_agree_with_the_specification(
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let mut world = World::new();
        for (name, step) in steps.into_iter().enumerate() {
            match step {
                Step::Insert(entry, at) => {
                    let at = at.min(world.spec.list.len());
                    world.insert(Entry { name, ..entry }, at);
                }
                Step::Arrive(request) => world.arrive(&request),
                Step::Complete(which) => world.complete(which),
                Step::Unlink(which) => world.unlink(which),
            }
        }
        world.compare_handles();
    }
}

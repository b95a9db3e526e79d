//! The library against the specification: every match list of up to four entries, and random lives of longer
//! ones.

use crate::words;
use abi::MessageId;
use portals::library::{Atomic, Buffer, Identity, Interface, IoVec, Operation, RequestKind};
use portals::{
    option, Criteria, EqHandle, Error, Limits, Md, MdHandle, MeHandle, NiFail, ObjectCall,
    Position, ProcessId, Returned, StatusRegister, Unlink, NID_ANY, PID_ANY, THRESH_INF,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A match entry, with its descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    /// The test's own name for it.
    name: usize,
    /// Node and process that may send; None for any.
    from: (Option<u32>, Option<u32>),
    bits: u64,
    ignore: u64,
    unlink: bool,
    md: Option<Descriptor>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Descriptor {
    length: u64,
    /// None: unlimited.
    threshold: Option<u32>,
    max_size: u64,
    options: u32,
    unlink: bool,
    eventful: bool,
}

impl Descriptor {
    fn new(length: u64, options: u32) -> Descriptor {
        let (threshold, max_size, unlink, eventful) = (None, 0, false, true);
        Descriptor { length, threshold, max_size, options, unlink, eventful }
    }
}

/// Request of node `from.0`, process `from.1`.
#[derive(Clone, Copy, Debug)]
struct Request {
    kind: RequestKind,
    from: (u32, u32),
    bits: u64,
    length: u64,
    offset: u64,
}

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
    /// Names of the entries that were attached and not unlinked by name, in the order of the list.
    list: Vec<usize>,
    spec: spec::Process,
    running: Vec<Operation>,
    serial: u32,
}

impl World {
    fn new() -> World {
        let id = ProcessId { nid: 1, pid: 1 };
        let limits = Limits { max_pt_index: 0, ..Limits::default() };
        let mut interface = Interface::new(Identity { id, uid: 0, jid: 0 }, limits);
        let mut spec = spec::Process::new(words::id(id), 0, 0, words::limits_of(limits));
        let eq = interface.eq_alloc(64).unwrap();
        let call = spec::Call::EqAlloc { count: 64, grows: false };
        spec.called(&call, Ok(&spec::Value::Handle(eq.raw()))).unwrap();
        World {
            interface,
            eq,
            handles: BTreeMap::new(),
            list: Vec::new(),
            spec,
            running: Vec::new(),
            serial: 0,
        }
    }

    /// A call returned this; the specification agrees.
    fn called<R: Into<Returned>>(
        &mut self,
        call: ObjectCall,
        regions: &[IoVec],
        result: Result<R, Error>,
    ) {
        let value = result.map(|value| words::value(&value.into())).map_err(Error::name);
        let value = value.as_ref().map_err(|code| *code);
        self.spec.called(&words::call_of(call, regions), value).unwrap();
    }

    /// Puts an entry at place `at` of the list.
    fn insert(&mut self, entry: Entry, at: usize) {
        let match_id = ProcessId {
            nid: entry.from.0.unwrap_or(NID_ANY),
            pid: entry.from.1.unwrap_or(PID_ANY),
        };
        let criteria = Criteria { match_id, match_bits: entry.bits, ignore_bits: entry.ignore };
        let unlink_me = unlink(entry.unlink);
        let interface = &mut self.interface;
        let (made, call) = if at == self.list.len() || at == 0 {
            let position = if at == 0 { Position::Before } else { Position::After };
            let made = interface.me_attach(0, criteria, unlink_me, position);
            (made, ObjectCall::MeAttach { pt_index: 0, criteria, unlink: unlink_me, position })
        } else {
            let (name, position) = match at % 2 {
                0 => (self.list[at], Position::Before),
                _ => (self.list[at - 1], Position::After),
            };
            let base = self.handles[&name].0;
            let made = interface.me_insert(base, criteria, unlink_me, position);
            (made, ObjectCall::MeInsert { base, criteria, unlink: unlink_me, position })
        };
        self.called(call, &[], made);
        let Ok(me) = made else { return };
        let md = entry.md.as_ref().map(|md| self.attach(entry.name, me, md));
        self.handles.insert(entry.name, (me, md));
        self.list.insert(at, entry.name);
    }

    fn attach(&mut self, name: usize, me: MeHandle, md: &Descriptor) -> MdHandle {
        let base = BASE * name as u64;
        let listed = if md.options & option::IOVEC == 0 { 0 } else { 3 };
        let regions = &regions(base, md.length)[..listed];
        let user = Md {
            start: base,
            length: if listed == 0 { md.length } else { 3 },
            threshold: md.threshold.map_or(THRESH_INF, |left| left as i32),
            max_size: md.max_size,
            options: md.options,
            user_ptr: name as u64,
            eq: md.eventful.then_some(self.eq),
        };
        let made = self.interface.md_attach(me, Buffer { md: user, regions }, unlink(md.unlink));
        let call = ObjectCall::MdAttach { me, md: user, unlink: unlink(md.unlink) };
        self.called(call, regions, made);
        made.unwrap()
    }

    fn arrive(&mut self, request: &Request) {
        self.serial += 1;
        let message = MessageId { source_nid: request.from.0, serial: self.serial };
        let initiator = ProcessId { nid: request.from.0, pid: request.from.1 };
        let Request { kind, bits, length, offset, .. } = *request;
        let delivery = self.interface.deliver(&portals::library::Request {
            kind,
            initiator,
            uid: 0,
            pt_index: 0,
            ac_index: 0,
            match_bits: bits,
            rlength: length,
            offset,
            hdr_data: 0,
            ack: false,
            message,
        });
        let expected = self.spec.arrive(&spec::Request {
            kind: words::request_kind(kind),
            from: words::id(initiator),
            uid: 0,
            to: spec::Id { nid: 1, pid: 1 },
            portal: 0,
            access: 0,
            bits,
            length,
            offset,
            hdr_data: 0,
            ack: false,
            message,
        });
        assert_eq!(u64::from(delivery.work.entries), self.spec.take_visits());
        assert_eq!(delivery.grant.as_ref().map(words::grant), expected);
        self.running.extend(delivery.grant.map(|grant| grant.operation));
        self.compare();
    }

    fn complete(&mut self, which: usize) {
        if self.running.is_empty() {
            return;
        }
        let operation = self.running.remove(which % self.running.len());
        self.interface.complete(&operation, NiFail::Ok);
        let message = operation.event().message;
        assert!(self.spec.complete(spec::Key { role: spec::Role::Target, message }, false));
        self.compare();
    }

    fn unlink(&mut self, which: usize) {
        if self.list.is_empty() {
            return;
        }
        let at = which % self.list.len();
        let me = self.handles[&self.list[at]].0;
        let result = self.interface.me_unlink(me);
        self.called(ObjectCall::MeUnlink { me }, &[], result);
        self.compare();
    }

    fn compare(&mut self) {
        loop {
            let next = self.interface.eq_get(self.eq).map_err(Error::name);
            let event = next.map(|next| (words::event(&next.event), next.dropped));
            let got = event.as_ref().map(|(event, lost)| (event, *lost)).map_err(|code| *code);
            self.spec.next_event(self.eq.raw(), got).unwrap();
            if event.is_err() {
                break;
            }
        }
        let register = StatusRegister::DropCount;
        let drops = self.interface.status(register);
        self.called(ObjectCall::Status { register }, &[], Ok(drops));
        let spec = &self.spec;
        self.list.retain(|name| spec.has(self.handles[name].0.raw())[0]);
    }

    /// Checks that exactly the objects which have gone in the specification have gone here.
    fn compare_handles(&mut self) {
        for (me, md) in self.handles.values() {
            if let Some(md) = md {
                let alive = self.interface.md_update(*md, None, None).is_ok();
                assert_eq!(alive, self.spec.has(md.raw())[1]);
            }
            assert_eq!(self.interface.owns(me.raw()), self.spec.has(me.raw()).contains(&true));
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
    let requests: Vec<Request> = [(0, 1), (1, 1), (0, 2), (1, 2)]
        .into_iter()
        .map(|(bits, nid)| Request {
            kind: RequestKind::Put,
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
            // Twice each, so that objects that are used up are seen to be gone.
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
    Arrive(Request),
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
    let kind = prop::sample::select(vec![
        RequestKind::Put,
        RequestKind::Get,
        RequestKind::Atomic(Atomic::Swap),
        RequestKind::Atomic(Atomic::Add),
    ]);
    let request = (kind, (1..3u32, 1..3u32), 0..4u64, 0..16u64, 0..16u64).prop_map(
        |(kind, from, bits, length, offset)| Request { kind, from, bits, length, offset },
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
                    let at = at.min(world.list.len());
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

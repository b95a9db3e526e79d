//! Random lives of an interface: every call of the library, with handles that may be stale, every arrival and
//! every end, in step with the specification.

#![allow(clippy::unwrap_used)] // A test may panic anywhere.

#[allow(dead_code)]
#[path = "../../machine/src/judge/words.rs"]
mod words;

use abi::MessageId;
use portals::library::{
    Atomic, Buffer, Grant, Identity, Interface, IoVec, Issue, Operation, Request, RequestKind,
    Response,
};
use portals::{
    option, AckRequest, Asked, Criteria, EqHandle, Error, Limits, Md, MdHandle, MeHandle, NiFail,
    ObjectCall, Position, ProcessId, Region, Returned, StatusRegister, Unlink, NID_ANY, PID_ANY,
};
use proptest::prelude::*;

/// Numbers that a step is made of.
type Dice = [u16; 8];

const ME: ProcessId = ProcessId { nid: 1, pid: 1 };
const PEER: ProcessId = ProcessId { nid: 2, pid: 2 };
const KINDS: [RequestKind; 5] = [
    RequestKind::Put,
    RequestKind::Get,
    RequestKind::Atomic(Atomic::Swap),
    RequestKind::Atomic(Atomic::CompareSwap),
    RequestKind::Atomic(Atomic::Add),
];

struct World {
    interface: Interface,
    spec: spec::Process,
    eqs: Vec<EqHandle>,
    mes: Vec<MeHandle>,
    /// With what the specification calls each.
    mds: Vec<(MdHandle, spec::Descriptor)>,
    running: Vec<Operation>,
    serial: u32,
}

/// One of `all`; `None` if there is none.
fn pick<T: Copy>(all: &[T], die: u16) -> Option<T> {
    // The newest are the most interesting.
    all.iter().rev().nth(usize::from(die) % all.len().clamp(1, 6)).copied()
}

fn yes(die: u16) -> bool {
    die % 2 == 1
}

fn unlink(die: u16) -> Unlink {
    if yes(die) {
        Unlink::Unlink
    } else {
        Unlink::Retain
    }
}

fn position(die: u16) -> Position {
    if yes(die) {
        Position::Before
    } else {
        Position::After
    }
}

fn criteria(die: u16) -> Criteria {
    let nid = if die & 1 == 0 { NID_ANY } else { 2 };
    let pid = if die & 2 == 0 { PID_ANY } else { 2 };
    let (match_bits, ignore_bits) = (u64::from(die >> 2 & 3), u64::from(die >> 4 & 3));
    Criteria { match_id: ProcessId { nid, pid }, match_bits, ignore_bits }
}

impl World {
    fn new() -> World {
        let limits = Limits {
            max_mes: 6,
            max_mds: 8,
            max_eqs: 3,
            max_ac_index: 1,
            max_pt_index: 1,
            max_md_iovecs: 3,
            max_me_list: 4,
            max_getput_md: 16,
        };
        World {
            interface: Interface::new(Identity { id: ME, uid: 0, jid: 0 }, limits),
            spec: spec::Process::new(words::id(ME), 0, 0, words::limits_of(limits)),
            eqs: Vec::new(),
            mes: Vec::new(),
            mds: Vec::new(),
            running: Vec::new(),
            serial: 0,
        }
    }

    fn called<R: Copy + Into<Returned>>(
        &mut self,
        call: ObjectCall,
        regions: &[IoVec],
        result: Result<R, Error>,
    ) -> Option<R> {
        let value = result.map(|value| words::value(&value.into())).map_err(Error::name);
        let value = value.as_ref().map_err(|code| *code);
        self.spec.called(&words::call_of(call, regions), value).unwrap();
        result.ok()
    }

    fn message(&mut self) -> MessageId {
        self.serial += 1;
        MessageId { source_nid: 1, serial: self.serial }
    }

    /// A description, and the list that it may have.
    fn described(&self, dice: &Dice) -> (Md, Vec<IoVec>) {
        let bytes = u64::from(dice[2] % 40);
        let options = u32::from(dice[3]) & option::ALL;
        let regions: Vec<IoVec> = match options & option::IOVEC {
            0 => Vec::new(),
            _ => (0..u64::from(dice[4] % 5))
                .map(|n| IoVec { start: 0x1000 + n * 0x100, length: (bytes + n * 3) % 20 })
                .collect(),
        };
        let listed = options & option::IOVEC != 0;
        let md = Md {
            start: 0x5000,
            length: if listed { regions.len() as u64 } else { bytes },
            threshold: i32::from(dice[4] % 5) - 1,
            max_size: u64::from(dice[5] % 12),
            options,
            user_ptr: dice[0].into(),
            eq: pick(&self.eqs, dice[6]).filter(|_| dice[6] % 5 > 0),
        };
        (md, regions)
    }

    fn keep(&mut self, md: Option<MdHandle>) {
        if let Some(md) = md {
            self.mds.push((md, self.spec.descriptor(md.raw()).unwrap()));
        }
    }

    fn entries(&mut self, dice: &Dice) {
        let criteria = criteria(dice[1]);
        let (unlink, position) = (unlink(dice[2]), position(dice[3]));
        let me = pick(&self.mes, dice[4]);
        let made = match (dice[5] % 4, me) {
            (0, Some(me)) => {
                let result = self.interface.me_unlink(me);
                self.called(ObjectCall::MeUnlink { me }, &[], result);
                return;
            }
            (1, Some(base)) => {
                let made = self.interface.me_insert(base, criteria, unlink, position);
                let call = ObjectCall::MeInsert { base, criteria, unlink, position };
                self.called(call, &[], made)
            }
            (2, _) => {
                let made = self.interface.me_attach_any(criteria, unlink);
                let call = ObjectCall::MeAttachAny { criteria, unlink };
                self.called(call, &[], made).map(|(_, me)| me)
            }
            _ => {
                let pt_index = u32::from(dice[6] % 3);
                let made = self.interface.me_attach(pt_index, criteria, unlink, position);
                let call = ObjectCall::MeAttach { pt_index, criteria, unlink, position };
                self.called(call, &[], made)
            }
        };
        self.mes.extend(made);
    }

    fn descriptors(&mut self, dice: &Dice) {
        let (md, regions) = self.described(dice);
        let buffer = Buffer { md, regions: &regions };
        let unlink = unlink(dice[7]);
        let (me, test) = (pick(&self.mes, dice[1]), pick(&self.eqs, dice[7]));
        match (dice[7] / 2 % 4, pick(&self.mds, dice[1])) {
            (0, _) => {
                let made = self.interface.md_bind(buffer, unlink);
                let made = self.called(ObjectCall::MdBind { md, unlink }, &regions, made);
                self.keep(made);
            }
            (1, Some((handle, _))) => {
                let test = test.filter(|_| yes(dice[2]));
                let old = self.interface.md_update(handle, Some(buffer), test);
                let call = ObjectCall::MdUpdate { md: handle, new: Some(md), test };
                self.called(call, &regions, old);
            }
            (2, Some((md, _))) => {
                let result = self.interface.md_unlink(md);
                self.called(ObjectCall::MdUnlink { md }, &[], result);
            }
            _ => {
                let Some(me) = me else { return };
                let made = self.interface.md_attach(me, buffer, unlink);
                let made = self.called(ObjectCall::MdAttach { me, md, unlink }, &regions, made);
                self.keep(made);
            }
        }
    }

    fn queues(&mut self, dice: &Dice) {
        match (dice[1] % 6, pick(&self.eqs, dice[2])) {
            (0, Some(eq)) => {
                let freed = self.interface.eq_free(eq);
                self.called(ObjectCall::EqFree { eq }, &[], freed);
            }
            (1..4, Some(eq)) => self.look(eq),
            _ => {
                let count = u32::from(dice[3] % 5);
                let made = self.interface.eq_alloc(count);
                let made = self.called(ObjectCall::EqAlloc { count }, &[], made);
                self.eqs.extend(made);
            }
        }
    }

    fn look(&mut self, eq: EqHandle) {
        let next = self.interface.eq_get(eq).map_err(Error::name);
        let event = next.map(|next| (words::event(&next.event), next.dropped));
        let got = event.as_ref().map(|(event, lost)| (event, *lost)).map_err(|code| *code);
        self.spec.next_event(eq.raw(), got).unwrap();
    }

    fn begins(&mut self, dice: &Dice) {
        let (Some((md, _)), Some((get, _))) = (pick(&self.mds, dice[1]), pick(&self.mds, dice[2]))
        else {
            return;
        };
        let kind = KINDS[usize::from(dice[3]) % 5];
        let atomic = matches!(kind, RequestKind::Atomic(_));
        let (offset, length) = (u64::from(dice[5] % 12), u64::from(dice[6] % 30));
        let region = (!atomic && yes(dice[4])).then_some(Region { offset, length });
        let message = self.message();
        let asked = Asked {
            kind,
            md,
            get: atomic.then_some(get),
            region,
            target: PEER,
            pt_index: 1,
            ac_index: 0,
            match_bits: dice[7].into(),
            remote_offset: 5,
            hdr_data: 6,
            ack: AckRequest::Ack,
            message,
        };
        let issue = Issue {
            pt_index: 1,
            match_bits: dice[7].into(),
            remote_offset: 5,
            hdr_data: 6,
            message,
        };
        let started = match kind {
            RequestKind::Put => {
                self.interface.start_put(md, region, &issue).map(|(grant, _)| grant)
            }
            RequestKind::Get => self.interface.start_get(md, region, &issue),
            RequestKind::Atomic(which) => {
                self.interface.start_atomic(which, get, md, &issue).map(|(grant, _)| grant)
            }
        };
        let issue = words::issue(&asked);
        let reasons = self.spec.refusals(&issue);
        match started {
            Ok(grant) => {
                assert!(reasons.is_empty(), "{reasons:?}");
                let expected = self.spec.issue(&issue);
                self.granted(Some(grant), Some(expected));
            }
            Err(error) => assert!(reasons.contains(&error.name()), "{error}, not {reasons:?}"),
        }
    }

    /// Both have made the same of it.
    fn granted(&mut self, got: Option<Grant>, expected: Option<spec::Grant>) {
        let merged = |pieces: Vec<(u64, u64)>| {
            pieces.into_iter().fold(Vec::new(), |mut all: Vec<(u64, u64)>, (start, length)| {
                match all.last_mut().filter(|last| last.0 + last.1 == start) {
                    Some(last) => last.1 += length,
                    None => all.push((start, length)),
                }
                all
            })
        };
        let words = got.as_ref().map(words::grant);
        let words = words.map(|grant| spec::Grant { pieces: merged(grant.pieces), ..grant });
        assert_eq!(words, expected);
        self.running.extend(got.map(|grant| grant.operation));
    }

    fn arrives(&mut self, dice: &Dice) {
        let kind = KINDS[usize::from(dice[1]) % 5];
        let message = self.message();
        let (pt, ac) = (u32::from(dice[2] % 3), u32::from(dice[2] / 3 % 8 / 7));
        let (bits, length) = (u64::from(dice[3] % 4), u64::from(dice[4] % 24));
        let (offset, ack) = (u64::from(dice[5] % 24), kind == RequestKind::Put && yes(dice[6]));
        let delivery = self.interface.deliver(&Request {
            kind,
            initiator: PEER,
            uid: 0,
            pt_index: pt,
            ac_index: ac,
            match_bits: bits,
            rlength: length,
            offset,
            hdr_data: dice[7].into(),
            ack,
            message,
        });
        let expected = self.spec.arrive(&spec::Request {
            kind: words::request_kind(kind),
            from: words::id(PEER),
            uid: 0,
            to: words::id(ME),
            portal: pt,
            access: ac,
            bits,
            length,
            offset,
            hdr_data: dice[7].into(),
            ack,
            message,
        });
        assert_eq!(u64::from(delivery.work.entries), self.spec.take_visits());
        self.granted(delivery.grant, expected);
    }

    fn answers(&mut self, dice: &Dice) {
        let Some((md, descriptor)) = pick(&self.mds, dice[1]) else { return };
        let message = self.message();
        let (mlength, offset) = (u64::from(dice[2] % 30), u64::from(dice[3] % 30));
        let (bits, local_offset) = (u64::from(dice[4]), u64::from(dice[5] % 50));
        let response = Response {
            from: PEER,
            uid: 0,
            md,
            match_bits: bits,
            pt_index: 1,
            mlength,
            offset,
            local_offset,
            message,
        };
        let same = spec::Response {
            from: words::id(PEER),
            uid: 0,
            md: descriptor,
            bits,
            portal: 1,
            mlength,
            offset,
            local_offset,
            message,
        };
        if yes(dice[6]) {
            self.interface.ack(&response);
            self.spec.ack(&same);
        } else {
            let got = self.interface.reply(&response).grant;
            let expected = self.spec.reply(&same);
            self.granted(got, expected);
        }
    }

    fn ends(&mut self, dice: &Dice) {
        if self.running.is_empty() {
            return;
        }
        let operation = self.running.remove(usize::from(dice[1]) % self.running.len());
        let fail = if dice[2] % 4 == 0 { NiFail::Fail } else { NiFail::Ok };
        let event = operation.event();
        let key = self.spec.ending(words::kind_of(event.kind), event.message);
        self.interface.complete(&operation, fail);
        assert!(self.spec.complete(key, fail == NiFail::Fail));
    }

    fn step(&mut self, dice: &Dice) {
        match dice[0] % 12 {
            0 | 1 => self.entries(dice),
            2 | 3 => self.descriptors(dice),
            4 => self.queues(dice),
            5 => self.begins(dice),
            6 | 7 => self.arrives(dice),
            8 => self.answers(dice),
            _ => self.ends(dice),
        }
    }

    /// What is left of it.
    fn compare(&mut self) {
        for eq in self.eqs.clone() {
            (0..10).for_each(|_| self.look(eq));
        }
        for register in [
            StatusRegister::DropCount,
            StatusRegister::DropLength,
            StatusRegister::RecvCount,
            StatusRegister::RecvLength,
            StatusRegister::SendCount,
            StatusRegister::SendLength,
        ] {
            let value = self.interface.status(register);
            self.called(ObjectCall::Status { register }, &[], Ok(value));
        }
        for (md, _) in self.mds.clone() {
            let old = self.interface.md_update(md, None, None);
            self.called(ObjectCall::MdUpdate { md, new: None, test: None }, &[], old);
        }
        assert_eq!(self.interface.is_busy(), self.spec.is_busy());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40_000))]

    #[test]
    fn whatever_a_process_does_library_and_specification_agree(
        lives in prop::collection::vec(any::<Dice>(), 1..120),
    ) {
        let mut world = World::new();
        lives.iter().for_each(|dice| world.step(dice));
        world.compare();
    }
}

/// Random lives see each bug that can be planted in the library proper; the others are the driver's.
#[cfg(debug_assertions)]
#[test]
fn lives_with_a_planted_bug_do_not_agree() {
    use portals::Plant;
    let drivers = [Plant::AcknowledgesLittle, Plant::LosesCarry];
    for bug in Plant::ALL.into_iter().filter(|bug| !drivers.contains(bug)) {
        portals::plant(Some(bug));
        let lives = 0..2000;
        let found = lives.into_iter().any(|seed| {
            let mut random = des::Random::new(seed);
            let life = move || {
                let mut world = World::new();
                for _ in 0..100 {
                    world.step(&std::array::from_fn(|_| random.next_u64() as u16));
                }
                world.compare();
            };
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(life)).is_err()
        });
        portals::plant(None);
        assert!(found, "{bug:?} is not found");
    }
}

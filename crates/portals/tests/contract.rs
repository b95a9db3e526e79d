//! The contract of Portals 3.3 (`tests/contract/portals/*.toml`: a case a clause, each with its section) run
//! against the library.

#![allow(clippy::unwrap_used)] // A test may panic anywhere.

// The machine's backend asks what this one need not know.
#[allow(dead_code)]
mod clause;

use clause::{Case, Entry, Outcome, Step, Table};
use portals::library::{
    Atomic, Buffer, Grant, Identity, Interface, IoVec, Issue, Operation, Request, RequestKind,
    Response, Work,
};
use portals::{
    AccessEntry, Criteria, EqHandle, Error, Event, Limits, MdHandle, MeHandle, Next, NiFail,
    Position, ProcessId, Region, StatusRegister, Unlink,
};
use std::collections::BTreeMap;
use std::path::Path;

struct Runner {
    interface: Interface,
    eqs: BTreeMap<String, EqHandle>,
    mes: BTreeMap<String, MeHandle>,
    mds: BTreeMap<String, MdHandle>,
    operations: BTreeMap<String, Operation>,
}

/// Checks an outcome against the case's `error`; the value if it is a success.
fn judge<T: std::fmt::Debug>(result: Result<T, Error>, error: &Option<String>) -> Option<T> {
    match (result, error) {
        (Ok(value), None) => Some(value),
        (Err(found), Some(expected)) => {
            assert_eq!(found.name(), expected);
            None
        }
        (result, error) => panic!("got {result:?}, expected {error:?}"),
    }
}

fn position(name: &str) -> Position {
    match name {
        "before" => Position::Before,
        "after" => Position::After,
        other => panic!("position {other}"),
    }
}

fn unlink(yes: bool) -> Unlink {
    if yes {
        Unlink::Unlink
    } else {
        Unlink::Retain
    }
}

fn regions(buffer: &clause::Buffer) -> Vec<IoVec> {
    buffer.regions.iter().map(|&[start, length]| IoVec { start, length }).collect()
}

fn atomic(kind: &str) -> Atomic {
    match kind {
        "swap" => Atomic::Swap,
        "cswap" => Atomic::CompareSwap,
        "add" => Atomic::Add,
        other => panic!("operation {other}"),
    }
}

fn criteria(entry: &Entry) -> Criteria {
    let match_id = ProcessId { nid: entry.nid, pid: entry.pid };
    Criteria { match_id, match_bits: entry.bits, ignore_bits: entry.ignore }
}

fn register(name: &str) -> StatusRegister {
    match name {
        "drop_count" => StatusRegister::DropCount,
        "drop_length" => StatusRegister::DropLength,
        "recv_count" => StatusRegister::RecvCount,
        "recv_length" => StatusRegister::RecvLength,
        "send_count" => StatusRegister::SendCount,
        "send_length" => StatusRegister::SendLength,
        other => panic!("register {other}"),
    }
}

impl Runner {
    fn new(case: &Case) -> Runner {
        let id = ProcessId { nid: 1, pid: 1 };
        let mut limits = Limits { max_pt_index: 3, max_ac_index: 3, ..Limits::default() };
        limits.max_mes = case.max_mes.unwrap_or(limits.max_mes);
        limits.max_mds = case.max_mds.unwrap_or(limits.max_mds);
        limits.max_me_list = case.max_me_list.unwrap_or(limits.max_me_list);
        limits.max_eqs = case.max_eqs.unwrap_or(limits.max_eqs);
        limits.max_md_iovecs = case.max_md_iovecs.unwrap_or(limits.max_md_iovecs);
        limits.max_getput_md = case.max_getput_md.unwrap_or(limits.max_getput_md);
        Runner {
            interface: Interface::new(Identity { id, uid: 0, jid: 0 }, limits),
            eqs: BTreeMap::new(),
            mes: BTreeMap::new(),
            mds: BTreeMap::new(),
            operations: BTreeMap::new(),
        }
    }

    /// The descriptor that a case describes.
    fn md(&self, buffer: &clause::Buffer) -> portals::Md {
        portals::Md {
            start: buffer.start,
            length: buffer.length,
            threshold: buffer.threshold,
            max_size: buffer.max_size,
            options: buffer.options.iter().map(|name| clause::option(name)).sum(),
            user_ptr: 0,
            eq: buffer.eq.as_ref().map(|eq| self.eqs[eq]),
        }
    }

    fn run(&mut self, step: &Step) {
        match step {
            Step::EqAlloc { .. } | Step::EqFree { .. } | Step::Event(_) | Step::Events { .. } => {
                self.queue(step)
            }
            Step::MeAttach { .. }
            | Step::MeAttachAny { .. }
            | Step::MeInsert { .. }
            | Step::MeUnlink { .. }
            | Step::MeMdPost { .. } => self.entry(step),
            Step::MdAttach { .. }
            | Step::MdBind { .. }
            | Step::MdUnlink { .. }
            | Step::MdUpdate { .. } => self.descriptor(step),
            Step::AcEntry { index, nid, pid, uid, jid, pt, error } => {
                let match_id = ProcessId { nid: *nid, pid: *pid };
                let entry = AccessEntry { match_id, uid: *uid, jid: *jid, pt_index: *pt };
                judge(self.interface.ac_entry(*index, entry), error);
            }
            Step::Status { register: name, value } => {
                assert_eq!(self.interface.status(register(name)), *value, "{name}");
            }
            _ => self.operation(step),
        }
    }

    fn queue(&mut self, step: &Step) {
        match step {
            Step::EqAlloc { eq, count, error } => {
                if let Some(handle) = judge(self.interface.eq_alloc(*count), error) {
                    self.eqs.insert(eq.clone(), handle);
                }
            }
            Step::EqFree { eq, error } => {
                judge(self.interface.eq_free(self.eqs[eq]), error);
            }
            Step::Events { eq, kinds } => {
                for kind in kinds {
                    let next = self.interface.eq_get(self.eqs[eq]).unwrap();
                    assert_eq!(clause::name(next.event.kind), kind);
                }
                let after = self.interface.eq_get(self.eqs[eq]);
                assert_eq!(after.unwrap_err(), Error::EqEmpty);
            }
            Step::Event(expected) => {
                let next = self.interface.eq_get(self.eqs[&expected.eq]);
                if let Some(Next { event, dropped }) = judge(next, &expected.error) {
                    self.compare(expected, &event, dropped);
                }
            }
            _ => unreachable!("no step about queues"),
        }
    }

    fn compare(&self, expected: &clause::Event, event: &Event, dropped: bool) {
        assert_eq!(Some(clause::name(event.kind)), expected.kind.as_deref());
        assert_eq!(dropped, expected.dropped, "dropped");
        assert_eq!(event.fail == NiFail::Fail, expected.fail, "fail");
        let pairs = [
            ("rlength", event.rlength, expected.rlength),
            ("mlength", event.mlength, expected.mlength),
            ("offset", event.offset, expected.offset),
            ("match_bits", event.match_bits, expected.match_bits),
            ("hdr_data", event.hdr_data, expected.hdr_data),
            ("link", event.link, expected.link),
            ("sequence", event.sequence, expected.sequence),
            ("nid", u64::from(event.initiator.nid), expected.nid),
            ("pid", u64::from(event.initiator.pid), expected.pid),
            ("pt", u64::from(event.pt_index), expected.pt),
        ];
        for (name, found, expected) in pairs {
            assert_eq!(found, expected.unwrap_or(found), "{name}");
        }
        assert_eq!(event.md.threshold, expected.threshold.unwrap_or(event.md.threshold));
        if let Some(md) = &expected.md {
            assert_eq!(event.md_handle, self.mds[md]);
        }
    }

    fn entry(&mut self, step: &Step) {
        match step {
            Step::MeAttach { me, pt, position: at, entry, error } => {
                let op = unlink(entry.unlink);
                let made = self.interface.me_attach(*pt, criteria(entry), op, position(at));
                self.keep_me(me, judge(made, error));
            }
            Step::MeAttachAny { me, pt, entry, error } => {
                let made = self.interface.me_attach_any(criteria(entry), unlink(entry.unlink));
                let made = judge(made, error);
                assert_eq!(made.map(|(found, _)| found), *pt);
                self.keep_me(me, made.map(|(_, handle)| handle));
            }
            Step::MeInsert { me, base, position: at, entry, error } => {
                let (base, op) = (self.mes[base], unlink(entry.unlink));
                let made = self.interface.me_insert(base, criteria(entry), op, position(at));
                self.keep_me(me, judge(made, error));
            }
            Step::MeUnlink { me, error } => {
                judge(self.interface.me_unlink(self.mes[me]), error);
            }
            Step::MeMdPost { me, md, base, position: at, test, entry, buffer, error } => {
                let regions = regions(buffer);
                let made = self.interface.me_md_post(
                    self.mes[base],
                    criteria(entry),
                    unlink(entry.unlink),
                    position(at),
                    Buffer { md: self.md(buffer), regions: &regions },
                    Unlink::Retain,
                    self.eqs[test],
                );
                let made = judge(made, error);
                self.keep_me(me, made.map(|(me, _)| me));
                self.keep_md(md, made.map(|(_, md)| md));
            }
            _ => unreachable!("no step about match entries"),
        }
    }

    fn descriptor(&mut self, step: &Step) {
        match step {
            Step::MdAttach { md, me, buffer, error } => {
                let (md_of, regions) = (self.md(buffer), regions(buffer));
                let user = Buffer { md: md_of, regions: &regions };
                let op = unlink(buffer.unlink);
                let made = self.interface.md_attach(self.mes[me], user, op);
                self.keep_md(md, judge(made, error));
            }
            Step::MdBind { md, buffer, error } => {
                let (md_of, regions) = (self.md(buffer), regions(buffer));
                let user = Buffer { md: md_of, regions: &regions };
                let made = self.interface.md_bind(user, unlink(buffer.unlink));
                self.keep_md(md, judge(made, error));
            }
            Step::MdUnlink { md, error } => {
                judge(self.interface.md_unlink(self.mds[md]), error);
            }
            Step::MdUpdate { md, test, old_length, read_only, buffer, error } => {
                let (md_of, regions) = (self.md(buffer), regions(buffer));
                let new = (!read_only).then_some(Buffer { md: md_of, regions: &regions });
                let test = test.as_ref().map(|eq| self.eqs[eq]);
                let old = judge(self.interface.md_update(self.mds[md], new, test), error);
                if let (Some(old), Some(length)) = (old, old_length) {
                    assert_eq!(old.length, *length);
                }
            }
            _ => unreachable!("no step about descriptors"),
        }
    }

    fn keep_me(&mut self, name: &str, handle: Option<MeHandle>) {
        handle.map(|handle| self.mes.insert(name.to_owned(), handle));
    }
    fn keep_md(&mut self, name: &str, handle: Option<MdHandle>) {
        handle.map(|handle| self.mds.insert(name.to_owned(), handle));
    }

    fn operation(&mut self, step: &Step) {
        let issue = Issue {
            pt_index: 0,
            match_bits: 0,
            remote_offset: 0,
            hdr_data: 0,
            message: abi::MessageId::default(),
        };
        match step {
            Step::Put { md, region, op, error } => {
                let region = region.map(|[offset, length]| Region { offset, length });
                let started = self.interface.start_put(self.mds[md], region, &issue);
                let grant = judge(started, error).map(|(grant, _): (Grant, Work)| grant);
                self.keep_operation(op, grant);
            }
            Step::Get { md, region, op, error } => {
                let region = region.map(|[offset, length]| Region { offset, length });
                let started = self.interface.start_get(self.mds[md], region, &issue);
                self.keep_operation(op, judge(started, error));
            }
            Step::Atomic { kind, get, put, op, error } => {
                let (get, put) = (self.mds[get], self.mds[put]);
                let started = self.interface.start_atomic(atomic(kind), get, put, &issue);
                self.keep_operation(op, judge(started, error).map(|(grant, _)| grant));
            }
            Step::Arrive { kind, request: r, op, outcome } => {
                let delivery = self.interface.deliver(&Request {
                    kind: match kind.as_str() {
                        "put" => RequestKind::Put,
                        "get" => RequestKind::Get,
                        kind => RequestKind::Atomic(atomic(kind)),
                    },
                    initiator: ProcessId { nid: r.nid, pid: r.pid },
                    uid: r.uid,
                    pt_index: r.pt,
                    ac_index: r.ac,
                    match_bits: r.bits,
                    rlength: r.length,
                    offset: r.offset,
                    hdr_data: r.hdr_data,
                    ack: r.ack,
                    message: abi::MessageId::default(),
                });
                self.compare_grant(delivery.grant.as_ref(), outcome);
                self.keep_operation(op, delivery.grant);
            }
            Step::Reply { md, length, at, op, outcome } => {
                let delivery = self.interface.reply(&self.response(md, *length, 0, *at));
                self.compare_grant(delivery.grant.as_ref(), outcome);
                self.keep_operation(op, delivery.grant);
            }
            Step::Ack { md, length, offset } => {
                self.interface.ack(&self.response(md, *length, *offset, 0));
            }
            Step::Complete { op, fail } => {
                let fail = if *fail { NiFail::Fail } else { NiFail::Ok };
                self.interface.complete(&self.operations[op], fail);
            }
            _ => unreachable!("no step about operations"),
        }
    }

    fn response(&self, md: &str, mlength: u64, offset: u64, local_offset: u64) -> Response {
        Response {
            from: ProcessId { nid: 2, pid: 2 },
            uid: 0,
            md: self.mds[md],
            match_bits: 0,
            pt_index: 0,
            mlength,
            offset,
            local_offset,
            message: abi::MessageId::default(),
        }
    }

    fn compare_grant(&self, grant: Option<&Grant>, outcome: &Outcome) {
        let Some(md) = &outcome.into else {
            assert!(grant.is_none(), "taken: {grant:?}");
            return;
        };
        let grant = grant.expect("dropped");
        assert_eq!(grant.operation.event().md_handle, self.mds[md], "taken by another descriptor");
        assert_eq!(grant.offset, outcome.at.unwrap_or(grant.offset), "offset");
        assert_eq!(grant.mlength, outcome.moved.unwrap_or(grant.mlength), "moved");
        let pieces = grant.place.pieces().map(|piece| [piece.start, piece.length]);
        let pieces: Vec<_> = pieces.collect();
        if let Some(start) = outcome.start {
            assert_eq!(pieces, [[start, grant.mlength]]);
        }
        assert_eq!(&pieces, outcome.pieces.as_ref().unwrap_or(&pieces), "pieces");
        assert_eq!(grant.ack, outcome.acked, "acked");
    }

    fn keep_operation(&mut self, name: &Option<String>, grant: Option<Grant>) {
        if let (Some(name), Some(grant)) = (name, grant) {
            self.operations.insert(name.clone(), grant.operation);
        }
    }
}

/// Flattened tables cannot refuse unknown words themselves.
fn check_words(text: &str) {
    let file: toml::Table = toml::from_str(text).unwrap();
    for case in file["case"].as_array().unwrap() {
        for step in case["steps"].as_array().unwrap() {
            for word in step.as_table().unwrap().keys() {
                assert!(clause::WORDS.contains(&word.as_str()), "unknown word {word}: {step}");
            }
        }
    }
}

#[test]
fn the_library_keeps_the_contract() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/contract/portals");
    let mut files: Vec<_> = folder.read_dir().unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let mut broken = Vec::new();
    let mut cases = 0;
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let table: Table =
            toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        check_words(&text);
        for case in &table.case {
            cases += 1;
            assert!(!case.source.is_empty(), "{} names its source", case.name);
            let mut runner = Runner::new(case);
            for (number, step) in case.steps.iter().enumerate() {
                let run = std::panic::AssertUnwindSafe(|| runner.run(step));
                if std::panic::catch_unwind(run).is_err() {
                    broken.push(format!("{}: step {}: {step:?}", case.name, number + 1));
                    break;
                }
            }
        }
    }
    assert!(cases >= 95, "{cases} cases");
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

//! The contract of Portals 3.3 (`tests/contract/portals/*.toml`: a case a clause, each with its section)
//! run against the library, and against the specification: what each step does to the one, it must do to
//! the other.

mod operations;

use crate::clause;
use crate::clause::{Case, Entry, Step, Table};
use crate::words;
use portals::library::{Buffer, Identity, Interface, IoVec, Operation};
use portals::{
    AccessEntry, Criteria, EqHandle, Error, Event, Limits, MdHandle, MeHandle, Next, NiFail,
    ObjectCall, Position, ProcessId, Returned, StatusRegister, Unlink,
};
use std::collections::BTreeMap;
use std::path::Path;

struct Runner {
    interface: Interface,
    eqs: BTreeMap<String, EqHandle>,
    mes: BTreeMap<String, MeHandle>,
    mds: BTreeMap<String, MdHandle>,
    operations: BTreeMap<String, Operation>,
    spec: spec::Process,
    /// Messages so far.
    serial: u32,
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
            spec: spec::Process::new(words::id(id), 0, 0, words::limits_of(limits)),
            serial: 0,
        }
    }

    fn message(&mut self) -> abi::MessageId {
        self.serial += 1;
        abi::MessageId { source_nid: 1, serial: self.serial }
    }

    /// A call returned this; the specification agrees.
    fn called<R: Copy + Into<Returned>>(
        &mut self,
        call: ObjectCall,
        regions: &[IoVec],
        result: Result<R, Error>,
    ) -> Result<R, Error> {
        let value = result.map(|value| words::value(&value.into())).map_err(Error::name);
        let value = value.as_ref().map_err(|code| *code);
        self.spec.called(&words::call_of(call, regions), value).unwrap();
        result
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
                let result = self.interface.ac_entry(*index, entry);
                let call = ObjectCall::AcEntry { index: *index, entry };
                judge(self.called(call, &[], result), error);
            }
            Step::Status { register: name, value } => {
                let register = register(name);
                let found = self.interface.status(register);
                assert_eq!(found, *value, "{name}");
                self.called(ObjectCall::Status { register }, &[], Ok(found)).unwrap();
            }
            _ => self.operation(step),
        }
    }

    fn queue(&mut self, step: &Step) {
        match step {
            Step::EqAlloc { eq, count, error } => {
                let made = self.interface.eq_alloc(*count);
                let made = self.called(ObjectCall::EqAlloc { count: *count, growth: 0 }, &[], made);
                if let Some(handle) = judge(made, error) {
                    self.eqs.insert(eq.clone(), handle);
                }
            }
            Step::EqFree { eq, error } => {
                let eq = self.eqs[eq];
                let freed = self.interface.eq_free(eq);
                judge(self.called(ObjectCall::EqFree { eq }, &[], freed), error);
            }
            Step::Events { eq, kinds } => {
                for kind in kinds {
                    let next = self.next_event(eq).unwrap();
                    assert_eq!(clause::name(next.event.kind), kind);
                }
                let after = self.next_event(eq);
                assert_eq!(after.unwrap_err(), Error::EqEmpty);
            }
            Step::Event(expected) => {
                let next = self.next_event(&expected.eq);
                if let Some(Next { event, dropped }) = judge(next, &expected.error) {
                    self.compare(expected, &event, dropped);
                }
            }
            _ => unreachable!("no step about queues"),
        }
    }

    fn next_event(&mut self, eq: &str) -> Result<Next, Error> {
        let eq = self.eqs[eq];
        let next = self.interface.eq_get(eq);
        let event = next.map(|next| (words::event(&next.event), next.dropped)).map_err(Error::name);
        let got = event.as_ref().map(|(event, lost)| (event, *lost)).map_err(|code| *code);
        self.spec.next_event(eq.raw(), got).unwrap();
        next
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
                let (criteria, position) = (criteria(entry), position(at));
                let made = self.interface.me_attach(*pt, criteria, op, position);
                let call = ObjectCall::MeAttach { pt_index: *pt, criteria, unlink: op, position };
                let made = self.called(call, &[], made);
                self.keep_me(me, judge(made, error));
            }
            Step::MeAttachAny { me, pt, entry, error } => {
                let (criteria, unlink) = (criteria(entry), unlink(entry.unlink));
                let made = self.interface.me_attach_any(criteria, unlink);
                let call = ObjectCall::MeAttachAny { criteria, unlink };
                let made = self.called(call, &[], made);
                let made = judge(made, error);
                assert_eq!(made.map(|made| made.pt_index), *pt);
                self.keep_me(me, made.map(|made| made.me));
            }
            Step::MeInsert { me, base, position: at, entry, error } => {
                let (base, op) = (self.mes[base], unlink(entry.unlink));
                let (criteria, position) = (criteria(entry), position(at));
                let made = self.interface.me_insert(base, criteria, op, position);
                let call = ObjectCall::MeInsert { base, criteria, unlink: op, position };
                let made = self.called(call, &[], made);
                self.keep_me(me, judge(made, error));
            }
            Step::MeUnlink { me, error } => {
                let me = self.mes[me];
                let result = self.interface.me_unlink(me);
                judge(self.called(ObjectCall::MeUnlink { me }, &[], result), error);
            }
            Step::MeMdPost { me, md, base, position: at, test, entry, buffer, error } => {
                let (regions, md_of) = (regions(buffer), self.md(buffer));
                let (base, criteria, position) = (self.mes[base], criteria(entry), position(at));
                let (unlink_me, unlink_md, test) =
                    (unlink(entry.unlink), Unlink::Retain, self.eqs[test]);
                let user = Buffer { md: md_of, regions: &regions };
                let made = self
                    .interface
                    .me_md_post(base, criteria, unlink_me, position, user, unlink_md, test);
                let call = ObjectCall::MeMdPost {
                    base,
                    criteria,
                    unlink_me,
                    position,
                    md: md_of,
                    unlink_md,
                    test,
                };
                let made = self.called(call, &regions, made);
                let made = judge(made, error);
                self.keep_me(me, made.map(|pair| pair.me));
                self.keep_md(md, made.map(|pair| pair.md));
            }
            _ => unreachable!("no step about match entries"),
        }
    }

    fn descriptor(&mut self, step: &Step) {
        match step {
            Step::MdAttach { md, me, buffer, error } => {
                let (md_of, regions) = (self.md(buffer), regions(buffer));
                let user = Buffer { md: md_of, regions: &regions };
                let (me, unlink) = (self.mes[me], unlink(buffer.unlink));
                let made = self.interface.md_attach(me, user, unlink);
                let made =
                    self.called(ObjectCall::MdAttach { me, md: md_of, unlink }, &regions, made);
                self.keep_md(md, judge(made, error));
            }
            Step::MdBind { md, buffer, error } => {
                let (md_of, regions) = (self.md(buffer), regions(buffer));
                let user = Buffer { md: md_of, regions: &regions };
                let unlink = unlink(buffer.unlink);
                let made = self.interface.md_bind(user, unlink);
                let made = self.called(ObjectCall::MdBind { md: md_of, unlink }, &regions, made);
                self.keep_md(md, judge(made, error));
            }
            Step::MdUnlink { md, error } => {
                let md = self.mds[md];
                let result = self.interface.md_unlink(md);
                judge(self.called(ObjectCall::MdUnlink { md }, &[], result), error);
            }
            Step::MdUpdate { md, test, old_length, read_only, buffer, error } => {
                let (md_of, regions) = (self.md(buffer), regions(buffer));
                let new = (!read_only).then_some(Buffer { md: md_of, regions: &regions });
                let test = test.as_ref().map(|eq| self.eqs[eq]);
                let md = self.mds[md];
                let result = self.interface.md_update(md, new, test);
                let new = (!read_only).then_some(md_of);
                let result = self.called(ObjectCall::MdUpdate { md, new, test }, &regions, result);
                let old = judge(result, error);
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
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/contract/portals");
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

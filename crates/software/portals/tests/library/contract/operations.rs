//! Operations: begun, arriving, answered and ended.

use super::{judge, Runner};
use crate::clause::{self, Outcome, Step};
use crate::words;
use portals::library::{Atomic, Grant, Issue, Request, RequestKind, Response, Work};
use portals::{AckRequest, Asked, Error, MdHandle, NiFail, ProcessId, Region};

fn atomic(kind: &str) -> Atomic {
    match kind {
        "swap" => Atomic::Swap,
        "cswap" => Atomic::CompareSwap,
        "add" => Atomic::Add,
        other => panic!("operation {other}"),
    }
}

fn issue(message: abi::MessageId) -> Issue {
    Issue { pt_index: 0, match_bits: 0, remote_offset: 0, hdr_data: 0, message }
}

impl Runner {
    pub fn operation(&mut self, step: &Step) {
        let message = self.message();
        match step {
            Step::Put { md, region, op, error } => {
                let asked = self.asked(RequestKind::Put, md, None, *region, message);
                let started = self.interface.start_put(asked.md, asked.region, &issue(message));
                let grant = self.started(&asked, started.map(|(grant, _): (Grant, Work)| grant));
                self.keep_operation(op, judge(grant, error));
            }
            Step::Get { md, region, op, error } => {
                let asked = self.asked(RequestKind::Get, md, None, *region, message);
                let started = self.interface.start_get(asked.md, asked.region, &issue(message));
                let grant = self.started(&asked, started);
                self.keep_operation(op, judge(grant, error));
            }
            Step::Atomic { kind, get, put, op, error } => {
                let (atomic, get) = (atomic(kind), self.mds[get]);
                let asked = self.asked(RequestKind::Atomic(atomic), put, Some(get), None, message);
                let started = self.interface.start_atomic(atomic, get, asked.md, &issue(message));
                let grant = self.started(&asked, started.map(|(grant, _)| grant));
                self.keep_operation(op, judge(grant, error));
            }
            Step::Arrive { kind, request: r, op, outcome } => {
                let grant = self.arrive(kind, r, message);
                self.compare_grant(grant.as_ref(), outcome);
                self.keep_operation(op, grant);
            }
            Step::Reply { md, length, at, op, outcome } => {
                let (response, same) = self.response(md, [*length, 0, *at], message);
                let delivery = self.interface.reply(&response);
                let expected = self.spec.reply(&same);
                assert_eq!(delivery.grant.as_ref().map(words::grant), expected);
                self.compare_grant(delivery.grant.as_ref(), outcome);
                self.keep_operation(op, delivery.grant);
            }
            Step::Ack { md, length, offset } => {
                let (response, same) = self.response(md, [*length, *offset, 0], message);
                self.interface.ack(&response);
                self.spec.ack(&same);
            }
            Step::Complete { op, fail } => {
                let operation = self.operations[op];
                let event = operation.event();
                let (kind, message) = (words::kind_of(event.kind), event.message);
                let key = self.spec.ending(kind, message);
                let result = if *fail { NiFail::Fail } else { NiFail::Ok };
                self.interface.complete(&operation, result);
                assert!(self.spec.complete(key, *fail));
            }
            _ => unreachable!("no step about operations"),
        }
    }

    fn asked(
        &self,
        kind: RequestKind,
        md: &str,
        get: Option<MdHandle>,
        region: Option<[u64; 2]>,
        message: abi::MessageId,
    ) -> Asked {
        Asked {
            kind,
            md: self.mds[md],
            get,
            region: region.map(|[offset, length]| Region { offset, length }),
            target: ProcessId { nid: 2, pid: 2 },
            pt_index: 0,
            ac_index: 0,
            match_bits: 0,
            remote_offset: 0,
            hdr_data: 0,
            ack: AckRequest::NoAck,
            message,
        }
    }

    /// An operation was begun or refused; the specification agrees.
    fn started(&mut self, asked: &Asked, result: Result<Grant, Error>) -> Result<Grant, Error> {
        let issue = words::issue(asked);
        let reasons = self.spec.refusals(&issue, 1 << 16);
        match &result {
            Ok(grant) => {
                assert!(reasons.is_empty(), "{reasons:?}");
                assert_eq!(words::grant(grant), self.spec.issue(&issue));
            }
            Err(error) => assert!(reasons.contains(&error.name()), "{error}, not {reasons:?}"),
        }
        result
    }

    fn arrive(
        &mut self,
        kind: &str,
        r: &clause::Request,
        message: abi::MessageId,
    ) -> Option<Grant> {
        let kind = match kind {
            "put" => RequestKind::Put,
            "get" => RequestKind::Get,
            kind => RequestKind::Atomic(atomic(kind)),
        };
        let initiator = ProcessId { nid: r.nid, pid: r.pid };
        let delivery = self.interface.deliver(&Request {
            kind,
            initiator,
            uid: r.uid,
            pt_index: r.pt,
            ac_index: r.ac,
            match_bits: r.bits,
            rlength: r.length,
            offset: r.offset,
            hdr_data: r.hdr_data,
            ack: r.ack,
            message,
        });
        let expected = self.spec.arrive(&spec::Request {
            kind: words::request_kind(kind),
            from: words::id(initiator),
            uid: r.uid,
            to: self.spec.id(),
            portal: r.pt,
            access: r.ac,
            bits: r.bits,
            length: r.length,
            offset: r.offset,
            hdr_data: r.hdr_data,
            ack: r.ack,
            message,
        });
        assert_eq!(delivery.grant.as_ref().map(words::grant), expected);
        assert_eq!(u64::from(delivery.work.entries), self.spec.take_visits());
        delivery.grant
    }

    /// An answer, for the library and for the specification.
    fn response(
        &self,
        md: &str,
        [mlength, offset, local_offset]: [u64; 3],
        message: abi::MessageId,
    ) -> (Response, spec::Response) {
        let (from, md) = (ProcessId { nid: 2, pid: 2 }, self.mds[md]);
        let response = Response {
            from,
            uid: 0,
            md,
            match_bits: 0,
            pt_index: 0,
            mlength,
            offset,
            local_offset,
            message,
        };
        let number = u64::MAX; // Of no descriptor that ever was.
        let md = self.spec.descriptor(md.raw()).unwrap_or(spec::Descriptor { handle: 0, number });
        let same = spec::Response {
            from: words::id(from),
            uid: 0,
            md,
            bits: 0,
            portal: 0,
            mlength,
            offset,
            local_offset,
            message,
        };
        (response, same)
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
        let pieces = grant.span.pieces().map(|piece| [piece.start, piece.length]);
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

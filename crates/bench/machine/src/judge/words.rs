//! Translation of the types of `portals` to those of the specification. The tests of `portals` use it too.

use abi::wire::{header_flag, portals_op, PortalsHeader};
use abi::MessageId;
use portals::library::RequestKind;
use portals::{
    AckRequest, Criteria, Md, ObjectCall, Position, ProcessId, Reaction, Returned, Unlink,
};
use spec::{Call, Value};

/// A process's id.
pub fn id(id: ProcessId) -> spec::Id {
    spec::Id { nid: id.nid, pid: id.pid }
}

/// Limits of an interface.
pub fn limits_of(limits: portals::Limits) -> spec::Limits {
    spec::Limits {
        max_mes: limits.max_mes,
        max_mds: limits.max_mds,
        max_eqs: limits.max_eqs,
        max_ac_index: limits.max_ac_index,
        max_pt_index: limits.max_pt_index,
        max_md_iovecs: limits.max_md_iovecs,
        max_me_list: limits.max_me_list,
        max_getput_md: limits.max_getput_md,
    }
}

/// Memory descriptor. Both crates use the standard's bits for options.
pub fn md(md: &Md, regions: &[portals::IoVec]) -> spec::Md {
    spec::Md {
        start: md.start,
        length: md.length,
        threshold: md.threshold,
        max_size: md.max_size,
        options: md.options,
        user_ptr: md.user_ptr,
        eq: md.eq.map(|eq| eq.raw()),
        regions: regions.iter().map(|region| (region.start, region.length)).collect(),
    }
}

/// Criteria by which a match entry accepts messages.
pub fn criteria(criteria: Criteria) -> spec::Criteria {
    let Criteria { match_id, match_bits, ignore_bits } = criteria;
    spec::Criteria { from: id(match_id), bits: match_bits, ignore: ignore_bits }
}

fn yes(unlink: Unlink) -> bool {
    unlink == Unlink::Unlink
}

/// Result of a call.
pub fn value(returned: &Returned) -> Value {
    match *returned {
        Returned::Nothing => Value::Nothing,
        Returned::Handle(handle) => Value::Handle(handle),
        Returned::Portal(portal, me) => Value::Portal(portal, me),
        Returned::Pair(me, md) => Value::Pair(me, md),
        Returned::Md(former) => Value::Md(md(&former, &[])),
        Returned::Number(number) => Value::Number(number),
        Returned::Unseen => Value::Unseen,
    }
}

/// A call about objects.
pub fn call_of(call: ObjectCall, regions: &[portals::IoVec]) -> Call {
    let before = |position| position == Position::Before;
    let md = |described: Md| md(&described, regions);
    match call {
        ObjectCall::AcEntry { index, entry } => {
            let (from, portal) = (id(entry.match_id), entry.pt_index);
            let entry = spec::Access { from, uid: entry.uid, jid: entry.jid, portal };
            Call::AcEntry { index, entry }
        }
        ObjectCall::MeAttach { pt_index: portal, criteria: of, unlink, position } => {
            let (criteria, unlink, at_head) = (criteria(of), yes(unlink), before(position));
            Call::MeAttach { portal, criteria, unlink, at_head }
        }
        ObjectCall::MeAttachAny { criteria: of, unlink } => {
            Call::MeAttachAny { criteria: criteria(of), unlink: yes(unlink) }
        }
        ObjectCall::MeInsert { base, criteria: of, unlink, position } => {
            let (criteria, unlink, before) = (criteria(of), yes(unlink), before(position));
            Call::MeInsert { base: base.raw(), criteria, unlink, before }
        }
        ObjectCall::MeUnlink { me } => Call::MeUnlink { me: me.raw() },
        ObjectCall::MdAttach { me, md: of, unlink } => {
            Call::MdAttach { me: me.raw(), md: md(of), unlink: yes(unlink) }
        }
        ObjectCall::MdBind { md: of, unlink } => Call::MdBind { md: md(of), unlink: yes(unlink) },
        ObjectCall::MdUnlink { md } => Call::MdUnlink { md: md.raw() },
        ObjectCall::MdUpdate { md: of, new, test } => {
            Call::MdUpdate { md: of.raw(), new: new.map(md), test: test.map(|eq| eq.raw()) }
        }
        ObjectCall::MeMdPost {
            base,
            criteria: of,
            unlink_me,
            position,
            md: to,
            unlink_md,
            test,
        } => Call::MeMdPost {
            base: base.raw(),
            criteria: criteria(of),
            unlink_me: yes(unlink_me),
            before: before(position),
            md: md(to),
            unlink_md: yes(unlink_md),
            test: test.raw(),
        },
        ObjectCall::EqAlloc { count, growth } => Call::EqAlloc { count, grows: growth > 0 },
        ObjectCall::EqFree { eq } => Call::EqFree { eq: eq.raw() },
        ObjectCall::Status { register } => {
            use portals::StatusRegister as Status;
            use spec::Register;
            let register = match register {
                Status::DropCount => Register::DropCount,
                Status::DropLength => Register::DropLength,
                Status::RecvCount => Register::RecvCount,
                Status::RecvLength => Register::RecvLength,
                Status::SendCount => Register::SendCount,
                Status::SendLength => Register::SendLength,
            };
            Call::Status { register }
        }
    }
}

/// A kind of event.
pub fn kind_of(kind: portals::EventKind) -> spec::EventKind {
    // Both are in the standard's order.
    spec::EventKind::ALL[kind as usize]
}

/// An event.
pub fn event(event: &portals::Event) -> spec::Event {
    spec::Event {
        kind: kind_of(event.kind),
        initiator: id(event.initiator),
        uid: event.uid,
        jid: event.jid,
        portal: event.pt_index,
        bits: event.match_bits,
        rlength: event.rlength,
        mlength: event.mlength,
        offset: event.offset,
        md_handle: event.md_handle.raw(),
        md: md(&event.md, &[]),
        hdr_data: event.hdr_data,
        link: event.link,
        sequence: event.sequence,
        failed: event.fail != portals::NiFail::Ok,
    }
}

/// Grant of a request: the memory where its bytes go.
pub fn grant(grant: &portals::library::Grant) -> spec::Grant {
    spec::Grant {
        md: grant.operation.event().md_handle.raw(),
        offset: grant.offset,
        mlength: grant.mlength,
        pieces: grant.span.pieces().map(|piece| (piece.start, piece.length)).collect(),
        ack: grant.ack,
    }
}

/// An atomic operation.
pub fn atomic(atomic: portals::Atomic) -> spec::Atomic {
    match atomic {
        portals::Atomic::Swap => spec::Atomic::Swap,
        portals::Atomic::CompareSwap => spec::Atomic::CompareSwap,
        portals::Atomic::Add => spec::Atomic::Add,
    }
}

/// Kind of a request.
pub fn request_kind(kind: RequestKind) -> spec::Kind {
    match kind {
        RequestKind::Put => spec::Kind::Put,
        RequestKind::Get => spec::Kind::Get,
        RequestKind::Atomic(which) => spec::Kind::Atomic(atomic(which)),
    }
}

/// An operation as a process asked for it.
pub fn issue(asked: &portals::Asked) -> spec::Issue {
    let kind = request_kind(asked.kind);
    let put = kind == spec::Kind::Put;
    let request = spec::Request {
        kind,
        // Length and initiator follow from the descriptor and its process.
        from: spec::Id { nid: spec::ANY, pid: spec::ANY },
        length: 0,
        uid: 0,
        to: id(asked.target),
        portal: asked.pt_index,
        access: asked.ac_index,
        bits: asked.match_bits,
        offset: asked.remote_offset,
        hdr_data: if kind == spec::Kind::Get { 0 } else { asked.hdr_data },
        ack: put && asked.ack == AckRequest::Ack,
        message: asked.message,
    };
    let region = asked.region.map(|region| (region.offset, region.length));
    spec::Issue { request, md: asked.md.raw(), get: asked.get.map(|md| md.raw()), region }
}

/// A header.
pub fn header_of(header: &PortalsHeader) -> spec::Header {
    use spec::{Atomic, Kind, Op};
    let at = |nid: u16, pid: u16| spec::Id { nid: nid.into(), pid: pid.into() };
    let op = match header.op {
        portals_op::PUT => Op::Request(Kind::Put),
        portals_op::GET => Op::Request(Kind::Get),
        portals_op::GETPUT => Op::Request(Kind::Atomic(Atomic::Swap)),
        portals_op::CGETPUT => Op::Request(Kind::Atomic(Atomic::CompareSwap)),
        portals_op::GETADD => Op::Request(Kind::Atomic(Atomic::Add)),
        portals_op::ACK => Op::Ack,
        portals_op::REPLY => Op::Reply,
        other => Op::Unknown(other),
    };
    spec::Header {
        op,
        message: MessageId::from(header),
        from: at(header.source_nid, header.source_pid),
        to: at(header.target_nid, header.target_pid),
        portal: header.pt_index.into(),
        access: header.ac_index.into(),
        ack: header.flags & header_flag::ACK_REQUESTED != 0,
        length: header.length.into(),
        bits: header.match_bits,
        hdr_data: header.hdr_data,
        offset: header.remote_offset,
        md: header.md_handle,
        uid: header.uid,
        inline: header.flags & header_flag::INLINE != 0,
        failed: header.flags & header_flag::FAILED != 0,
    }
}

/// Fate of a message.
pub fn fate_of(fate: portals::Fate) -> spec::Fate {
    match fate {
        portals::Fate::Nobody => spec::Fate::Nobody,
        portals::Fate::Handed { slot, grant: taker, work } => spec::Fate::Handed {
            slot,
            grant: taker.map(grant),
            events: work.events,
            visits: work.entries.into(),
        },
    }
}

/// An answer.
pub fn answer(reaction: Reaction) -> spec::Answer {
    match reaction {
        Reaction::Sent(header) => spec::Answer::Sent(header_of(header)),
        Reaction::Local(fate) => spec::Answer::Local(fate_of(fate)),
    }
}

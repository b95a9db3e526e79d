//! Wire headers: from and to what the library speaks of.

use crate::library::{Atomic, Grant, Issue, MdHandle, ProcessId, Request, RequestKind, Response};
use abi::seastar::{header_flag, portals_op, PortalsHeader};
use abi::MessageId;

/// Destination of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Destination {
    pub(crate) nid: u16,
    pub(crate) pid: u16,
    pub(crate) pt_index: u8,
    pub(crate) ac_index: u8,
}

fn process(nid: u16, pid: u16) -> ProcessId {
    ProcessId { nid: u32::from(nid), pid: u32::from(pid) }
}

/// The atomic operation that a header requests; `None` if it requests none.
pub(crate) fn atomic(header: &PortalsHeader) -> Option<Atomic> {
    match header.op {
        portals_op::GETPUT => Some(Atomic::Swap),
        portals_op::CGETPUT => Some(Atomic::CompareSwap),
        portals_op::GETADD => Some(Atomic::Add),
        _ => None,
    }
}

/// The header's name of an atomic operation.
pub(crate) fn atomic_op(atomic: Atomic) -> u8 {
    match atomic {
        Atomic::Swap => portals_op::GETPUT,
        Atomic::CompareSwap => portals_op::CGETPUT,
        Atomic::Add => portals_op::GETADD,
    }
}

/// Request in a header; `None` if the header is not a request.
pub(crate) fn request(header: &PortalsHeader) -> Option<Request> {
    let kind = match header.op {
        portals_op::PUT => RequestKind::Put,
        portals_op::GET => RequestKind::Get,
        _ => RequestKind::Atomic(atomic(header)?),
    };
    Some(Request {
        kind,
        initiator: process(header.source_nid, header.source_pid),
        uid: header.uid,
        pt_index: u32::from(header.pt_index),
        ac_index: u32::from(header.ac_index),
        match_bits: header.match_bits,
        rlength: u64::from(header.length),
        offset: header.remote_offset,
        // A get's word carries the initiator's local offset, which is none of the target's business.
        hdr_data: if kind == RequestKind::Get { 0 } else { header.hdr_data },
        ack: kind == RequestKind::Put && header.flags & header_flag::ACK_REQUESTED != 0,
        message: MessageId::from(header),
    })
}

/// Contents of an acknowledgement or reply.
pub(crate) fn response(header: &PortalsHeader) -> Response {
    Response {
        from: process(header.source_nid, header.source_pid),
        uid: header.uid,
        md: MdHandle::from_raw(header.md_handle),
        match_bits: header.match_bits,
        pt_index: u32::from(header.pt_index),
        mlength: u64::from(header.length),
        offset: header.remote_offset,
        local_offset: header.hdr_data,
        message: MessageId::from(header),
    }
}

/// The header of a request of `length` bytes by `source_pid`.
pub(crate) fn issue(
    op: u8,
    source_pid: u16,
    to: Destination,
    issue: &Issue,
    md: MdHandle,
    length: u64,
) -> PortalsHeader {
    PortalsHeader {
        op,
        pt_index: to.pt_index,
        ac_index: to.ac_index,
        source_nid: issue.message.wire_nid(),
        source_pid,
        target_nid: to.nid,
        target_pid: to.pid,
        length: u32::try_from(length).expect("the library refuses longer messages"),
        match_bits: issue.match_bits,
        hdr_data: issue.hdr_data,
        remote_offset: issue.remote_offset,
        md_handle: md.raw(),
        serial: issue.message.serial,
        ..PortalsHeader::default()
    }
}

fn back(op: u8, header: &PortalsHeader, grant: &Grant, message: MessageId) -> PortalsHeader {
    PortalsHeader {
        op,
        flags: 0,
        source_nid: message.wire_nid(),
        source_pid: header.target_pid,
        target_nid: header.source_nid,
        target_pid: header.source_pid,
        length: u32::try_from(grant.mlength).expect("no more is granted than was asked for"),
        remote_offset: grant.offset,
        serial: message.serial,
        inline_data: [0; 12],
        ..*header
    }
}

/// The acknowledgement of a put.
pub(crate) fn ack(put: &PortalsHeader, grant: &Grant, message: MessageId) -> PortalsHeader {
    let flags = header_flag::INLINE;
    PortalsHeader { flags, ..back(portals_op::ACK, put, grant, message) }
}

/// The reply to a get or atomic operation. Match bits and the initiator's local offset go back with it.
pub(crate) fn reply(get: &PortalsHeader, grant: &Grant, message: MessageId) -> PortalsHeader {
    back(portals_op::REPLY, get, grant, message)
}

/// Payload bytes of a message.
pub(crate) fn payload_length(header: &PortalsHeader) -> u32 {
    match header.op {
        portals_op::GET | portals_op::ACK => 0,
        _ => header.length,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::{Identity, Interface, Limits};

    /// The library takes or drops any header.
    #[test]
    fn fuzz_headers() {
        let words = [portals_op::PUT, portals_op::GET, portals_op::ACK, portals_op::REPLY];
        let header = PortalsHeader { op: portals_op::PUT, length: 100, ..Default::default() };
        let mut bytes = [0; PortalsHeader::SIZE];
        header.emit(&mut bytes);
        let target = fuzz::Target::new("headers").few(1024).words(words.map(|op| [op]));
        target.seed(bytes).run(|bytes| {
            let identity = Identity { id: process(1, 1), uid: 0, jid: 0 };
            let mut library = Interface::new(identity, Limits::default());
            for header in bytes.chunks(PortalsHeader::SIZE).filter_map(PortalsHeader::parse) {
                if let Some(request) = request(&header) {
                    library.deliver(&request);
                }
                library.ack(&response(&header));
                library.reply(&response(&header));
            }
        });
    }
}

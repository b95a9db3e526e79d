//! Words of arguments: what each of them means.

use abi::portals::{ack, position, unlink};
use portals::{AckRequest, EqHandle, MdHandle, MeHandle, Position, ProcessId, Unlink};

pub(super) fn id(word: u64) -> ProcessId {
    ProcessId { nid: word as u32, pid: (word >> 32) as u32 }
}
pub(super) fn md(raw: u32) -> MdHandle {
    MdHandle::from_raw(raw)
}
pub(super) fn me(raw: u32) -> MeHandle {
    MeHandle::from_raw(raw)
}
pub(super) fn eq(raw: u32) -> EqHandle {
    EqHandle::from_raw(raw)
}

pub(super) fn when_used_up(choice: u32) -> Unlink {
    match choice {
        unlink::RETAIN => Unlink::Retain,
        _ => Unlink::Unlink,
    }
}

pub(super) fn place(choice: u32) -> Position {
    match choice {
        position::INS_BEFORE => Position::Before,
        _ => Position::After,
    }
}

pub(super) fn wanted(choice: u32) -> AckRequest {
    match choice {
        ack::ACK_REQ => AckRequest::Ack,
        _ => AckRequest::NoAck,
    }
}

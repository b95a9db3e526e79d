//! Contents of a message's header, and their rules.

use crate::ledger::{Message, What};
use crate::types::{Id, Kind, Wrong};
use abi::MessageId;

/// Contents of a header, without their encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The standard's words, as in `Request` and `Response`.
pub struct Header {
    pub op: Op,
    pub message: MessageId,
    pub from: Id,
    pub to: Id,
    pub portal: u32,
    pub access: u32,
    pub ack: bool,
    pub length: u64,
    pub bits: u64,
    pub hdr_data: u64,
    pub offset: u64,
    /// The initiator's descriptor.
    pub md: u32,
    pub uid: u32,
    /// The payload is in the header.
    pub inline: bool,
    /// There should be a payload, and is none: what the message belongs to fails.
    pub failed: bool,
}

/// Kind of message that a header belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// A request.
    Request(Kind),
    /// An acknowledgement.
    Ack,
    /// A reply.
    Reply,
    /// Nothing that Portals knows.
    Unknown(u8),
}

pub(crate) fn never_sent(what: &str, id: MessageId) -> Wrong {
    Wrong {
        clause: "Portals 3.3 s2.2: what arrives was sent",
        what: what.to_owned(),
        expected: "one that somebody sent".to_owned(),
        got: format!("message {}:{}", id.source_nid, id.serial),
    }
}

pub(crate) fn unknown(header: &Header) -> Wrong {
    never_sent("a message", header.message)
}

/// A header says what its message is.
pub(crate) fn check_header(message: &Message, header: &Header, what: &str) -> Result<(), Wrong> {
    const CLAUSE: &str = "Portals 3.3 s2.2 (what requests and answers carry)";
    let failed = message.state().unsent;
    let expected = match &message.what {
        What::Request(request) => Header {
            op: Op::Request(request.kind),
            message: message.id,
            from: message.from,
            to: message.to,
            portal: request.portal,
            access: request.access,
            ack: request.ack,
            length: request.length,
            bits: request.bits,
            // A get has no out-of-band word; its place carries the offset that the reply brings back.
            hdr_data: if request.kind == Kind::Get {
                message.local_offset
            } else {
                request.hdr_data
            },
            offset: request.offset,
            md: message.answer_to.handle,
            uid: request.uid,
            inline: header.inline,
            failed,
        },
        What::Ack(answer) | What::Reply(answer) => Header {
            op: if matches!(message.what, What::Ack(_)) { Op::Ack } else { Op::Reply },
            message: message.id,
            from: message.from,
            to: message.to,
            portal: answer.portal,
            length: answer.mlength,
            bits: answer.bits,
            offset: answer.offset,
            md: answer.md.handle,
            hdr_data: match message.what {
                What::Reply(_) => answer.local_offset,
                _ => header.hdr_data,
            },
            // Answers pass access control by.
            access: header.access,
            ack: header.ack,
            uid: answer.uid,
            inline: header.inline,
            failed,
        },
    };
    let fields = |header: &Header| {
        [
            ("operation", format!("{:?}", header.op)),
            ("initiator", format!("{:?}", header.from)),
            ("target", format!("{:?}", header.to)),
            ("portal", header.portal.to_string()),
            ("access control index", header.access.to_string()),
            ("wish for an acknowledgement", header.ack.to_string()),
            ("length", header.length.to_string()),
            ("match bits", format!("{:#x}", header.bits)),
            ("out-of-band word", format!("{:#x}", header.hdr_data)),
            ("offset", header.offset.to_string()),
            ("descriptor", format!("{:#x}", header.md)),
            ("user", header.uid.to_string()),
            ("failure", header.failed.to_string()),
        ]
    };
    if expected == *header {
        return Ok(());
    }
    for ((field, expected), (_, got)) in fields(&expected).into_iter().zip(fields(header)) {
        if expected != got {
            let what = format!("{field} in the {what} of {}", message.describe());
            return Err(Wrong { clause: CLAUSE, what, expected, got });
        }
    }
    Ok(())
}

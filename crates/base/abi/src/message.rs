//! Identity of a message, under which all observations of it are recorded.

use crate::wire::{portals_header, PortalsHeader};
use std::fmt;

/// Names one message in the whole machine: the node that sent it and that node's serial number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId {
    /// Node that sent it.
    pub source_nid: u32,
    /// Serial number among that node's messages.
    pub serial: u32,
}

impl MessageId {
    /// Reads it from the bytes of a Portals header; `None` if they are too short.
    pub fn of_header(bytes: &[u8]) -> Option<MessageId> {
        let bytes: &[u8; PortalsHeader::SIZE] = bytes.first_chunk()?;
        let nid = &bytes[portals_header::SOURCE_NID..];
        let serial = &bytes[portals_header::SERIAL..];
        Some(MessageId {
            source_nid: u16::from_le_bytes(*nid.first_chunk()?).into(),
            serial: u32::from_le_bytes(*serial.first_chunk()?),
        })
    }

    /// The sender as wires with ids of 16 bits have it: the SeaStar's, with Portals' header.
    ///
    /// # Panics
    /// If the node has a larger id, which machines with such wires do not have.
    pub fn wire_nid(self) -> u16 {
        u16::try_from(self.source_nid).expect("a wire with ids of 16 bits has at most 65,536 nodes")
    }
}

impl From<&PortalsHeader> for MessageId {
    fn from(header: &PortalsHeader) -> MessageId {
        MessageId { source_nid: header.source_nid.into(), serial: header.serial }
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.source_nid, self.serial)
    }
}

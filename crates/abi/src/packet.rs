//! What travels between nodes.

use crate::seastar::{FLIT_BYTES, PACKET_PAYLOAD};

/// Largest payload of a packet, in bytes.
pub const PAYLOAD_BYTES: usize = PACKET_PAYLOAD as usize;

/// Flags of a [`Packet`].
pub mod flag {
    /// First packet of a message: its payload is the Portals header.
    pub const FIRST: u8 = 1;
    /// Last packet of a message: carries the CRC.
    pub const LAST: u8 = 2;
}

/// One packet of a message. A plain value: it crosses between logical processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Destination node id.
    pub dest: u16,
    /// Source node id.
    pub source: u16,
    /// Bits of [`flag`].
    pub flags: u8,
    /// Payload bytes, 0 to 64.
    pub size: u8,
    /// The transmit engine's message counter: with `source`, and until the last packet, it names the message.
    pub message: u16,
    /// CRC-32 over header and payload of the whole message; valid in the last packet.
    pub crc: u32,
    /// Payload; bytes at and after `size` are meaningless.
    pub payload: [u8; PAYLOAD_BYTES],
}

impl Packet {
    /// True for the first packet of a message.
    pub fn is_first(&self) -> bool {
        self.flags & flag::FIRST != 0
    }
    /// True for the last packet of a message.
    pub fn is_last(&self) -> bool {
        self.flags & flag::LAST != 0
    }
    /// The valid payload.
    ///
    /// # Panics
    /// If `size` exceeds the payload, which no engine of ours emits.
    pub fn data(&self) -> &[u8] {
        &self.payload[..usize::from(self.size)]
    }
    /// Flits on a link: routing, payload, and in the last packet the CRC.
    pub fn flits(&self) -> u32 {
        1 + u32::from(self.size).div_ceil(FLIT_BYTES) + u32::from(self.is_last())
    }
}

impl Default for Packet {
    fn default() -> Packet {
        Packet {
            dest: 0,
            source: 0,
            flags: 0,
            size: 0,
            message: 0,
            crc: 0,
            payload: [0; PAYLOAD_BYTES],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flits_count_routing_payload_and_crc() {
        let flits = |size, flags| Packet { size, flags, ..Packet::default() }.flits();
        assert_eq!(flits(64, flag::FIRST), 9);
        assert_eq!(flits(64, flag::FIRST | flag::LAST), 10);
        assert_eq!(flits(1, flag::LAST), 3);
        assert_eq!(flits(0, 0), 1);
    }
}

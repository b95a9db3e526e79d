//! Packets between nodes.

pub use crate::seastar::packet_flag as flag;
use crate::seastar::{PacketHeader, PacketTrailer, FLIT_BYTES, PACKET_PAYLOAD};
use crate::MessageId;

/// Largest payload of a packet, in bytes.
pub const PAYLOAD_BYTES: usize = PACKET_PAYLOAD as usize;

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
    /// Message to which it belongs, for observers; it is not on the wire.
    pub id: MessageId,
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
    /// Appends the bytes on the wire, without the flits' padding: header, payload, and in the last packet the
    /// CRC.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let Packet { dest, source, flags, size, message, crc, .. } = *self;
        let (start, data) = (out.len(), self.data());
        let trailer = start + PacketHeader::SIZE + data.len();
        out.resize(start + PacketHeader::SIZE, 0);
        PacketHeader { dest, source, flags, size, message }.emit(&mut out[start..]);
        out.extend_from_slice(data);
        if self.is_last() {
            out.resize(trailer + PacketTrailer::SIZE, 0);
            PacketTrailer { crc }.emit(&mut out[trailer..]);
        }
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
            id: MessageId::default(),
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

    #[test]
    fn bytes_on_the_wire() {
        let mut packet =
            Packet { dest: 0x102, source: 3, message: 0x405, size: 2, ..Packet::default() };
        packet.payload[..2].copy_from_slice(&[0xaa, 0xbb]);
        packet.crc = 0x1234_5678;
        let mut out = vec![0xff];
        packet.emit(&mut out);
        assert_eq!(out, [0xff, 2, 1, 3, 0, 0, 2, 5, 4, 0xaa, 0xbb]);
        out.clear();
        Packet { flags: flag::LAST, ..packet }.emit(&mut out);
        assert_eq!(out, [2, 1, 3, 0, 2, 2, 5, 4, 0xaa, 0xbb, 0x78, 0x56, 0x34, 0x12]);
    }
}

//! Packets of gdb's protocol out of bytes, and bytes of packets: `$`, the body, `#`, and a checksum of two
//! digits. Whatever comes, no more than a packet is kept of it.

/// Bytes that a packet's body may have, in either direction; gdb is told.
pub(super) const PACKET_MAX: usize = 0x4000;

/// Something whole that has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// A packet's body, escaped as it came.
    Packet(Vec<u8>),
    /// A packet whose checksum is not that of its bytes.
    Corrupt,
    /// A packet of more than [`PACKET_MAX`].
    TooLong,
    /// The last answer has not come whole.
    Again,
    /// Ctrl-C.
    Interrupt,
}

/// Position in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expecting {
    Between,
    Body,
    /// The first digit of the checksum.
    High,
    /// The second one, behind this one.
    Low(u8),
}

/// Puts bytes together.
#[derive(Debug)]
pub(super) struct Framing {
    place: Expecting,
    body: Vec<u8>,
    too_long: bool,
    sum: u8,
}

impl Framing {
    /// Nothing has come.
    pub fn new() -> Framing {
        Framing { place: Expecting::Between, body: Vec::new(), too_long: false, sum: 0 }
    }

    /// Takes a byte; returns the frame that it completes.
    pub fn push(&mut self, byte: u8) -> Option<Frame> {
        match (self.place, byte) {
            // Within a body it would be escaped: the end of the last packet has been lost.
            (place, b'$') => {
                let torn = matches!(place, Expecting::High | Expecting::Low(_));
                self.begin();
                torn.then_some(Frame::Corrupt)
            }
            (Expecting::Between, b'-') => Some(Frame::Again),
            (Expecting::Between, 3) => Some(Frame::Interrupt),
            (Expecting::Between, _) => None,
            (Expecting::Body, b'#') => {
                self.place = Expecting::High;
                None
            }
            (Expecting::Body, _) => {
                self.sum = self.sum.wrapping_add(byte);
                match self.body.len() < PACKET_MAX {
                    true => self.body.push(byte),
                    false => self.too_long = true,
                }
                None
            }
            (Expecting::High, _) => match digit(byte) {
                Some(high) => {
                    self.place = Expecting::Low(high);
                    None
                }
                None => self.end(None),
            },
            (Expecting::Low(high), _) => self.end(digit(byte).map(|low| high << 4 | low)),
        }
    }

    fn begin(&mut self) {
        *self = Framing { place: Expecting::Body, ..Framing::new() };
    }

    fn end(&mut self, sum: Option<u8>) -> Option<Frame> {
        self.place = Expecting::Between;
        let body = std::mem::take(&mut self.body);
        Some(match sum {
            Some(sum) if sum != self.sum => Frame::Corrupt,
            None => Frame::Corrupt,
            Some(_) if self.too_long => Frame::TooLong,
            Some(_) => Frame::Packet(body),
        })
    }
}

/// A hexadecimal digit's value.
pub(super) fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

/// A packet with this body.
pub(super) fn packet(body: &[u8]) -> Vec<u8> {
    let sum = body.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
    [b"$", body, b"#", format!("{sum:02x}").as_bytes()].concat()
}

/// Mark of an escaped byte.
const ESCAPE: u8 = b'}';

/// Bytes as they may be in a body.
pub(super) fn escaped(bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            b'$' | b'#' | b'*' | ESCAPE => body.extend([ESCAPE, byte ^ 0x20]),
            _ => body.push(byte),
        }
    }
    body
}

/// The bytes that were escaped; `None` if the last one is missing.
pub(super) fn unescaped(body: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(body.len());
    let mut rest = body.iter();
    while let Some(&byte) = rest.next() {
        bytes.push(if byte == ESCAPE { rest.next()? ^ 0x20 } else { byte });
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(bytes: &[u8]) -> Vec<Frame> {
        let mut framing = Framing::new();
        bytes.iter().filter_map(|byte| framing.push(*byte)).collect()
    }

    fn whole(body: &[u8]) -> Frame {
        Frame::Packet(body.to_vec())
    }

    #[test]
    fn packets_come_out_of_bytes_whatever_stands_around_them() {
        assert_eq!(frames(b"$?#3f"), [whole(b"?")]);
        assert_eq!(frames(b"+noise$?#3F+$#00"), [whole(b"?"), whole(b"")]);
        assert_eq!(frames(b"-\x03"), [Frame::Again, Frame::Interrupt]);
        // Within a packet it is a byte as others are.
        assert_eq!(frames(b"$\x03#03"), [whole(b"\x03")]);
        assert_eq!(frames(b"$?#40$?#3f"), [Frame::Corrupt, whole(b"?")]);
        assert_eq!(frames(b"$?#zz$?#3f"), [Frame::Corrupt, whole(b"?")]);
        // The end of the first is lost.
        assert_eq!(frames(b"$m0,4$?#3f"), [whole(b"?")]);
        assert_eq!(frames(b"$?#$?#3f"), [Frame::Corrupt, whole(b"?")]);
        assert_eq!(frames(b"$?#3$?#3f"), [Frame::Corrupt, whole(b"?")]);
    }

    #[test]
    fn a_packet_that_is_too_long_is_not_kept() {
        let mut framing = Framing::new();
        framing.push(b'$');
        for _ in 0..100 * PACKET_MAX {
            assert_eq!(framing.push(0), None);
        }
        assert!(framing.body.capacity() <= 2 * PACKET_MAX);
        let rest: Vec<_> = b"#00$?#3f".iter().filter_map(|byte| framing.push(*byte)).collect();
        assert_eq!(rest, [Frame::TooLong, whole(b"?")]);
        assert_eq!(frames(&packet(&[0; PACKET_MAX])), [whole(&[0; PACKET_MAX])]);
    }

    #[test]
    fn what_is_escaped_comes_back() {
        let all: Vec<u8> = (0..=255).collect();
        let body = escaped(&all);
        assert_eq!(frames(&packet(&body)), [Frame::Packet(body.clone())]);
        assert_eq!(unescaped(&body), Some(all));
        assert_eq!(unescaped(b"a}"), None);
    }
}

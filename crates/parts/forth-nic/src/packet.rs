//! Packets on the link: from words, and to words.

use abi::forth::{packet_flag, PacketHeader, WORDS_MAX};
use serial::{crc16, crc32, Word};

/// Contents of a packet's header, checked: only legal ones exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Physical address at the receiver, a multiple of 8.
    pub destination: u32,
    /// Payload in words, 1 to 512.
    pub words: u16,
    /// Flow.
    pub flow: u8,
    /// Sender's number.
    pub source: u8,
    /// Interrupt when the data are in memory.
    pub interrupt: bool,
}

/// Bytes of the header that its CRC covers.
const COVERED: usize = 14;

impl Header {
    /// The two words on the wire.
    pub fn emit(&self) -> [u64; 2] {
        let mut bytes = [0; PacketHeader::SIZE];
        let mut header = PacketHeader {
            destination: self.destination,
            words: self.words,
            flow: self.flow,
            flags: if self.interrupt { packet_flag::INTERRUPT } else { 0 },
            source: self.source,
            crc16: 0,
        };
        header.emit(&mut bytes);
        header.crc16 = crc16(&bytes[..COVERED]);
        header.emit(&mut bytes);
        let word =
            |at: usize| bytes[at..at + 8].iter().rev().fold(0, |w, b| w << 8 | u64::from(*b));
        [word(0), word(8)]
    }

    /// The header of two words; `None` if its CRC is wrong or it says what cannot be.
    pub fn parse(words: [u64; 2]) -> Option<Header> {
        let mut bytes = [0; PacketHeader::SIZE];
        bytes[..8].copy_from_slice(&words[0].to_le_bytes());
        bytes[8..].copy_from_slice(&words[1].to_le_bytes());
        let header = PacketHeader::parse(&bytes)?;
        let legal = (1..=WORDS_MAX as u16).contains(&header.words)
            && header.destination % 8 == 0
            && header.flow < 128;
        (legal && header.crc16 == crc16(&bytes[..COVERED])).then_some(Header {
            destination: header.destination,
            words: header.words,
            flow: header.flow,
            source: header.source,
            interrupt: header.flags & packet_flag::INTERRUPT != 0,
        })
    }
}

/// Entry of the receiver's FIFO, made from a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A packet begins.
    Header(Header),
    /// A word of its payload.
    Data(u64),
    /// It is over; false if its CRC was wrong.
    End(bool),
}

impl Default for Entry {
    fn default() -> Entry {
        Entry::Data(0)
    }
}

/// Receives packets: a word a cycle in, an entry a cycle out.
#[derive(Clone, Debug, Default)]
pub struct Parser {
    state: State,
    crc: u32,
    header_errors: u64,
    payload_errors: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Everything up to the next start is skipped.
    #[default]
    Skip,
    First,
    Second(u64),
    Payload(u16),
    Trailer,
    /// The packet was cut off: what the sender has counted is made up, so that no credit is lost.
    Fill(u16),
}

impl Parser {
    /// Headers with a wrong CRC.
    pub fn header_errors(&self) -> u64 {
        self.header_errors
    }
    /// Payloads with a wrong CRC, or cut off.
    pub fn payload_errors(&self) -> u64 {
        self.payload_errors
    }
    /// True inside of a packet that is known by its header.
    pub fn is_inside(&self) -> bool {
        matches!(self.state, State::Payload(_) | State::Trailer | State::Fill(_))
    }

    /// Number of its state, as the card's registers tell it.
    pub(crate) fn number(&self) -> u8 {
        match self.state {
            State::Skip => 0,
            State::First => 1,
            State::Second(_) => 2,
            State::Payload(_) => 3,
            State::Trailer => 4,
            State::Fill(_) => 5,
        }
    }

    /// True while what a packet that was cut off owes is made up.
    pub fn makes_up(&self) -> bool {
        matches!(self.state, State::Fill(_))
    }

    /// A cycle of the link. Credits do not come here.
    pub fn clock(&mut self, word: Option<Word>) -> Option<Entry> {
        if let State::Fill(left) = self.state {
            return self.fill(left);
        }
        match word {
            Some(Word::Start) if self.is_inside() => {
                self.state = State::Fill(self.owed());
                None
            }
            Some(Word::Start) => {
                self.state = State::First;
                None
            }
            Some(Word::Data(data)) => self.data(data),
            _ => None,
        }
    }

    fn owed(&self) -> u16 {
        match self.state {
            State::Payload(left) => left,
            _ => 0,
        }
    }

    fn fill(&mut self, left: u16) -> Option<Entry> {
        if left > 0 {
            self.state = State::Fill(left - 1);
            return Some(Entry::Data(0));
        }
        self.payload_errors += 1;
        self.state = State::Skip;
        Some(Entry::End(false))
    }

    fn data(&mut self, data: u64) -> Option<Entry> {
        match self.state {
            State::Skip | State::Fill(_) => None,
            State::First => {
                self.state = State::Second(data);
                None
            }
            State::Second(first) => {
                let header = Header::parse([first, data]);
                self.header_errors += u64::from(header.is_none());
                self.crc = 0;
                self.state = header.map_or(State::Skip, |header| State::Payload(header.words));
                header.map(Entry::Header)
            }
            State::Payload(left) => {
                self.crc = crc32(self.crc, data);
                self.state = if left == 1 { State::Trailer } else { State::Payload(left - 1) };
                Some(Entry::Data(data))
            }
            State::Trailer => {
                let good = data == u64::from(self.crc);
                self.payload_errors += u64::from(!good);
                self.state = State::Skip;
                Some(Entry::End(good))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header =
        Header { destination: 0x1000, words: 3, flow: 9, source: 4, interrupt: true };

    fn packet() -> Vec<Word> {
        let payload = [1, 2, 3];
        let crc = payload.iter().fold(0, |crc, word| crc32(crc, *word));
        let words = HEADER.emit().into_iter().chain(payload).chain([u64::from(crc)]);
        std::iter::once(Word::Start).chain(words.map(Word::Data)).collect()
    }

    #[test]
    fn a_packet_is_parsed_and_every_turned_bit_is_seen() {
        let parse = |words: &[Word]| {
            let mut parser = Parser::default();
            let entries = words.iter().filter_map(|word| parser.clock(Some(*word)));
            let entries: Vec<Entry> = entries.collect();
            (entries, parser.header_errors() + parser.payload_errors())
        };
        let data = [1, 2, 3].map(Entry::Data);
        let (entries, errors) = parse(&packet());
        assert_eq!((entries[0], errors), (Entry::Header(HEADER), 0));
        assert_eq!((&entries[1..4], entries[4]), (&data[..], Entry::End(true)));
        for word in 1..7 {
            for bit in 0..64 {
                let mut spoilt = packet();
                let Word::Data(data) = &mut spoilt[word] else {
                    panic!("only the first is a mark")
                };
                *data ^= 1 << bit;
                assert_eq!(parse(&spoilt).1, 1, "bit {bit} of word {word}");
            }
        }
    }

    #[test]
    fn a_packet_that_is_cut_off_is_filled_up() {
        let mut parser = Parser::default();
        let mut entries = Vec::new();
        for word in packet()[..4].iter().chain(&packet()) {
            entries.extend(parser.clock(Some(*word)));
        }
        entries.extend((0..3).filter_map(|_| parser.clock(None)));
        assert_eq!(entries.len(), 5);
        assert_eq!(entries[4], Entry::End(false));
    }
}

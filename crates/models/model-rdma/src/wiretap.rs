//! `--pcap`: the packets that pass a card's pins at the lanes, in both directions.

use abi::forth::PACKET_OVERHEAD;
use des::Time;
use forth_nic::Header;
use machine::instruments::capture::{Side, Streams, Tap};
use serial::{LinkRx, Symbols, Word};

/// Words of a header.
const HEADER: usize = 2;

/// The taps of a card.
pub(super) struct Wiretap {
    nid: u32,
    tap: Tap,
    sent: Wire,
    came: Wire,
    streams: Streams,
}

/// A direction: the packet that is on it.
struct Wire {
    link: LinkRx,
    words: Vec<u64>,
    /// Words that it has, as far as is known; none between packets.
    wanted: usize,
}

impl Wire {
    fn new(lanes: u8) -> Wire {
        Wire { link: LinkRx::new(lanes), words: Vec::new(), wanted: 0 }
    }

    /// An edge; true if a packet is whole, or has a header that says nothing.
    fn edge(&mut self, symbols: Symbols) -> bool {
        self.link.clock(symbols);
        match self.link.word() {
            Some(Word::Start) => {
                self.words.clear();
                self.wanted = HEADER;
            }
            Some(Word::Data(word)) if self.words.len() < self.wanted => {
                self.words.push(word);
                if let [first, second] = self.words[..] {
                    let header = Header::parse([first, second]);
                    let rest = PACKET_OVERHEAD as usize - HEADER;
                    self.wanted += header.map_or(0, |header| usize::from(header.words) + rest);
                }
                return self.words.len() == self.wanted;
            }
            _ => {}
        }
        false
    }
}

impl Wiretap {
    /// Of node `nid`, whose link has so many lanes.
    pub fn new(nid: u32, lanes: u8, tap: Tap, streams: Streams) -> Wiretap {
        Wiretap { nid, tap, sent: Wire::new(lanes), came: Wire::new(lanes), streams }
    }

    /// An edge of the lanes. A packet is told of with its last word, once its parts are paired.
    pub fn edge(&mut self, now: Time, came: Symbols, sent: Symbols) {
        let sides = [(&mut self.came, came, Side::Received), (&mut self.sent, sent, Side::Sent)];
        for (wire, symbols, side) in sides {
            if wire.edge(symbols) {
                wire.wanted = 0;
                let words = &wire.words;
                self.tap.packet(now, side, |out| {
                    words.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
                });
            }
        }
    }

    /// The node is over.
    pub fn finish(self) {
        self.streams.put(self.nid, self.tap);
    }
}

//! Packets in the words that come over the lanes.

use des::Time;
use forth_nic::Header;
use serial::Word;

/// Finds packets in what comes over the lanes.
pub(super) struct Packets {
    state: State,
}

#[derive(Clone, Copy)]
enum State {
    /// So many words of a packet are still to come; of none between packets.
    Rest(u16),
    First {
        start: Time,
    },
    Second {
        start: Time,
        word: u64,
    },
}

/// Part of a packet that an edge has brought.
pub(super) enum Brought {
    Nothing,
    /// A packet's header, and the time of its beginning.
    Header(Header, Time),
    /// Words without a beginning, or a header that says nothing: a packet whose sender nobody knows.
    Stray,
}

impl Packets {
    /// Between packets.
    pub fn new() -> Packets {
        Packets { state: State::Rest(0) }
    }

    /// A word comes.
    pub fn word(&mut self, now: Time, word: Word) -> Brought {
        match (word, self.state) {
            (Word::Start, _) => self.state = State::First { start: now },
            (Word::Data(word), State::First { start }) => {
                self.state = State::Second { start, word };
            }
            (Word::Data(second), State::Second { start, word }) => {
                let header = Header::parse([word, second]);
                // Behind a header that says nothing nobody knows how long its packet is.
                let rest = header.map_or(u16::MAX, |header| header.words + 1);
                self.state = State::Rest(rest);
                return header.map_or(Brought::Stray, |header| Brought::Header(header, start));
            }
            (Word::Data(_), State::Rest(0)) => {
                self.state = State::Rest(u16::MAX);
                return Brought::Stray;
            }
            (Word::Data(_), State::Rest(left)) => self.state = State::Rest(left - 1),
            _ => {}
        }
        Brought::Nothing
    }
}

//! An input: sorts the words of packets into the crosspoints of its row.

use abi::forth::{packet_header, WORDS_MAX};
use serial::Word;

/// Words of a packet besides its payload and the first of its header: second of the header, trailer.
const REST: u16 = 2;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Skip,
    Header,
    Body {
        to: usize,
        left: u16,
    },
    /// The packet was cut off; its missing words are replaced.
    Fill {
        to: usize,
        left: u16,
    },
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Input {
    state: State,
    pub errors: u64,
}

/// Payload words that a header's first word announces, and the flow.
pub(crate) fn announced(word: u64) -> (u16, u8) {
    let words = (word >> (8 * packet_header::WORDS)) as u16;
    (words, (word >> (8 * packet_header::FLOW)) as u8)
}

impl Input {
    /// True if the next word of data is a packet's first.
    pub fn at_header(&self) -> bool {
        self.state == State::Header
    }
    pub fn makes_up(&self) -> bool {
        matches!(self.state, State::Fill { .. })
    }
    /// Clock edge: takes a word of the lane; returns a word for a crosspoint, with the crosspoint's index.
    pub fn clock(&mut self, word: Option<Word>, ports: usize) -> Option<(usize, u64)> {
        if let State::Fill { to, left } = self.state {
            let more = State::Fill { to, left: left - 1 };
            self.state = if left == 1 { State::Skip } else { more };
            return Some((to, 0));
        }
        match word? {
            Word::Start => {
                self.state = match self.state {
                    State::Body { to, left } => State::Fill { to, left },
                    _ => State::Header,
                };
                None
            }
            Word::Data(data) => self.data(data, ports),
            Word::Idle | Word::Credit(_) => None,
        }
    }

    fn data(&mut self, data: u64, ports: usize) -> Option<(usize, u64)> {
        match self.state {
            State::Skip | State::Fill { .. } => None,
            State::Header => {
                let (words, flow) = announced(data);
                let legal = (1..=WORDS_MAX as u16).contains(&words) && usize::from(flow) < ports;
                if !legal {
                    self.errors += 1;
                    self.state = State::Skip;
                    return None;
                }
                let to = usize::from(flow);
                self.state = State::Body { to, left: words + REST };
                Some((to, data))
            }
            State::Body { to, left } => {
                let more = State::Body { to, left: left - 1 };
                self.state = if left == 1 { State::Skip } else { more };
                Some((to, data))
            }
        }
    }
}

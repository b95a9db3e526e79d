//! An output: takes packets from its column in turn, with the credits of the card behind it, and sends that
//! card the credits of its row.

use crate::input::announced;
use abi::forth::PACKET_OVERHEAD;
use serial::{Credit, Word};

/// Counts of a packet's words have ten bits. A header has more only where a crosspoint has lost a word, and
/// what comes behind that is taken for one.
const LENGTH_MASK: u16 = 0x3FF;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Nothing,
    Body {
        from: usize,
        left: u16,
    },
    Gap,
}

#[derive(Clone, Debug)]
pub(crate) struct Output {
    state: State,
    /// Inputs of the last packet and of the last credit.
    last_from: usize,
    last_told: usize,
    /// Flow control towards the card.
    sent: u16,
    credited: u16,
    mask: u16,
    limit: u16,
    pub credit_errors: u64,
    /// Packets of each input.
    pub packets: Vec<u64>,
}

/// Action of an output in a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Action {
    pub word: Option<Word>,
    /// Input whose crosspoint a word leaves.
    pub pop: Option<usize>,
    /// True if it is the packet's last word.
    pub last: bool,
    /// Crosspoint of its row for which the card gets a credit.
    pub told: Option<usize>,
}

/// First of `wants` behind `last`, round-robin.
fn next(last: usize, wants: &[bool]) -> Option<usize> {
    let ports = wants.len();
    (1..=ports).map(|step| (last + step) % ports).find(|port| wants[*port])
}

impl Output {
    pub fn new(ports: usize, bits: u32, limit: u16) -> Output {
        Output {
            state: State::Nothing,
            last_from: ports - 1,
            last_told: ports - 1,
            sent: 0,
            credited: 0,
            mask: (1 << bits) - 1,
            limit,
            credit_errors: 0,
            packets: vec![0; ports],
        }
    }

    /// A cycle in which the lane takes a word. `column`: the oldest word of each crosspoint; `row`: for each
    /// crosspoint of the card's own row the words still to be reported to it, and the count.
    pub fn choose(&mut self, column: &[Option<u64>], row: &[(u16, u16)], urgent: u16) -> Action {
        let ports = column.len();
        let (mut waits, mut hurries) = ([false; 8], [false; 8]);
        for (place, (untold, _)) in row.iter().enumerate() {
            waits[place] = *untold > 0;
            hurries[place] = *untold >= urgent;
        }
        let hurry = next(self.last_told, &hurries[..ports]);
        if let Some(told) = hurry.filter(|_| self.state != State::Gap) {
            return self.tell(told, row);
        }
        let packet = self.packet(column);
        let tell = packet.is_none() && self.state != State::Gap;
        if let Some(told) = next(self.last_told, &waits[..ports]).filter(|_| tell) {
            return self.tell(told, row);
        }
        if self.state == State::Gap {
            self.state = State::Nothing;
            return Action::default();
        }
        self.take(packet)
    }

    fn tell(&mut self, told: usize, row: &[(u16, u16)]) -> Action {
        self.last_told = told;
        let word = Some(Word::Credit(Credit::new(told as u8, row[told].1)));
        Action { word, told: Some(told), ..Action::default() }
    }

    /// Next word of the packet, if it can be sent: its input, the word, and the number of words left.
    fn packet(&self, column: &[Option<u64>]) -> Option<(usize, u64, u16)> {
        match self.state {
            State::Gap => None,
            State::Body { from, left } => column[from].map(|word| (from, word, left)),
            State::Nothing => {
                let mut wants = [false; 8];
                column.iter().zip(&mut wants).for_each(|(word, wants)| *wants = word.is_some());
                let from = next(self.last_from, &wants[..column.len()])?;
                let word = column[from]?;
                let words = announced(word).0.wrapping_add(PACKET_OVERHEAD as u16) & LENGTH_MASK;
                let outstanding = self.sent.wrapping_sub(self.credited) & self.mask;
                (outstanding + words <= self.limit).then_some((from, word, words))
            }
        }
    }

    fn take(&mut self, packet: Option<(usize, u64, u16)>) -> Action {
        let Some((from, word, words)) = packet else { return Action::default() };
        if self.state == State::Nothing {
            self.state = State::Body { from, left: words };
            self.sent = self.sent.wrapping_add(words) & self.mask;
            self.last_from = from;
            self.packets[from] += 1;
            return Action { word: Some(Word::Start), ..Action::default() };
        }
        let left = words.wrapping_sub(1) & LENGTH_MASK;
        self.state = if left == 0 { State::Gap } else { State::Body { from, left } };
        Action { word: Some(Word::Data(word)), pop: Some(from), last: left == 0, told: None }
    }

    /// A credit of the card's; its flow is the output's number.
    pub fn credit(&mut self, credit: Credit, port: usize) {
        if !credit.is_whole() || usize::from(credit.flow) != port {
            self.credit_errors += 1;
            return;
        }
        self.credited = credit.count & self.mask;
    }
    /// True if it sends nothing and the card's buffer is known to be empty.
    pub fn is_quiet(&self) -> bool {
        self.state == State::Nothing && self.sent == self.credited
    }
}

//! Four bytes of a lane with their control flags, and the 64-bit words that two of them are.

use abi::forth::mark;

/// Symbol of a lane in a cycle: four bytes, the lowest first on the wire, and for each a flag if it is a
/// control character (K) of the 8b/10b code. If four lanes share a word, a symbol has only the lower two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Symbol {
    /// The bytes.
    pub bytes: u32,
    /// Bit n: byte n is a control character.
    pub control: u8,
}

/// A credit: so many words have left the receiver's buffer since it was switched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credit {
    /// Flow, 0 to 127.
    pub flow: u8,
    /// Words, modulo what the counters hold.
    pub count: u16,
    /// Parity of all of it: even.
    pub parity: bool,
}

impl Credit {
    /// A credit with right parity.
    pub fn new(flow: u8, count: u16) -> Credit {
        Credit { flow, count, parity: (flow.count_ones() + count.count_ones()) % 2 == 1 }
    }
    /// False if it was spoilt on its way, in an odd number of bits.
    pub fn is_whole(&self) -> bool {
        *self == Credit::new(self.flow, self.count)
    }
}

/// Word of the bonded lanes in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// Nothing.
    Idle,
    /// A packet's header follows.
    Start,
    /// Words were freed.
    Credit(Credit),
    /// Eight bytes of a packet.
    Data(u64),
}

impl Symbol {
    fn control(mark: u8, lane: u8, upper: u16) -> Symbol {
        let bytes = u32::from(upper) << 16 | u32::from(lane) << 8 | u32::from(mark);
        Symbol { bytes, control: 1 }
    }
    /// True if it carries nothing and may be dropped or repeated.
    pub fn is_idle(&self) -> bool {
        self.control == 1 && self.bytes & 0xFF == u32::from(mark::IDLE)
    }
    /// Half of a word that a control symbol is, as it tells itself.
    pub(crate) fn lane(&self) -> Option<usize> {
        (self.control == 1).then_some((self.bytes >> 8 & 1) as usize)
    }
}

impl Word {
    /// Part of the word that lane `lane` of a link of `lanes` carries. A single lane carries both halves in
    /// turn.
    pub fn part(&self, lanes: u8, lane: u8) -> Symbol {
        if lanes == 4 {
            self.quarter(lane)
        } else {
            self.half(lane)
        }
    }

    /// Part of the word that lane 0 to 3 of four carries: two bytes. The second byte of a mark is its lane,
    /// except for a credit: there the second bytes of lanes 0 to 2 are the flow and the count.
    pub fn quarter(&self, lane: u8) -> Symbol {
        let control = |mark: u8, second: u8| Symbol {
            bytes: u32::from(second) << 8 | u32::from(mark),
            control: 1,
        };
        match self {
            Word::Idle => control(mark::IDLE, lane),
            Word::Start => control(mark::START, lane),
            Word::Credit(credit) => {
                let flow = credit.flow | u8::from(credit.parity) << 7;
                let [low, high] = credit.count.to_le_bytes();
                control(mark::CREDIT, [flow, low, high, 3][usize::from(lane)])
            }
            Word::Data(data) => {
                let bytes = data.to_le_bytes();
                let dealt = [bytes[usize::from(lane)], bytes[usize::from(lane) + 4]];
                Symbol { bytes: u16::from_le_bytes(dealt).into(), control: 0 }
            }
        }
    }

    /// The word of four quarters; `None` if they do not belong together.
    pub fn join_quarters(quarters: &[Symbol; 4]) -> Option<Word> {
        let all = |control: u8| quarters.iter().all(|quarter| quarter.control == control);
        let [first, second] = [0, 8].map(|at| quarters.map(|quarter| (quarter.bytes >> at) as u8));
        if all(0) {
            let bytes = std::array::from_fn(|n| if n < 4 { first[n] } else { second[n - 4] });
            return Some(Word::Data(u64::from_le_bytes(bytes)));
        }
        if !all(1) || first != [first[0]; 4] {
            return None;
        }
        match (first[0], second) {
            (mark::IDLE, [0, 1, 2, 3]) => Some(Word::Idle),
            (mark::START, [0, 1, 2, 3]) => Some(Word::Start),
            (mark::CREDIT, [flow, low, high, 3]) => {
                let (count, parity) = (u16::from_le_bytes([low, high]), flow >> 7 == 1);
                Some(Word::Credit(Credit { flow: flow & 0x7F, count, parity }))
            }
            _ => None,
        }
    }

    /// Part of the word that the even (0) or odd (1) lane carries. Bytes are dealt to the lanes in turn.
    pub fn half(&self, lane: u8) -> Symbol {
        match self {
            Word::Idle => Symbol::control(mark::IDLE, lane, 0xB5B5),
            Word::Start => Symbol::control(mark::START, lane, 0),
            Word::Credit(credit) => {
                let flow = u16::from(credit.flow | u8::from(credit.parity) << 7);
                let upper = if lane == 0 { flow } else { credit.count };
                Symbol::control(mark::CREDIT, lane, upper)
            }
            Word::Data(data) => {
                let bytes = data.to_le_bytes();
                let dealt = std::array::from_fn(|byte| bytes[2 * byte + usize::from(lane)]);
                Symbol { bytes: u32::from_le_bytes(dealt), control: 0 }
            }
        }
    }

    /// The word of two halves; `None` if they do not belong together.
    pub fn join(even: Symbol, odd: Symbol) -> Option<Word> {
        match (even.control, odd.control) {
            (0, 0) => {
                let (even, odd) = (even.bytes.to_le_bytes(), odd.bytes.to_le_bytes());
                let byte = |n: usize| if n % 2 == 0 { even[n / 2] } else { odd[n / 2] };
                Some(Word::Data(u64::from_le_bytes(std::array::from_fn(byte))))
            }
            (1, 1) => {
                let lanes = even.bytes >> 8 & 0xFF == 0 && odd.bytes >> 8 & 0xFF == 1;
                let mark = (even.bytes & 0xFF) as u8;
                if !lanes || mark != (odd.bytes & 0xFF) as u8 {
                    return None;
                }
                match mark {
                    mark::IDLE => Some(Word::Idle),
                    mark::START => Some(Word::Start),
                    mark::CREDIT => {
                        let flow = (even.bytes >> 16) as u16;
                        let (count, parity) = ((odd.bytes >> 16) as u16, flow >> 7 & 1 == 1);
                        let flow = flow as u8 & 0x7F;
                        Some(Word::Credit(Credit { flow, count, parity }))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_join_to_their_word() {
        let words = [
            Word::Idle,
            Word::Start,
            Word::Credit(Credit::new(0x5A, 0xBEEF)),
            Word::Data(0x0123_4567_89AB_CDEF),
        ];
        for word in words {
            assert_eq!(Word::join(word.half(0), word.half(1)), Some(word));
            assert_eq!(
                Word::join(word.half(1), word.half(0)).is_some(),
                matches!(word, Word::Data(_))
            );
        }
        assert_eq!(Word::Data(0x0706_0504_0302_0100).half(1).bytes, 0x0705_0301);
        assert_eq!(Word::join(Word::Start.half(0), Word::Data(0).half(1)), None);
    }

    #[test]
    fn quarters_join_to_their_word() {
        let words = [
            Word::Idle,
            Word::Start,
            Word::Credit(Credit::new(0x5A, 0xBEEF)),
            Word::Data(0x0123_4567_89AB_CDEF),
        ];
        for word in words {
            let quarters = [0, 1, 2, 3].map(|lane| word.quarter(lane));
            assert_eq!(Word::join_quarters(&quarters), Some(word));
            let [a, b, c, d] = quarters;
            assert_ne!(Word::join_quarters(&[a, b, d, c]), Some(word), "lanes that are crossed");
            let other = Word::Idle.quarter(1);
            let joined = Word::join_quarters(&[a, other, c, d]);
            assert!(word == Word::Idle || joined.is_none(), "{joined:?}");
        }
        assert_eq!(Word::Data(0x0706_0504_0302_0100).quarter(1).bytes, 0x0501);
    }

    #[test]
    fn one_turned_bit_of_a_credit_is_seen() {
        let credit = Credit::new(3, 1000);
        assert!(credit.is_whole());
        assert!(!Credit { flow: 2, ..credit }.is_whole());
        assert!(!Credit { count: 1001, ..credit }.is_whole());
        assert!(!Credit { parity: !credit.parity, ..credit }.is_whole());
    }
}

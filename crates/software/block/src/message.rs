//! Commands and completions, as they stand in their queues.

/// 64-bit words of a command.
pub const COMMAND_WORDS: usize = 8;
/// 64-bit words of a completion.
pub const COMPLETION_WORDS: usize = 2;

/// Operation of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Sectors go to the initiator.
    Read,
    /// Sectors have come in a buffer of the target's.
    Write,
    /// All that was written before is made safe.
    Flush,
    /// Sectors become zeroes.
    Zero,
    /// The association ends.
    End,
    /// Time passes, so many picoseconds as a request has length: in streams of requests only.
    Pass,
    /// Numbered requests go on until the next has ended, or so many picoseconds: in streams only.
    Wait,
}

impl Operation {
    /// Its number.
    pub fn number(self) -> u64 {
        self as u64
    }
    /// That of a number.
    pub fn of(number: u64) -> Option<Operation> {
        use Operation::{End, Flush, Pass, Read, Wait, Write, Zero};
        let all = [Read, Write, Flush, Zero, End, Pass, Wait];
        all.into_iter().find(|operation| operation.number() == number)
    }
    /// True if it is one of streams of requests only, which no command has.
    pub fn is_of_streams(self) -> bool {
        matches!(self, Operation::Pass | Operation::Wait)
    }
}

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Its operation.
    pub operation: Operation,
    /// Number of the initiator's request, and of its buffer on both sides.
    pub slot: u64,
    /// First sector.
    pub sector: u64,
    /// Sectors.
    pub sectors: u64,
    /// Sum of the data of a write, or 0.
    pub sum: u32,
    /// Forced unit access: the data are on the disk when it is answered.
    pub fua: bool,
}

impl Command {
    /// Its words. The last is the pending flag: which turn of the queue it is of, never 0, and a sum.
    pub fn emit(&self, turn: u32) -> [u64; COMMAND_WORDS] {
        let (operation, sum) = (self.operation.number(), self.sum.into());
        let words = [operation, self.slot, self.sector, self.sectors, sum, self.fua.into(), 0, 0];
        flagged(words, turn)
    }
    /// The command of such words; none if they are none.
    pub fn parse(words: &[u64; COMMAND_WORDS]) -> Option<Command> {
        let operation = Operation::of(words[0]).filter(|operation| !operation.is_of_streams())?;
        let [_, slot, sector, sectors, sum, fua, ..] = *words;
        Some(Command { operation, slot, sector, sectors, sum: sum as u32, fua: fua != 0 })
    }
}

/// The end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The command's slot.
    pub slot: u64,
    /// It has failed.
    pub failed: bool,
    /// Sum of the data of a read, or 0.
    pub sum: u32,
}

/// Sum of data, CRC-32 (IEEE), by which each error of up to 32 bits in a row is seen.
pub fn sum(data: &[u8]) -> u32 {
    crc32fast::hash(data)
}

/// A message whose last word becomes its flag: the turn, below a sum of all that stands before.
fn flagged<const WORDS: usize>(mut words: [u64; WORDS], turn: u32) -> [u64; WORDS] {
    words[WORDS - 1] = turn.into();
    words[WORDS - 1] |= u64::from(sum_of(&words)) << 32;
    words
}

fn sum_of(words: &[u64]) -> u32 {
    let (last, rest) = words.split_last().expect("a message has words");
    let turn = last & u64::from(u32::MAX);
    let bytes: Vec<u8> = rest.iter().chain([&turn]).flat_map(|word| word.to_le_bytes()).collect();
    sum(&bytes)
}

/// True if a message's words are as they were made, down to the last bit.
pub fn is_whole(words: &[u64]) -> bool {
    words.last().is_some_and(|flag| (flag >> 32) as u32 == sum_of(words))
}

impl Completion {
    /// Its words, with the pending flag.
    pub fn emit(&self, turn: u32) -> [u64; COMPLETION_WORDS] {
        let first = u64::from(self.sum) << 32 | self.slot << 1 | u64::from(self.failed);
        flagged([first, 0], turn)
    }
    /// The completion of such words.
    pub fn parse(words: &[u64; COMPLETION_WORDS]) -> Completion {
        let [first, _] = *words;
        let slot = first >> 1 & 0x7FFF_FFFF;
        Completion { slot, failed: first & 1 == 1, sum: (first >> 32) as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_as_they_were() {
        for (number, fua) in [(0, false), (1, true), (2, false), (3, true), (4, false)] {
            let operation = Operation::of(number).expect("there are five");
            let command =
                Command { operation, slot: 3, sector: 1 << 40, sectors: 64, sum: u32::MAX, fua };
            assert_eq!(Command::parse(&command.emit(9)), Some(command));
        }
        assert_eq!(Command::parse(&[9; COMMAND_WORDS]), None);
        for of_streams in [5, 6] {
            assert!(Operation::of(of_streams).is_some_and(Operation::is_of_streams));
            assert_eq!(Command::parse(&[of_streams; COMMAND_WORDS]), None, "none lets time pass");
        }
        let completion = Completion { slot: 7, failed: true, sum: 0x8000_0001 };
        assert_eq!(Completion::parse(&completion.emit(1)), completion);
        assert_eq!(completion.emit(5)[1] as u32, 5, "the flag is told by its turn");
    }

    #[test]
    fn every_turned_bit_of_a_message_is_seen() {
        let command = Command {
            operation: Operation::Write,
            slot: 3,
            sector: 77,
            sectors: 8,
            sum: 9,
            fua: true,
        };
        let completion = Completion { slot: 3, failed: false, sum: 9 };
        for words in [&command.emit(4)[..], &completion.emit(4)] {
            assert!(is_whole(words));
            for bit in 0..64 * words.len() {
                let mut spoilt = words.to_vec();
                spoilt[bit / 64] ^= 1 << (bit % 64);
                assert!(!is_whole(&spoilt), "bit {bit}");
            }
        }
    }
}

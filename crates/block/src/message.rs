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
}

impl Operation {
    /// Its number.
    pub fn number(self) -> u64 {
        self as u64
    }
    /// That of a number.
    pub fn of(number: u64) -> Option<Operation> {
        let all =
            [Operation::Read, Operation::Write, Operation::Flush, Operation::Zero, Operation::End];
        all.into_iter().find(|operation| operation.number() == number)
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
}

impl Command {
    /// Its words. The last is the pending flag: which turn of the queue it is of, never 0.
    pub fn emit(&self, turn: u64) -> [u64; COMMAND_WORDS] {
        [self.operation.number(), self.slot, self.sector, self.sectors, self.sum.into(), 0, 0, turn]
    }
    /// The command of such words; none if they are none.
    pub fn parse(words: &[u64; COMMAND_WORDS]) -> Option<Command> {
        let operation = Operation::of(words[0])?;
        let [_, slot, sector, sectors, sum, ..] = *words;
        Some(Command { operation, slot, sector, sectors, sum: sum as u32 })
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

impl Completion {
    /// Its words, with the pending flag.
    pub fn emit(&self, turn: u64) -> [u64; COMPLETION_WORDS] {
        [u64::from(self.sum) << 32 | self.slot << 1 | u64::from(self.failed), turn]
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
        for number in 0..5 {
            let operation = Operation::of(number).expect("there are five");
            let command =
                Command { operation, slot: 3, sector: 1 << 40, sectors: 64, sum: u32::MAX };
            assert_eq!(Command::parse(&command.emit(9)), Some(command));
        }
        assert_eq!(Command::parse(&[9; COMMAND_WORDS]), None);
        let completion = Completion { slot: 7, failed: true, sum: 0x8000_0001 };
        assert_eq!(Completion::parse(&completion.emit(1)), completion);
    }
}

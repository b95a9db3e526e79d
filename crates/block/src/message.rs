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
}

impl Command {
    /// Its words. The last is the pending flag: which turn of the queue it is of, never 0.
    pub fn emit(&self, turn: u64) -> [u64; COMMAND_WORDS] {
        [self.operation.number(), self.slot, self.sector, self.sectors, 0, 0, 0, turn]
    }
    /// The command of such words; none if they are none.
    pub fn parse(words: &[u64; COMMAND_WORDS]) -> Option<Command> {
        let operation = Operation::of(words[0])?;
        Some(Command { operation, slot: words[1], sector: words[2], sectors: words[3] })
    }
}

/// The end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The command's slot.
    pub slot: u64,
    /// It has failed.
    pub failed: bool,
}

impl Completion {
    /// Its words, with the pending flag.
    pub fn emit(&self, turn: u64) -> [u64; COMPLETION_WORDS] {
        [self.slot << 1 | u64::from(self.failed), turn]
    }
    /// The completion of such words.
    pub fn parse(words: &[u64; COMPLETION_WORDS]) -> Completion {
        Completion { slot: words[0] >> 1, failed: words[0] & 1 == 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_as_they_were() {
        for number in 0..5 {
            let operation = Operation::of(number).expect("there are five");
            let command = Command { operation, slot: 3, sector: 1 << 40, sectors: 64 };
            assert_eq!(Command::parse(&command.emit(9)), Some(command));
        }
        assert_eq!(Command::parse(&[9; COMMAND_WORDS]), None);
        let completion = Completion { slot: 7, failed: true };
        assert_eq!(Completion::parse(&completion.emit(1)), completion);
    }
}

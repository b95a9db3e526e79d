//! Requests and answers on the streams of a run that serves a disk: what a client's front writes to its
//! standard input, and reads from its standard output. All little endian.

use crate::Operation;

/// Bytes of an [`Ask`].
pub const ASK_BYTES: usize = 32;
/// Bytes of an [`Answer`].
pub const ANSWER_BYTES: usize = 24;
const ASK_MARK: u64 = 0x4B53_4944_4B53_4101;
const ANSWER_MARK: u64 = 0x4B53_4944_4E41_5301;

/// A request; the data of a write follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Its operation.
    pub operation: Operation,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
}

impl Ask {
    /// Its bytes.
    pub fn emit(&self) -> [u8; ASK_BYTES] {
        let words = [ASK_MARK, self.operation.number(), self.offset, self.length];
        let mut bytes = [0; ASK_BYTES];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }
    /// The request of such bytes; none if they are none.
    pub fn parse(bytes: &[u8; ASK_BYTES]) -> Option<Ask> {
        let word =
            |at: usize| bytes[at..at + 8].iter().rev().fold(0, |w, b| w << 8 | u64::from(*b));
        let operation = Operation::of(word(8)).filter(|_| word(0) == ASK_MARK)?;
        Some(Ask { operation, offset: word(16), length: word(24) })
    }
}

/// An answer; the data of a read that has not failed follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The disk could not do it.
    pub failed: bool,
    /// Simulated picoseconds that it took.
    pub took: u64,
}

impl Answer {
    /// Its bytes.
    pub fn emit(&self) -> [u8; ANSWER_BYTES] {
        let mut bytes = [0; ANSWER_BYTES];
        for (place, word) in
            bytes.chunks_exact_mut(8).zip([ANSWER_MARK, self.failed.into(), self.took])
        {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }
    /// The answer of such bytes; none if they are none.
    pub fn parse(bytes: &[u8; ANSWER_BYTES]) -> Option<Answer> {
        let word =
            |at: usize| bytes[at..at + 8].iter().rev().fold(0, |w, b| w << 8 | u64::from(*b));
        (word(0) == ANSWER_MARK).then(|| Answer { failed: word(8) != 0, took: word(16) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_as_they_were() {
        let ask = Ask { operation: Operation::Write, offset: 1 << 33, length: 4096 };
        assert_eq!(Ask::parse(&ask.emit()), Some(ask));
        assert_eq!(Ask::parse(&[0; ASK_BYTES]), None);
        let answer = Answer { failed: true, took: 12 };
        assert_eq!(Answer::parse(&answer.emit()), Some(answer));
        assert_eq!(Answer::parse(&[7; ANSWER_BYTES]), None);
    }
}

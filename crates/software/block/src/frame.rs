//! Requests and answers on the streams of a run that serves a disk: what a client's front writes to its
//! standard input, and reads from its standard output. All little endian.
//!
//! A request without a number is carried out before the next is read, and answered. Numbered ones are under
//! way side by side: they go on with each [`Operation::Wait`], which has one answer, that of the next
//! request that has ended, or that of its own number 0, when so much time has passed.

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
    /// Forced unit access: its data are on the disk when it is answered.
    pub fua: bool,
    /// Its number among those under way, or 0.
    pub number: u32,
}

impl Ask {
    /// A request without a number.
    pub fn new(operation: Operation, offset: u64, length: u64) -> Ask {
        Ask { operation, offset, length, fua: false, number: 0 }
    }
    /// Its bytes.
    pub fn emit(&self) -> [u8; ASK_BYTES] {
        let what = self.operation.number() | u64::from(self.fua) << 8;
        let words = [ASK_MARK, what | u64::from(self.number) << 32, self.offset, self.length];
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
        let (number, what) = ((word(8) >> 32) as u32, word(8) as u32);
        let marked = word(0) == ASK_MARK && what <= 0x1FF;
        let operation = Operation::of((what & 0xFF).into()).filter(|_| marked)?;
        Some(Ask { operation, offset: word(16), length: word(24), fua: what > 0xFF, number })
    }
}

/// An answer; the data of a read that has not failed follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The disk could not do it.
    pub failed: bool,
    /// Simulated picoseconds that it took, from when it was read.
    pub took: u64,
    /// The request's number.
    pub number: u32,
}

impl Answer {
    /// Its bytes.
    pub fn emit(&self) -> [u8; ANSWER_BYTES] {
        let mut bytes = [0; ANSWER_BYTES];
        let what = u64::from(self.failed) | u64::from(self.number) << 32;
        for (place, word) in bytes.chunks_exact_mut(8).zip([ANSWER_MARK, what, self.took]) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }
    /// The answer of such bytes; none if they are none.
    pub fn parse(bytes: &[u8; ANSWER_BYTES]) -> Option<Answer> {
        let word =
            |at: usize| bytes[at..at + 8].iter().rev().fold(0, |w, b| w << 8 | u64::from(*b));
        let (number, what) = ((word(8) >> 32) as u32, word(8) as u32);
        (word(0) == ANSWER_MARK).then(|| Answer { failed: what != 0, took: word(16), number })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_as_they_were() {
        let ask = Ask::new(Operation::Write, 1 << 33, 4096);
        for ask in [ask, Ask { fua: true, ..ask }, Ask { number: u32::MAX, ..ask }] {
            assert_eq!(Ask::parse(&ask.emit()), Some(ask));
        }
        let mut strange = ask.emit();
        strange[9] = 2;
        assert_eq!(Ask::parse(&strange), None);
        assert_eq!(Ask::parse(&[0; ASK_BYTES]), None);
        let answer = Answer { failed: true, took: 12, number: 7 };
        assert_eq!(Answer::parse(&answer.emit()), Some(answer));
        assert_eq!(Answer::parse(&[7; ANSWER_BYTES]), None);
    }
}

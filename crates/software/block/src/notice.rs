//! Notices over the association's connection: initiator and target find out what was lost, and begin anew.
//!
//! ```text
//! initiator                                   target
//!     ── Query ──────────────────────────────►        nothing has come for long
//!     ◄─ State: messages come and sent ───────
//!     ── Stop, and sends nothing itself ─────►        something was lost
//!     ◄─ Stopped ─────────────────────────────        nothing is on the lanes any more
//!        resets its card
//!     ── Begin: messages that have come ─────►
//!        ...                                          resets its card
//!     ◄─ Ready: messages that have come ──────
//!        both send again what has not come
//! ```

/// Bytes of a [`Notice`]: little endian words.
pub const NOTICE_BYTES: usize = 24;
const MARK: u64 = 0x4B53_4944_5245_4300;

/// A notice. Messages are counted from the association on, each way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The initiator misses completions.
    Query,
    /// Commands that have come, and completions that were sent.
    State {
        /// Commands.
        come: u64,
        /// Completions.
        sent: u64,
    },
    /// The target is to send nothing any more.
    Stop,
    /// It does not.
    Stopped,
    /// The initiator's card begins anew; so many completions have come.
    Begin {
        /// Completions.
        come: u64,
    },
    /// The target's card has begun anew; so many commands have come.
    Ready {
        /// Commands.
        come: u64,
    },
    /// The association is over.
    Bye,
}

impl Notice {
    /// Its bytes.
    pub fn emit(&self) -> Vec<u8> {
        let words = match *self {
            Notice::Query => [1, 0, 0],
            Notice::State { come, sent } => [2, come, sent],
            Notice::Stop => [3, 0, 0],
            Notice::Stopped => [4, 0, 0],
            Notice::Begin { come } => [5, come, 0],
            Notice::Ready { come } => [6, come, 0],
            Notice::Bye => [7, 0, 0],
        };
        let marked = [MARK | words[0], words[1], words[2]];
        marked.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
    /// The notice of such bytes; none if they are none.
    pub fn parse(bytes: &[u8]) -> Option<Notice> {
        let word = |at: usize| {
            let bytes = bytes.get(8 * at..8 * at + 8)?;
            Some(bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)))
        };
        let (come, sent) = (word(1)?, word(2)?);
        match word(0)?.checked_sub(MARK)? {
            1 => Some(Notice::Query),
            2 => Some(Notice::State { come, sent }),
            3 => Some(Notice::Stop),
            4 => Some(Notice::Stopped),
            5 => Some(Notice::Begin { come }),
            6 => Some(Notice::Ready { come }),
            7 => Some(Notice::Bye),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_come_back_as_they_were() {
        for notice in [
            Notice::Query,
            Notice::State { come: 7, sent: u64::MAX },
            Notice::Stop,
            Notice::Stopped,
            Notice::Begin { come: 1 << 40 },
            Notice::Ready { come: 9 },
            Notice::Bye,
        ] {
            let bytes = notice.emit();
            assert_eq!(bytes.len(), NOTICE_BYTES);
            assert_eq!(Notice::parse(&bytes), Some(notice));
            assert_eq!(Notice::parse(&bytes[1..]), None);
        }
        assert_eq!(Notice::parse(&[0; NOTICE_BYTES]), None);
    }
}

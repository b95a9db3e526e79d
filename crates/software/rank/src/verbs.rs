//! A program's calls of verbs, as its library makes them.

/// Words that an answer tells beside its code.
pub const WORDS: usize = 6;

/// Result of a call of verbs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerbsAnswer {
    /// 0, the status of a completion, or a negative error number.
    pub code: i32,
    /// Further results.
    pub words: [u64; WORDS],
}

impl VerbsAnswer {
    /// An error number.
    pub fn error(number: i32) -> VerbsAnswer {
        VerbsAnswer { code: -number, ..VerbsAnswer::default() }
    }
    /// One word.
    pub fn word(word: u64) -> VerbsAnswer {
        VerbsAnswer { code: 0, words: [word, 0, 0, 0, 0, 0] }
    }
}

/// Executor of a program's verbs, in the fibre of its rank.
pub trait Verbs {
    /// Carries out a call (`abi::rank::verbs_call`) with its arguments.
    fn call(&self, call: u32, arguments: &[u64]) -> VerbsAnswer;
    /// The program has ended.
    fn close(&self);
}

/// The answer to any call where no card has verbs.
pub(crate) fn without_card() -> VerbsAnswer {
    VerbsAnswer::error(libc::ENODEV)
}

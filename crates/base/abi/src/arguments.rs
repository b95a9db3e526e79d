//! Arguments of calls: words that the libraries of programs hand over.

/// Arguments that are read from the words of a call.
pub trait Arguments: Copy {
    /// The arguments in the first words; words behind them are others' (a request's handle).
    fn read(words: &[u64]) -> Self;
}

/// The words that a call has for its arguments.
pub(crate) fn first<const N: usize>(words: &[u64]) -> &[u64; N] {
    words.first_chunk().expect("a call has a word for each argument")
}

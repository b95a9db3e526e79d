//! Errors as MPI sees them: a class and a sentence.

use std::fmt;

/// An MPI error class (`MPI_ERR_...`) and what was wrong, in words that follow "rank 0: MPI_Send:
/// ".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// MPI error class; it is also the error code.
    pub class: i32,
    /// Sentence that says what was wrong and what is allowed.
    pub text: String,
}

impl Error {
    /// An error of `class`.
    pub fn new(class: i32, text: impl Into<String>) -> Error {
        Error { class, text: text.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Error {}

/// Result of an MPI operation.
pub type Result<T> = std::result::Result<T, Error>;

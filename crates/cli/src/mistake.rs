//! A user's mistake.

use std::fmt::Display;
use std::path::Path;

/// What the user did wrong, where, and what to do about it, in one sentence without the final period.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Mistake(pub String);

impl Mistake {
    /// A file that could not be used: `cannot <verb> <path>: <why>`.
    pub fn with_file(verb: &str, path: &Path, why: impl Display) -> Mistake {
        Mistake(format!("cannot {verb} {}: {why}", path.display()))
    }
}

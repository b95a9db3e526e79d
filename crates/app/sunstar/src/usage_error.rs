//! Usage errors.

use std::fmt::Display;
use std::path::Path;

/// Usage error: problem, place and remedy in one sentence without the final period.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

impl UsageError {
    /// Error of a file that could not be used: `cannot <verb> <path>: <why>`.
    pub fn with_file(verb: &str, path: &Path, why: impl Display) -> UsageError {
        UsageError(format!("cannot {verb} {}: {why}", path.display()))
    }
}

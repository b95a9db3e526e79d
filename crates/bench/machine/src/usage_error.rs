//! Mistakes of users.

use std::error::Error;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Mistake of a user: what is wrong, where, and what to do, in one sentence without the final period. Rooms
/// have types of their own for what goes wrong there; here they are one, for whoever only tells it.
#[derive(Clone)]
pub struct UsageError(Arc<dyn Error + Send + Sync>);

impl UsageError {
    /// A sentence that nobody but the user asks for.
    pub fn sentence(text: impl Into<String>) -> UsageError {
        UsageError(Box::<dyn Error + Send + Sync>::from(text.into()).into())
    }
    /// Error of a file that could not be used: `cannot <verb> <path>: <why>`.
    pub fn with_file(verb: &str, path: &Path, why: impl fmt::Display) -> UsageError {
        UsageError::sentence(format!("cannot {verb} {}: {why}", path.display()))
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for UsageError {
    fn from(error: E) -> UsageError {
        UsageError(Arc::new(error))
    }
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

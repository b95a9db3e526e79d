//! Temporary folders of the command.

use crate::usage_error::UsageError;
pub use scratch::Scratch;

/// Makes a folder, whose name has `kind` in it.
pub fn folder(kind: &str) -> Result<Scratch, UsageError> {
    Scratch::new(kind, &[scratch::temporary()])
        .map_err(|why| UsageError::sentence(format!("cannot make a temporary folder: {why}")))
}

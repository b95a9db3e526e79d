//! Files of a run that cannot be written.

use std::io;
use std::path::{Path, PathBuf};

/// File of a run that cannot be written.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum WriteError {
    /// Its folder has no room for what is gathered during the run.
    #[error("cannot write beside {}: {why}", file.display())]
    Beside { file: PathBuf, why: io::Error },
    /// The file itself cannot be written.
    #[error("cannot write {}: {why}", file.display())]
    File { file: PathBuf, why: io::Error },
}

impl WriteError {
    /// Error of a file.
    pub fn of(file: &Path, why: io::Error) -> WriteError {
        WriteError::File { file: file.to_owned(), why }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_is_a_sentence() {
        let (file, why) = (Path::new("a/b"), || io::Error::from_raw_os_error(libc::ENOSPC));
        let cases = [
            (
                WriteError::Beside { file: file.to_owned(), why: why() },
                "cannot write beside a/b: No space left on device (os error 28)",
            ),
            (
                WriteError::of(file, why()),
                "cannot write a/b: No space left on device (os error 28)",
            ),
        ];
        for (error, sentence) in cases {
            assert_eq!(error.to_string(), sentence);
        }
    }
}

//! Output of a guest's program that does not reach the user.

use crate::console::PrintError;
use guest::Ending;
use std::io;

/// Output of a guest's program that does not reach the user. The sentence begins with the guest's name.
#[derive(Debug, thiserror::Error)]
pub(super) enum OutputError {
    /// The guest's files cannot be read.
    #[error("loses what it has written: {0}")]
    Lost(io::Error),
    /// Standard output cannot be written.
    #[error(transparent)]
    Print(#[from] PrintError),
}

impl From<OutputError> for Ending {
    fn from(error: OutputError) -> Ending {
        Ending::Lost(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_is_a_sentence() {
        let full = || io::Error::from_raw_os_error(libc::ENOSPC);
        let cases = [
            (
                OutputError::Lost(full()),
                "loses what it has written: No space left on device (os error 28)",
            ),
            (
                PrintError::Failed(full()).into(),
                "cannot write to standard output: No space left on device (os error 28)",
            ),
        ];
        for (error, sentence) in cases {
            let Ending::Lost(told) = error.into() else { panic!("the guest is lost") };
            assert_eq!(told, sentence);
        }
    }
}

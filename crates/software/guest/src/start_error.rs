//! Sentences about guests that do not start.

use std::{fmt, io};

/// Reason and remedy where the system refuses a process with EAGAIN.
pub(crate) const NO_PROCESS: &str =
    "; the system allows no more processes (ulimit -u, or pids.max of the control group)";
/// Words of a guest's kernel for that, when it wants a process for one of its own.
pub(crate) const REFUSED: &str = "clone failed, errno = 11";

/// Reason for which a guest does not start.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum StartError {
    /// The system has no room for its files.
    #[error("there is no room for a guest's folder: {0}")]
    Folder(io::Error),
    /// The system refuses its process, or a file of it.
    #[error("its process is refused: {0}{advice}", advice = advice(.0))]
    Process(io::Error),
    /// Its kernel has ended before its first message.
    #[error("its kernel has ended at once{0}")]
    Ended(LastWords),
    /// Its kernel says nothing.
    #[error("its kernel does not start{0}")]
    Silent(LastWords),
    /// Its kernel's connection is not taken.
    #[error("{0}")]
    Refused(io::Error),
    /// A connection to its kernel fails.
    #[error("{why}{last}")]
    Connection { why: io::Error, last: LastWords },
    /// Its kernel's first message is another.
    #[error("it does not begin with a START{0}")]
    Greeting(LastWords),
    /// The system has no memory that both can look at.
    #[error("there is no memory to share: {0}")]
    Memory(io::Error),
    /// The system has no file into which nothing is written.
    #[error("/dev/null: {0}")]
    Null(io::Error),
}

/// Advice about a process that the system refuses.
fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::WouldBlock => NO_PROCESS,
        _ => "",
    }
}

/// The end of a sentence about a guest: its console's last line, if there is any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastWords {
    line: Option<String>,
    /// The kernel has been refused a process.
    refused: bool,
}

impl LastWords {
    pub(crate) fn of(console: &str) -> LastWords {
        let line = console.lines().map(str::trim).rfind(|line| !line.is_empty());
        LastWords { line: line.map(str::to_owned), refused: console.contains(REFUSED) }
    }
}

impl fmt::Display for LastWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(last) = &self.line else { return Ok(()) };
        let advice = if self.refused { NO_PROCESS } else { "" };
        write!(f, " (its console says last: {last}){advice}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_a_sentence() {
        let failed = || io::Error::other("it is full");
        let last = || LastWords::of("Linux version 6\n  panic! \n\n");
        let said = " (its console says last: panic!)";
        let cases = [
            (
                StartError::Folder(failed()),
                "there is no room for a guest's folder: it is full".to_owned(),
            ),
            (StartError::Process(failed()), "its process is refused: it is full".to_owned()),
            (
                StartError::Process(io::Error::from_raw_os_error(libc::EAGAIN)),
                format!(
                    "its process is refused: Resource temporarily unavailable (os error \
                     11){NO_PROCESS}"
                ),
            ),
            (StartError::Ended(last()), format!("its kernel has ended at once{said}")),
            (StartError::Silent(last()), format!("its kernel does not start{said}")),
            (StartError::Silent(LastWords::of("\n")), "its kernel does not start".to_owned()),
            (
                StartError::Silent(LastWords::of("clone failed, errno = 11\n")),
                "its kernel does not start (its console says last: clone failed, errno = 11); the \
                 system allows no more processes (ulimit -u, or pids.max of the control group)"
                    .to_owned(),
            ),
            (StartError::Refused(failed()), "it is full".to_owned()),
            (StartError::Connection { why: failed(), last: last() }, format!("it is full{said}")),
            (StartError::Greeting(last()), format!("it does not begin with a START{said}")),
            (StartError::Memory(failed()), "there is no memory to share: it is full".to_owned()),
            (StartError::Null(failed()), "/dev/null: it is full".to_owned()),
        ];
        for (error, sentence) in cases {
            assert_eq!(error.to_string(), sentence);
        }
    }
}

//! End of a process.

use std::fmt;

/// End of a process, and the phase that its rank had reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExitStatus {
    /// Exit code, if it was not killed.
    pub code: Option<i32>,
    /// Signal that killed it.
    pub signal: Option<i32>,
    /// `MPI_Init` had returned.
    pub initialized: bool,
    /// `MPI_Finalize` had returned.
    pub finalized: bool,
    /// `PtlInit` had returned.
    pub portals: bool,
}

impl ExitStatus {
    /// Status of a rank that has done everything.
    pub const FINISHED: ExitStatus = ExitStatus {
        code: Some(0),
        signal: None,
        initialized: true,
        finalized: true,
        portals: false,
    };
}

impl fmt::Display for ExitStatus {
    /// Formats the end of a sentence: `exited with code 3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.signal) {
            (_, Some(signal)) => write!(f, "was killed by {}", signal_name(signal)),
            (Some(code), None) => write!(f, "exited with code {code}"),
            (None, None) => f.write_str("ended"),
        }
    }
}

/// `SIGSEGV (segmentation fault)`.
fn signal_name(signal: i32) -> String {
    let (name, meaning) = match signal {
        libc::SIGABRT => ("SIGABRT", "it called abort"),
        libc::SIGALRM => ("SIGALRM", "a timer that it does not handle"),
        libc::SIGBUS => ("SIGBUS", "a bad memory access"),
        libc::SIGFPE => ("SIGFPE", "an arithmetic error"),
        libc::SIGHUP => ("SIGHUP", "hang-up"),
        libc::SIGILL => ("SIGILL", "an illegal instruction"),
        libc::SIGINT => ("SIGINT", "interrupted"),
        libc::SIGKILL => ("SIGKILL", "killed, perhaps for want of memory"),
        libc::SIGPIPE => ("SIGPIPE", "nobody read its output"),
        libc::SIGSEGV => ("SIGSEGV", "an access to memory that it does not have"),
        libc::SIGTERM => ("SIGTERM", "terminated"),
        libc::SIGXFSZ => ("SIGXFSZ", "a file larger than ulimit -f allows"),
        _ => return format!("signal {signal}"),
    };
    format!("{name} ({meaning})")
}

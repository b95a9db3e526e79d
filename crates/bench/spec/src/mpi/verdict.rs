//! A broken rule, for people.

use std::fmt;

/// The rules. Sections are those of MPI 5.0.
pub(super) mod rule {
    pub const WANTED: &str = "MPI 5.0 s3.2.4: a receive gets a message that it wants";
    pub const STATUS: &str = "MPI 5.0 s3.2.5: the status tells source, tag and size of the message";
    pub const BYTES: &str = "MPI 5.0 s3.2: what is received is what was sent";
    pub const SYNCHRONOUS: &str =
        "MPI 5.0 s3.4: a synchronous send ends after a matching receive has begun";
    pub const SENDERS: &str =
        "MPI 5.0 s3.5 (order): of two messages that a receive wants, that sent first comes first";
    pub const RECEIVES: &str =
        "MPI 5.0 s3.5 (order): of two receives that want a message, the one begun first gets it";
    pub const ONCE: &str = "MPI 5.0 s3.5: each message that was sent is received once";
    pub const PROGRESS: &str =
        "MPI 5.0 s3.5 (progress): a receive that wants a message that was sent ends";
    pub const PROBE: &str = "MPI 5.0 s3.8.1: a probe finds the message that a receive would get";
    pub const TAKEN: &str =
        "MPI 5.0 s3.8.2: a message that was taken is received once, by its handle";
    pub const CANCEL: &str = "MPI 5.0 s3.8.4: a receive is either cancelled or gets its message";
    pub const END: &str = "MPI 5.0 s3.7.3: an operation ends once";
}

/// A rule was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Rank in the world of the process to which it showed.
    pub rank: u32,
    /// Time, in picoseconds of simulated time.
    pub at: u64,
    /// The rule.
    pub rule: &'static str,
    /// Description of the event, with both messages if there are two.
    pub what: String,
}

/// A time, for people.
pub(super) fn time(ps: u64) -> String {
    format!("{}.{:06} us", ps / 1_000_000, ps % 1_000_000)
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Broken { rank, at, rule, what } = self;
        write!(f, "the judge of MPI: rank {rank}, at {}: {what} [{rule}]", time(*at))
    }
}

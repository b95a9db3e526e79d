//! Number of comparisons.

/// Comparisons so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Calls that concern objects, and operations.
    pub calls: u64,
    /// Events that processes took.
    pub events: u64,
    /// Messages and local operations that reached their node.
    pub messages: u64,
    /// Payload bytes.
    pub bytes: u64,
    /// Judges that have fallen silent: links that fail excuse all that follows.
    pub silent: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.calls += other.calls;
        self.events += other.events;
        self.messages += other.messages;
        self.bytes += other.bytes;
        self.silent += other.silent;
    }
}

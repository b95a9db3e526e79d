//! What a bus has been used for.

/// Use of the bus so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Cycles in all.
    pub cycles: u64,
    /// Cycles in which nobody had a transaction.
    pub idle_cycles: u64,
    /// Data phases.
    pub data_cycles: u64,
    /// Transactions that were begun.
    pub transactions: u64,
    /// Of them, those that were retried,
    pub retries: u64,
    /// answered with Split Response,
    pub splits: u64,
    /// ended before their last byte,
    pub disconnects: u64,
    /// and those that nobody claimed.
    pub aborts: u64,
    /// Data phases whose parity was wrong.
    pub parity_errors: u64,
}

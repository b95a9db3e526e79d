//! Counters of a bus.

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
    /// Transactions that were retried.
    pub retries: u64,
    /// Transactions answered with Split Response.
    pub splits: u64,
    /// Transactions ended before their last byte.
    pub disconnects: u64,
    /// Transactions that nobody claimed.
    pub aborts: u64,
    /// Data phases whose parity was wrong.
    pub parity_errors: u64,
}

//! Instruments, which show how time was spent. Nodes report events to their instruments; nothing simulated
//! depends on them.
//!
//! ```text
//!   stages: pieces in hardware ────► journal: which message it was, and where
//!   journal: the marks of messages ─► journey: the breakdown of their time
//!            calls of ranks ────────► account: the breakdown of theirs
//!   timeline: what happens when ─► perfetto: a trace (by a spool)
//!   journey, account ────────────► tables: a row each (by a spool)
//!   packets ─────────────────────► capture: a pcapng file (by a spool)
//! ```
//!
//! Those that look into one model's parts are in its crate (`model-seastar`: its meter).

pub mod account;
pub mod calls;
pub mod capture;
pub mod journal;
pub mod message_trace;
pub mod perfetto;
pub mod progress;
pub mod spool;
pub mod stages;
pub mod tables;
pub mod timeline;
pub mod write_error;

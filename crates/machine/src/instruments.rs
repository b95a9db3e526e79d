//! What shows where time went. Nodes tell their instruments what happens; nothing simulated depends on them.
//!
//! ```text
//!   journal: the marks of messages ─► journey: the breakdown of their time
//!            calls of ranks ────────► account: the breakdown of theirs
//!   timeline: what happens when ─► perfetto: a trace (by a spool)
//!   journey, account ────────────► tables: a row each (by a spool)
//!   packets ─────────────────────► capture: a pcapng file (by a spool)
//! ```
//!
//! Those that look into one model's parts are in its room (`seastar`: recorder, profile, meter).

pub mod account;
pub(crate) mod calls;
pub(crate) mod capture;
pub(crate) mod journal;
pub mod journey;
pub mod perfetto;
pub(crate) mod spool;
pub mod tables;
pub mod timeline;

//! What shows where time went. Nodes tell their instruments what happens; nothing simulated depends on them.
//!
//! ```text
//!   journal: the marks of messages ─► journey: the breakdown of their time
//!   recorder: what the processor does ─► profile: cycles by function, line and call path
//!   timeline: what happens when ─► perfetto: a trace (by a spool)
//!   capture: packets, for a pcapng file (by a spool)
//!   meter: what a run costs the machine that simulates
//! ```

pub(crate) mod capture;
pub(crate) mod journal;
pub mod journey;
pub mod meter;
pub mod perfetto;
pub mod profile;
pub(crate) mod recorder;
pub(crate) mod spool;
pub mod timeline;

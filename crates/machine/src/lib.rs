//! The bench: a machine file becomes nodes, a program runs on them, and a report is left.
//!
//! ```text
//! parameters, faults ─► configure ─► run ─► node (one a logical process) ─► report, journey, counters
//!                                     │    ├─ warm: one boot for all nodes; shelf keeps it for later runs
//!                                     │    └─ programs: the ranks; placement: where; journal: their marks
//!                                     │    └─ seam: what host, NIC, processor and router ask of one another
//!                                     │    └─ judge: what happens, for the specification
//!                                     │    └─ capture: the packets, for a pcapng file (by a spool)
//!                                     │    └─ timeline: what happens over time, for watchers ─► perfetto
//!                                     │    └─ debugger: gdb on the processor, which waits meanwhile
//!                                     │    └─ recorder: the profiler's sums, which become a profile
//!                                     └─ firmware_image, symbols, tracedump: the firmware and its ELF
//! ```

mod allocator;
mod capture;
mod configure;
mod counters;
pub mod debugger;
mod digest;
mod echo;
pub mod faults;
pub mod firmware_image;
mod journal;
pub mod journey;
mod judge;
mod local_bus;
pub mod meter;
mod node;
pub mod parameters;
pub mod perfetto;
mod placement;
pub mod probe;
pub mod profile;
mod programs;
pub mod quantity;
mod recorder;
pub mod report;
mod run;
mod seam;
mod shelf;
mod spool;
pub mod symbols;
mod system;
pub mod timeline;
pub mod tracedump;

pub use digest::digest;
pub use programs::Program;
pub use run::{check, check_node, run, Mistake, Options, Outcome};

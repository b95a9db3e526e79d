//! The bench: a machine file becomes nodes, a program runs on them, and a report is left.
//!
//! ```text
//! parameters, faults ─► configure ─► run ─► node (one a logical process) ─► report
//!                                     │    ├─ seam: what host, NIC, processor and router ask of one another
//!                                     │    ├─ warm: one boot for all nodes, kept for later runs
//!                                     │    ├─ programs: the ranks, and where they stand
//!                                     │    ├─ instruments: where time went, for reports, traces and profiles
//!                                     │    ├─ judge: what happens, for the specification
//!                                     │    └─ debugger: gdb on the processor, which waits meanwhile
//!                                     └─ firmware: its image, its symbols, its trace
//! ```

// What is printed must not end us where it cannot be written: `console` prints.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod allocator;
mod configure;
pub mod console;
pub mod debugger;
mod digest;
pub mod faults;
pub mod firmware;
pub mod input;
pub mod instruments;
mod judge;
mod node;
pub mod parameters;
pub mod probe;
mod programs;
pub mod report;
mod run;

pub use digest::digest;
pub use programs::{Executable, Program};
pub use run::{check, check_node, run, Mistake, Options, Outcome};

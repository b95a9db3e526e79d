//! The bench: a machine file becomes nodes, a program runs on them, and a report is left.
//!
//! ```text
//! parameters ─► a model (nic.model chooses one) ─► bench ─► run ─► report
//!                 │                                 ├─ programs: the ranks, and where they stand
//!                 │                                 ├─ instruments: where time went
//!                 │                                 ├─ firmware: functions, lines and cycles of processors
//!                 │                                 └─ judge: what happens, for the specification
//!                 └─ node: a node of any network interface that is a `Nic`
//! ```
//!
//! It names no model: each is a crate of its own, which stands on what is `pub` here and gives a row
//! ([`models::Model`]). The crate `models` has the list of them.

// What is printed must not end us where it cannot be written: `console` prints.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod allocator;
pub mod bench;
pub mod console;
mod digest;
pub mod effort;
pub mod faults;
pub mod firmware;
pub mod input;
pub mod instruments;
pub mod judge;
pub mod models;
pub mod node;
pub mod parameters;
pub mod programs;
pub mod report;
mod run;
pub mod system;

pub use digest::digest;
pub use models::{check, check_node, run};
pub use programs::{Executable, Program};
pub use run::{Inspector, Mistake, Options, Outcome, Progress, Rtl, Wave};

//! The bench: it builds nodes from a machine file, runs a program on them, and reports.
//!
//! ```text
//! parameters ─► a model (nic.model chooses one) ─► bench ─► run ─► report
//!                 │                                 ├─ programs: the ranks and their placement
//!                 │                                 ├─ instruments: breakdowns of time
//!                 │                                 ├─ firmware: functions, lines and cycles of processors
//!                 │                                 └─ judge: reports events to the specification
//!                 └─ node: a node of any network interface that is a `Nic`
//! ```
//!
//! It names no model: each is a crate of its own, which uses the public items here and provides a row
//! ([`models::Model`]). The crate `models` has the list of them.

// What is printed must not end us where it cannot be written: `console` prints.
#![deny(clippy::print_stdout, clippy::print_stderr)]

#[macro_use]
pub mod parameters;
mod allocator;
pub mod bench;
pub mod console;
pub mod device_memory;
mod digest;
pub mod effort;
pub mod faults;
pub mod firmware;
pub mod instruments;
pub mod judge;
pub mod models;
pub mod node;
pub mod placement;
pub mod programs;
pub mod remains;
pub mod report;
mod run;
pub mod suggestion;
pub mod system;
mod usage_error;

pub use digest::digest;
pub use files::input;
pub use instruments::progress::Progress;
pub use models::{check, check_node, run};
pub use programs::{Executable, Program};
pub use run::{Inspector, Observers, Options, Outcome, Places, Rtl, Shortcuts, Wave};
pub use usage_error::UsageError;

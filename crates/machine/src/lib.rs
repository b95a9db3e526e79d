//! The bench: a machine file becomes nodes, a program runs on them, and a report is left.
//!
//! ```text
//! parameters ─► configure ─► run ─► node (one a logical process) ─► report, journey
//!                             │       └─ seam: what host, NIC, processor and router ask of one another
//!                             └─ firmware_image, symbols, tracedump: the firmware and its ELF
//! ```

mod configure;
mod counters;
mod faults;
pub mod firmware_image;
pub mod journey;
mod node;
pub mod parameters;
pub mod probe;
mod programs;
pub mod quantity;
pub mod report;
mod run;
mod seam;
pub mod symbols;
pub mod tracedump;

pub use run::{run, Mistake, Options, Outcome};

//! The bench: a machine file becomes nodes, a program runs on them, and a report is left.
//!
//! ```text
//! parameters ─► models (nic.model chooses one) ─► bench ─► run ─► report
//!                 │                                 ├─ programs: the ranks, and where they stand
//!                 │                                 ├─ instruments: where time went
//!                 │                                 ├─ firmware: functions, lines and cycles of processors
//!                 │                                 └─ judge: what happens, for the specification
//!                 ├─ node: a node of any network interface that is a `Nic`
//!                 ├─ pcibus: a node's PCI bus, for the models whose card stands on one
//!                 ├─ ideal: one of constants (LogGP)
//!                 ├─ example: the one of docs/adding-a-nic.md
//!                 ├─ rdma: an RDMA NIC on PCI-X, cycle by cycle, with host software of its own
//!                 ├─ myrinet: cards with a LANai, source-routed switches
//!                 ├─ offload: an interface that keeps MPI's queues, with or without matching units
//!                 ├─ seastar: the SeaStar with its processor, its firmware and its network
//!                 └─ powerpc: the processor that both have
//! ```

// What is printed must not end us where it cannot be written: `console` prints.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod allocator;
mod bench;
pub mod console;
mod digest;
mod example;
pub mod faults;
pub mod firmware;
mod ideal;
pub mod input;
pub mod instruments;
mod judge;
pub mod models;
pub mod myrinet;
pub mod node;
mod offload;
pub mod parameters;
mod pcibus;
mod powerpc;
mod programs;
mod rdma;
pub mod report;
mod run;
pub mod seastar;
mod system;

pub use digest::digest;
pub use models::{check, check_node, run};
pub use programs::{Executable, Program};
pub use run::{Mistake, Options, Outcome, Progress, Rtl, Wave};

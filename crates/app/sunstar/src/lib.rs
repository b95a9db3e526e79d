//! Runs on simulated machines, for programs in Rust: what `sunstar run` does, and its command is made of
//! (`examples/kernels.rs`, and docs/library.md with what it prints).
//!
//! A machine is one of Sunstar's or a file of your own; a program is a built-in workload, an executable that
//! `sunstar cc` has linked, or a source. What it prints goes to this process's streams. A bad name, value or
//! file is an [`Error`] of one sentence; a program or firmware that fails is in the report
//! ([`Report::exit`](machine::report::Report::exit)). Sunstar's own files are looked for beside this
//! process's, or in `$SUNSTAR_ROOT`.

#![deny(unsafe_op_in_unsafe_fn)]

pub mod cache;
pub mod compiler;
pub mod firmware;
pub mod fortran;
pub mod guest;
pub mod machines;
pub mod mpi;
pub mod program;
pub mod root;
mod run;
pub mod scratch;
pub mod tools;
pub mod usage_error;

pub use machine::report::Report;
pub use machine::Outcome;
pub use run::{options, Machine, Program, Run};
pub use usage_error::UsageError as Error;

//! The core against its oracles.
//!
//! | module | oracle | what |
//! |---|---|---|
//! | `assembler` | `llvm-mc` | every row of the table, and random words: what is an instruction, and which |
//! | `compiled` | QEMU's PowerPC | C that csmith makes, at four levels of optimisation |
//! | `definitions` | the description, written down again | every row, on random operands |
//!
//! `coverage` counts and writes docs/reference/lanai-coverage.md.
#![allow(clippy::unwrap_used)]

mod assembler;
mod compiled;
mod coverage;
mod definitions;
#[path = "../support/mod.rs"]
mod support;

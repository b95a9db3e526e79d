//! The core against its oracles (DESIGN.md): programs that both execute must leave the same
//! registers and memory behind.
//!
//! | module | oracle | what |
//! |---|---|---|
//! | `user` | QEMU's 440 in user mode | user-level instructions, big-endian |
//! | `bamboo` | QEMU's 440 on its bamboo board | system instructions, exceptions, translation |
//! | `little` | QEMU's 7400 with MSR[LE] on its g3beige board | the common subset, little-endian |
//! | `order` | the big-endian access | every load and store in a little-endian page |
//! | `definitions` | the manual, written down again | what QEMU has wrong or not |
//! | `compiled` | the same C on this machine | little-endian C |
//!
//! `coverage` counts and writes docs/reference/ppc440-coverage.md.
//!
//! A random program is a series of cases. Each case sets all registers from its block of the data,
//! executes some random instructions, and stores all registers into the block. The whole data
//! region is compared at the end. The instructions are encoded here, independently of the core's
//! own table.
#![allow(clippy::unwrap_used)]

mod bamboo;
mod compiled;
mod coverage;
mod definitions;
mod image;
mod little;
mod order;
mod privileged;
#[path = "../support/program.rs"]
mod program;
mod random;
mod single;
#[path = "../support/mod.rs"]
mod support;
mod system;
mod user;

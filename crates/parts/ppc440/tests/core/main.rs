//! The core by itself: each module is about one of its contracts. One binary, because all of them need the
//! core on the same few buses (docs/decisions/0029-test-profile.md).
#![allow(clippy::unwrap_used)]

mod caches;
mod coherence;
mod debug;
mod endian;
mod exceptions;
mod horizon;
mod idle_loop;
mod instructions;
#[path = "../support/polled.rs"]
mod polled;
mod probe;
#[path = "../support/program.rs"]
mod program;
#[path = "../support/mod.rs"]
mod support;
mod timing;
mod translate;

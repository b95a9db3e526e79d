//! Library and kernel's driver on two simulated hosts, without the real network interface.

#![allow(clippy::unwrap_used)] // A test may panic anywhere.

mod atomic;
mod bench;
mod exhaustion;
mod messages;
#[cfg(debug_assertions)] // A release has no such bugs.
mod mutants;
mod observation;
mod overflow;

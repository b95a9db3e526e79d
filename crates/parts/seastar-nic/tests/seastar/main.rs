//! The network interface from outside, on a small bench.

#![allow(clippy::unwrap_used)] // A test may panic anywhere.

mod bench;
mod cam;
mod fuzz_engines;
mod local_bus;
mod messages;
mod registers;

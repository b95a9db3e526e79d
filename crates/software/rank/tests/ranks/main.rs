//! Ranks as processes: programs under a simulator that a test plays itself.

#![allow(clippy::unwrap_used)] // Helpers of tests, too.

mod agent;
mod channel;
mod endless;
mod hand_over;
mod harness;
mod launch;
mod library;
mod memory;
mod moved;
mod process;
mod reference;
mod ring;
mod send;
mod shared;
mod template;
mod wait;

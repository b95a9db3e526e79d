//! The associative list processing unit of brightwell2005: its specification (`Spec`), and a model cycle by
//! cycle (`Alpu`); and a judge of any unit with the same ports (`Judge`). `rtl/alpu/PORTS.md` is the contract
//! between the cycle model and the RTL.

#[cfg(test)]
mod cells;
mod config;
mod fifo;
mod judge;
mod spec;
mod store;
mod types;
mod unit;

pub use config::{Config, ConfigError};
pub use judge::{Judge, Violation};
pub use spec::Spec;
pub use types::{Command, Entry, QueueKind, Request, Response};
pub use unit::{Alpu, Inputs, Outputs, Waiting};

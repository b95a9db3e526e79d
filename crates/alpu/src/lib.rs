//! The associative list processing unit of brightwell2005: what it does (`Spec`), and when, cycle
//! by cycle (`Alpu`). `rtl/alpu/PORTS.md` is the contract between the cycle model and the RTL.

#[cfg(test)]
mod cells;
mod config;
mod fifo;
mod spec;
mod store;
mod types;
mod unit;

pub use config::Config;
pub use spec::Spec;
pub use types::{Command, Entry, Kind, Request, Response};
pub use unit::{Alpu, Inputs, Outputs, Waiting};

//! The PowerPC 440 processor core: semantics, caches, TLB and timing over a [`bus::Bus`].

mod core;
mod fault;
mod timing;

pub use crate::core::{Config, Core, Counters, Stop};
pub use fault::{Fault, FaultKind};
pub use timing::Timing;

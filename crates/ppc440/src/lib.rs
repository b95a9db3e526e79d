//! The PowerPC 440 processor core: semantics, caches, TLB and timing over a [`bus::Bus`].

mod arrays;
mod caches;
mod core;
mod decode;
mod exception;
mod fault;
mod flow;
mod instructions;
mod integer;
mod memory;
mod multiply;
mod predictor;
mod registers;
mod special;
mod system;
mod timing;
mod tlb;

pub use crate::core::{Config, Core, Counters, Stop};
pub use decode::mnemonic;
pub use fault::{Fault, FaultKind};
pub use registers::{MSR_CE, MSR_DE, MSR_DS, MSR_EE, MSR_IS, MSR_ME, MSR_PR, MSR_WE};
pub use special::spr;
pub use timing::Timing;
pub use tlb::{TlbEntry, TLB_E, TLB_G, TLB_I, TLB_SUPERVISOR, TLB_TS, TLB_USER, TLB_VALID, TLB_W};

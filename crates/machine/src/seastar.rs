//! The model of the SeaStar: its node, its firmware, and how both become a run (pedretti2005).
//!
//! ```text
//! configure ─► assembly ─► node (host, NIC with its processor, router)
//!                │           ├─ seam: what host, NIC, processor and router ask of one another
//!                │           └─ warm: one boot for all nodes
//!                ├─ boot, shelf: that boot, kept for later runs
//!                └─ firmware: its image, its symbols, its trace
//! ```

pub(crate) mod assembly;
mod boot;
pub(crate) mod configure;
pub mod debugger;
pub mod firmware;
pub(crate) mod node;
pub mod probe;
mod rows;
pub(crate) mod run;
mod shelf;
#[cfg(test)]
mod tests;

pub(crate) use rows::ROWS;

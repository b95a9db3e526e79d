//! PCI and PCI-X between a host bridge and its devices, cycle by cycle.
//!
//! A transaction is a sequence of phases (address, attribute, response, data, turn-around), each of which
//! takes whole cycles; nothing else has a duration, except for the bridge's memory ([`Params::split`]).
//!
//! ```text
//!  host ── WriteCombiner ── Bridge ══ Bus ══ ConfigSpace ── Device (the chip: registers, DMA engine)
//!                             │        └──── Cycle ──► Monitor
//!                          HostMemory
//! ```
//!
//! The chip sees the user side of its PCI core ([`DeviceIn`], [`DeviceOut`]): what the bus does to it in a
//! cycle, and what it wants. Decoding of addresses, configuration space, retries and delayed reads are the
//! core's.

#![forbid(unsafe_code)]

mod bridge;
mod bus_cycles;
mod combine;
mod config;
mod counters;
mod cycle;
mod device;
mod function;
mod lanes;
mod memory;
mod monitor;
pub mod node;
mod params;
pub mod pins;
mod transaction;

pub use bridge::{Bridge, HostRead, ReadValue};
pub use bus_cycles::Bus;
pub use combine::{Burst, WriteCombiner, LINE};
pub use config::{register, ConfigSpace};
pub use counters::Counters;
pub use cycle::{Agent, Command, Cycle, Ending, Phase};
pub use device::{Completion, Device, DeviceIn, DeviceOut, Ended};
pub use device::{Operation, Request, TargetRead, TargetWrite};
pub use function::{Function, Identity};
pub use memory::HostMemory;
pub use monitor::{Monitor, Violation};
pub use params::{Bug, Params, Protocol, Split, BLOCK, WORD};

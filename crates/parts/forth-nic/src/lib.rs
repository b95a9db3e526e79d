//! The RDMA NIC of marazakis2006, cycle by cycle in both of its clocks.
//!
//! ```text
//!            bus's clock (pci::Device)             │            lanes' clock (Nic::link_clock)
//!  request queue ─► fetch: split reads ─► words ───┼► store and forward ─► packets ─► LinkTx
//!  registers        notifications     messages ───┼►   credits (CreditSender)
//!  interrupt  ◄─ deposit: cut-through writes ◄─────┼─ receive FIFO ◄─ Parser ◄────── LinkRx
//!                              words freed ───────┼► credits (CreditReceiver) ─► LinkTx
//! ```
//!
//! Debugging aids stand at both ends of both FIFOs (`aids`). The NIC has no processor. [`Spec`] says what
//! it does and nothing of when.

#![forbid(unsafe_code)]

mod account;
mod aids;
mod bindings;
mod credit;
mod fifo;
mod host_side;
mod link_side;
mod nic;
mod packet;
mod params;
mod spec;
mod sync;

pub use account::Account;
pub use aids::Transceiver;
pub use credit::{CreditReceiver, CreditSender};
pub use fifo::Fifo;
pub use host_side::HostCounters;
pub use link_side::LinkCounters;
pub use nic::{Arrival, Nic};
pub use packet::{Entry, Header, Parser};
pub use params::{Bug, Estimate, Params, LINK_HZ};
pub use spec::{Extent, RemoteWrite, Spec, Violation};

//! The RTL of the RDMA NIC (`rtl/rdma`) and of its crossbar (`rtl/crossbar`), verilated, with the interfaces
//! of their models: a bench runs the one or the other.
//!
//! It is cut at the user side of the PCI core and at the transceivers (docs/decisions/0069): bus, bridge,
//! elastic buffers and cables stay models.

mod nic;
mod switch;

pub use nic::{Nic, NicDesign};
pub use switch::{Switch, SwitchDesign};
pub use verilated::{Place, Unbuilt};

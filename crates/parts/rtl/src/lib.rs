//! The RTL of the RDMA NIC (`rtl/rdma`), of its crossbar (`rtl/crossbar`) and of the matching units
//! (`rtl/alpu`), verilated, with the interfaces of their models: a bench runs the one or the other.
//!
//! The NIC is cut at the user side of the PCI core and at the transceivers (docs/decisions/0069): bus,
//! bridge, elastic buffers and cables stay models. A unit is cut at its ports (docs/decisions/0078).

mod nic;
mod recorder;
mod switch;
mod trigger;
mod unit;
mod verilated;

pub use nic::{Nic, NicDesign};
pub use recorder::{Capture, Captured, RecordError};
pub use switch::{Switch, SwitchDesign};
pub use trigger::{Sign, Trigger, TriggerError, EVENTS};
pub use unit::{Pins, Unit, UnitDesign};
pub use verilated::{Design, DesignPaths, Library, Unbuilt};

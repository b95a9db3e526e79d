//! The host of a node: a processor of one or more cores whose software runs as fibres on simulated time, and
//! its memory.
//!
//! Host software (kernel, libraries, a rank's agent) is ordinary Rust code in a fibre. It calls [`Cpu`] to
//! let simulated time pass, to reach the NIC and to wait; everything else it does takes no simulated time.
//! The host itself is passive: the node calls [`Host::handle`], [`Host::interrupt`] and
//! [`Host::mmio_reply`] with the time, and the host answers through [`Ports`].
//!
//! Nothing here depends on host addresses, hash order or real time: the behaviour of fibres is a pure
//! function of the calls of [`Host`] and of their times.

mod accounting;
mod core;
mod costs;
mod cpu;
mod fibre;
mod host;
mod lock;
mod memory;
mod pace;
mod pages;
mod processor;
mod regions;
mod scatter;
mod shared;
mod space;

/// Most bytes of an access to a device, which stand within as many that are aligned.
pub const LINE: usize = 64;

pub use crate::accounting::{Class, Observer, Times};
pub use crate::costs::Costs;
pub use crate::cpu::{Cpu, Waker};
pub use crate::fibre::{FibreId, FibreState, MAPPINGS_PER_FIBRE};
pub use crate::host::{Event, Fault, Host, Ports};
pub use crate::lock::Lock;
pub use crate::memory::{Memory, SharedMemory, LIBRARY_BASE, LIBRARY_MAX};
pub use crate::pace::{Pace, Speed, Spell};
pub use crate::pages::{Extent, Paging, SpaceId, PAGE_SIZE, PHYSICAL_BITS, SEGMENT_SIZE};
pub use crate::space::{read_each, write_each, AddressSpace};

//! Portals 3.3: the library (`library`), the kernel's driver for the SeaStar (`nal`), and what a process
//! calls (`Ni`).

mod api;
pub mod library;
mod nal;
mod plant;

pub use api::{Ni, Polled, Target};
pub use library::{
    option, AccessEntry, AckRequest, Atomic, Criteria, EqHandle, Error, Event, EventKind, IoVec,
    Limits, Md, MdHandle, MeHandle, Next, NiFail, Position, ProcessId, Region, StatusRegister,
    Unlink, JID_ANY, NID_ANY, PID_ANY, PT_INDEX_ANY, THRESH_INF, UID_ANY,
};
pub use nal::{
    Asked, Bridge, Config, Costs, Counters, Fate, Kernel, Mark, ObjectCall, Observer, PendingsMax,
    Pools, Reaction, Returned, System, Told, Unobserved,
};
#[cfg(debug_assertions)]
pub use plant::plant;
pub use plant::Plant;

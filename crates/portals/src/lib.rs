//! Portals 3.3: the library (`library`), the kernel's driver for the SeaStar (`nal`), and what a process
//! calls (`Ni`).

mod api;
pub mod library;
mod nal;

pub use api::{Ni, Polled, Target};
pub use library::{
    option, AccessEntry, AckRequest, Atomic, Criteria, EqHandle, Error, Event, EventKind, IoVec,
    Limits, Md, MdHandle, MeHandle, Next, NiFail, Position, ProcessId, Region, StatusRegister,
    Unlink, JID_ANY, NID_ANY, PID_ANY, PT_INDEX_ANY, THRESH_INF, UID_ANY,
};
pub use nal::{
    Bridge, Config, Costs, Counters, Kernel, Mark, Observer, PendingsMax, System, Unobserved,
};

//! Portals 3.3: the library (`library`), the kernel that serves processes with it (`kernel`), its drivers
//! of network interfaces (`nal`), and what a process calls (`Ni`).

#![forbid(unsafe_code)]

mod api;
mod kernel;
pub mod library;
mod mutant;
mod nal;

pub use api::{GroupStep, Ni, Polled, Reduced, Target};
pub use kernel::{
    Asked, Begun, Bridge, Config, Costs, Counters, Fate, Kernel, ObjectCall, Observer, Reaction,
    Returned, Slot, System, Told, TracePoint, Unobserved,
};
pub use library::{
    option, AccessEntry, AckRequest, Atomic, Criteria, EntryPair, EqHandle, Error, Event,
    EventKind, IoVec, Limits, Md, MdHandle, MeHandle, Next, NiFail, OnPortal, Position, ProcessId,
    Region, StatusRegister, Unlink, JID_ANY, NID_ANY, PID_ANY, PT_INDEX_ANY, THRESH_INF, UID_ANY,
};
#[cfg(debug_assertions)]
pub use mutant::{set_mutant, Mutant};
pub use nal::{messages, seastar, Nal, Run, Transmit};

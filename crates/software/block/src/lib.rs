//! Remote block I/O of marazakis2006 (s2.5, s4.4): what initiator and target say to each other, how sectors
//! are dealt to disks, what disks hold, and the time that drives take.
//!
//! ```text
//! initiator ── data of a write ─► pool of buffers           target
//!           ── command ─────────► queue of commands ─► RAID 0 ─► eight disks
//!   buffers ◄─ data of a read ──                      │
//!     queue ◄─ completion ────────────────────────────┘
//! ```
//!
//! A message in a queue tells by a pending flag that it is new ([`Command::emit`]), or head and tail do it.
//! Losses are found out, and sent again, by [`Notice`]s.

#![forbid(unsafe_code)]

mod association;
mod disks;
mod drive;
#[cfg(test)]
mod drive_tests;
mod frame;
mod geometry;
mod message;
mod notice;

pub use association::{Association, GrantError, ASSOCIATION_BYTES};
pub use disks::{Array, DiskKind, Done, DISKS, STRIPE};
pub use drive::{DriveCounts, DriveParams};
pub use frame::{Answer, Ask, ANSWER_BYTES, ASK_BYTES};
pub use message::{is_whole, sum, Command, Completion, Operation, COMMAND_WORDS, COMPLETION_WORDS};
pub use notice::{Notice, NOTICE_BYTES};

/// Bytes of a sector.
pub const SECTOR: u64 = 512;
/// Bytes of a request's data at most; longer ones are cut.
pub const PIECE: u64 = 32 << 10;

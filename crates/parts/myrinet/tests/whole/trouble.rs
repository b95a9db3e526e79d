//! The first thing that goes wrong on a bench.

use des::Time;
use myrinet::{Counters, Deadlock, Stopped, SwitchCounters};
use std::fmt::Debug;

/// The first thing that goes wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    #[error("node {node} {stopped}")]
    Stopped { node: usize, stopped: Stopped },
    #[error("{0} does not come")]
    Missing(String),
    #[error("{what}: {found}, and not {expected}")]
    Other { what: String, found: String, expected: String },
    #[error("{0}")]
    Deadlock(Deadlock),
    #[error("no route")]
    NoRoute,
    #[error("an unknown packet")]
    UnknownPacket,
    // The card.
    #[error("the host has other bytes")]
    HostBytes,
    #[error("the card has other bytes")]
    CardBytes,
    #[error("the sum is another")]
    Sum,
    #[error("{0:?}")]
    Counters(Box<Counters>),
    #[error("{lines:?}, {queue:x?}")]
    Interrupts { lines: Vec<bool>, queue: [u32; 2] },
    // Heartbeat.
    #[error("a whole cable is said to be silent")]
    WholeIsSilent,
    #[error("nobody notices that a cable is cut")]
    CutIsWhole,
    #[error("the cable is silent at {} and {}, before {least}", .ends[0], .ends[1])]
    Early { ends: [Time; 2], least: Time },
    #[error("status {status:#x}, counted {counted:?}")]
    Silences { status: u32, counted: [u64; 2] },
    // Switches.
    #[error("sink {sink} has {found} packets of sender {sender}, or other ones than the {sent}")]
    Sink { sink: usize, sender: usize, found: usize, sent: usize },
    #[error("a switch loses bytes: {counters:?}, {held} inside")]
    SwitchLoses { counters: Box<SwitchCounters>, held: u64 },
    #[error("a packet stands in a switch: {counters:?}, {held} inside")]
    SwitchHolds { counters: Box<SwitchCounters>, held: u64 },
    #[error("{sent} bytes were sent, {came} came")]
    Bytes { sent: u64, came: u64 },
    #[error("{dropped} packets were dropped, and not {lost}")]
    Dropped { dropped: u64, lost: u64 },
}

/// Compares what was found.
pub fn expect<T: PartialEq + Debug>(what: &str, found: T, expected: T) -> Result<(), Trouble> {
    if found == expected {
        return Ok(());
    }
    let [found, expected] = [found, expected].map(|value| format!("{value:?}"));
    Err(Trouble::Other { what: what.to_owned(), found, expected })
}

//! Frames, and their time on a wire.

use des::{Duration, Time};
use std::sync::Arc;

/// Bytes of an address.
pub type Address = [u8; 6];

/// Bytes on the wire before each frame: preamble and delimiter (IEEE 802.3, 3.1.1).
const PREAMBLE: u64 = 8;
/// Bytes of the check sequence behind it.
const CHECK: u64 = 4;
/// Time between two frames, in bytes (4.4.2).
const GAP: u64 = 12;
/// Least bytes of a frame, with its check sequence.
pub(crate) const LEAST: u64 = 64;

/// A frame from its target's address to the end of its payload; the check sequence follows from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame(pub Arc<[u8]>);

impl Frame {
    /// Its bytes with the check sequence.
    pub(crate) fn checked(&self) -> Vec<u8> {
        let mut bytes = self.0.to_vec();
        bytes.extend_from_slice(&crc32fast::hash(&self.0).to_le_bytes());
        bytes
    }
    /// Its target and its source; none if it is shorter than both addresses.
    pub(crate) fn addresses(&self) -> Option<(Address, Address)> {
        let target = self.0.get(..6)?.try_into().ok()?;
        let source = self.0.get(6..12)?.try_into().ok()?;
        Some((target, source))
    }
    /// Digest of the frame, for trace hashes.
    pub fn digest(&self) -> u64 {
        u64::from(crc32fast::hash(&self.0)) << 16 | self.0.len() as u64
    }
}

/// One way of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wire {
    /// Time of a byte.
    pub byte: Duration,
    /// Delay from one end to the other.
    pub delay: Duration,
}

impl Wire {
    /// Time from a frame's first bit to its last.
    pub fn time(&self, frame: &Frame) -> Duration {
        self.byte * (PREAMBLE + (frame.0.len() as u64 + CHECK).max(LEAST))
    }
    /// Time of the shortest frame.
    pub fn least(&self) -> Duration {
        self.byte * (PREAMBLE + LEAST)
    }
    /// Earliest start of the frame behind one that ends at `end`.
    pub(crate) fn free(&self, end: Time) -> Time {
        end + self.byte * GAP
    }
}

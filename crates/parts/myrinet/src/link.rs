//! Links: what crosses them, and the sending end.

use crate::slack::Slack;
use abi::MessageId;
use des::{Duration, Time};

/// Bytes of a slot.
pub(crate) const SLOT: usize = 8;

/// Piece of a packet, up to eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The bytes; only the first `len` count.
    pub bytes: [u8; SLOT],
    /// Number of bytes.
    pub len: u8,
    /// The packet ends here; the last byte is its CRC-8.
    pub ends: bool,
    /// Id of the packet that begins here, if somebody has given it one: beside the packet, not on the wire.
    pub id: Option<MessageId>,
}

impl Slot {
    /// The bytes that count.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// Signal on a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Data.
    Slot(Slot),
    /// Against the data: send no more.
    Stop,
    /// Against the data: send again.
    Go,
    /// The other end lives.
    Beat,
}

impl Signal {
    /// Bytes of packets in it.
    pub fn bytes(&self) -> u64 {
        match self {
            Signal::Slot(slot) => slot.len.into(),
            Signal::Stop | Signal::Go | Signal::Beat => 0,
        }
    }
}

/// Costs and capacities of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// A byte on the wire: 4 ns at 2 Gb/s (vorakosit2001 s2).
    pub byte: Duration,
    /// Time from one end of the cable to the other.
    pub delay: Duration,
    /// Bytes in the slack buffer when STOP is sent.
    pub stop: u32,
    /// Bytes in it when GO is sent.
    pub go: u32,
    /// Time between two BEATs.
    pub beat: Duration,
    /// So many BEATs without anything, and the cable is silent.
    pub beats_missed: u32,
}

/// Parameters with which no link works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum ParamsError {
    /// GO would be sent before STOP.
    #[error("GO at {go} bytes is not below STOP at {stop}")]
    Marks { stop: u32, go: u32 },
    /// A whole cable would be silent.
    #[error("a cable is silent when more than one beat is missed")]
    Beats,
    /// The link is infinitely fast.
    #[error("a byte takes no time")]
    Byte,
}

impl Params {
    /// A link of 2 Gb/s with a cable of this delay. Marks and heartbeat: assumed.
    pub fn new(delay: Duration) -> Params {
        let (beat, beats_missed) = (Duration::from_us(10), 4);
        Params { byte: Duration(4000), delay, stop: 64, go: 32, beat, beats_missed }
    }

    /// Bytes of slack that the receiving end wants: up to the mark, then the bytes on their way until STOP is
    /// at the other end, which are those that the cable holds in both directions, the slot that went past the
    /// mark and the one that had just begun at the other end.
    pub fn slack(&self) -> u32 {
        let cable = (2 * self.delay.0).div_ceil(self.byte.0) as u32;
        self.stop + cable + 2 * SLOT as u32 - 1
    }

    /// Checks that such a link works.
    pub fn check(&self) -> Result<(), ParamsError> {
        let (stop, go) = (self.stop, self.go);
        if go >= stop {
            return Err(ParamsError::Marks { stop, go });
        }
        let beats = self.beat.0 > 0 && self.beats_missed > 1;
        if !beats {
            return Err(ParamsError::Beats);
        }
        if self.byte.0 == 0 {
            return Err(ParamsError::Byte);
        }
        Ok(())
    }

    pub(crate) fn buffer(&self) -> Slack {
        Slack::new(self.slack(), self.stop, self.go)
    }
}

/// The cables of a card or switch.
pub trait Wires {
    /// Puts `signal` on the cable of `port` at `at`; it is at the other end the cable's delay later. Of a
    /// slot, `at` is when its last byte has left.
    fn put(&mut self, port: usize, at: Time, signal: Signal);
    /// A packet gets the output at `port` of a switch at `now`: the time from which that works. It is later
    /// than now if the output is stuck, which is a fault.
    fn granted(&mut self, port: usize, now: Time) -> Time {
        let _ = port;
        now
    }
}

/// The sending end of a link.
#[derive(Clone, Debug)]
pub(crate) struct Outlet {
    byte: Duration,
    stopped: bool,
    /// Time at which the last slot has left.
    free: Time,
}

impl Outlet {
    pub fn new(params: &Params) -> Outlet {
        Outlet { byte: params.byte, stopped: false, free: Time::ZERO }
    }
    /// Time at which the next slot can leave; `Time::NEVER` while it is stopped.
    pub fn free(&self) -> Time {
        if self.stopped {
            Time::NEVER
        } else {
            self.free
        }
    }
    pub fn stop(&mut self) {
        self.stopped = true;
    }
    /// Goes on, not before `now`.
    pub fn go(&mut self, now: Time) {
        self.stopped = false;
        self.free = self.free.max(now);
    }
    /// Sends a slot that begins to leave at `now`.
    pub fn send(&mut self, now: Time, port: usize, slot: Slot, wires: &mut impl Wires) {
        debug_assert!(now >= self.free && !self.stopped, "the wire is taken");
        self.free = now + self.byte * slot.len.into();
        wires.put(port, self.free, Signal::Slot(slot));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_do_not_work_are_refused_with_a_sentence() {
        let good = Params::new(Duration::from_ns(50));
        assert_eq!(good.check(), Ok(()));
        let beats = "a cable is silent when more than one beat is missed";
        for (params, sentence) in [
            (Params { go: 64, ..good }, "GO at 64 bytes is not below STOP at 64"),
            (Params { beats_missed: 1, ..good }, beats),
            (Params { beat: Duration(0), ..good }, beats),
            (Params { byte: Duration(0), ..good }, "a byte takes no time"),
        ] {
            assert_eq!(params.check().unwrap_err().to_string(), sentence);
        }
    }
}

//! Observers of a SeaStar's node beside those of the bench; nothing simulated depends on them.

use super::{ReplayLog, Step};
use abi::packet::Packet;
use des::Time;
use machine::instruments::capture::{Side, Tap};

/// Observers. Fields used in each event come first.
#[repr(C)]
pub(crate) struct Observers {
    /// While the node boots: the recording, or the recording that it follows.
    pub replay_log: Option<Box<ReplayLog>>,
    /// Told of packets that enter and leave the network here.
    pub tap: Option<Tap>,
    /// Messages may come again, because they were refused.
    pub repeats: bool,
}

impl Observers {
    /// None: they come later.
    pub fn new(repeats: bool) -> Observers {
        Observers { replay_log: None, tap: None, repeats }
    }

    /// The node does a step of its boot. True if it must be carried out.
    #[inline(always)]
    pub fn replay_log(&mut self, step: impl FnOnce() -> Step) -> bool {
        self.replay_log.as_deref_mut().is_none_or(|replay_log| replay_log.step(step()))
    }

    /// A packet enters or leaves the network.
    #[inline(always)]
    pub fn tap(&mut self, at: Time, side: Side, packet: &Packet) {
        if let Some(tap) = &mut self.tap {
            tap.packet(at, side, |out| packet.emit(out));
        }
    }
}

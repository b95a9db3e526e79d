//! Observers of a node; nothing simulated depends on them.

use super::{ReplayLog, Step};
use abi::packet::Packet;
use des::Time;
use machine::instruments::capture::{Side, Tap};
use machine::instruments::journal::Journal;
use machine::judge::Adapter;
use std::rc::Rc;

/// Observers. Fields used in each event come first.
#[repr(C)]
pub(crate) struct Observers {
    /// While the node boots: the recording, or the recording that it follows.
    pub replay_log: Option<Box<ReplayLog>>,
    /// Told of what devices do to the memory of processes.
    pub judge: Option<Rc<Adapter>>,
    pub journal: Rc<Journal>,
    /// Told of packets that enter and leave the network here.
    pub tap: Option<Tap>,
    /// True if somebody watches, as the journal knows, too: it is kept here because each event needs it.
    pub watched: bool,
    /// Messages may come again, because they were refused.
    pub repeats: bool,
}

impl Observers {
    /// The journal and the judge; others come later.
    pub fn new(journal: Rc<Journal>, judge: Option<Rc<Adapter>>, repeats: bool) -> Observers {
        Observers { replay_log: None, judge, journal, tap: None, watched: false, repeats }
    }

    /// True if an observer is told of each event.
    pub fn any(&self) -> bool {
        self.replay_log.is_some() || self.judge.is_some() || self.watched
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

//! Who is told of what happens on a node; nothing simulated depends on it.

use super::{Step, Tape};
use abi::packet::Packet;
use des::Time;
use machine::instruments::capture::{Side, Tap};
use machine::instruments::journal::Journal;
use machine::judge::Bailiff;
use std::rc::Rc;

/// Who is told. What each event asks for stands first.
#[repr(C)]
pub(crate) struct Observers {
    /// While the node boots: what is written down, or held against what was.
    pub tape: Option<Box<Tape>>,
    /// Told of what devices do to the memory of processes.
    pub judge: Option<Rc<Bailiff>>,
    pub journal: Rc<Journal>,
    /// Told of packets that enter and leave the network here.
    pub tap: Option<Tap>,
    /// Somebody watches, as the journal knows, too: it stands here since each event asks.
    pub watched: bool,
}

impl Observers {
    /// The journal and the judge; others come later.
    pub fn new(journal: Rc<Journal>, judge: Option<Rc<Bailiff>>) -> Observers {
        Observers { tape: None, judge, journal, tap: None, watched: false }
    }

    /// Somebody is told of each event.
    pub fn any(&self) -> bool {
        self.tape.is_some() || self.judge.is_some() || self.watched
    }

    /// The node does a step of its boot. True if it is to be carried out.
    #[inline(always)]
    pub fn tape(&mut self, step: impl FnOnce() -> Step) -> bool {
        self.tape.as_deref_mut().is_none_or(|tape| tape.step(step()))
    }

    /// A packet enters or leaves the network.
    #[inline(always)]
    pub fn tap(&mut self, at: Time, side: Side, packet: &Packet) {
        if let Some(tap) = &mut self.tap {
            tap.packet(at, side, |out| packet.emit(out));
        }
    }
}

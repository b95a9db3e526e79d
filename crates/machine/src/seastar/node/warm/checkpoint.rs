//! A boot as bytes, for later runs.

use super::{Boot, Step};
use crate::seastar::node::seam::Event;
use bus::HyperTransport;
use des::{Checkpoint, Checkpointed, Time};

des::checkpointed!(Boot {
    steps,
    until,
    core,
    nic,
    in_core,
    in_sram,
    link,
    idle_turns,
    last_write_arrives,
});

impl Boot {
    /// One that has not happened, to read another into. Its parts are built with the parameters of
    /// that one.
    pub fn not_yet(core: ppc440::Core, nic: nic::SeaStar, link: HyperTransport) -> Boot {
        Boot {
            steps: Vec::new(),
            until: Time::ZERO,
            core,
            nic,
            in_core: ppc440::Copies::default(),
            in_sram: Vec::new(),
            link,
            idle_turns: 0,
            last_write_arrives: Time::ZERO,
        }
    }

    /// The boot that these bytes are; `built` is one that has not happened.
    pub fn from_bytes(bytes: &[u8], mut built: Boot) -> Option<Boot> {
        let mut checkpoint = Checkpoint::reader(bytes);
        built.pass(&mut checkpoint);
        checkpoint.was_all().then_some(built)
    }

    /// The bytes of this boot, if they are all that it is; `built` is one that has not happened.
    pub fn to_bytes(&self, built: Boot) -> Option<Vec<u8>> {
        let mut checkpoint = Checkpoint::writer();
        self.clone().pass(&mut checkpoint);
        let bytes = checkpoint.written()?;
        Boot::from_bytes(&bytes, built)?.is_as(self).then_some(bytes)
    }

    /// True if a node after this boot is as one after the other.
    pub fn is_as(&self, other: &Boot) -> bool {
        let core = |boot: &Boot| (boot.core.digest(), boot.core.counters(), boot.core.now());
        let rest = |boot: &Boot| {
            let Boot { until, in_core, in_sram, link, idle_turns, last_write_arrives, .. } = boot;
            format!("{until} {in_core:?} {in_sram:?} {link:?} {idle_turns} {last_write_arrives}")
        };
        self.steps == other.steps
            && core(self) == core(other)
            && self.nic.is_as(&other.nic)
            && rest(self) == rest(other)
    }
}

impl Checkpointed for Step {
    fn pass(&mut self, checkpoint: &mut Checkpoint<'_>) {
        let mut kind: u8 = match self {
            Step::Due(..) => 0,
            Step::Ready => 1,
            Step::Write { .. } => 2,
            Step::Read { .. } => 3,
            Step::HostRead { .. } => 4,
            Step::HostWrite { .. } => 5,
            Step::Other => 6,
        };
        kind.pass(checkpoint);
        if checkpoint.reads() {
            let data = Vec::new();
            *self = match kind {
                0 => Step::Due(Time::ZERO, Event::PollReady),
                1 => Step::Ready,
                2 => Step::Write { at: Time::ZERO, addr: 0, data },
                3 => Step::Read { at: Time::ZERO, addr: 0 },
                4 => Step::HostRead { phys: 0, data },
                5 => Step::HostWrite { phys: 0, data },
                _ => Step::Other,
            };
        }
        match self {
            Step::Due(at, event) => {
                at.pass(checkpoint);
                event.pass(checkpoint);
            }
            Step::Ready => {}
            Step::Write { at, addr, data } => {
                at.pass(checkpoint);
                addr.pass(checkpoint);
                data.pass(checkpoint);
            }
            Step::Read { at, addr } => {
                at.pass(checkpoint);
                addr.pass(checkpoint);
            }
            Step::HostRead { phys, data } | Step::HostWrite { phys, data } => {
                phys.pass(checkpoint);
                data.pass(checkpoint);
            }
            Step::Other => checkpoint.refuse(),
        }
    }
}

impl Checkpointed for Event {
    /// Those of a boot that can be shared.
    fn pass(&mut self, checkpoint: &mut Checkpoint<'_>) {
        let mut kind: u8 = match self {
            Event::Nic(nic::Event::HostWrite) => 0,
            Event::Host(_) => 1,
            Event::MmioWrite { .. } => 2,
            Event::MmioRead { .. } => 3,
            Event::MmioReply { .. } => 4,
            Event::PollReady => 5,
            _ => return checkpoint.refuse(),
        };
        kind.pass(checkpoint);
        if checkpoint.reads() {
            *self = match kind {
                0 => Event::Nic(nic::Event::HostWrite),
                1 => Event::Host(host::Event::default()),
                2 => Event::MmioWrite { addr: 0, len: 0, data: [0; 8] },
                3 => Event::MmioRead { addr: 0 },
                4 => Event::MmioReply { value: 0 },
                5 => Event::PollReady,
                _ => return checkpoint.refuse(),
            };
        }
        match self {
            Event::Host(event) => event.pass(checkpoint),
            Event::MmioWrite { addr, len, data } => {
                addr.pass(checkpoint);
                len.pass(checkpoint);
                data.pass(checkpoint);
            }
            Event::MmioRead { addr } => addr.pass(checkpoint),
            Event::MmioReply { value } => value.pass(checkpoint),
            _ => {}
        }
    }
}

//! Record of a message under way. It goes with the message from node to node, so the parts of its way need
//! not be collected afterwards.

use super::message_path::NONE;
use super::{Layer, Leg, MessagePath, Part, PathStep, Waypoint, LEGS, WAYPOINTS};
use crate::instruments::account::Chain;
use abi::MessageId;
use des::{Duration, Time};
use portals::ProcessId;
use std::borrow::Cow;

/// Kind of a message, as the program sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageKind {
    /// From one rank to another, which receives it: of MPI, or a packet of a driver that has such calls.
    Send,
    /// A put of a program that uses Portals itself, or of another interface.
    Put,
    /// The same: a get.
    Get,
    /// The same: an atomic operation.
    Atomic,
    /// Of MPI, a part of a collective operation.
    Collective,
}

/// Way in which a message's bytes travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// Within the packet of its header.
    Header,
    /// Behind its header.
    Eager,
    /// Behind its header, as of a long message, which is acknowledged.
    Long,
    /// Fetched by the receiver: one that was announced, or a long one that found no receive.
    Rendezvous,
    /// Asked for, and brought by a reply.
    Reply,
    /// Copied by the kernel between two processes of a node.
    Local,
}

impl MessageKind {
    /// All, in the order in which they are told.
    pub const ALL: [MessageKind; 5] = [
        MessageKind::Send,
        MessageKind::Put,
        MessageKind::Get,
        MessageKind::Atomic,
        MessageKind::Collective,
    ];
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            MessageKind::Send => "send",
            MessageKind::Put => "put",
            MessageKind::Get => "get",
            MessageKind::Atomic => "atomic",
            MessageKind::Collective => "collective",
        }
    }
}

impl Protocol {
    /// All, in the order in which they are told.
    pub const ALL: [Protocol; 6] = [
        Protocol::Header,
        Protocol::Eager,
        Protocol::Long,
        Protocol::Rendezvous,
        Protocol::Reply,
        Protocol::Local,
    ];
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Header => "header",
            Protocol::Eager => "eager",
            Protocol::Long => "long",
            Protocol::Rendezvous => "rendezvous",
            Protocol::Reply => "reply",
            Protocol::Local => "local",
        }
    }
}

/// A message of the program under way.
#[derive(Clone, Debug)]
pub struct Flight {
    /// Id of the message on the wire.
    pub id: MessageId,
    /// Id of the program's message, with which it began.
    pub first: MessageId,
    /// Kind of the program's message.
    pub kind: MessageKind,
    /// Way in which its bytes travel.
    pub protocol: Protocol,
    /// Payload of the program's message.
    pub bytes: u64,
    /// Number of the buffer that waits at its sender, if it can be fetched from there.
    pub exposes: Option<u32>,
    /// True if it only announces the message: its bytes come later.
    pub announces: bool,
    /// Node and process that sent it.
    pub sender: ProcessId,
    /// The rank that sends it, if that is known.
    pub from: Option<u32>,
    /// The rank that receives it, if that is known.
    pub to: Option<u32>,
    /// The call in which it began; empty outside of calls.
    pub sent_in: &'static str,
    /// The call in which the receiver took it; empty outside of calls.
    pub received_in: &'static str,
    /// The leg on which it is.
    pub leg: u8,
    /// True if it has reached the node on whose desk it is.
    pub here: bool,
    /// True if the library keeps it until its receive is called.
    pub kept: bool,
    /// Number of its packets, where its model reports it.
    pub packets: u32,
    /// Entries of the target's match list that were compared with it, over all legs.
    pub entries: u32,
    /// The time in which firmware searched the target's match list for it, until its library knows of it.
    pub searching: Option<Duration>,
    /// Chain of causes that led to it.
    pub(crate) chain: Chain,
    /// The steps of its model.
    pub message_path: &'static MessagePath,
    at: [Leg; LEGS],
}

impl Default for Flight {
    fn default() -> Flight {
        Flight {
            id: MessageId::default(),
            first: MessageId::default(),
            kind: MessageKind::Put,
            protocol: Protocol::Eager,
            bytes: 0,
            exposes: None,
            announces: false,
            sender: ProcessId::default(),
            from: None,
            to: None,
            sent_in: "",
            received_in: "",
            leg: 0,
            here: false,
            kept: false,
            packets: 0,
            entries: 0,
            searching: None,
            chain: Chain::default(),
            message_path: &NONE,
            at: [[Time::NEVER; WAYPOINTS]; LEGS],
        }
    }
}

impl Flight {
    /// Replaces this flight by a new one, to use its memory again.
    pub fn restart(&mut self, id: MessageId, message_path: &'static MessagePath) {
        *self = Flight { id, first: id, message_path, ..Flight::default() };
    }

    /// Passes a waypoint. The first mark of a kind counts: a later one belongs to a completion, not to the
    /// way.
    pub fn mark(&mut self, at: Time, waypoint: Waypoint) {
        match waypoint {
            Waypoint::REPEATED => return self.comes_again(at),
            Waypoint::RESENT => return self.goes_again(at),
            _ => {}
        }
        let place = &mut self.at[usize::from(self.leg)][waypoint.at()];
        if *place == Time::NEVER {
            *place = at;
        }
    }

    /// It is sent again. One that has come into the network is on its way.
    fn goes_again(&mut self, at: Time) {
        let leg = &mut self.at[usize::from(self.leg)];
        if leg[Waypoint::INJECTED.at()] == Time::NEVER {
            leg[Waypoint::RESENT.at()] = at;
        }
    }

    /// Its first packet is at the target, which may have refused the message before: then nothing counts that
    /// happened to the former copy there.
    fn comes_again(&mut self, at: Time) {
        let leg = &mut self.at[usize::from(self.leg)];
        let has = |waypoint: Waypoint| leg[waypoint.at()] < Time::NEVER;
        let taken = has(Waypoint::EVENT_DRAINED) || has(Waypoint::RING_READ);
        if leg[Waypoint::ARRIVED.at()] < at && !taken {
            leg[Waypoint::REPEATED.at()] = at;
            // What the path has behind the arrival.
            let behind = |step: &&PathStep| step.ends != Waypoint::ARRIVED;
            for step in self.message_path.steps.iter().skip_while(behind).skip(1) {
                if step.ends != Waypoint::REPEATED {
                    leg[step.ends.at()] = Time::NEVER;
                }
            }
        }
    }

    /// Begins its next leg under another id.
    pub fn go_on(&mut self, id: MessageId) {
        self.id = id;
        self.leg = (self.leg + 1).min(LEGS as u8 - 1);
        (self.here, self.kept) = (true, false);
    }

    /// Adds the fetch of the data that this one announced: its marks are those of the next leg.
    pub fn fetch(&mut self, fetch: &Flight) {
        self.go_on(fetch.id);
        self.chain = fetch.chain;
        self.at[usize::from(self.leg)] = fetch.at[0];
    }

    /// Time at which it passed a waypoint of its present leg.
    pub fn at(&self, waypoint: Waypoint) -> Option<Time> {
        Some(self.at[usize::from(self.leg)][waypoint.at()]).filter(|at| *at < Time::NEVER)
    }

    /// Time at which its event was in the process's queue on its present leg.
    pub fn posted(&self) -> Option<Time> {
        self.at(Waypoint::EVENT_POSTED).or_else(|| self.at(Waypoint::LIBRARY_POSTED))
    }

    /// True if its process called without a kernel on its present leg: its library commands the network
    /// interface by itself. An answer has no caller.
    pub(crate) fn is_called_past_the_kernel(&self) -> bool {
        let called = [Waypoint::PUT_ENTERED, Waypoint::PROVIDER_CALLED];
        called.into_iter().any(|waypoint| self.at(waypoint).is_some())
            && self.at(Waypoint::KERNEL_ENTERED).is_none()
    }

    /// The event is there: a kernel has posted it, or the library that found the message in its ring.
    pub(crate) fn post(&mut self, at: Time) {
        let by_library = self.at(Waypoint::RING_READ).is_some();
        self.mark(at, if by_library { Waypoint::LIBRARY_POSTED } else { Waypoint::EVENT_POSTED });
    }

    /// Time at which it began.
    pub fn start(&self) -> Time {
        self.at[0][Waypoint::CALL_ENTERED.at()]
    }

    /// Calls `each` with every slot that it passed and the time at which that step ended. A missing waypoint
    /// joins its step to the next one; so does a waypoint that another one overtook.
    fn ends(&self, mut each: impl FnMut(usize, &'static PathStep, Time)) {
        let mut reached = self.start();
        let last = usize::from(self.leg);
        let MessagePath { steps, commands, .. } = *self.message_path;
        let mut slot = 0;
        for (number, leg) in self.at[..=last].iter().enumerate() {
            // What comes in a header needs no command: its stream is closed beside the way. Firmware that
            // matches commands by itself, and tells of the end.
            let missing = |waypoint: Waypoint| leg[waypoint.at()] == Time::NEVER;
            let ended =
                !missing(Waypoint::RING_COMPLETED) || !missing(Waypoint::COMPLETION_DRAINED);
            let told = !missing(Waypoint::SEARCHED) && ended;
            let aside = commands && missing(Waypoint::RECEIVE_WRITTEN) && !told;
            let mut streams = false;
            for step in steps {
                streams |= step.ends == Waypoint::RECEIVE_WRITTEN;
                let beside = aside && streams;
                streams &= step.ends != Waypoint::COMPLETION_DRAINED;
                // The program's call returns when the last leg has come.
                let early = number < last && step.ends == Waypoint::CALL_RETURNED;
                let at = leg[step.ends.at()];
                if at < Time::NEVER && !beside && !early {
                    reached = reached.max(at);
                    each(slot, step, reached);
                }
                slot += 1;
            }
        }
    }

    /// Calls `each` with every part of the machine that worked on it and the time at which it was done.
    pub fn parts(&self, mut each: impl FnMut(Part, Time)) {
        self.ends(|_, step, at| each(step.part, at));
    }

    /// Its steps: slots with the time spent in each. They add up to its whole time, which is returned.
    pub fn steps(&self, mut each: impl FnMut(usize, Duration)) -> Duration {
        let mut previous = self.start();
        self.ends(|slot, _, at| {
            each(slot, at.since(previous));
            previous = at;
        });
        previous.since(self.start())
    }
}

/// Name of a slot, and the part of the machine that works there.
pub(super) fn name_of(
    slot: usize,
    message_path: &'static MessagePath,
    protocol: Protocol,
) -> (Cow<'static, str>, Layer) {
    let (leg, PathStep { name, place, .. }) = message_path.at(slot);
    let leg = match (leg, protocol) {
        (0, _) => return (Cow::Borrowed(name), *place),
        (1, Protocol::Rendezvous | Protocol::Local) => "fetch",
        (_, Protocol::Rendezvous | Protocol::Local) => "data",
        _ => "reply",
    };
    (Cow::Owned(format!("{leg}: {name}")), *place)
}

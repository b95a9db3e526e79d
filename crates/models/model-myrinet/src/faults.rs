//! Faults of this model's machines: of cables and of switches.

mod cables;
mod switches;

pub use cables::{Cable, Fate};
pub use switches::StuckOutput;

use machine::faults::{FaultKind, Form, Harm, Scope};

/// All kinds.
pub const KINDS: &[&FaultKind] = &[&LINK_BITERROR, &LINK_DROP, &CABLE_DEAD, &SWITCH_STUCK];

/// Endings of runs in which packets get lost.
const MISSING: &[&str] = &["deadlock: nothing in the machine moves any more"];

/// Bits that arrive wrong.
pub static LINK_BITERROR: FaultKind = FaultKind {
    name: "link.biterror",
    value: Form::Share,
    scope: Scope::Nodes,
    what: "Bits of packets that leave a card arrive wrong, each with the chance, or one of packet \
           #NUMBER.",
    expected: "The CRC at the end of a packet finds it on the next card, whose control program \
               drops the packet; one with a wrong route may be dropped by a switch. A packet that \
               is lost is as with link.drop.",
    counter: "myrinet.damaged",
    endings: BROKEN,
    misleads: true,
    harm: Harm::Loses,
    example: "link.biterror=1e-7",
};

/// Packets that are lost.
pub static LINK_DROP: FaultKind = FaultKind {
    name: "link.drop",
    value: Form::Share,
    scope: Scope::Nodes,
    what: "Packets are lost on the cable from a card.",
    expected: "A protocol that waits for what it sends sends it again; with any other the packet \
               is missing, and its receiver waits in a deadlock.",
    counter: "myrinet.lost",
    endings: BROKEN,
    misleads: true,
    harm: Harm::Loses,
    example: "link.drop=0.001@0",
};

/// Endings of runs in which packets are lost, and programs notice it.
const BROKEN: &[&str] = &["deadlock: nothing in the machine moves any more", "MPI_ERR_OTHER"];

/// A cable that carries nothing.
pub static CABLE_DEAD: FaultKind = FaultKind {
    name: "cable.dead",
    value: Form::Node,
    scope: Scope::Since,
    what: "The cable between a node's card and its switch carries nothing any more, neither way.",
    expected: "Heartbeats stop coming: card and switch notice it after myrinet.beats_missed of \
               them, and count it. What is sent is lost. The run ends in a deadlock that names \
               the cable, if anything needs it.",
    counter: "myrinet.silences, myrinet.bytes_lost",
    endings: MISSING,
    misleads: false,
    harm: Harm::Loses,
    example: "cable.dead=1@20us",
};

/// Outputs that are stuck.
pub static SWITCH_STUCK: FaultKind = FaultKind {
    name: "switch.stuck",
    value: Form::ShareMaybeTime,
    scope: Scope::Nodes,
    what:
        "An output of a switch is stuck from the packet on that has just got it, for the time, or \
           for ever without one: of packets at each output with the chance, or packet #NUMBER of \
           each. With @NODE only outputs to that node's card.",
    expected: "Packets for that output wait before it, and what is behind them, back to the cards \
               that send. Nothing is lost, unless the output is stuck for ever: then the run ends \
               in a deadlock that names switch and port, if anything needs it.",
    counter: "switches[].counters.stuck",
    endings: &["deadlock: nothing in the machine moves any more"],
    misleads: false,
    harm: Harm::Stalls,
    example: "switch.stuck=0.01:50us@1",
};

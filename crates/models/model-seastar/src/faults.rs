//! Faults of this model's machines: their kinds, and what they are for network and kernel.

use crate::rows::Firmware;
use machine::faults::{FaultKind, FaultSite, FaultValue, Faults, Form, Harm, Rule, Scope, Which};
use portals::seastar::Pools;

/// All kinds.
pub const KINDS: &[&FaultKind] = &[
    &LINK_BITERROR,
    &LINK_DROP,
    &LINK_DELAY,
    &LINK_OVERTAKE,
    &LINK_DUPLICATE,
    &LINK_DEAD,
    &POOL_RX_PENDINGS,
    &POOL_TX_PENDINGS,
    &POOL_EVENT_SLOTS,
    &POOL_DMA_LISTS,
    &POOL_MATCH_ENTRIES,
    &POOL_STREAMS,
    &POOL_SOURCES,
];

/// Endings of runs in which messages get lost.
const MISSING: &[&str] = &["deadlock: nothing in the machine moves any more"];

/// Endings of runs in which CRCs find damage, or in which messages come that nobody waits for.
const BROKEN: &[&str] = &[
    "deadlock: nothing in the machine moves any more",
    "the network lost or damaged the message",
    "MPI_ERR_OTHER",
    "(PTL_NI_FAIL)",
];

/// Bits that arrive wrong.
pub static LINK_BITERROR: FaultKind = FaultKind {
    name: "link.biterror",
    value: Form::Share,
    scope: Scope::Links,
    what: "Bits of packets arrive wrong, each with the chance, or one of packet #NUMBER. A \
           packet whose routing flit is hit is lost.",
    expected: "The CRC at the end of a message finds it: the operation ends with PTL_NI_FAIL, \
               MPI with a sentence. A header of a longer message is believed before its CRC \
               has come, and may go to the wrong place: a deadlock names the links. A packet \
               that is lost is as with link.drop.",
    counter: "net.link_damaged, net.link_lost, rx.crc_errors",
    endings: BROKEN,
    misleads: true,
    harm: Harm::Loses,
    example: "link.biterror=1e-7",
};

/// Packets that are lost.
pub static LINK_DROP: FaultKind = FaultKind {
    name: "link.drop",
    value: Form::Share,
    scope: Scope::Links,
    what: "Packets are lost on a link.",
    expected: "A message that misses packets fails its CRC, or waits for its end for ever and \
               holds a stream. One of a single packet is missing, and nobody knows (there is \
               no go-back-n): its receiver takes the next that matches, or waits in a \
               deadlock that names the links.",
    counter: "net.link_lost, rx.crc_errors, rx.dropped_packets",
    endings: BROKEN,
    misleads: true,
    harm: Harm::Loses,
    example: "link.drop=0.001@0-1",
};

/// Packets that are late, in order.
pub static LINK_DELAY: FaultKind = FaultKind {
    name: "link.delay",
    value: Form::ShareTime,
    scope: Scope::Links,
    what: "Packets are late by the time, and all behind them on the link: order is kept, as \
           when a link retries.",
    expected: "Nothing but time.",
    counter: "net.link_delayed",
    endings: &[],
    misleads: false,
    harm: Harm::None,
    example: "link.delay=0.01:500ns",
};

/// Packets that change places.
pub static LINK_OVERTAKE: FaultKind = FaultKind {
    name: "link.overtake",
    value: Form::ShareTime,
    scope: Scope::Links,
    what: "Packets are late by the time, and those behind them on the link pass them.",
    expected: "A packet that is out of place in its message spoils the CRC; one behind its \
               message's last finds no stream and is dropped. Messages that change places are \
               delivered so: the firmware only counts them. A deadlock names the links.",
    counter: "net.link_overtaken, niccb.sequence_errors, rx.crc_errors, rx.dropped_packets",
    endings: BROKEN,
    misleads: true,
    harm: Harm::Loses,
    example: "link.overtake=#3:2us@0-1",
};

/// Packets that come twice.
pub static LINK_DUPLICATE: FaultKind = FaultKind {
    name: "link.duplicate",
    value: Form::Share,
    scope: Scope::Links,
    what: "Packets come twice, the second right behind the first, as when a link retries what \
           had come.",
    expected: "Within a message the CRC finds it. A message of one packet is delivered twice \
               (there is no go-back-n: the firmware only counts it), and the copy may be \
               taken for the next; a second header of a longer one holds a stream whose \
               payload never comes. A deadlock names the links.",
    counter: "net.link_doubled, niccb.sequence_errors, rx.crc_errors, rx.dropped_packets",
    endings: BROKEN,
    misleads: true,
    harm: Harm::Loses,
    example: "link.duplicate=#1@0-1",
};

/// A link that carries nothing.
pub static LINK_DEAD: FaultKind = FaultKind {
    name: "link.dead",
    value: Form::Link,
    scope: Scope::Since,
    what: "The link between two neighbours carries nothing any more, neither way.",
    expected: "Packets wait before it, and what is behind them; routes do not change. The run \
               ends in a deadlock that names the link, if anything needs it.",
    counter: "",
    endings: MISSING,
    misleads: false,
    harm: Harm::Loses,
    example: "link.dead=0-1@2ms",
};

/// Few receive pendings.
pub static POOL_RX_PENDINGS: FaultKind = FaultKind {
    name: "pool.rx_pendings",
    value: Form::Number { least: 1, most: 1273 },
    scope: Scope::Boot,
    what: "The kernel gives the firmware so few receive pendings when it starts it.",
    expected: "The firmware stops the node when a message finds none, and says from which \
               node it came. With firmware.overflow=nic or host the message is refused, and \
               comes again. A process on the network interface has so few, too, and may have \
               twice as many events of messages unread.",
    counter: "kernel.rx_pendings_max",
    endings: &["no receive pending is free"],
    misleads: false,
    harm: Harm::None,
    example: "pool.rx_pendings=4@1",
};

/// Few transmit pendings.
pub static POOL_TX_PENDINGS: FaultKind = FaultKind {
    name: "pool.tx_pendings",
    value: Form::Number { least: 1, most: 1273 },
    scope: Scope::Boot,
    what: "The kernel uses so few of its transmit pendings.",
    expected: "Nothing but time: messages wait in the kernel for one.",
    counter: "kernel.tx_pendings_max",
    endings: &[],
    misleads: false,
    harm: Harm::None,
    example: "pool.tx_pendings=1",
};

/// A small event ring.
pub static POOL_EVENT_SLOTS: FaultKind = FaultKind {
    name: "pool.event_slots",
    value: Form::Number { least: 1, most: 4096 },
    scope: Scope::Boot,
    what: "The kernel gives the firmware an event ring with so few slots.",
    expected: "The firmware refuses one that could run over (of less than 1024 slots, or fewer \
               than its pendings, with firmware.overflow=host 16 more), or that is no power \
               of two, and stops the node at its boot. \
               1024, 2048 and 4096 do, if pendings fit: nothing but time.",
    counter: "",
    endings: &["mailbox command 2 cannot be obeyed: the event ring"],
    misleads: false,
    harm: Harm::None,
    example: "pool.event_slots=2048",
};

/// Little room for lists of DMA commands.
pub static POOL_DMA_LISTS: FaultKind = FaultKind {
    name: "pool.dma_lists",
    value: Form::Number { least: 1, most: 1024 },
    scope: Scope::Boot,
    what: "So few DMA commands have room in the SRAM that the kernel keeps lists of scattered \
           buffers in.",
    expected: "Messages to and from scattered buffers wait for room, on Linux after its own \
               memory is used up too; one that needs more than there is fails with \
               PTL_NI_FAIL.",
    counter: "",
    endings: &["(PTL_NI_FAIL)", "MPI_ERR_OTHER"],
    misleads: false,
    harm: Harm::None,
    example: "pool.dma_lists=4",
};

/// Few match entries on the network interface.
pub static POOL_MATCH_ENTRIES: FaultKind = FaultKind {
    name: "pool.match_entries",
    value: Form::Number { least: 16, most: 320 },
    scope: Scope::Boot,
    what: "A process on the network interface has so few match entries there.",
    expected: "MPI keeps receives and sends without one, and lets them go on later: nothing \
               but time. A program that uses Portals itself gets PTL_NO_SPACE.",
    counter: "nic.receives_kept, nic.sends_kept",
    endings: &["PTL_NO_SPACE", "PTL_ME_LIST_TOO_LONG"],
    misleads: false,
    harm: Harm::None,
    example: "pool.match_entries=16",
};

/// Few entries of the CAM.
pub static POOL_STREAMS: FaultKind = FaultKind {
    name: "pool.streams",
    value: Form::Number { least: 1, most: 256 },
    scope: Scope::Boot,
    what: "So few entries of the receive engine's CAM work.",
    expected: "A message that finds none waits, and all behind it, if some other has come \
               whole; else the firmware stops the node. With firmware.overflow=nic or host \
               it is refused, and comes again.",
    counter: "rx.stalls, rx.cam_overflows",
    endings: &["more messages in flight than the receive engine can demultiplex"],
    misleads: false,
    harm: Harm::None,
    example: "pool.streams=2@0",
};

/// Few source structures.
pub static POOL_SOURCES: FaultKind = FaultKind {
    name: "pool.sources",
    value: Form::Number { least: 1, most: 1024 },
    scope: Scope::Image(Firmware::sources),
    what: "The firmware is built with so few source structures; the same as --set \
           firmware.sources.",
    expected: "Structures of peers without messages in progress are used again; without any \
               the firmware stops the node, or, with firmware.overflow=nic or host, messages \
               are refused, and come again.",
    counter: "",
    endings: &["all source structures are in use"],
    misleads: false,
    harm: Harm::None,
    example: "pool.sources=2",
};

/// Sizes of the pools of a node's kernel; without a node, those that hold for all nodes.
pub(crate) fn pools(faults: &Faults, nid: Option<u32>) -> Pools {
    let number = |kind, full| faults.number(kind, nid).unwrap_or(full);
    let full = Pools::FULL;
    Pools {
        receives: number(&POOL_RX_PENDINGS, full.receives.into()) as u16,
        transmits: number(&POOL_TX_PENDINGS, full.transmits.into()) as u16,
        event_slots: number(&POOL_EVENT_SLOTS, full.event_slots),
        list_commands: number(&POOL_DMA_LISTS, full.list_commands),
        match_entries: number(&POOL_MATCH_ENTRIES, full.match_entries),
    }
}

/// Number of streams of a node's receive engine that work, if not all do.
pub(crate) fn streams(faults: &Faults, nid: u32) -> Option<u32> {
    faults.number(&POOL_STREAMS, Some(nid))
}

/// Faults of the links of all routers, in the network's words; none if there are none.
pub(crate) fn of_links(faults: &Faults) -> Option<mesh::Faults> {
    let rules = faults.rules().iter().filter_map(of_packets);
    let dead = faults.rules().iter().filter(|rule| rule.is(&LINK_DEAD));
    let dead = dead.filter_map(|rule| match rule.place {
        FaultSite::Between(a, b) => Some(mesh::DeadLink { a, b, from: rule.from }),
        _ => None,
    });
    let all = mesh::Faults { seed: faults.seed, rules: rules.collect(), dead: dead.collect() };
    (!all.rules.is_empty() || !all.dead.is_empty()).then_some(all)
}

/// A rule that strikes packets.
fn of_packets(rule: &Rule) -> Option<mesh::Rule> {
    let what = match rule.value {
        FaultValue::Share(_) if rule.is(&LINK_DROP) => mesh::What::Drop,
        FaultValue::Share(_) if rule.is(&LINK_BITERROR) => mesh::What::BitError,
        FaultValue::Share(_) if rule.is(&LINK_DUPLICATE) => mesh::What::Duplicate,
        FaultValue::ShareTime(_, by) if rule.is(&LINK_DELAY) => mesh::What::Delay(by),
        FaultValue::ShareTime(_, by) if rule.is(&LINK_OVERTAKE) => mesh::What::Overtake(by),
        _ => return None,
    };
    let which = match rule.which()? {
        Which::Chance(p) => mesh::Which::Chance(p),
        Which::Number(number) => mesh::Which::Number(number),
    };
    let place = match rule.place {
        FaultSite::Everywhere => mesh::FaultSite::Everywhere,
        FaultSite::Node(node) => mesh::FaultSite::From(node),
        FaultSite::Between(a, b) => mesh::FaultSite::Between(a, b),
    };
    Some(mesh::Rule { what, which, place, from: rule.from, until: rule.until })
}

//! Warm boot: the firmware of one node boots, and all nodes go on from its state.
//!
//! Until the launch nodes do not talk to one another, and their firmware does the same on each:
//! what it does follows from what its host does. So one node boots alone while everything between
//! its host and its NIC is taped ([`ReplayLog`]). On every other node the kernel boots for real, in its
//! own fibres, but against the replay log: each register write and read that it makes must be the next
//! one on the replay log, at the same time; what the NIC did to the host happens to it at the same time.
//! If so, its processor and NIC would now be in the state of those of the taped node, and they are put
//! there. If not, the node boots cold.
//!
//! The node's own id is the one thing that is not the same. Two nodes are taped, with ids that
//! differ in every bit. Tapes and end states must be equal except for copies of the id in SRAM, data
//! cache and general registers (`bus::copies`), and these are then set to each node's own. A
//! firmware for which this does not hold, or in whose boot packets move or interrupts come, boots
//! cold.

use super::*;
use bus::{Copy16, HyperTransport};
use des::{LogicalProcess, Outbox};
use machine::node::{word, NodeParts};

/// Ids of the two nodes that are taped.
pub(crate) const TAPED: [u16; 2] = [0x5ac3, 0xa53c];

/// Something that happened on a node while it booted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// An event was due.
    Due(Time, Event),
    /// It was the RAS system's look, and the firmware was ready.
    Ready,
    /// The host wrote to the NIC.
    Write { at: Time, addr: u64, data: Vec<u8> },
    /// The host began to read from the NIC.
    Read { at: Time, addr: u64 },
    /// The NIC read host memory.
    HostRead { phys: u64, data: Vec<u8> },
    /// The NIC wrote host memory.
    HostWrite { phys: u64, data: Vec<u8> },
    /// Something that no node shares with another.
    Other,
}

/// Use of the steps of a node's ports: to record them, or to follow a record.
pub(crate) enum ReplayLog {
    Record(Vec<Step>),
    Follow {
        boot: Arc<Boot>,
        next: usize,
        /// The node did something else.
        lost: bool,
    },
}

impl ReplayLog {
    /// The node does a step. True if the node ports carry it out; else it has been.
    pub fn step(&mut self, step: Step) -> bool {
        match self {
            ReplayLog::Record(steps) => {
                steps.push(step);
                true
            }
            ReplayLog::Follow { boot, next, lost } => {
                *lost |= boot.steps.get(*next) != Some(&step);
                *next += 1;
                false
            }
        }
    }
}

/// A boot that all nodes can share.
#[derive(Clone)]
pub(crate) struct Boot {
    steps: Vec<Step>,
    /// End of the boot: nothing but the host's own events is due, and the firmware idles.
    until: Time,
    core: ppc440::Core,
    nic: seastar_nic::SeaStar,
    in_core: ppc440::Copies,
    in_sram: Vec<Copy16>,
    link: HyperTransport,
    idle_turns: u32,
    last_write_arrives: Time,
}

/// Events that a node without a rank still waits for after its boot: observation and launch.
const LEFT: usize = 2;

impl Boot {
    /// The boot that is on the replay log of two nodes; `None` if they do not agree.
    pub fn of(nodes: [Node; 2]) -> Option<Boot> {
        let [mine, theirs] = nodes;
        let (mine, theirs) = (taped(mine)?, taped(theirs)?);
        let shared = mine.steps == theirs.steps
            && mine.until == theirs.until
            && mine.idle_turns == theirs.idle_turns
            && mine.last_write_arrives == theirs.last_write_arrives
            && format!("{:?}", mine.link) == format!("{:?}", theirs.link);
        let [a, b] = TAPED;
        let in_core = mine.core.copies(a, &theirs.core, b)?;
        let in_sram = mine.nic.copies(a, &theirs.nic, b)?;
        shared.then_some(Boot { in_core, in_sram, ..mine })
    }

    /// This boot for all nodes of a run, who have once what they have in common.
    pub fn for_all(mut self) -> Arc<Boot> {
        self.nic.share_sram();
        Arc::new(self)
    }

    /// Processor and NIC of node `nid` after the boot.
    pub fn parts(&self, nid: u16) -> Chip {
        let (mut core, mut nic) = (self.core.clone(), self.nic.of_node(nid));
        core.set_copies(&self.in_core, nid);
        nic.set_copies(&self.in_sram, nid);
        Chip { core, nic }
    }
}

/// Boots a node, which has no rank, alone, with a replay log. `None` if that took too long or went wrong, or
/// did what cannot be shared.
fn taped(mut node: Node) -> Option<Boot> {
    let NodeParts { nic, .. } = node.parts();
    nic.chipset.observers.replay_log = Some(Box::new(ReplayLog::Record(Vec::new())));
    let Schedule { launch, ras_poll, .. } = nic.schedule;
    let last = launch.0.checked_sub(IDLE_OBSERVED.0)?;
    let mut until = Time::ZERO;
    let mut outbox = Outbox::default();
    loop {
        let NodeParts { nic, ports, software, .. } = node.parts();
        let idles = nic.chipset.firmware.idles() && ports.queue().len() == LEFT;
        if idles && software.late().is_none() {
            break;
        }
        until += ras_poll;
        if until.0 >= last || ports.failure().is_some() {
            return None;
        }
        node.advance_to(until, &mut outbox);
    }
    let NodeParts { nic, ports, .. } = node.parts();
    let ReplayLog::Record(steps) = *nic.chipset.observers.replay_log.take()? else {
        return None;
    };
    let other = |step: &Step| matches!(step, Step::Due(_, Event::Interrupt { .. }) | Step::Other);
    let datapath = !nic.chipset.datapath.is_empty() || !outbox.is_empty();
    if ports.failure().is_some() || datapath || steps.iter().any(other) {
        return None;
    }
    let last_write_arrives = ports.journal().last_write_arrives.get();
    let Station { mut core, nic, chipset, .. } = node.into_nic();
    // Loops learnt in the midst of a boot have their heads where it was just then: runs take 2 % longer.
    core.forget_loops();
    Some(Boot {
        steps,
        until,
        core,
        nic,
        in_core: ppc440::Copies::default(),
        in_sram: Vec::new(),
        link: chipset.link,
        idle_turns: chipset.firmware.idle_turns,
        last_write_arrives,
    })
}

/// Boots a node, which has been assembled of [`Boot::parts`], as those on the replay log. False if it did
/// something else: then it is of no use any more.
pub(crate) fn follow(node: &mut Node, boot: &Arc<Boot>) -> bool {
    let replay_log = ReplayLog::Follow { boot: boot.clone(), next: 0, lost: false };
    node.parts().nic.chipset.observers.replay_log = Some(Box::new(replay_log));
    while let Some(step) = next_step(node.parts().nic) {
        if !follow_step(node, step) {
            return false;
        }
    }
    // The host's own actions before that time do not matter.
    while node.parts().ports.next_time() < boot.until {
        if !follow_host(node) {
            return false;
        }
    }
    let NodeParts { nic, ports, .. } = node.parts();
    if !matches!(
        nic.chipset.observers.replay_log.take().as_deref(),
        Some(ReplayLog::Follow { lost: false, .. })
    ) {
        return false;
    }
    nic.chipset.link = boot.link.clone();
    nic.chipset.firmware.idle_turns = boot.idle_turns;
    ports.journal().last_write_arrives.set(boot.last_write_arrives);
    nic.horizon = boot.until;
    true
}

/// The rest of the replay log.
fn ahead(nic: &Station) -> &[Step] {
    match nic.chipset.observers.replay_log.as_deref() {
        Some(ReplayLog::Follow { boot, next, .. }) => boot.steps.get(*next..).unwrap_or_default(),
        _ => &[],
    }
}

/// The next step on the replay log.
fn next_step(nic: &mut Station) -> Option<Step> {
    match nic.chipset.observers.replay_log.as_deref_mut() {
        Some(ReplayLog::Follow { boot, next, lost: false }) => {
            let step = boot.steps.get(*next).cloned();
            *next += 1;
            step
        }
        _ => None,
    }
}

/// True if the node's next event, due `now`, is still to come on the replay log.
fn is_in_replay_log(node: &mut Node, now: Time) -> bool {
    let NodeParts { nic, ports, .. } = node.parts();
    let own = ports.queue().peek().map(|(at, event)| Step::Due(at, *event));
    let due = |step: &&Step| !matches!(step, Step::Due(at, _) if *at > now);
    ahead(nic).iter().take_while(due).any(|step| Some(step) == own.as_ref())
}

/// Does a step of the replay log. False if it cannot be done here.
fn follow_step(node: &mut Node, step: Step) -> bool {
    match step {
        Step::Due(now, event) => {
            // A host that has a rank may have more to do than the one on the replay log.
            while node.parts().ports.next_time() < now {
                if !follow_host(node) {
                    return false;
                }
            }
            if matches!(event, Event::Host(_) | Event::Look) {
                return follow_own(node, now, event);
            }
            // Of two events at the same time the replay log must tell the order.
            if node.parts().ports.next_time() == now && !is_in_replay_log(node, now) {
                return false;
            }
            node.parts().ports.trace(now, word::<Station>(&event));
            if let Event::Answer { len, data } = event {
                let (host, mut ports) = node.parts().host();
                host.mmio_reply(now, &data[..usize::from(len)], &mut ports);
                node.collect_failures(now);
            }
            node.parts().ports.failure().is_none()
        }
        Step::HostWrite { phys, data } => {
            let memory = &node.parts().nic.chipset.memory;
            memory.borrow_mut().write_phys(phys, &data).is_ok()
        }
        Step::HostRead { phys, data } => {
            let mut there = vec![0; data.len()];
            let memory = &node.parts().nic.chipset.memory;
            let read = memory.borrow_mut().read_phys(phys, &mut there);
            read.is_ok() && there == data
        }
        // The host should have done this by itself.
        Step::Ready | Step::Write { .. } | Step::Read { .. } | Step::Other => false,
    }
}

/// The host's own next event comes, which is none of the replay log.
fn follow_host(node: &mut Node) -> bool {
    match node.parts().ports.queue().peek() {
        Some((now, &event @ Event::Host(_))) => follow_own(node, now, event),
        _ => false,
    }
}

/// An event that is due on the node itself comes, if it is this one.
fn follow_own(node: &mut Node, now: Time, expected: Event) -> bool {
    let NodeParts { nic, ports, .. } = node.parts();
    let due = ports.queue_mut().pop_before(Time(now.0 + 1));
    if due != Some((now, expected)) {
        return false;
    }
    ports.trace(now, word::<Station>(&expected));
    if let Event::Host(event) = expected {
        let (host, mut ports) = node.parts().host();
        host.handle(now, event, &mut ports);
    } else {
        let again = match ahead(nic).first() {
            Some(Step::Ready) => {
                nic.chipset.observers.replay_log(|| Step::Ready);
                None
            }
            _ => Some(now + nic.schedule.ras_poll),
        };
        node.looked(now, again);
    }
    node.collect_failures(now);
    node.parts().ports.failure().is_none()
}

/// Lets a node alone until `at`.
#[cfg(test)]
pub(crate) fn advance_alone(node: &mut Node, at: Time) {
    let mut outbox = Outbox::default();
    node.advance_to(at, &mut outbox);
    let NodeParts { nic, ports, .. } = node.parts();
    assert!(outbox.is_empty() && ports.failure().is_none(), "{:?}", ports.failure());
    nic.run_processor(at, false, ports);
}

/// Everything that processor, NIC and queue of a node are.
#[cfg(test)]
pub(crate) fn state(node: &mut Node) -> Vec<(&'static str, String)> {
    let NodeParts { nic, ports, host, .. } = node.parts();
    let queue = ports.queue();
    let parts = nic.core.digest();
    let mut state: Vec<_> = parts.iter().map(|(part, hash)| (*part, hash.to_string())).collect();
    state.push(("counters", format!("{:?}", nic.core.counters())));
    state.push(("now", format!("{:?}", nic.core.now())));
    state.push(("NIC", format!("{:?}", nic.nic)));
    state.push(("link", format!("{:?}", nic.chipset.link)));
    state.push(("trace hash", ports.trace_hash().to_string()));
    state.push(("idle turns", nic.chipset.firmware.idle_turns.to_string()));
    state.push(("due", format!("{:?} {:?}", queue.len(), queue.peek())));
    state.push(("host", format!("{:?}", host.times(nic.horizon))));
    state
}

#[cfg(test)]
impl Boot {
    /// A boot whose host writes something else.
    pub fn with_other_write(mut self) -> Boot {
        let write = self.steps.iter_mut().find_map(|step| match step {
            Step::Write { data, .. } => Some(data),
            _ => None,
        });
        write.expect("the kernel writes commands")[0] ^= 1;
        self
    }
    pub fn until(&self) -> Time {
        self.until
    }
}

//! Report on a node at the end of its run.

use super::*;
use machine::report::{host_ns, Core, Link};
use portals::Nal;
use std::collections::BTreeMap;

/// Results that only such a node leaves.
pub(crate) struct Left {
    pub ledger: mesh::Ledger,
    pub sram: bus::Memory,
    pub work: Work,
    pub packets: Option<Stream>,
    pub effort: Effort,
}

/// Work of a node's firmware since the launch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Work {
    pub messages: u64,
    pub instructions: u64,
    pub cycles: u64,
    pub busy_instructions: f64,
    pub busy_cycles: f64,
}

/// Fault of a link: its count, the word for it, and its consequence (there is no go-back-n).
type Misdeed = (fn(&mesh::OutputCounters) -> u64, &'static str, &'static str);

const MISDEEDS: [Misdeed; 4] = [
    (|load| load.lost, "lost", "; nothing sends such packets again"),
    (|load| load.damaged, "damaged", ""),
    (|load| load.doubled, "doubled", "; nothing takes copies out"),
    (|load| load.overtaken, "held up for others to pass", "; nothing puts packets in order again"),
];

impl Node {
    /// Waiting parts of the node, a sentence each.
    pub(super) fn waiting(&self, end: Time) -> Vec<String> {
        let nid = self.ports.nid;
        let dead = self.ports.router.waiting_for_dead().map(|(neighbour, packets)| {
            let what = if packets == 1 { "a packet waits" } else { "packets wait" };
            format!("node {nid}: {what} for the link to node {neighbour}, which is dead")
        });
        let lost = self.ports.line.lost();
        let events = (lost > 0 && self.driver.get().is_some_and(|driver| driver.has_events()))
            .then(|| {
                let what = if lost == 1 { "an interrupt was" } else { "interrupts were" };
                format!("node {nid}: {what} lost, and the firmware's events wait for the next")
            });
        let waiting = self.ranks.waiting().into_iter();
        let firmware = self.firmware_stands(end);
        waiting.chain(firmware).chain(dead).chain(events).chain(self.misdeeds()).collect()
    }

    /// Faults of its links, a sentence for each kind.
    fn misdeeds(&self) -> impl Iterator<Item = String> + '_ {
        MISDEEDS.iter().filter_map(|(count, done, consequence)| {
            let links = self.ports.router.loads().filter(|(_, load)| count(load) > 0);
            let (to, numbers): (Vec<_>, Vec<_>) =
                links.map(|(to, load)| (format!("to node {to}"), count(&load))).unzip();
            let what = match numbers.iter().sum() {
                0 => return None,
                1 => "a packet was".to_string(),
                packets => format!("{packets} packets were"),
            };
            let (nid, to) = (self.ports.nid, to.join(" and "));
            let links = if numbers.len() == 1 { "link" } else { "links" };
            Some(format!("node {nid}: {what} {done} on the {links} {to}{consequence}"))
        })
    }

    /// The router's books, with what the NIC knows.
    pub(super) fn ledger(&self) -> mesh::Ledger {
        let counters = self.nic.counters();
        let mut ledger = self.ports.router.ledger();
        ledger.held = self.nic.packets_held().into();
        ledger.sent_by_nic = counters.tx_packets + counters.control_sent;
        ledger.received_by_nic = counters.rx_packets + counters.control_received;
        ledger
    }

    /// Work between launch and end; for each turn of the main loop the cost of an idle one is subtracted.
    pub(super) fn work(&mut self, launch: &Snapshot, end: &Snapshot) -> Work {
        let instructions = end.instructions.saturating_sub(launch.instructions);
        let cycles = end.cycles.saturating_sub(launch.cycles);
        let turns = end.turns.saturating_sub(launch.turns) as f64;
        Work {
            messages: self.niccb("tx_complete") + self.niccb("rx_complete"),
            instructions,
            cycles,
            busy_instructions: (instructions as f64 - turns * self.idle.instructions).max(0.0),
            busy_cycles: (cycles as f64 - turns * self.idle.cycles).max(0.0),
        }
    }

    pub(super) fn report(&mut self, launch: &Snapshot, end: &Snapshot) -> NodeReport {
        let mut counters = super::counters::of(&self.core, &self.nic, &self.ports.router);
        let niccb = super::counters::niccb(&mut |addr, buf| {
            let read = self.nic.ras_read(addr, buf, &mut self.ports);
            read.expect("the control block stands in SRAM");
        });
        counters.extend(niccb.into_iter().map(|(name, value)| (format!("niccb.{name}"), value)));
        let pendings = self.driver.get().map(|driver| driver.pendings_max()).unwrap_or_default();
        counters.insert("kernel.tx_pendings_max".into(), pendings.transmit.into());
        counters.insert("kernel.rx_pendings_max".into(), pendings.receive.into());
        if let Some(counts) = self.driver.get().and_then(|driver| driver.overflow_counts()) {
            counters.insert("kernel.refused".into(), counts.refused);
            counters.insert("kernel.called".into(), counts.called);
            counters.insert("kernel.taken".into(), counts.taken);
            counters.insert("kernel.repeated".into(), counts.repeated);
            counters.insert("kernel.turned_away".into(), counts.turned_away);
        }
        counters.extend(self.ranks.counters());
        if let Some(rings) = &self.ports.rings {
            counters.insert("nic.atomics".into(), rings.atomics());
            counters.insert("nic.posts_refused".into(), rings.posts_refused());
        }
        let line = &self.ports.line;
        counters.insert("nic.interrupts_lost".into(), line.lost());
        counters.insert("nic.interrupts_late".into(), line.late());
        let (host_ns, cores) = self.host_time(launch, end);
        let links = self.ports.router.loads().map(|(to, load)| Link {
            to,
            packets: load.packets,
            bytes: load.bytes,
            busy_ns: load.busy.as_ns(),
            queue_max: load.queue_max as u64,
            starved: load.starved,
        });
        let (links, ranks) = (links.collect(), self.ranks.numbers());
        NodeReport { nid: self.ports.nid, ranks, counters, host_ns, links, cores }
    }

    /// Host processor time of all cores, and of each if there are several.
    fn host_time(&self, launch: &Snapshot, end: &Snapshot) -> (BTreeMap<String, f64>, Vec<Core>) {
        let (end, start) = (&end.host, &launch.host);
        let span = |end, start| host_ns(end, start, self.host.cores());
        let all = |times: &[host::Times]| times.iter().copied().sum();
        let each = end.iter().zip(start).map(|(end, start)| Core { host_ns: span(end, start) });
        let each = each.filter(|_| end.len() > 1).collect();
        (span(&all(end), &all(start)), each)
    }
}

//! Report on a node at the end of its run.

use super::*;
use machine::firmware::work::{Count, IdleTurn, Work};
use machine::instruments::spool::Stream;
use portals::Nal;

/// Results that only such a node leaves.
pub(crate) struct Left {
    pub ledger: mesh::Ledger,
    pub sram: bus::Memory,
    pub packets: Option<Stream>,
    pub effort: Effort,
}

/// Fault of a link: its count, the word for it, and its consequence (there is no go-back-n).
type Misdeed = (fn(&mesh::OutputCounters) -> u64, &'static str, &'static str);

const MISDEEDS: [Misdeed; 4] = [
    (|load| load.lost, "lost", "; nothing sends such packets again"),
    (|load| load.damaged, "damaged", ""),
    (|load| load.doubled, "doubled", "; nothing takes copies out"),
    (|load| load.overtaken, "held up for others to pass", "; nothing puts packets in order again"),
];

impl Station {
    /// The sums now.
    pub(super) fn snapshot(&mut self, now: Time) -> Count {
        Count {
            instructions: self.core.counters().instructions,
            cycles: self.core.cycles_at(now),
            turns: self.chipset.firmware.turns,
        }
    }

    /// Parts of the node that wait at `end`, a sentence each.
    pub(super) fn waiting_at(&self, end: Time, ports: &Ports<Station>) -> Vec<String> {
        let nid = ports.nid();
        let dead = self.chipset.router.waiting_for_dead().map(|(neighbour, packets)| {
            let what = if packets == 1 { "a packet waits" } else { "packets wait" };
            format!("node {nid}: {what} for the link to node {neighbour}, which is dead")
        });
        let lost = ports.line().lost();
        let events = (lost > 0 && self.driver.get().is_some_and(|driver| driver.has_events()))
            .then(|| {
                let what = if lost == 1 { "an interrupt was" } else { "interrupts were" };
                format!("node {nid}: {what} lost, and the firmware's events wait for the next")
            });
        let firmware = self.firmware_stands(end, nid).into_iter();
        firmware.chain(dead).chain(events).chain(self.misdeeds(nid)).collect()
    }

    /// Faults of its links, a sentence for each kind.
    fn misdeeds(&self, nid: u32) -> impl Iterator<Item = String> + '_ {
        MISDEEDS.iter().filter_map(move |(count, done, consequence)| {
            let links = self.chipset.router.loads().filter(|(_, load)| count(load) > 0);
            let (to, numbers): (Vec<_>, Vec<_>) =
                links.map(|(to, load)| (format!("to node {to}"), count(&load))).unzip();
            let what = match numbers.iter().sum() {
                0 => return None,
                1 => "a packet was".to_string(),
                packets => format!("{packets} packets were"),
            };
            let to = to.join(" and ");
            let links = if numbers.len() == 1 { "link" } else { "links" };
            Some(format!("node {nid}: {what} {done} on the {links} {to}{consequence}"))
        })
    }

    /// The router's books, with what the NIC knows.
    fn ledger(&self) -> mesh::Ledger {
        let counters = self.nic.counters();
        let mut ledger = self.chipset.router.ledger();
        ledger.held = self.nic.packets_held().into();
        ledger.sent_by_nic = counters.tx_packets + counters.control_sent;
        ledger.received_by_nic = counters.rx_packets + counters.control_received;
        ledger
    }

    /// Work between launch and end.
    fn work(&self, messages: u64) -> Work {
        let end = self.at_end.unwrap_or_default();
        // A node that was never launched has done nothing since.
        let launch = self.at_launch.unwrap_or(end);
        let heartbeat::IdleTurn { instructions, cycles, .. } = self.idle;
        Work::between(launch, end, IdleTurn { instructions, cycles }, messages)
    }

    /// Adds counters and links to the node's report.
    pub(super) fn add_to(&mut self, report: &mut NodeReport, ports: &mut Ports<Station>) {
        let counters = &mut report.counters;
        counters.extend(super::counters::of(&self.core, &self.nic, &self.chipset.router));
        let (nic, mut around) = self.chip(ports);
        let niccb = super::counters::niccb(&mut |addr, buf| {
            let read = nic.ras_read(addr, buf, &mut around);
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
        if let Some(rings) = &self.chipset.rings {
            counters.insert("nic.atomics".into(), rings.atomics());
            counters.insert("nic.posts_refused".into(), rings.posts_refused());
            let (receives, sends) = rings.kept();
            counters.insert("nic.receives_kept".into(), receives);
            counters.insert("nic.sends_kept".into(), sends);
        }
        let count = |name: &str| counters.get(name).copied().unwrap_or(0);
        let messages = count("niccb.tx_complete") + count("niccb.rx_complete");
        report.work = Some(self.work(messages));
        report.links = mesh_network::links(&self.chipset.router);
    }

    /// Results beside the report, which has been made.
    pub(super) fn leave(mut self) -> Left {
        Left {
            ledger: self.ledger(),
            effort: Effort { events: self.steady.events, ..self.meter.effort(&self.core) },
            packets: self.chipset.observers.tap.take().map(Tap::finish),
            sram: self.nic.into_sram(),
        }
    }
}

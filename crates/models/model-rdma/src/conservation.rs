//! Invariants at rest: words, credits and interrupts are conserved.

use super::switch::Left;
use super::tally::Judge;
use machine::report::{NodeReport, Report};

/// Counters of things that never happen on lanes without faults.
const NEVER: [&str; 8] = [
    "pcix.aborts",
    "pcix.parity_errors",
    "rx.header_errors",
    "rx.payload_errors",
    "rx.credit_errors",
    "rx.bond_errors",
    "rx.overflows",
    "rx.elastic_errors",
];

/// Says in the report what was not conserved in a run that has come to its end.
pub(super) fn check(report: &mut Report, switch: Option<&Left>, judge: Option<&Judge>) {
    if report.exit.code != 0 {
        return;
    }
    if report.nodes.iter().any(|node| of(node, "host.card_restarts") > 0) {
        return; // What a reset takes is not conserved.
    }
    let mut wrong = Vec::new();
    let sum = |name: &str| report.nodes.iter().map(|node| of(node, name)).sum::<u64>();
    let mut equal = |what: &str, left: u64, right: u64| {
        if left != right {
            wrong.push(format!("{what}: {left} and {right}"));
        }
    };
    equal("words posted and sent", sum("host.posted_words"), sum("tx.words"));
    equal("words sent and received", sum("tx.words"), sum("rx.words"));
    equal("messages sent and received", sum("tx.messages"), sum("rx.messages"));
    equal("words for which no credit came back", sum("nic.credits_out"), 0);
    for node in &report.nodes {
        let handled = of(node, "host.interrupts") + of(node, "nic.interrupts_lost");
        let what = format!("interrupts raised and handled on node {}", node.nid);
        equal(&what, of(node, "nic.interrupts"), handled);
        NEVER.iter().for_each(|name| {
            equal(&format!("{name} on node {}", node.nid), of(node, name), 0);
        });
    }
    if let Some(Left { counters, bond_errors, elastic_errors, .. }) = switch {
        let packets: u64 = counters.packets.iter().sum();
        let overhead = u64::from(abi::forth::PACKET_OVERHEAD) * packets;
        equal("words in and out of the crossbar", sum("tx.words") + overhead, words(counters));
        let errors = counters.header_errors + counters.credit_errors + counters.overflows;
        equal("errors of the crossbar", errors + bond_errors + elastic_errors, 0);
        equal("words left in the crossbar", counters.occupancy.iter().sum::<usize>() as u64, 0);
    }
    wrong.extend(judge.and_then(|judge| judge.at_rest().err()).map(|why| why.to_string()));
    if !wrong.is_empty() {
        report.exit.code = 1;
        report.exit.sentences.extend(wrong.iter().map(|what| format!("not conserved: {what}")));
    }
}

fn words(counters: &crossbar::Counters) -> u64 {
    counters.words.iter().sum()
}

fn of(node: &NodeReport, name: &str) -> u64 {
    node.counters.get(name).copied().unwrap_or_default()
}

//! Words of the bench for a router: its counters, its links, its neighbours.

use machine::instruments::timeline::About;
use machine::report::Link;
use mesh::{OutputCounters, Router};

/// Counters of a router, by name.
pub fn counters(router: &Router) -> [(&'static str, u64); 12] {
    let net = router.counters();
    let links = |f: fn(&OutputCounters) -> u64| net.links.iter().map(f).sum::<u64>();
    [
        ("net.injected", net.injected),
        ("net.ejected", net.ejected),
        ("net.link_packets", links(|link| link.packets)),
        ("net.link_busy_ns", links(|link| link.busy.0) / 1_000),
        ("net.link_starved", links(|link| link.starved)),
        ("net.link_lost", links(|link| link.lost)),
        ("net.link_damaged", links(|link| link.damaged)),
        ("net.link_delayed", links(|link| link.delayed)),
        ("net.link_overtaken", links(|link| link.overtaken)),
        ("net.link_doubled", links(|link| link.doubled)),
        ("net.input_flits_max", net.input_max.into()),
        ("net.injection_stalls", net.injection_stalls),
    ]
}

/// Its links that carried packets, for the report.
pub fn links(router: &Router) -> Vec<Link> {
    let loads = router.loads().map(|(to, load)| Link {
        to,
        packets: load.packets,
        bytes: load.bytes,
        busy_ns: load.busy.as_ns(),
        queue_max: load.queue_max as u64,
        starved: load.starved,
    });
    loads.collect()
}

/// Tells observers of the node's links.
pub fn describe(router: &Router, about: &mut About) {
    about.neighbours = router.neighbours();
    about.links = mesh::LINK_NAMES;
}

// The bench's observers have a place for each link.
const _: () = assert!(mesh::LINKS == machine::instruments::timeline::LINKS);

//! Faults on request, as the command line writes them (`sunstar faults`, docs/reference/faults.md): their
//! rules, and the part of them that concerns each part of the machine.

mod bugs;
mod cables;
mod interrupts;
mod kinds;
mod lanes;
mod network;
mod parse;
pub mod quiz;
mod switches;

pub use cables::{Cable, Fate};
use interrupts::FaultyLine;
pub use interrupts::{FaultlessLine, InterruptLine};
pub use kinds::{kind, reference, FaultKind, Form, Scope, KINDS};
pub use lanes::{Lanes, Struck};
pub use network::{DeadLink, FaultSite, Mishap, Network, OnLinks, OnPackets, Which};
pub use parse::set;
pub use parse::{parse, parse_of_hosts, suits};
pub use switches::StuckOutput;

use des::{Duration, Time};
use portals::seastar::Pools;

/// All faults that the user asked for.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// Seed of all chances.
    pub seed: u64,
    /// Faults of links.
    pub links: OnLinks,
    /// Nodes whose cable is dead, and the time from which it is.
    pub cables: Vec<(u32, Time)>,
    nodes: Vec<Rule>,
}

/// Fault of a node, or of all.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rule {
    what: What,
    /// `None` for all.
    node: Option<u32>,
    from: Time,
    until: Time,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    InterruptLost(Which),
    InterruptLate(Which, Duration),
    StuckHigh,
    Slow(u64),
    Rests { length: Duration, period: Option<Duration> },
    Pool(Pool, u32),
    Lanes(Struck, Which),
    Stuck(Which, Option<Duration>),
    Bug(&'static str),
}

/// Pool that can be made smaller, so that it runs out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pool {
    Receives,
    Transmits,
    EventSlots,
    ListCommands,
    Streams,
}

impl Faults {
    fn of(&self, nid: u32) -> impl Iterator<Item = &Rule> {
        self.nodes.iter().filter(move |rule| rule.node.is_none_or(|node| node == nid))
    }

    /// Time from which the cable of a node is dead.
    pub fn cable_dead(&self, nid: u32) -> Option<Time> {
        self.cables.iter().filter(|(node, _)| *node == nid).map(|(_, from)| *from).min()
    }

    /// Speed of a node's host over time.
    pub fn pace(&self, nid: u32) -> host::Pace {
        let spells = self.of(nid).filter_map(|rule| {
            let speed = match rule.what {
                What::Slow(thousandths) => host::Speed::Slow(thousandths),
                What::Rests { length, period } => host::Speed::Rests { length, period },
                _ => return None,
            };
            Some(host::Spell { from: rule.from, until: rule.until, speed })
        });
        host::Pace::new(spells.collect())
    }

    /// A node's interrupt line, with the faults that it was asked to have.
    pub fn interrupt_line(&self, nid: u32) -> Box<dyn InterruptLine> {
        let rules = self.interrupt_rules(nid);
        match rules.is_empty() {
            true => Box::new(FaultlessLine),
            false => Box::new(FaultyLine::new(self.seed, nid, rules)),
        }
    }

    fn interrupt_rules(&self, nid: u32) -> Vec<interrupts::Rule> {
        self.of(nid)
            .filter_map(|rule| {
                let (late_by, which) = match rule.what {
                    What::InterruptLost(which) => (None, which),
                    What::InterruptLate(which, by) => (Some(by), which),
                    _ => return None,
                };
                Some(interrupts::Rule { late_by, which, from: rule.from, until: rule.until })
            })
            .collect()
    }

    /// Faults of the lanes to a node's card.
    pub fn lanes(&self, nid: u32) -> Option<Lanes> {
        let rule = |rule: &Rule| match rule.what {
            What::Lanes(struck, which) => {
                Some(lanes::Rule { struck, which, from: rule.from, until: rule.until })
            }
            _ => None,
        };
        let rules: Vec<_> = self.of(nid).filter_map(rule).collect();
        (!rules.is_empty()).then(|| Lanes::new(self.seed, nid, rules))
    }

    /// Bugs of a node's card and its driver, by the names of their kinds.
    pub fn bugs(&self, nid: u32) -> impl Iterator<Item = &'static str> + '_ {
        self.of(nid).filter_map(|rule| match rule.what {
            What::Bug(name) => Some(name),
            _ => None,
        })
    }

    /// True if lanes damage symbols or credits.
    pub fn spoils(&self) -> bool {
        self.nodes.iter().any(|rule| matches!(rule.what, What::Lanes(..) | What::Bug(_)))
    }

    /// Time from which the interrupt line of a node is stuck.
    pub fn stuck_since(&self, nid: u32) -> Option<Time> {
        let stuck = self.of(nid).filter(|rule| rule.what == What::StuckHigh);
        stuck.map(|rule| rule.from).min()
    }

    /// Sizes of the pools of a node's kernel; without a node, those that hold for all nodes.
    pub fn pools(&self, nid: Option<u32>) -> Pools {
        let mut pools = Pools::FULL;
        for (pool, number) in self.pool_rules(nid) {
            match pool {
                Pool::Receives => pools.receives = number as u16,
                Pool::Transmits => pools.transmits = number as u16,
                Pool::EventSlots => pools.event_slots = number,
                Pool::ListCommands => pools.list_commands = number,
                Pool::Streams => {}
            }
        }
        pools
    }

    /// Number of streams of a node's receive engine that work, if not all do.
    pub fn streams(&self, nid: u32) -> Option<u32> {
        let streams = self.pool_rules(Some(nid)).filter(|(pool, _)| *pool == Pool::Streams);
        streams.map(|(_, number)| number).last()
    }

    /// Rules for the node's pools, in order: rules for all nodes first, then those for this node, which
    /// override them.
    fn pool_rules(&self, nid: Option<u32>) -> impl Iterator<Item = (Pool, u32)> + '_ {
        let of_all = self.nodes.iter().filter(|rule| rule.node.is_none());
        let of_node = self.nodes.iter().filter(move |rule| rule.node.is_some() && rule.node == nid);
        of_all.chain(of_node).filter_map(|rule| match rule.what {
            What::Pool(pool, number) => Some((pool, number)),
            _ => None,
        })
    }

    /// True if messages may be lost, damaged, doubled or out of order.
    pub fn loses(&self) -> bool {
        let harmless = |rule: &OnPackets| matches!(rule.what, Mishap::Delay(_));
        let dead = !self.links.dead.is_empty() || !self.cables.is_empty();
        dead || !self.links.rules.iter().all(harmless)
    }

    /// True if messages may stay on their way for ever.
    pub fn stalls(&self) -> bool {
        let stalls = |what| matches!(what, What::InterruptLost(_) | What::Stuck(_, None));
        self.nodes.iter().any(|rule| stalls(rule.what))
    }
}

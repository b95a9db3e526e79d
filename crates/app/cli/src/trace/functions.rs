//! The functions that a LANai has entered, listed instead of a trace ring: its control program has no trace
//! points, so the simulator observes it, which costs no cycle.

use des::{Clock, Time};
use machine::instruments::timeline::{About, Sink, Track, Watcher, What};
use machine::instruments::write_error::WriteError;
use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// Number of entries that are kept: that of the SeaStar's ring.
const ENTRIES: usize = abi::seastar::TRACE_COUNT as usize;

/// A function that was entered.
#[derive(Debug)]
struct Entry {
    at: Time,
    depth: usize,
    name: String,
    /// Time at which it was left.
    end: Option<Time>,
}

/// The last entries of a node.
#[derive(Debug, Default)]
struct Ring {
    entries: VecDeque<Entry>,
    /// Entries that were dropped.
    dropped: usize,
    /// Numbers of those that are open, the outermost first.
    open: Vec<usize>,
}

impl Ring {
    fn enter(&mut self, at: Time, name: &str) {
        if self.entries.len() == ENTRIES {
            self.entries.pop_front();
            self.dropped += 1;
        }
        let depth = self.open.len();
        self.open.push(self.dropped + self.entries.len());
        self.entries.push_back(Entry { at, depth, name: name.into(), end: None });
    }
    fn leave(&mut self, at: Time) {
        let number = self.open.pop();
        let place = number.and_then(|number| number.checked_sub(self.dropped));
        if let Some(entry) = place.and_then(|place| self.entries.get_mut(place)) {
            entry.end = Some(at);
        }
    }
}

/// Records the functions of one node's processor, from the launch on.
#[derive(Clone, Debug)]
pub struct Functions {
    node: u32,
    ring: Arc<Mutex<Ring>>,
}

impl Functions {
    /// Recorder of this node.
    pub fn of(node: u32) -> Functions {
        Functions { node, ring: Arc::default() }
    }

    /// A line for each entry: the cycle in which it was entered, its name, indented by its callers, and the
    /// time until it was left, callees included. The first line says what is listed.
    pub fn dump(&self, clock: &Clock) -> String {
        let ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        let (kept, node) = (ring.entries.len(), self.node);
        let all = kept + ring.dropped;
        let part = if ring.dropped > 0 { format!("the last {kept} of ") } else { String::new() };
        let mut out = format!(
            "# node {node}: {part}{all} functions entered since the launch: cycle, function, time\n"
        );
        for Entry { at, depth, name, end } in &ring.entries {
            let (cycle, indent) = (clock.edge_at_or_after(*at), 2 * depth);
            let time = end.map_or("last".into(), |end| format!("{:.1} ns", end.since(*at).as_ns()));
            writeln!(out, "{cycle:08x}: {:indent$}{name} ({time})", "").expect("a string");
        }
        out
    }
}

impl Watcher for Functions {
    fn node(&self, about: About) -> Box<dyn Sink> {
        let ring = (about.nid == self.node).then(|| self.ring.clone());
        Box::new(Node(ring))
    }
    fn finish(&self) -> Result<(), WriteError> {
        Ok(())
    }
}

/// Sink for the records of a node; it keeps those of the chosen node.
struct Node(Option<Arc<Mutex<Ring>>>);

impl Sink for Node {
    fn record(&mut self, at: Time, what: What) {
        let Some(ring) = &self.0 else { return };
        let mut ring = ring.lock().unwrap_or_else(PoisonError::into_inner);
        match what {
            What::Begin { track: Track::Firmware, name: Some(name), .. } => ring.enter(at, name),
            What::End { track: Track::Firmware } => ring.leave(at),
            _ => {}
        }
    }
    fn finish(self: Box<Self>, _: Time) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_entries_are_kept_and_counted() {
        let functions = Functions::of(0);
        let clock = Clock::from_hz(1_000_000_000);
        let mut ring = functions.ring.lock().unwrap();
        ring.enter(clock.edge(1), "outer");
        for number in 1..=ENTRIES as u64 {
            ring.enter(clock.edge(2 * number), "inner");
            ring.leave(clock.edge(2 * number + 1));
        }
        drop(ring);
        let dump = functions.dump(&clock);
        let mut lines = dump.lines();
        let head = "# node 0: the last 2048 of 2049 functions entered since the launch";
        assert_eq!(lines.next().unwrap(), format!("{head}: cycle, function, time"));
        assert_eq!(lines.next(), Some("00000002:   inner (1.0 ns)"));
        assert_eq!(lines.clone().last(), Some("00001000:   inner (1.0 ns)"));
        // The outermost is not listed any more, and its end finds nobody.
        functions.ring.lock().unwrap().leave(clock.edge(9999));
        assert_eq!(functions.dump(&clock), dump);
        functions.ring.lock().unwrap().enter(clock.edge(10_000), "again");
        assert!(functions.dump(&clock).ends_with("00002710: again (last)\n"));
    }
}

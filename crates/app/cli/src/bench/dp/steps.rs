//! Steps of a column's packets, into which their time went.

use crate::bench::measure::Measured;
use crate::terminal::Terminal;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Write};

/// Lengths in the text, which has room for five.
const SHOWN: [u64; 5] = [8, 64, 256, 512, 1024];

/// Packets of one length: the one with the median time.
#[derive(Debug, Serialize)]
pub struct Packet {
    pub bytes: u64,
    /// From the call that sends to the return of the one that reads, in microseconds.
    pub total_us: f64,
    /// Steps in order; they add up to it.
    pub steps: Vec<Step>,
}

#[derive(Debug, Serialize)]
pub struct Step {
    pub name: String,
    /// Part of the machine at work, as breakdowns have it.
    pub place: String,
    pub us: f64,
}

/// Packets of a column's run, by length.
#[derive(Debug, Serialize)]
pub struct Steps {
    name: &'static str,
    #[serde(skip)]
    pub title: &'static str,
    pub packets: Vec<Packet>,
}

/// A class of messages in the report of a run (docs/reference/run-json.md).
#[derive(Deserialize)]
struct Class {
    kind: String,
    bytes_least: u64,
    bytes_most: u64,
    total_ns: f64,
    segments: Vec<Segment>,
}

#[derive(Deserialize)]
struct Segment {
    name: String,
    place: String,
    ns: f64,
}

impl Steps {
    /// The steps of packets of these lengths that went from process to process; none if the run tells of no
    /// such packets.
    pub fn of(
        name: &'static str,
        title: &'static str,
        run: &Measured,
        lengths: &[u64],
    ) -> Option<Steps> {
        let classes = Vec::<Class>::deserialize(&run.report["breakdowns"]).ok()?;
        let of_length = |bytes: &u64| {
            let is_it = |class: &&Class| {
                class.kind == "send" && (class.bytes_least, class.bytes_most) == (*bytes, *bytes)
            };
            let class = classes.iter().find(is_it)?;
            let step = |segment: &Segment| Step {
                name: segment.name.clone(),
                place: segment.place.clone(),
                us: us(segment.ns),
            };
            let steps = class.segments.iter().map(step).collect();
            Some(Packet { bytes: *bytes, total_us: us(class.total_ns), steps })
        };
        let packets: Vec<Packet> = lengths.iter().filter_map(of_length).collect();
        (!packets.is_empty()).then_some(Steps { name, title, packets })
    }

    /// Names of the steps of all packets, in the order of the way.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for packet in &self.packets {
            let mut behind = 0;
            for step in &packet.steps {
                match names.iter().position(|name| *name == step.name) {
                    Some(at) => behind = at + 1,
                    None => {
                        names.insert(behind, &step.name);
                        behind += 1;
                    }
                }
            }
        }
        names
    }

    /// Prints them as a table: a row for each step, a column for each length.
    pub fn write(&self, out: &mut String, terminal: &Terminal) -> fmt::Result {
        let heading = format!("Where the time of a median packet went, in us: {}", self.title);
        writeln!(out, "\n{}", terminal.bold(heading))?;
        let shown: Vec<&Packet> =
            self.packets.iter().filter(|packet| SHOWN.contains(&packet.bytes)).collect();
        if shown.len() < self.packets.len() {
            let (some, all) = (shown.len(), self.packets.len());
            writeln!(out, "  {some} of {all} lengths are shown, --json has all.")?;
        }
        let lengths: String = shown.iter().map(|packet| format!("{:>8}", packet.bytes)).collect();
        writeln!(out, "{}", terminal.dim(format!("  {:<38}{lengths}", "step, bytes")))?;
        for name in self.names() {
            write!(out, "  {name:<38}")?;
            for packet in &shown {
                match packet.steps.iter().find(|step| step.name == name) {
                    Some(step) => write!(out, "{:>8.2}", step.us)?,
                    None => write!(out, "{:>8}", "-")?,
                }
            }
            writeln!(out)?;
        }
        write!(out, "  {:<38}", "total")?;
        shown.iter().try_for_each(|packet| write!(out, "{:>8.2}", packet.total_us))?;
        writeln!(out)
    }
}

/// Nanoseconds in microseconds, to the picosecond, in which the report counts.
fn us(ns: f64) -> f64 {
    (ns * 1e3).round() / 1e6
}

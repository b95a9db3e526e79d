//! Use of hosts, network interfaces and links over time: the share of each span of time in which a part of
//! the machine worked, of all nodes together and of the node where it worked most.

use super::depths::{Bin, Node, Series};
use super::queues::time_ticks;
use super::svg::{self, Chart, Scale, Size};
use super::units::share;
use machine::instruments::timeline::Track;
use maud::{html, Markup};
use std::collections::BTreeMap;

/// A part of a node that works or does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// The program and its libraries, on the host's cores.
    Program,
    /// The kernel there, interrupts included.
    Kernel,
    /// The network interface's processor, unless it only polls.
    Firmware,
    /// The engine that sends.
    Transmit,
    /// The engine that receives.
    Receive,
    /// Matching units.
    Units,
    /// Links from the node to others.
    Links,
}

impl Use {
    const ALL: [(Use, &'static str); 7] = [
        (Use::Program, "program and libraries, on the hosts"),
        (Use::Kernel, "kernel, with interrupts"),
        (Use::Firmware, "NIC: firmware"),
        (Use::Transmit, "NIC: engine that sends"),
        (Use::Receive, "NIC: engine that receives"),
        (Use::Units, "NIC: matching units"),
        (Use::Links, "links"),
    ];

    /// The part that works during a slice, and how many of it the node has.
    fn of(track: Track, name: Option<&str>) -> Option<Use> {
        match (track, name) {
            (Track::Core(_), Some("kernel" | "interrupt")) => Some(Use::Kernel),
            (Track::Core(_), Some("user")) => Some(Use::Program),
            (Track::Firmware, Some("idle")) => None,
            (Track::Firmware, _) => Some(Use::Firmware),
            (Track::Transmit(_), _) => Some(Use::Transmit),
            (Track::Receive(_), _) => Some(Use::Receive),
            (Track::Matches(_) | Track::Inserts(_), _) => Some(Use::Units),
            _ => None,
        }
    }
}

/// A part of a node whose times come in their order: a core, of which each goes on by itself, or all others
/// of a kind.
type Part = (Use, Option<Track>);

/// Parts of a node that work now, and over time.
#[derive(Debug, Default)]
pub struct Uses {
    /// Open slices, with the part that works in each.
    open: BTreeMap<Track, Vec<Option<Part>>>,
    /// Number of slices of each part that are open.
    working: BTreeMap<Part, u32>,
    all_series: BTreeMap<Part, Series>,
}

impl Uses {
    /// Begins a slice at a time after the launch.
    pub fn begin(&mut self, at: u64, track: Track, name: Option<&str>) {
        let open = self.open.entry(track).or_default();
        // What is within a slice belongs to it.
        let what = if open.is_empty() { Use::of(track, name) } else { None };
        let core = Some(track).filter(|track| matches!(track, Track::Core(_)));
        let part = what.map(|what| (what, core));
        open.push(part);
        self.change(at, part, 1);
    }

    /// The innermost slice of a track ends.
    pub fn end(&mut self, at: u64, track: Track) {
        let part = self.open.get_mut(&track).and_then(Vec::pop).flatten();
        self.change(at, part, -1);
    }

    fn change(&mut self, at: u64, part: Option<Part>, by: i32) {
        let Some(part) = part else { return };
        let working = self.working.entry(part).or_default();
        *working = working.saturating_add_signed(by);
        // Several lanes of an engine are one engine.
        let depth = (*working).min(1);
        self.all_series.entry(part).or_default().set(at, depth);
    }

    /// Ends the node.
    pub fn finish(mut self, span: u64) -> BTreeMap<Use, Series> {
        self.all_series.values_mut().for_each(|series| series.set(span, 0));
        let mut parts: BTreeMap<Use, Vec<Series>> = BTreeMap::new();
        for ((what, _), series) in self.all_series {
            parts.entry(what).or_default().push(series);
        }
        let whole = |(what, all): (Use, Vec<Series>)| Some((what, sum(all.iter())?));
        parts.into_iter().filter_map(whole).collect()
    }
}

/// Number of parts of a kind that a node has.
fn parts(what: Use, node: &Node) -> u64 {
    match what {
        Use::Program | Use::Kernel => node.cores.into(),
        Use::Links => node.neighbours.into(),
        _ => 1,
    }
}

/// Courses of several nodes as one.
fn sum<'a>(all_series: impl Iterator<Item = &'a Series> + Clone) -> Option<Series> {
    let width = all_series.clone().map(|series| series.width).max()?;
    let mut all = Series::default();
    all.width = width;
    for series in all_series {
        for (index, bin) in series.bins.iter().enumerate() {
            let place = (index as u64 * series.width / width) as usize;
            if place >= all.bins.len() {
                all.bins.resize(place + 1, Bin::default());
            }
            all.bins[place].sum += bin.sum;
        }
    }
    Some(all)
}

/// A line of the chart.
struct Line {
    what: Use,
    name: &'static str,
    series: Series,
    /// Number of such parts on all nodes, and their time.
    parts: u64,
    time: u64,
    /// The node at which it worked most, and the share of its time.
    most: (u32, f64),
}

fn lines(nodes: &[Node]) -> Vec<Line> {
    let line = |(what, name): (Use, &'static str)| {
        let of = |node: &'_ Node| -> Vec<Series> {
            match what {
                Use::Links => node.links.values().cloned().collect(),
                _ => node.uses.get(&what).cloned().into_iter().collect(),
            }
        };
        let all_series: Vec<(&Node, Vec<Series>)> =
            nodes.iter().map(|node| (node, of(node))).collect();
        let series = sum(all_series.iter().flat_map(|(_, all_series)| all_series))?;
        let share_of = |(node, all_series): &(&Node, Vec<Series>)| {
            let busy: u64 = all_series.iter().map(Series::sum).sum();
            let time = parts(what, node).max(1) * node.span.max(1);
            (node.nid, busy as f64 / time as f64)
        };
        let most = all_series.iter().map(share_of).max_by(|a, b| a.1.total_cmp(&b.1))?;
        let number = nodes.iter().map(|node| parts(what, node)).sum::<u64>().max(1);
        let time = nodes.iter().map(|node| parts(what, node) * node.span).sum::<u64>().max(1);
        Some(Line { what, name, series, parts: number, time, most })
    };
    Use::ALL.into_iter().filter_map(line).collect()
}

const SIZE: Size = Size { width: 760.0, height: 280.0 };

/// The section.
pub fn section(nodes: &[Node]) -> Markup {
    let lines = lines(nodes);
    let span = nodes.iter().map(|node| node.span).max().unwrap_or(0);
    html! {
        section id="uses" {
            h2 { "Use of hosts, NICs and links over time" }
            @if lines.is_empty() || span == 0 {
                p { "Nothing worked." }
            } @else {
                p {
                    "The share of each span of time in which a part of the machine worked, the \
                     mean of all nodes. A processor that only polls does not work; an engine does \
                     as long as a message is in it."
                }
                (chart(&lines, span))
                (table(&lines))
            }
        }
    }
}

fn chart(lines: &[Line], span: u64) -> Markup {
    let x = Scale::linear(span as f64, Chart::across(SIZE));
    let percent = |line: &Line, bin: &Bin, index: usize| {
        // The last span may be cut by the end.
        let begins = index as u64 * line.series.width;
        let width = line.series.width.min(span.saturating_sub(begins)).max(1);
        (100.0 * bin.sum as f64 / (line.parts as f64 * width as f64)).min(100.0)
    };
    let all = |line: &Line| -> Vec<f64> {
        let bins = line.series.bins.iter().enumerate();
        bins.map(|(index, bin)| percent(line, bin, index)).collect()
    };
    let most = lines.iter().flat_map(all).fold(0.0, f64::max);
    let ticks = svg::round_steps(most, 4);
    let y = Scale::linear(*ticks.last().expect("an axis has marks"), Chart::upwards(SIZE));
    let points = |line: &Line| -> Vec<(f64, f64)> {
        let width = line.series.width as f64;
        let middle = |index: usize| ((index as f64 + 0.5) * width).min(span as f64);
        let shares = all(line).into_iter().enumerate();
        shares.map(|(index, share)| (x.at(middle(index)), y.at(share))).collect()
    };
    let body = html! {
        @for (look, line) in lines.iter().enumerate().rev() {
            g data-use=(format!("{:?}", line.what).to_lowercase())
                data-busy-ps=(line.series.sum()) data-time-ps=(line.time) {
                (svg::line(look, &points(line)))
            }
        }
    };
    let (times, unit) = time_ticks(span as f64, &x);
    let chart = Chart {
        size: SIZE,
        label: "Use of hosts, network interfaces and links over time",
        x_title: &format!("time after the launch ({unit})"),
        y_title: "in use (%)",
        x: times,
        y: ticks.iter().map(|tick| (y.at(*tick), super::units::plain(*tick))).collect(),
    };
    html! {
        figure id="use-courses" {
            ul class="legend" {
                @for (look, line) in lines.iter().enumerate() {
                    li { (svg::swatch(look)) (line.name) }
                }
            }
            div class="scroll" { (chart.draw(&body)) }
        }
    }
}

fn table(lines: &[Line]) -> Markup {
    html! {
        div class="scroll" {
            table class="bars" {
                thead { tr {
                    th { "part" } th { "of the whole run" } th class="num" { "share" }
                    th class="num" { "most, at node" }
                } }
                tbody {
                    @for line in lines {
                        @let part = line.series.sum() as f64 / line.time as f64;
                        @let (node, most) = line.most;
                        tr {
                            td { (line.name) }
                            td class="wide" { div class="meter" { span style={
                                "width:" (format!("{:.2}", 100.0 * part.min(1.0))) "%"
                            } {} } }
                            td class="num" { (share(part, 1.0)) }
                            td class="num" { (share(most, 1.0)) ", " (node) }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_within_a_slice_belongs_to_it_and_cores_work_each_by_itself() {
        let mut uses = Uses::default();
        for (at, core) in [(0, 0), (10, 1)] {
            uses.begin(at, Track::Core(core), Some("kernel"));
        }
        uses.begin(12, Track::Core(1), Some("waits for a lock"));
        uses.end(15, Track::Core(1));
        uses.end(20, Track::Core(1));
        uses.end(30, Track::Core(0));
        // Who polls does not work.
        for (at, name) in [(30, "polling"), (40, "user"), (45, "polling")] {
            uses.begin(at, Track::Core(0), Some(name));
            uses.end(at + 5, Track::Core(0));
        }
        uses.begin(0, Track::Firmware, Some("idle"));
        uses.end(40, Track::Firmware);
        for lane in 0..2 {
            uses.begin(5 + u64::from(lane), Track::Transmit(lane), None);
        }
        (0..2).for_each(|lane| uses.end(9, Track::Transmit(lane)));
        let all_series = uses.finish(50);
        let sums: Vec<_> = all_series.iter().map(|(what, series)| (*what, series.sum())).collect();
        assert_eq!(sums, [(Use::Program, 5), (Use::Kernel, 40), (Use::Transmit, 4)]);
    }

    /// A core may be told of when another has been told of at a later time.
    #[test]
    fn cores_need_not_be_told_of_in_the_order_of_time() {
        let mut uses = Uses::default();
        for (core, from) in [(0, 30), (1, 5)] {
            uses.begin(from, Track::Core(core), Some("kernel"));
            uses.end(from + 10, Track::Core(core));
        }
        assert_eq!(uses.finish(50)[&Use::Kernel].sum(), 20);
    }

    /// Courses of nodes with different lengths, whose bins differ in width, add up.
    #[test]
    fn courses_of_several_widths_add_up() {
        let mut long = Series::default();
        long.set(0, 1);
        long.set(1 << 30, 0);
        let mut short = Series::default();
        short.set(0, 1);
        short.set(1 << 20, 0);
        let all = sum([&long, &short].into_iter()).unwrap();
        assert_eq!(all.sum(), (1 << 30) + (1 << 20));
        assert_eq!(all.width, long.width);
        assert_eq!(sum([&Series::default()].into_iter()).unwrap().sum(), 0);
        assert!(sum(std::iter::empty()).is_none());
    }
}

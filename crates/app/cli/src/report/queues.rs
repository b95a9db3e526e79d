//! Depths of queues: over time, at the node with the deepest, and the greatest of every node.

use super::depths::{Node, Series};
use super::svg::{self, path, Chart, Scale, Size};
use super::units::{plain, share, short};
use crate::summary::account::walkers_of;
use crate::summary::grouped;
use machine::instruments::timeline::Gauge;
use machine::models::Depth;
use machine::parameters::Parameters;
use machine::report::{NodeReport, Report};
use maud::{html, Markup};

/// A queue: its gauge, its id on the page, its name, and its capacity.
type Queue = (Gauge, String, &'static str, Option<u64>);

/// True if the gauge is of that queue; ranks have one each.
fn is(which: Gauge, gauge: Gauge) -> bool {
    match (which, gauge) {
        (Gauge::Posted(_), Gauge::Posted(_)) | (Gauge::Unexpected(_), Gauge::Unexpected(_)) => true,
        (which, gauge) => which == gauge,
    }
}

fn queues(machine: &Parameters) -> Vec<Queue> {
    let posted = "posted receives of a rank";
    // Who keeps them is who searches them.
    let unexpected = match walkers_of(machine).unexpected {
        "library" => "unexpected messages of a rank, kept by its library",
        _ => "unexpected messages of a rank, kept by the NIC",
    };
    let own = machine.model().queues.iter().zip(0..).map(|(queue, number)| {
        let id = match queue.id {
            "" => format!("own-{number}"),
            id => id.to_owned(),
        };
        (Gauge::Own(number), id, queue.title, queue.room.on(machine))
    });
    let of_ranks = [
        (Gauge::Posted(0), "posted".to_owned(), posted, None),
        (Gauge::Unexpected(0), "unexpected".to_owned(), unexpected, None),
    ];
    of_ranks.into_iter().chain(own).collect()
}

/// The section.
pub fn section(report: &Report, machine: &Parameters, nodes: &[Node]) -> Markup {
    // What a machine has not got is not drawn as empty.
    let has = |queue: &&Queue| machine.model().packets || deepest(nodes, queue.0).is_some();
    let queues = queues(machine);
    let queues: Vec<&Queue> = queues.iter().filter(has).collect();
    html! {
        section id="queues" {
            h2 { "Depths of queues" }
            @if !nodes.is_empty() && !queues.is_empty() {
                p {
                    "Each queue over the run, at the node where it was deepest: the light area is \
                     the greatest depth in each span of time, the line the mean."
                }
                div class="multiples" {
                    @for queue in &queues { (over_time(queue, nodes)) }
                }
            }
            @if nodes.is_empty() || queues.is_empty() { p { "Nothing ever stood in a queue." } }
            (greatest(&report.nodes, machine))
        }
    }
}

/// The node at which a queue was deepest, and if there are several, fullest.
fn deepest(nodes: &[Node], which: Gauge) -> Option<(&Node, &Series)> {
    let of = |node| all_series(node, which).map(move |series| (node, series));
    let used: Vec<_> = nodes.iter().flat_map(of).collect();
    used.into_iter().rev().max_by_key(|(_, series)| (series.most(), series.sum()))
}

/// The courses of a queue on a node, of which it may have several.
fn all_series(node: &Node, which: Gauge) -> impl Iterator<Item = &Series> {
    node.queues.iter().filter(move |(gauge, _)| is(which, **gauge)).map(|(_, series)| series)
}

const SIZE: Size = Size { width: 430.0, height: 190.0 };

fn over_time((which, id, name, room): &Queue, nodes: &[Node]) -> Markup {
    let Some((node, series)) = deepest(nodes, *which) else {
        return html! {
            figure class="queue" id={ "queue-" (id) } data-most="0" {
                h3 { (name) }
                p class="note" { "Nothing ever stood in it." }
            }
        };
    };
    let most = series.most();
    let mean = |node: &Node| {
        let sum: u64 = all_series(node, *which).map(Series::sum).sum();
        if node.span > 0 {
            sum as f64 / node.span as f64
        } else {
            0.0
        }
    };
    let room = room.map_or(String::new(), |room| format!(" of {}", grouped(room)));
    html! {
        figure class="queue" id={ "queue-" (id) } data-most=(most) data-node=(node.nid) {
            h3 { (name) }
            (drawing(series, node, name))
            figcaption {
                "Most " strong { (grouped(most.into())) } (room) " at node " (node.nid)
                "; mean " (short(mean(node))) ", in use "
                (share(series.used as f64, node.span as f64)) " of the time."
                @if nodes.len() > 1 {
                    @let all = nodes.iter().map(mean).sum::<f64>() / nodes.len() as f64;
                    " Mean of all nodes " (short(all)) "."
                }
            }
        }
    }
}

/// Greatest depths as an area, means as a line.
fn drawing(series: &Series, node: &Node, name: &str) -> Markup {
    let span = node.span.max(1) as f64;
    let ticks = svg::round_steps(f64::from(series.most()), 4);
    let ticks: Vec<f64> = ticks.into_iter().filter(|tick| tick.fract() == 0.0).collect();
    let top = ticks.last().copied().unwrap_or(1.0).max(f64::from(series.most()));
    let x = Scale::linear(span, Chart::across(SIZE));
    let y = Scale::linear(top, Chart::upwards(SIZE));
    let ends = |index: usize| {
        let at = |index: usize| x.at((index as f64 * series.width as f64).min(span));
        (at(index), at(index + 1))
    };
    let (mut most, mut mean) = (vec![(x.at(0.0), y.at(0.0))], Vec::new());
    for (index, bin) in series.bins.iter().enumerate() {
        let (left, right) = ends(index);
        let height = y.at(f64::from(bin.most));
        most.extend([(left, height), (right, height)]);
        mean.push(((left + right) / 2.0, y.at(bin.sum as f64 / series.width as f64)));
    }
    let end = most.last().map_or(0.0, |last| last.0);
    most.push((end, y.at(0.0)));
    let body = html! {
        polygon class="most" points=(path(&most)) {}
        polyline class="mean" points=(path(&mean)) {}
    };
    let (times, unit) = time_ticks(span, &x);
    Chart {
        size: SIZE,
        label: &format!("Depth over time of the queue: {name}"),
        x_title: &format!("time after the launch ({unit})"),
        y_title: "entries",
        x: times,
        y: ticks.iter().map(|tick| (y.at(*tick), plain(*tick))).collect(),
    }
    .draw(&body)
}

/// Marks of an axis of time up to `span` picoseconds, and their unit.
pub fn time_ticks(span: f64, x: &Scale) -> (Vec<svg::Tick>, &'static str) {
    const UNITS: [(f64, &str); 4] = [(1e12, "s"), (1e9, "ms"), (1e6, "µs"), (1e3, "ns")];
    let fits = |(unit, _): &&(f64, &str)| span >= 2.0 * unit;
    let (unit, name) = *UNITS.iter().find(fits).unwrap_or(&UNITS[3]);
    let ticks = svg::round_steps(span / unit, 5).into_iter();
    let inside = ticks.filter(|tick| tick * unit <= span * 1.0001);
    (inside.map(|tick| (x.at(tick * unit), plain(tick))).collect(), name)
}

/// Table of the greatest depths that nodes count; nothing if they count none.
fn greatest(nodes: &[NodeReport], machine: &Parameters) -> Markup {
    let rows = machine.model().depths.iter().filter_map(|row| greatest_row(nodes, row, machine));
    let rows: Vec<Markup> = rows.collect();
    html! {
        @if !rows.is_empty() {
            figure id="greatest" {
                h3 { "The greatest depths, from power-on to the end" }
                div class="scroll" {
                    table class="bars" {
                        thead { tr {
                            th { "queue" } th class="num" { "most" } th class="num" { "at node" }
                            th class="num" { "room for" }
                            th class="num" { "least of all nodes" }
                        } }
                        tbody { @for row in rows { (row) } }
                    }
                }
            }
        }
    }
}

fn greatest_row(nodes: &[NodeReport], row: &Depth, machine: &Parameters) -> Option<Markup> {
    let Depth { counter, name, room } = row;
    let value = |node: &NodeReport| node.counters.get(*counter).copied();
    let deepest = nodes.iter().rev().max_by_key(|node| value(node))?;
    let (nid, most) = (deepest.nid, value(deepest)?);
    let least = nodes.iter().filter_map(value).min().map_or("-".to_owned(), grouped);
    Some(html! {
        tr data-counter=(counter) data-most=(most) {
            td { (name) }
            td class="num" { (grouped(most)) }
            td class="num" { (nid) }
            td class="num" { (room.on(machine).map_or("-".to_owned(), grouped)) }
            td class="num" { (least) }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::svg::Extent;

    #[test]
    fn times_have_the_unit_that_suits_the_run() {
        let x = |span| Scale::linear(span, Extent { start: 0.0, end: 100.0 });
        let (ticks, unit) = time_ticks(34e9, &x(34e9));
        let texts: Vec<&str> = ticks.iter().map(|(_, text)| &**text).collect();
        assert_eq!((&texts[..], unit), (&["0", "10", "20", "30"][..], "ms"));
        assert_eq!(time_ticks(1.5e6, &x(1.5e6)).1, "ns");
    }
}

//! Loads of links.

use super::depths::{Node, Series};
use super::queues::time_ticks;
use super::svg::{self, Chart, Scale, Size};
use super::units::{count, plain, rate, share, time};
use crate::summary::grouped;
use machine::models::Model;
use machine::report::{Link, NodeReport, Report};
use maud::{html, Markup};

/// Links that are listed one by one, the busiest first.
const LISTED: usize = 24;

/// Most nodes for which the loads of all links are shown as a map.
const MAPPED: usize = 48;

/// Classes of load in the histogram and on the map.
const CLASSES: usize = 10;

/// One direction of a link, with its first node.
type Directed<'a> = (u32, &'a Link);

/// Links whose loads are drawn over time, the busiest ones.
const DRAWN: usize = 4;

/// The section about a run; `all_series` are the nodes over time.
pub fn section(report: &Report, model: &Model, all_series: &[Node]) -> Markup {
    let (nodes, run_ns) = (&report.nodes[..], report.simulated_ns);
    let mut links: Vec<Directed> =
        nodes.iter().flat_map(|node| node.links.iter().map(|link| (node.nid, link))).collect();
    links.sort_by(|a, b| b.1.busy_ns.total_cmp(&a.1.busy_ns).then(a.0.cmp(&b.0)));
    let sum = |of: fn(&Link) -> u64| links.iter().map(|(_, link)| of(link)).sum::<u64>();
    html! {
        section id="links" {
            h2 { "Loads of links" }
            @if links.is_empty() {
                p { (no_links(model)) }
            } @else {
                p {
                    (count(links.len() as u64, "link")) " (each direction by itself) carried "
                    (count(sum(|link| link.packets), "packet")) " with "
                    (grouped(sum(|link| link.bytes)))
                    " bytes, headers of messages included; packets count on every link that they \
                     pass. A link is busy while flits are on it; shares are of the run's "
                    (time(run_ns)) "."
                }
                @if links.len() > LISTED { (histogram(&links, run_ns)) }
                @if nodes.len() <= MAPPED && nodes.len() > 2 { (map(nodes, run_ns)) }
                (over_time(&links, all_series))
                (list(&links, run_ns))
            }
        }
    }
}

/// Why there is nothing to tell.
fn no_links(model: &Model) -> String {
    match model.caption("links") {
        "" if model.packets => "No packet passed a link.".into(),
        "" => format!("Model {} does not count what passes its links.", model.name),
        own => own.into(),
    }
}

const SIZE: Size = Size { width: 760.0, height: 240.0 };

/// The share of each span of time in which the busiest links were busy.
fn over_time(links: &[Directed], all_series: &[Node]) -> Markup {
    let series = |(from, link): &Directed| {
        let node = all_series.iter().find(|node| node.nid == *from)?;
        Some((*from, link.to, node.links.get(&link.to)?, node.span))
    };
    let drawn: Vec<_> = links.iter().take(DRAWN).filter_map(series).collect();
    let Some(span) = drawn.iter().map(|(.., span)| *span).max().filter(|span| *span > 0) else {
        return html! {};
    };
    let x = Scale::linear(span as f64, Chart::across(SIZE));
    let percent = |series: &Series, sum: u64| 100.0 * sum as f64 / series.width as f64;
    let bins = drawn
        .iter()
        .flat_map(|(_, _, series, _)| series.bins.iter().map(move |bin| percent(series, bin.sum)));
    let ticks = svg::round_steps(bins.fold(0.0, f64::max), 4);
    let top = ticks.last().copied().unwrap_or(100.0);
    let y = Scale::linear(top, Chart::upwards(SIZE));
    let points = |series: &Series| -> Vec<(f64, f64)> {
        let middle = |index: usize| ((index as f64 + 0.5) * series.width as f64).min(span as f64);
        let bins = series.bins.iter().enumerate();
        bins.map(|(index, bin)| (x.at(middle(index)), y.at(percent(series, bin.sum)))).collect()
    };
    let body = html! {
        @for (look, (from, to, series, _)) in drawn.iter().enumerate().rev() {
            g data-from=(from) data-to=(to) data-busy-ps=(series.sum()) {
                (svg::line(look, &points(series)))
            }
        }
    };
    let (times, unit) = time_ticks(span as f64, &x);
    let chart = Chart {
        size: SIZE,
        label: "Loads of the busiest links over time",
        x_title: &format!("time after the launch ({unit})"),
        y_title: "busy (%)",
        x: times,
        y: ticks.iter().map(|tick| (y.at(*tick), plain(*tick))).collect(),
    };
    html! {
        figure id="link-courses" {
            h3 { "The busiest links over time" }
            ul class="legend" {
                @for (look, (from, to, ..)) in drawn.iter().enumerate() {
                    li { (svg::swatch(look)) (from) " → " (to) }
                }
            }
            div class="scroll" { (chart.draw(&body)) }
        }
    }
}

fn load(link: &Link, run_ns: f64) -> f64 {
    if run_ns > 0.0 {
        (link.busy_ns / run_ns).min(1.0)
    } else {
        0.0
    }
}

/// The class of a load among [`CLASSES`] equal ones up to the greatest.
fn class(load: f64, greatest: f64) -> usize {
    let part = if greatest > 0.0 { load / greatest } else { 0.0 };
    ((part * CLASSES as f64) as usize).min(CLASSES - 1)
}

/// Lower edge of a class, in percent.
fn edge(index: usize, greatest: f64) -> String {
    let percent = 100.0 * greatest * index as f64 / CLASSES as f64;
    if greatest < 0.1 {
        format!("{percent:.2}")
    } else {
        format!("{percent:.1}")
    }
}

fn list(links: &[Directed], run_ns: f64) -> Markup {
    let greatest = links.first().map_or(0.0, |(_, link)| load(link, run_ns));
    html! {
        figure id="link-list" {
            h3 {
                @if links.len() > LISTED { "The " (LISTED) " busiest links" }
                @else { "Every link" }
            }
            div class="scroll" {
                table class="bars" {
                    thead { tr {
                        th { "link" } th { "busy" } th class="num" { "share" }
                        th class="num" { "packets" } th class="num" { "bytes" }
                        th class="num" { "rate" }
                        th class="num" { "most waiting" } th class="num" { "starved" }
                    } }
                    tbody {
                        @for (from, link) in links.iter().take(LISTED) {
                            @let busy = load(link, run_ns);
                            @let part = if greatest > 0.0 { 100.0 * busy / greatest } else { 0.0 };
                            tr data-from=(from) data-to=(link.to) data-packets=(link.packets)
                                data-bytes=(link.bytes) data-busy=(link.busy_ns) {
                                td { (from) " → " (link.to) }
                                td class="wide" { div class="meter" { span style={
                                    "width:" (format!("{part:.2}")) "%"
                                } {} } }
                                td class="num" { (share(link.busy_ns, run_ns)) }
                                td class="num" { (grouped(link.packets)) }
                                td class="num" { (grouped(link.bytes)) }
                                td class="num" {
                                    (rate(link.bytes as f64 / run_ns.max(1e-3) * 1e9))
                                }
                                td class="num" { (link.queue_max) }
                                td class="num" { (grouped(link.starved)) }
                            }
                        }
                    }
                }
            }
            figcaption {
                "Bars are relative to the busiest link. Waiting: packets in the router's queue for \
                 the link; starved: times that a packet was ready and the neighbour had told of no \
                 room. " code { "--json" } " has every link."
            }
        }
    }
}

/// Histogram of links by load.
fn histogram(links: &[Directed], run_ns: f64) -> Markup {
    let loads: Vec<f64> = links.iter().map(|(_, link)| load(link, run_ns)).collect();
    let greatest = loads.iter().copied().fold(0.0, f64::max);
    let mut counts = [0_usize; CLASSES];
    loads.iter().for_each(|load| counts[class(*load, greatest)] += 1);
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    html! {
        figure id="link-histogram" {
            h3 { "How many links are how busy" }
            table class="bars" {
                thead { tr {
                    th class="num" { "busy (%)" } th { "number" } th class="num" { "links" }
                } }
                tbody {
                    @for (index, count) in counts.iter().enumerate() {
                        @let part = 100.0 * *count as f64 / most as f64;
                        tr {
                            td class="num" {
                                (edge(index, greatest)) " – " (edge(index + 1, greatest))
                            }
                            td class="wide" { @if *count > 0 { div class="meter" { span style={
                                "width:" (format!("{part:.2}")) "%"
                            } {} } } }
                            td class="num" { (count) }
                        }
                    }
                }
            }
        }
    }
}

/// A table of all pairs of neighbours.
fn map(nodes: &[NodeReport], run_ns: f64) -> Markup {
    let links = || nodes.iter().flat_map(|node| &node.links);
    let greatest = links().map(|link| load(link, run_ns)).fold(0.0, f64::max);
    html! {
        figure id="link-map" {
            h3 { "Every link, from rows to columns" }
            div class="scroll" {
                table class="map" {
                    thead { tr { td {} @for node in nodes { th { (node.nid) } } } }
                    tbody {
                        @for from in nodes {
                            tr {
                                th { (from.nid) }
                                @for to in nodes {
                                    @match from.links.iter().find(|link| link.to == to.nid) {
                                        Some(link) => {
                                            @let busy = load(link, run_ns);
                                            td class={ "h" (class(busy, greatest)) } title={
                                                (from.nid) " → " (to.nid) ": "
                                                (share(busy, 1.0)) " busy, "
                                                (count(link.packets, "packet"))
                                            } {}
                                        }
                                        None => { td {} }
                                    }
                                }
                            }
                        }
                    }
                }
            }
            figcaption {
                "The stronger the colour, the busier; the busiest link is busy "
                (share(greatest, 1.0)) " of the time."
            }
            ul class="legend loads" {
                li { "busy (%):" }
                @for class in 0..CLASSES {
                    li {
                        span class={ "key h" (class) } {}
                        (edge(class, greatest)) " – " (edge(class + 1, greatest))
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
    fn loads_have_classes_and_the_busiest_comes_first() {
        assert_eq!([0.0, 0.05, 0.1, 0.5].map(|load| class(load, 0.5)), [0, 1, 2, 9]);
        assert_eq!(class(0.0, 0.0), 0);
        let link = |to, busy_ns| Link { to, packets: 1, bytes: 64, busy_ns, ..Link::default() };
        let node = |nid, links| NodeReport { nid, links, ..NodeReport::default() };
        let nodes = vec![node(0, vec![link(1, 10.0)]), node(1, vec![link(0, 30.0), link(2, 20.0)])];
        let report = Report { nodes, simulated_ns: 100.0, ..Report::default() };
        let model = models::MODELS.iter().next().expect("there are models");
        let text = section(&report, model, &[]).into_string();
        let rows: Vec<&str> = text.split("data-from=\"").skip(1).map(|row| &row[..1]).collect();
        assert_eq!(rows, ["1", "1", "0"], "{text}");
        assert!(text.contains("30 %") && text.contains("3 links"), "{text}");
    }
}

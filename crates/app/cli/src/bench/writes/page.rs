//! The page of `sunstar bench rdma`.

use super::{bar_title, how, way, Bar, Curve, Figures};
use crate::args::RdmaOptions;
use crate::report::again::Again;
use crate::report::published::{self, Overlaid};
use crate::report::stacks::{self, Kind, Piece};
use crate::report::svg::{self, n, Chart, Scale, Size};
use crate::report::units::{plain, size, time};
use crate::report::{facts, page};
use maud::{html, Markup};
use std::path::Path;

const SIZE: Size = Size { width: 860.0, height: 420.0 };

/// Name of a curve.
fn title(curve: &Curve) -> String {
    format!("{}, {}", way(curve.workload), how(curve.combining))
}

/// The page's text; `compared` are the published results about these figures.
pub fn page(
    figures: &Figures,
    options: &RdmaOptions,
    file: &Path,
    compared: &[Overlaid],
) -> String {
    let title = format!("Sunstar: RDMA writes on machine {}", figures.machine);
    let again = Again::by("bench rdma").option("--machine", &options.machine);
    let again = again.each("--set", &options.overrides).option("--largest", options.largest);
    let mut parts = vec![
        ("Throughput", "throughput", throughput(&figures.curves, compared)),
        ("Time of a message", "bars", bars(&figures.bars)),
    ];
    if !compared.is_empty() {
        let section = html! {
            section id="beside" { h2 { "What is published" } (published::table(compared)) }
        };
        parts.push(("Published", "beside", section));
    }
    parts.push(again.page(file).part());
    let cited = |key: &str| compared.iter().any(|overlaid| overlaid.comparison.paper == key);
    if !compared.is_empty() {
        parts.push(("Bibliography", "bibliography", facts::bibliography(&cited)));
    }
    let subtitle =
        "Two nodes, as figures 3 and 4 of marazakis2006 (docs/bibliography.md) draw them";
    page::page(&title, subtitle, &parts)
}

/// Published rates, which no curve passes, with their places in the table.
fn rates(compared: &[Overlaid]) -> impl Iterator<Item = (usize, &Overlaid)> {
    compared.iter().enumerate().filter(|(_, own)| own.comparison.unit == "MiB/s")
}

fn throughput(curves: &[Curve], compared: &[Overlaid]) -> Markup {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let largest = points().map(|point| point.bytes).max().unwrap_or(8);
    let measured = points().map(|point| point.message.mib_per_s);
    let most = measured.chain(rates(compared).map(|(_, own)| own.ends()[1])).fold(0.0, f64::max);
    let ticks = svg::round_steps(most * 1.04, 6);
    let x = Scale::log(8.0, largest.max(16) as f64, Chart::across(SIZE));
    let y = Scale::linear(*ticks.last().unwrap_or(&most), Chart::upwards(SIZE));
    let sizes = curves[0].points.iter().map(|point| point.bytes).step_by(2);
    let across = Chart::across(SIZE);
    let body = html! {
        @for (index, own) in rates(compared) {
            @let [rate, _] = own.ends();
            @let at = y.at(rate);
            line class="saving" x1=(n(across.start)) x2=(n(across.end)) y1=(n(at)) y2=(n(at)) {}
            (published::mark(index, &own.comparison, across.start + 24.0, at, rate))
        }
        @for (look, curve) in curves.iter().enumerate() {
            @let at: Vec<(f64, f64)> = curve.points.iter()
                .map(|point| (x.at(point.bytes as f64), y.at(point.message.mib_per_s)))
                .collect();
            (svg::line(look, &at))
            @for (point, (x, y)) in curve.points.iter().zip(&at) {
                @let name = title(curve);
                @let rate = point.message.mib_per_s;
                @let tip = format!("{name}, {}: {rate} MiB/s", size(point.bytes));
                (svg::marker(look, *x, *y, &tip, &[
                    ("series", name.clone()), ("bytes", point.bytes.to_string()),
                    ("value", rate.to_string()),
                ]))
            }
        }
    };
    let chart = Chart {
        size: SIZE,
        label: "Throughput in MiB a second over message size",
        x_title: "message size (logarithmic)",
        y_title: "throughput (MiB/s)",
        x: sizes.map(|bytes| (x.at(bytes as f64), size(bytes))).collect(),
        y: ticks.iter().map(|tick| (y.at(*tick), plain(*tick))).collect(),
    };
    html! {
        section id="throughput" {
            h2 { "Throughput over message size" }
            p {
                "Messages of more than 4 KiB are several descriptors. A ping-pong counts the \
                 payload of one direction at a time. Dashed lines across are what bus and lanes \
                 carry at most, as published."
            }
            ul class="legend" {
                @for (look, curve) in curves.iter().enumerate() {
                    li { (svg::swatch(look)) (title(curve)) }
                }
                @if rates(compared).next().is_some() {
                    li { (published::swatch()) "published, numbered as in the table" }
                }
            }
            figure { div class="scroll" { (chart.draw(&body)) } }
            details {
                summary { "All numbers, and the commands that measure them" }
                div class="scroll" {
                    table id="numbers" {
                        thead { tr {
                            th class="num" { "size" }
                            @for curve in curves {
                                th class="num" { (title(curve)) " (MiB/s)" }
                            }
                        } }
                        tbody {
                            @for (index, point) in curves[0].points.iter().enumerate() {
                                tr {
                                    td class="num" { (size(point.bytes)) }
                                    @for curve in curves {
                                        @let message = curve.points[index].message;
                                        td class="num" { (format!("{:.1}", message.mib_per_s)) }
                                    }
                                }
                            }
                        }
                    }
                }
                ul class="commands" {
                    @for point in curves.iter().flat_map(|curve| &curve.points) {
                        li { code { (point.command) } }
                    }
                }
            }
        }
    }
}

/// Colours of the parts, in their order (report/page.css).
const LOOKS: [&str; 5] = ["host", "network", "dma", "hypertransport", "firmware"];

fn bars(bars: &[Bar]) -> Markup {
    let longest = bars.iter().map(|bar| bar.sum_ns).fold(0.0, f64::max);
    let kinds = bars[0].parts.iter().zip(LOOKS).map(|(part, look)| Kind { look, name: part.name });
    let kinds: Vec<Kind> = kinds.collect();
    html! {
        section id="bars" {
            h2 { "Time of 8-byte messages" }
            p {
                "By the counters of both cards, as the paper counts: the lanes and what cards do \
                 between bus and lanes are not in the sum. Bars have the length of their time."
            }
            div class="scroll" {
                table class="bars" {
                    thead { tr {
                        th { "bar" } th class="num" { "sum" } th { "parts" }
                        (stacks::heads(&kinds))
                        th class="num part" { "cards and lanes" }
                        th class="num part" { "until the first is seen" }
                    } }
                    tbody {
                        @for bar in bars {
                            @let pieces = pieces(bar);
                            tr data-ns=(bar.sum_ns) {
                                td { (bar_title(bar)) }
                                td class="num" { (time(bar.sum_ns)) }
                                td { (stacks::bar(&pieces, 100.0 * bar.sum_ns / longest)) }
                                (stacks::cells(&kinds, &pieces))
                                td class="num part" { (time(bar.beside_ns)) }
                                td class="num part" { (time(bar.seen_ns)) }
                            }
                        }
                    }
                }
            }
            ul class="commands" { @for bar in bars { li { code { (bar.command) } } } }
        }
    }
}

fn pieces(bar: &Bar) -> Vec<Piece<'_>> {
    let parts = bar.parts.iter().zip(LOOKS);
    parts.map(|(part, look)| Piece { look, name: part.name, ns: part.ns }).collect()
}

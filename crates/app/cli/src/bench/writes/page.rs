//! The page of `sunstar bench rdma`.

use super::{bar_title, how, way, Bar, Curve, Figures, Part};
use crate::bench::measure;
use crate::report::page::{self, again_by};
use crate::report::svg::{self, n, Chart, Scale, Size};
use crate::report::units::{plain, share, size, time};
use maud::{html, Markup};

const SIZE: Size = Size { width: 860.0, height: 420.0 };

/// Name of a curve.
fn title(curve: &Curve) -> String {
    format!("{}, {}", way(curve.workload), how(curve.combining))
}

/// The page's text.
pub fn page(figures: &Figures) -> String {
    let title = format!("Sunstar: RDMA writes on machine {}", figures.machine);
    let again = measure::command("rdma", figures.machine, figures.overrides);
    let parts = [
        ("Throughput", "throughput", throughput(&figures.curves)),
        ("Time of a message", "bars", bars(&figures.bars)),
        again_by(&again),
    ];
    let subtitle =
        "Two nodes, as figures 3 and 4 of marazakis2006 (docs/bibliography.md) draw them";
    page::page(&title, subtitle, &parts)
}

fn throughput(curves: &[Curve]) -> Markup {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let largest = points().map(|point| point.bytes).max().unwrap_or(8);
    let most = points().map(|point| point.message.mib_per_s).fold(0.0, f64::max);
    let ticks = svg::round_steps(most * 1.04, 6);
    let x = Scale::log(8.0, largest.max(16) as f64, Chart::across(SIZE));
    let y = Scale::linear(*ticks.last().unwrap_or(&most), Chart::upwards(SIZE));
    let sizes = curves[0].points.iter().map(|point| point.bytes).step_by(2);
    let body = html! {
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
                "The bus moves 762.9 MiB/s at most, two lanes 596 MiB/s. Messages of more than \
                 4 KiB are several descriptors. A ping-pong counts the payload of one direction \
                 at a time."
            }
            ul class="legend" {
                @for (look, curve) in curves.iter().enumerate() {
                    li { (svg::swatch(look)) (title(curve)) }
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
    html! {
        section id="bars" {
            h2 { "Time of 8-byte messages" }
            p {
                "By the counters of both cards, as the paper counts: the lanes and what cards do \
                 between bus and lanes are not in the sum. Bars have the length of their time."
            }
            ul class="legend" {
                @for (part, look) in bars[0].parts.iter().zip(LOOKS) {
                    li { span class={ "key p-" (look) } {} (part.name) }
                }
            }
            div class="scroll" {
                table class="bars" {
                    thead { tr {
                        th { "bar" } th class="num" { "sum" } th { "parts" }
                        th class="num" { "cards and lanes" }
                        th class="num" { "until the first is seen" }
                    } }
                    tbody {
                        @for bar in bars {
                            @let width = format!("width:{}%", n(100.0 * bar.sum_ns / longest));
                            tr data-ns=(bar.sum_ns) {
                                td { (bar_title(bar)) }
                                td class="num" { (time(bar.sum_ns)) }
                                td { div class="stack" style=(width) { (stack(bar)) } }
                                td class="num" { (time(bar.beside_ns)) }
                                td class="num" { (time(bar.seen_ns)) }
                            }
                        }
                    }
                }
            }
            ul class="commands" { @for bar in bars { li { code { (bar.command) } } } }
        }
    }
}

fn stack(bar: &Bar) -> Markup {
    html! {
        @for (Part { name, ns, .. }, look) in bar.parts.iter().zip(LOOKS) {
            @let part = share(*ns, bar.sum_ns);
            @if *ns > 0.0 {
                span class={ "p-" (look) } style={ "width:" (n(100.0 * ns / bar.sum_ns)) "%" }
                    title={ (name) ": " (time(*ns)) ", " (part) } { (part) }
            }
        }
    }
}

//! The page of `sunstar bench queues`.

use super::{measured, short, Curve, Figures};
use crate::bench::measure;
use crate::report::page::{self, again_by};
use crate::report::svg::{self, Chart, Scale, Size};
use crate::report::units::plain;
use maud::{html, Markup};

const SIZE: Size = Size { width: 860.0, height: 420.0 };

/// The page's text.
pub fn page(figures: &Figures) -> String {
    let title = format!("Sunstar: MPI's queues on machine {}", figures.machine);
    let again = measure::command("queues", figures.machine, figures.overrides);
    let again = format!("{again} --bytes {}", figures.bytes);
    let mut parts = vec![("Posted receives", "posted", posted(figures))];
    parts.push(("Unexpected messages", "unexpected", unexpected(figures)));
    if !figures.measured.is_empty() {
        parts.push(("What follows", "measured", follows(figures)));
    }
    parts.push(again_by(&again));
    let subtitle =
        "Two nodes, as figures 5 and 6 of brightwell2005 (docs/bibliography.md) draw them";
    page::page(&title, subtitle, &parts)
}

fn posted(figures: &Figures) -> Markup {
    let several = figures.variants.len() > 1;
    html! {
        section id="posted" {
            h2 { "Latency over the queue of posted receives" }
            p {
                "Half of the round trip of " (figures.bytes) " bytes. The message's own receive \
                 stands behind the part of the other receives that is walked."
                @if let Some(cut) = figures.cut {
                    " Up to " (cut) ": the match list on the NIC has room for no more."
                }
            }
            @for (number, variant) in figures.variants.iter().enumerate() {
                @let curves: Vec<&Curve> =
                    figures.posted.iter().filter(|curve| curve.variant == number).collect();
                @let name = |curve: &Curve| {
                    format!("{} % walked", curve.percent.unwrap_or_default())
                };
                @if several { h3 { (variant.name) } }
                (figure(&curves, &name, "posted receives beside the message's own"))
            }
        }
    }
}

fn unexpected(figures: &Figures) -> Markup {
    let curves: Vec<&Curve> = figures.unexpected.iter().collect();
    let name = |curve: &Curve| figures.variants[curve.variant].name.clone();
    html! {
        section id="unexpected" {
            h2 { "Latency over the queue of unexpected messages" }
            p {
                "The time to post the receive is a part of it; a search may overlap with the \
                 transfer."
            }
            (figure(&curves, &name, "unexpected messages beside the message itself"))
        }
    }
}

/// Curves, and their numbers.
fn figure(curves: &[&Curve], name: &dyn Fn(&Curve) -> String, across: &str) -> Markup {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let longest = points().map(|point| point.length).max().unwrap_or(1).max(1) as f64;
    let most = points().map(|point| point.ns / 1e3).fold(0.0, f64::max);
    let ticks = svg::round_steps(most * 1.04, 6);
    let x = Scale::linear(longest, Chart::across(SIZE));
    let y = Scale::linear(*ticks.last().unwrap_or(&most), Chart::upwards(SIZE));
    let body = html! {
        @for (look, curve) in curves.iter().enumerate() {
            @let at: Vec<(f64, f64)> = curve.points.iter()
                .map(|point| (x.at(point.length as f64), y.at(point.ns / 1e3)))
                .collect();
            (svg::line(look, &at))
            @for (point, (x, y)) in curve.points.iter().zip(&at) {
                @let at = format!("{}, {} in the queue", name(curve), point.length);
                @let tip = format!("{at}: {:.0} ns", point.ns);
                (svg::marker(look, *x, *y, &tip, &[
                    ("series", name(curve)), ("value", point.ns.to_string()),
                ]))
            }
        }
    };
    let lengths = svg::round_steps(longest, 6);
    let chart = Chart {
        size: SIZE,
        label: &format!("Latency in microseconds over the number of {across}"),
        x_title: across,
        y_title: "latency (µs)",
        x: lengths.iter().map(|tick| (x.at(*tick), plain(*tick))).collect(),
        y: ticks.iter().map(|tick| (y.at(*tick), plain(*tick))).collect(),
    };
    html! {
        ul class="legend" {
            @for (look, curve) in curves.iter().enumerate() {
                li { (svg::swatch(look)) (name(curve)) }
            }
        }
        figure { div class="scroll" { (chart.draw(&body)) } }
        details {
            summary { "All numbers, and the commands that measure them" }
            div class="scroll" {
                table {
                    thead { tr {
                        th class="num" { "length" }
                        @for curve in curves { th class="num" { (name(curve)) " (ns)" } }
                    } }
                    tbody {
                        @for (index, point) in curves[0].points.iter().enumerate() {
                            tr {
                                td class="num" { (point.length) }
                                @for curve in curves {
                                    td class="num" { (format!("{:.0}", curve.points[index].ns)) }
                                }
                            }
                        }
                    }
                }
            }
            ul class="commands" { @for curve in curves { li { code { (curve.command) } } } }
        }
    }
}

fn follows(figures: &Figures) -> Markup {
    html! {
        section id="measured" {
            h2 { "What follows from them" }
            table {
                thead { tr { th { "what" } th class="num" { "measured" } th { "unit" } } }
                tbody {
                    @for (name, what, unit) in measured::TOLD {
                        @if let Some(value) = figures.measured.get(name) {
                            tr data-name=(name) {
                                td { (what) } td class="num" { (short(*value)) } td { (unit) }
                            }
                        }
                    }
                }
            }
        }
    }
}

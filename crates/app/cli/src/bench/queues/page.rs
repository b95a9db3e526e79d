//! The page of `sunstar bench queues`.

use super::drawn::{drawn, Drawn, Figure};
use super::{measured, short, Curve, Figures};
use crate::args::queues::BenchQueuesOptions;
use crate::report::again::Again;
use crate::report::prose::unit;
use crate::report::published::{self, Overlaid};
use crate::report::svg::{self, Chart, Scale, Size};
use crate::report::units::plain;
use crate::report::{facts, page};
use maud::{html, Markup};
use std::path::Path;

const SIZE: Size = Size { width: 860.0, height: 420.0 };

/// The page's text; `compared` are the published results about these curves.
pub fn page(
    figures: &Figures,
    options: &BenchQueuesOptions,
    file: &Path,
    compared: &[Overlaid],
) -> String {
    let title = format!("Sunstar: MPI's queues on machine {}", figures.machine);
    let again = Again::by("bench queues").option("--machine", &options.machine);
    let again = again.each("--set", &options.overrides).option("--bytes", options.bytes);
    let again = again.option("--longest", options.longest).page(file);
    let drawn = drawn(figures, compared);
    let mut parts = vec![("Posted receives", "posted", posted(figures, &drawn))];
    parts.push(("Unexpected messages", "unexpected", unexpected(figures, &drawn)));
    if !figures.measured.is_empty() {
        parts.push(("What follows", "measured", follows(figures, compared)));
    }
    parts.push(again.part());
    let cited = |key: &str| compared.iter().any(|overlaid| overlaid.comparison.paper == key);
    if !compared.is_empty() {
        parts.push(("Bibliography", "bibliography", facts::bibliography(&cited)));
    }
    let subtitle =
        "Two nodes, as figures 5 and 6 of brightwell2005 (docs/bibliography.md) draw them";
    page::page(&title, subtitle, &parts)
}

fn posted(figures: &Figures, drawn: &[Drawn]) -> Markup {
    let several = figures.variants.len() > 1;
    let name = |curve: &Curve| format!("{} % walked", curve.percent.unwrap_or_default());
    let all: Vec<&Curve> = figures.posted.iter().collect();
    let own = |drawn: &&Drawn| matches!(drawn.figure, Figure::Posted(_));
    let frame = Frame::of(&all, drawn.iter().filter(own));
    let first: Vec<&Curve> = all.iter().copied().filter(|curve| curve.variant == 0).collect();
    html! {
        section id="posted" {
            h2 { "Latency over the queue of posted receives" }
            p {
                "Half of the round trip of " (figures.bytes) " bytes. The message's own receive \
                 stands behind the part of the other receives that is walked."
                @if let Some(cut) = figures.cut {
                    " Up to " (cut) ": the match list on the NIC has room for no more."
                }
                @if several { " All charts have the same scales." }
            }
            (legend(&first, &name, drawn.iter().any(|one| own(&one))))
            @for (number, variant) in figures.variants.iter().enumerate() {
                @let curves: Vec<&Curve> =
                    figures.posted.iter().filter(|curve| curve.variant == number).collect();
                @let own = drawn.iter().filter(|one| one.figure == Figure::Posted(number));
                @let own: Vec<&Drawn> = own.collect();
                @let of = if several { format!(", {}", variant.name) } else { String::new() };
                @if several { h3 { (variant.name) } }
                (frame.figure(&curves, &name, &own, &of,
                    "posted receives beside the message's own"))
            }
        }
    }
}

fn unexpected(figures: &Figures, drawn: &[Drawn]) -> Markup {
    let curves: Vec<&Curve> = figures.unexpected.iter().collect();
    let name = |curve: &Curve| figures.variants[curve.variant].name.clone();
    let own: Vec<&Drawn> = drawn.iter().filter(|one| one.figure == Figure::Unexpected).collect();
    let frame = Frame::of(&curves, own.iter().copied());
    html! {
        section id="unexpected" {
            h2 { "Latency over the queue of unexpected messages" }
            p {
                "The time to post the receive is a part of it; a search may overlap with the \
                 transfer."
            }
            (legend(&curves, &name, !own.is_empty()))
            @let beside = "unexpected messages beside the message itself";
            (frame.figure(&curves, &name, &own, "", beside))
        }
    }
}

fn legend(curves: &[&Curve], name: &dyn Fn(&Curve) -> String, published: bool) -> Markup {
    html! {
        ul class="legend" {
            @for (look, curve) in curves.iter().enumerate() {
                li { (svg::swatch(look)) (name(curve)) }
            }
            @if published { li { (published::swatch()) "published, numbered as in the table" } }
        }
    }
}

/// Scales that several charts of one quantity have in common.
struct Frame {
    longest: f64,
    x: Scale,
    y: Scale,
    ticks: Vec<f64>,
}

impl Frame {
    fn of<'a>(curves: &[&Curve], drawn: impl Iterator<Item = &'a Drawn<'a>>) -> Frame {
        let points = || curves.iter().flat_map(|curve| &curve.points);
        let longest = points().map(|point| point.length).max().unwrap_or(1).max(1) as f64;
        let times = points().map(|point| point.ns).chain(drawn.map(Drawn::most));
        let ticks = svg::round_steps(times.fold(0.0, f64::max) / 1e3 * 1.04, 6);
        let x = Scale::linear(longest, Chart::across(SIZE));
        let y = Scale::linear(*ticks.last().unwrap_or(&1.0), Chart::upwards(SIZE));
        Frame { longest, x, y, ticks }
    }

    /// Curves, and their numbers; `of` tells the chart from others of the same quantity.
    fn figure(
        &self,
        curves: &[&Curve],
        name: &dyn Fn(&Curve) -> String,
        drawn: &[&Drawn],
        of: &str,
        across: &str,
    ) -> Markup {
        let Frame { longest, x, y, ticks } = self;
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
            @for one in drawn { (one.mark(x, y)) }
        };
        let lengths = svg::round_steps(*longest, 6);
        let lengths = lengths.iter().filter(|tick| **tick <= longest * 1.0001);
        let chart = Chart {
            size: SIZE,
            label: &format!("Latency over the number of {across}{of}"),
            x_title: across,
            y_title: "latency (µs)",
            x: lengths.map(|tick| (x.at(*tick), plain(*tick))).collect(),
            y: ticks.iter().map(|tick| (y.at(*tick), plain(*tick))).collect(),
        };
        html! {
            figure { div class="scroll" { (chart.draw(&body)) } }
            details {
                summary { "All numbers over " (across) (of) ", and the commands that measure them" }
                (numbers(curves, name))
                ul class="commands" { @for curve in curves { li { code { (curve.command) } } } }
            }
        }
    }
}

fn numbers(curves: &[&Curve], name: &dyn Fn(&Curve) -> String) -> Markup {
    html! {
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
    }
}

fn follows(figures: &Figures, compared: &[Overlaid]) -> Markup {
    html! {
        section id="measured" {
            h2 { "What follows from them" }
            table {
                thead { tr { th { "what" } th class="num" { "measured" } th { "unit" } } }
                tbody {
                    @for (name, what, unit) in measured::TOLD {
                        @if let Some(value) = figures.measured.get(name) {
                            tr data-name=(name) {
                                td { (what) }
                                td class="num" { (short(*value)) }
                                td { (self::unit(unit)) }
                            }
                        }
                    }
                }
            }
            @if !compared.is_empty() { (published::table(compared)) }
        }
    }
}

//! Curves over the size of messages, with published results.

use super::published::{self, Overlaid};
use super::series::{Curves, Series, Spot, ASYMPTOTE, FULL};
use super::svg::{self, line, marker, n, swatch, Chart, Scale, Size, Tick};
use super::units::{plain, short, size, time};
use crate::bench::measure::Point;
use machine::instruments::message_trace::Breakdown;
use machine::models::Model;
use maud::{html, Markup};

/// Largest small message: the firmware decides its time, not the rates of links.
const SMALL: u64 = 1024;

const SIZE: Size = Size { width: 760.0, height: 380.0 };

/// The section; `messages` are those of a program, beside the ping-pong's. Empty without curves.
pub fn section(curves: &Curves, messages: Option<&[Breakdown]>, model: &Model) -> Markup {
    let Some(first) = curves.series.first() else { return Markup::default() };
    let largest = first.points.iter().map(|point| point.bytes).max().unwrap_or(0);
    html! {
        section id="curves" {
            h2 { "Latency and bandwidth over message size" }
            p {
                "A ping-pong between two nodes that are otherwise idle, as an MPI program sees it: \
                 half of the round trip, the mean over many phases of the polling loops."
                @if messages.is_some() {
                    " Crosses are this run's own messages: the median of each size with a bar from \
                     the quickest to the slowest, from the sender's call to the receiver's return."
                }
            }
            ul class="legend" {
                @for (look, series) in curves.series.iter().enumerate() {
                    li { (swatch(look)) (series.title) }
                }
                @if !curves.published.is_empty() {
                    li { (published::swatch()) "published, numbered as in the table" }
                }
                @if messages.is_some() {
                    li {
                        svg class="swatch" viewBox="0 0 30 12" aria-hidden="true" {
                            (cross(15.0, 6.0))
                        }
                        "messages of this run"
                    }
                }
            }
            (figure("latency-small", "Latency of small messages",
                &format!("What hosts and network interfaces cost. {}",
                    model.caption("latency-small")),
                &small(curves, messages)))
            @if largest > SMALL {
                (figure("latency", "Latency of all messages", "Both axes are logarithmic.",
                    &all(curves, messages, largest)))
                (figure("bandwidth", "Bandwidth",
                    "Payload over latency; 1 GB/s is 10⁹ bytes a second.",
                    &bandwidth(curves, largest)))
            }
            @if !curves.published.is_empty() {
                (published::table(&curves.published))
                p class="note" {
                    "Savings stand above the simulated full firmware at their size."
                }
            }
            (numbers(curves))
        }
    }
}

fn figure(id: &str, title: &str, caption: &str, drawing: &Markup) -> Markup {
    html! {
        figure id=(id) {
            h3 { (title) }
            div class="scroll" { (drawing) }
            figcaption { (caption) }
        }
    }
}

/// Small messages, on a linear axis of time.
fn small(curves: &Curves, messages: Option<&[Breakdown]>) -> Markup {
    let latencies = |series: &Series| {
        let small = series.points.iter().filter(|point| point.bytes <= SMALL);
        small.map(|point| point.latency_us).fold(0.0, f64::max)
    };
    let mut most = curves.series.iter().map(latencies).fold(0.0, f64::max);
    let full = full(curves);
    for overlaid in &curves.published {
        most = latency_of(overlaid, full).map_or(most, |(_, _, [_, high])| most.max(high));
    }
    let ticks = svg::round_steps(most * 1.04, 8);
    let top = ticks.last().copied().unwrap_or(most);
    let x = Scale::sizes(SMALL, Chart::across(SIZE));
    let y = Scale::linear(top, Chart::upwards(SIZE));
    let body = html! {
        (lines(curves, &x, &y, SMALL, |point| Some(point.latency_us), "µs"))
        @if let Some(messages) = messages {
            (own(messages, &x, &y, SMALL, top))
        }
        @for (index, overlaid) in curves.published.iter().enumerate() {
            @if let Some((bytes, base, [low, high])) = latency_of(overlaid, full) {
                @let x = x.at_size(bytes);
                @if let Some(base) = base {
                    line class="saving" x1=(n(x)) x2=(n(x)) y1=(n(y.at(base))) y2=(n(y.at(high))) {}
                }
                @if low < high {
                    line class="range" x1=(n(x)) x2=(n(x)) y1=(n(y.at(low))) y2=(n(y.at(high))) {}
                }
                @let middle = (low + high) / 2.0;
                (published::mark(index, &overlaid.comparison, x, y.at(middle), middle))
            }
        }
    };
    Chart {
        size: SIZE,
        label: "Latency of messages of up to 1 KiB, in microseconds, over their size",
        x_title: "message size (logarithmic)",
        y_title: "latency (µs)",
        x: size_ticks(&x, SMALL, 1),
        y: ticks.iter().map(|tick| (y.at(*tick), plain(*tick))).collect(),
    }
    .draw(&body)
}

/// All sizes, on logarithmic axes.
fn all(curves: &Curves, messages: Option<&[Breakdown]>, largest: u64) -> Markup {
    let largest = messages
        .and_then(|messages| messages.iter().map(|message| message.bytes).max())
        .map_or(largest, |own| own.max(largest));
    let points = || curves.series.iter().flat_map(|series| &series.points);
    let own = || messages.unwrap_or_default().iter();
    let numbers = || {
        let own = own().flat_map(|message| [message.least_ns / 1e3, message.most_ns / 1e3]);
        points().map(|point| point.latency_us).chain(own).filter(|us| *us > 0.0)
    };
    let ends = (numbers().fold(f64::INFINITY, f64::min), numbers().fold(0.0, f64::max));
    let ticks = svg::ratios(ends.0, ends.1);
    let ends = (ticks[0], ticks[ticks.len() - 1]);
    let x = Scale::sizes(largest, Chart::across(SIZE));
    let y = Scale::log(ends.0, ends.1, Chart::upwards(SIZE));
    let body = html! {
        (lines(curves, &x, &y, largest, |point| Some(point.latency_us), "µs"))
        @if let Some(messages) = messages {
            (self::own(messages, &x, &y, largest, ends.1))
        }
    };
    Chart {
        size: SIZE,
        label: "Latency of messages of all sizes, in microseconds, both axes logarithmic",
        x_title: "message size (logarithmic)",
        y_title: "latency (µs, logarithmic)",
        x: size_ticks(&x, largest, 2),
        y: ticks.iter().map(|tick| (y.at(*tick), plain(*tick))).collect(),
    }
    .draw(&body)
}

/// Payload over latency.
fn bandwidth(curves: &Curves, largest: u64) -> Markup {
    let rates = curves.series.iter().flat_map(|series| &series.points);
    let most = rates.filter_map(|point| point.rate).fold(0.0, f64::max) / 1e3;
    let of = |overlaid: &Overlaid| match overlaid.spot() {
        Spot::Bandwidth(_) => Some(overlaid.ends()),
        _ => None,
    };
    let told = curves.published.iter().filter_map(of).map(|[_, high]| high);
    let ticks = svg::round_steps(told.fold(most, f64::max) * 1.04, 6);
    let top = ticks.last().copied().unwrap_or(most);
    let x = Scale::sizes(largest, Chart::across(SIZE));
    let y = Scale::linear(top, Chart::upwards(SIZE));
    // The asymptote is that of long messages; equal results are side by side.
    let asymptote = x.at_size(ASYMPTOTE.min(largest));
    let mut beside = 0.0;
    let body = html! {
        (lines(curves, &x, &y, largest, |point| Some(point.rate? / 1e3), "GB/s"))
        @for (index, overlaid) in curves.published.iter().enumerate() {
            @if let Some([low, high]) = of(overlaid) {
                @let at = y.at((low + high) / 2.0);
                line class="saving" x1=(n(x.at(65536.0))) x2=(n(asymptote)) y1=(n(at)) y2=(n(at)) {}
                @let (x, middle) = (asymptote - beside, (low + high) / 2.0);
                (published::mark(index, &overlaid.comparison, x, at, middle))
                @let () = beside += 30.0;
            }
        }
    };
    Chart {
        size: SIZE,
        label: "Bandwidth in gigabytes a second over message size",
        x_title: "message size (logarithmic)",
        y_title: "bandwidth (GB/s)",
        x: size_ticks(&x, largest, 2),
        y: ticks.iter().map(|tick| (y.at(*tick), plain(*tick))).collect(),
    }
    .draw(&body)
}

fn size_ticks(x: &Scale, largest: u64, every: usize) -> Vec<Tick> {
    svg::sizes(largest, every).iter().map(|bytes| (x.at_size(*bytes), size(*bytes))).collect()
}

/// Every series; the first one is on top.
fn lines(
    curves: &Curves,
    x: &Scale,
    y: &Scale,
    largest: u64,
    of: impl Fn(&Point) -> Option<f64>,
    unit: &str,
) -> Markup {
    let drawn = |series: &Series| -> Vec<(u64, f64)> {
        let shown = series.points.iter().filter(|point| point.bytes <= largest);
        shown.filter_map(|point| Some((point.bytes, of(point)?))).collect()
    };
    html! {
        @for (look, series) in curves.series.iter().enumerate().rev() {
            @let points = drawn(series);
            @let places: Vec<_> =
                points.iter().map(|(bytes, v)| (x.at_size(*bytes), y.at(*v))).collect();
            (line(look, &places))
            @for ((bytes, value), (x, y)) in points.iter().zip(places) {
                @let tip = format!("{}, {}: {} {unit}", series.title, size(*bytes), short(*value));
                (marker(look, x, y, &tip, &[
                    ("series", series.key.to_owned()),
                    ("bytes", bytes.to_string()),
                    ("value", value.to_string()),
                ]))
            }
        }
    }
}

/// The messages of a program; points above the chart are cut off.
fn own(messages: &[Breakdown], x: &Scale, y: &Scale, largest: u64, top: f64) -> Markup {
    let shown = messages.iter().filter(|message| message.bytes <= largest);
    html! {
        @for message in shown {
            @let place = x.at_size(message.bytes);
            @let [least, median, most] = [message.least_ns, message.total_ns, message.most_ns]
                .map(|ns| y.at((ns / 1e3).min(top)));
            @let tip = format!(
                "this run, {}: median {} of {} messages, {} to {}",
                size(message.bytes), time(message.total_ns), message.messages,
                time(message.least_ns), time(message.most_ns),
            );
            line class="spread" x1=(n(place)) x2=(n(place)) y1=(n(least)) y2=(n(most)) {}
            g class="own" data-bytes=(message.bytes) data-ns=(message.total_ns) {
                title { (tip) }
                (cross(place, median))
            }
        }
    }
}

fn cross(x: f64, y: f64) -> Markup {
    let d = format!("M{} {}l9 9m0-9l-9 9", n(x - 4.5), n(y - 4.5));
    html! { path class="cross" d=(d) {} }
}

fn full(curves: &Curves) -> Option<&Series> {
    curves.series.iter().find(|series| series.key == FULL)
}

/// Position of a published latency, in bytes and microseconds: a saving is drawn above the simulated latency
/// of the full firmware, which is the second number.
fn latency_of(overlaid: &Overlaid, full: Option<&Series>) -> Option<(u64, Option<f64>, [f64; 2])> {
    match overlaid.spot() {
        Spot::Latency(_, bytes) => Some((bytes, None, overlaid.ends())),
        Spot::Saving(_, bytes) => {
            let base = full?.at(bytes)?.latency_us;
            Some((bytes, Some(base), overlaid.ends().map(|saving| base + saving)))
        }
        Spot::Bandwidth(_) => None,
    }
}

/// Every measured number.
fn numbers(curves: &Curves) -> Markup {
    let first = &curves.series[0];
    html! {
        details {
            summary { "All numbers, and the commands that measure them" }
            div class="scroll" {
                table id="numbers" {
                    thead {
                        tr {
                            td {}
                            @for series in &curves.series {
                                th class="num" colspan="2" { (series.title) }
                            }
                        }
                        tr {
                            th class="num" { "size" }
                            @for _ in &curves.series {
                                th class="num" { "µs" } th class="num" { "MB/s" }
                            }
                        }
                    }
                    tbody {
                        @for Point { bytes, .. } in &first.points {
                            tr {
                                td class="num" { (size(*bytes)) }
                                @for point in curves.series.iter().map(|series| series.at(*bytes)) {
                                    @let rate = point.and_then(|point| point.rate);
                                    @let us = point.map(|point| format!("{:.3}", point.latency_us));
                                    td class="num" { (us.unwrap_or_default()) }
                                    td class="num" {
                                        (rate.map_or("-".to_owned(), |rate| format!("{rate:.2}")))
                                    }
                                }
                            }
                        }
                    }
                }
            }
            ul class="commands" {
                @for series in &curves.series {
                    li { (series.title) ": " code { (series.command) } }
                }
            }
        }
    }
}

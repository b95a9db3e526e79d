//! Breakdown of the messages' time: an overview of all sizes, and some messages step by step.

use super::stacks::{self, Kind, Piece};
use super::svg::{self, n, Extent, Scale};
use super::units::{count, plain, share, size, time};
use crate::summary::untold;
use machine::instruments::message_trace::{Breakdown, Layer, Segment};
use machine::report::Report;
use maud::{html, Markup};
use models::MODELS;

/// Sizes that are shown step by step.
const STEPWISE_MAX: usize = 6;

/// The section about a run's messages, which a model may not report.
pub fn section(report: &Report, what: &str) -> Markup {
    let sizes = &report.breakdowns[..];
    let chosen = chosen(sizes);
    let model = MODELS.model(report.machine.model);
    let text_of = |layer: Layer| model.map_or(layer.text(), |model| model.text_of(layer));
    html! {
        section id="waterfall" {
            h2 { "Where the time of a message went" }
            @if report.messages.is_none() {
                p { (untold(report)) }
            } @else if sizes.is_empty() {
                p {
                    "No message of " (what)
                    " went from the sender's call to the receiver's return."
                }
            } @else {
                p {
                    "Messages of " (what)
                    ", from the sender's call to the receiver's return. All are counted; of each \
                     kind, protocol and size the one with the median time is drawn (the median of \
                     a sample, where that is said). Every instant was left by the part of the \
                     machine that the message passed."
                }
                ul class="legend" {
                    @for layer in layers(sizes) {
                        li { span class={ "key p-" (layer.name()) } {} (text_of(layer)) }
                    }
                }
                (overview(sizes, &text_of))
                (stepwise(&chosen))
            }
        }
    }
}

/// Layers that messages of these sizes have passed, in their order.
fn layers(sizes: &[Breakdown]) -> Vec<Layer> {
    let mut layers = Vec::new();
    for segment in sizes.iter().flat_map(|size| &size.segments) {
        if !layers.contains(&segment.place) {
            layers.push(segment.place);
        }
    }
    layers
}

/// A line for each size: the division of its time among places, as a bar and in numbers.
fn overview<'a>(sizes: &[Breakdown], text_of: &dyn Fn(Layer) -> &'a str) -> Markup {
    let layers = layers(sizes);
    // What is in a place is told in the legend.
    let short = |layer: Layer| text_of(layer).split([':', ',']).next().unwrap_or_default();
    let kind = |layer: &Layer| Kind { look: layer.name(), name: short(*layer) };
    let kinds: Vec<Kind> = layers.iter().map(kind).collect();
    html! {
        figure id="places" {
            h3 { "By place, for each size" }
            div class="scroll" {
                table class="bars" {
                    thead { tr {
                        th { "kind, protocol" } th class="num" { "size" }
                        th class="num" { "messages" }
                        th class="num" { "median" }
                        th { "share of places" }
                        (stacks::heads(&kinds))
                    } }
                    tbody {
                        @for size in sizes {
                            @let pieces = pieces(size, &kinds);
                            tr data-bytes=(size.bytes) data-ns=(size.total_ns) {
                                td { (size.kind.name()) ", " (size.protocol.name()) }
                                td class="num" { (sizes_of(size)) }
                                td class="num" { (size.messages) }
                                td class="num" { (time(size.total_ns)) }
                                td { (stacks::bar(&pieces, 100.0)) }
                                (stacks::cells(&kinds, &pieces))
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The time in each place.
fn pieces<'a>(size: &Breakdown, kinds: &[Kind<'a>]) -> Vec<Piece<'a>> {
    let sum = |look: &str| -> f64 {
        let there = size.segments.iter().filter(|segment| segment.place.name() == look);
        there.map(|segment| segment.ns).sum()
    };
    kinds
        .iter()
        .map(|kind| Piece { look: kind.look, name: kind.name, ns: sum(kind.look) })
        .collect()
}

/// The sizes of a class.
pub fn sizes_of(class: &Breakdown) -> String {
    match (class.bytes_least, class.bytes_most) {
        (least, most) if least == most => size(least),
        (least, most) => format!("{} to {}", size(least), size(most)),
    }
}

/// The smallest and the greatest of the sizes whose messages pass the same steps, in the order of the sizes.
fn chosen(sizes: &[Breakdown]) -> Vec<&Breakdown> {
    let steps = |size: &Breakdown| size.segments.iter().map(|s| s.name.clone()).collect::<Vec<_>>();
    let mut chosen: Vec<&Breakdown> = Vec::new();
    for alike in sizes.chunk_by(|a, b| steps(a) == steps(b)) {
        chosen.extend(alike.first());
        chosen.extend(alike.last().filter(|_| alike.len() > 1));
    }
    chosen.truncate(STEPWISE_MAX);
    chosen
}

/// Tabs that need no script (page.css says which is shown); in print all are.
fn stepwise(chosen: &[&Breakdown]) -> Markup {
    html! {
        figure id="steps" {
            h3 { "Step by step" }
            div class="tabs" {
                @for (index, label) in labels(chosen).into_iter().enumerate() {
                    input type="radio" name="steps" id={ "steps-" (index) }
                        checked[index == 0];
                    label for={ "steps-" (index) } { (label) }
                }
                @for (size, label) in chosen.iter().zip(labels(chosen)) {
                    div class="tab" {
                        h4 { (heading(size)) }
                        div class="scroll" { (steps(size, &label)) }
                    }
                }
            }
        }
    }
}

/// A label for each: its size, and where another has the same, all that tells them apart.
fn labels(chosen: &[&Breakdown]) -> Vec<String> {
    let whole = |class: &Breakdown| {
        let (kind, protocol) = (class.kind.name(), class.protocol.name());
        format!("{}, {kind}, {protocol}", sizes_of(class))
    };
    let label = |class: &&Breakdown| {
        let same = chosen.iter().filter(|other| other.bytes == class.bytes).count();
        if same > 1 {
            whole(class)
        } else {
            self::size(class.bytes)
        }
    };
    chosen.iter().map(label).collect()
}

fn heading(size: &Breakdown) -> String {
    format!(
        "A message of {} ({}, {}): {} (median of {}{}; all {} to {})",
        self::size(size.bytes),
        size.kind.name(),
        size.protocol.name(),
        time(size.total_ns),
        if size.median_of < size.messages { "a sample of " } else { "" },
        count(size.median_of, "message"),
        time(size.least_ns),
        time(size.most_ns),
    )
}

const ROW: f64 = 21.0;
const NAMES: f64 = 232.0;
const WIDTH: f64 = 860.0;
const NUMBERS: f64 = 132.0;

/// A bar for each step, which begins at the end of the one before.
fn steps(size: &Breakdown, name: &str) -> Markup {
    let rows = size.segments.len() as f64;
    let (top, bottom) = (8.0, 8.0 + rows * ROW);
    let height = bottom + 44.0;
    let total = if size.total_ns > 0.0 { size.total_ns } else { 1.0 };
    let right = WIDTH - NUMBERS;
    let x = Scale::linear(total, Extent { start: NAMES, end: right });
    let ticks = svg::round_steps(total / 1e3, 8);
    let ticks = ticks.iter().filter(|us| **us * 1e3 <= total * 1.0001);
    let mut start = 0.0;
    let label = format!("Steps of a message of {name} over time");
    html! {
        svg class="chart steps" viewBox={ "0 0 " (n(WIDTH)) " " (n(height)) } role="img"
            aria-label=(label) data-bytes=(size.bytes) data-ns=(size.total_ns) {
            @for us in ticks {
                @let at = n(x.at(us * 1e3));
                line class="grid" x1=(at) x2=(at) y1=(n(top)) y2=(n(bottom)) {}
                text class="tick" x=(at) y=(n(bottom + 16.0)) text-anchor="middle" { (plain(*us)) }
            }
            text class="title" x=(n((NAMES + right) / 2.0)) y=(n(bottom + 36.0))
                text-anchor="middle" {
                "time after the sender's call (µs)"
            }
            @for (row, segment) in size.segments.iter().enumerate() {
                (step(segment, total, &x, start, top + row as f64 * ROW))
                @let () = start += segment.ns;
            }
        }
    }
}

fn step(segment: &Segment, total: f64, x: &Scale, start: f64, y: f64) -> Markup {
    let (left, right) = (x.at(start), x.at(start + segment.ns));
    let class = format!("bar p-{}", segment.place.name());
    // A step too short to be seen still shows where it is.
    let width = if segment.ns > 0.0 { (right - left).max(1.5) } else { 0.0 };
    let base = n(y + ROW * 0.68);
    html! {
        g class="step" data-name=(segment.name) data-ns=(segment.ns)
            data-place=(segment.place.name()) {
            title {
                (segment.name) ": " (time(segment.ns)) ", from " (time(start)) " on"
            }
            rect class="row" x="0" y=(n(y)) width=(n(WIDTH)) height=(n(ROW)) {}
            text class="name" x=(n(NAMES - 10.0)) y=(base) text-anchor="end" { (segment.name) }
            rect class=(class) x=(n(left)) y=(n(y + 3.0)) width=(n(width)) height=(n(ROW - 6.0)) {}
            text class="value" x=(n(WIDTH - 58.0)) y=(base) text-anchor="end" { (time(segment.ns)) }
            text class="value dim" x=(n(WIDTH - 6.0)) y=(base) text-anchor="end" {
                (share(segment.ns, total))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::instruments::message_trace::{MessageKind, Protocol};

    #[test]
    fn every_layer_of_a_model_has_a_colour() {
        let style = include_str!("page.css");
        for model in models::MODELS.iter() {
            let of_guests = model.guest_messages.iter().flat_map(|guests| guests.paths);
            for step in model.messages.iter().chain(of_guests).flat_map(|path| path.steps) {
                let class = format!("\n.p-{} {{", step.place.name());
                assert!(style.contains(&class), "{}: {}", model.name, step.name);
            }
        }
    }

    #[test]
    fn sizes_that_pass_other_steps_are_shown() {
        let size = |bytes, names: &[&'static str]| Breakdown {
            kind: MessageKind::Send,
            protocol: Protocol::Eager,
            bytes,
            bytes_least: bytes,
            bytes_most: bytes,
            bytes_sum: bytes,
            messages: 1,
            total_ns: 1.0,
            median_of: 1,
            least_ns: 1.0,
            p50_ns: 1.0,
            p90_ns: 1.0,
            p99_ns: 1.0,
            most_ns: 1.0,
            sum_ps: 1000,
            entries: 0,
            entries_most: 0,
            segments: names
                .iter()
                .map(|name| Segment { name: (*name).into(), place: Layer::HOST, ns: 1.0 })
                .collect(),
            steps: Vec::new(),
            kept: Vec::new(),
        };
        let sizes = [size(0, &["a"]), size(1, &["a"]), size(2, &["a"]), size(13, &["a", "b"])];
        let shown: Vec<u64> = chosen(&sizes).iter().map(|size| size.bytes).collect();
        assert_eq!(shown, [0, 2, 13]);
        // Labels of controls tell them apart.
        let mut other = size(2, &["c"]);
        other.kind = MessageKind::Get;
        let named = labels(&[&sizes[0], &sizes[2], &other]);
        assert_eq!(named, ["0 B", "2 B, send, eager", "2 B, get, eager"]);
    }
}

//! Messages: a bar for each class, which opens into the messages whose whole story is kept, each of which
//! opens into its steps with their causes.

use super::units::{count, share, size, time};
use super::waterfall::sizes_of;
use crate::summary::grouped;
use machine::instruments::message_trace::{Breakdown, Slow};
use machine::report::Report;
use maud::{html, Markup};
use models::MODELS;

/// Classes that have a bar, those with the most time first.
const CLASSES_MAX: usize = 16;
/// Slow messages of each class, beside the median one and the slowest of all, whose steps are on the page.
const SLOW_MAX: usize = 2;
/// The slowest messages of all that are on the page.
pub const SLOWEST_MAX: usize = 10;

/// The section; empty if no message came to its end.
pub fn section(report: &Report) -> Markup {
    let classes = shown(report);
    let (all, shown) = (report.breakdowns.len(), classes.len());
    let most = classes.first().map_or(1, |class| class.sum_ps.max(1)) as f64;
    html! {
        @if !classes.is_empty() {
            section id="messages" {
                h2 { "Messages" (super::part_of(shown, all)) }
                p {
                    "All messages are counted, by kind, protocol and size; a bar is the time of \
                     all of a class together. A click on it opens the messages whose steps are \
                     kept: the slowest, and the median one."
                }
                @for class in classes { (one(report, class, most)) }
            }
        }
    }
}

/// The classes that are on the page: those with the most time, and those of the slowest messages.
fn shown(report: &Report) -> Vec<&Breakdown> {
    let mut classes: Vec<&Breakdown> = report.breakdowns.iter().collect();
    classes.sort_by_key(|class| std::cmp::Reverse(class.sum_ps));
    let mut number = 0;
    classes.retain(|class| {
        number += 1;
        number <= CLASSES_MAX || class.kept.iter().any(|slow| is_slowest(report, slow))
    });
    classes
}

/// True for one of the slowest of all.
fn is_slowest(report: &Report, slow: &Slow) -> bool {
    let slowest = report.messages.iter().flat_map(|all| &all.slowest);
    slowest.take(SLOWEST_MAX).any(|other| other.message == slow.message)
}

/// Messages of a class whose steps are on the page.
fn of_class<'a>(report: &Report, class: &'a Breakdown) -> Vec<&'a Slow> {
    let kept = class.kept.iter().enumerate();
    let wanted = |(at, slow): &(usize, &Slow)| {
        *at < SLOW_MAX || at + 1 == class.kept.len() || is_slowest(report, slow)
    };
    kept.filter(wanted).map(|(_, slow)| slow).collect()
}

/// All messages whose steps are on the page.
pub fn kept(report: &Report) -> Vec<&Slow> {
    shown(report).into_iter().flat_map(|class| of_class(report, class)).collect()
}

/// Id of the message on the page.
fn id(slow: &Slow) -> String {
    format!("message-{}", slow.message.replace(':', "-"))
}

/// A message in a line, which leads to its steps.
pub fn link(slow: &Slow) -> Markup {
    html! { a href={ "#" (id(slow)) } { (line(slow)) } }
}

fn line(slow: &Slow) -> String {
    let mut line = format!(
        "{}: {}, {}, {}",
        slow.message,
        slow.kind.name(),
        slow.protocol.name(),
        size(slow.bytes)
    );
    if let (Some(from), Some(to)) = (slow.from, slow.to) {
        line += &format!(", rank {from} to {to}");
    }
    line += &format!(", {}", time(slow.total_ns));
    if slow.entries > 1 {
        line += &format!("; {} entries of match lists walked", slow.entries);
    }
    line
}

fn one(report: &Report, class: &Breakdown, most: f64) -> Markup {
    let (kind, protocol) = (class.kind.name(), class.protocol.name());
    let sum = class.sum_ps as f64 / 1e3;
    let mean = sum / class.messages.max(1) as f64;
    let width = format!("{:.3}", 100.0 * class.sum_ps as f64 / most);
    let kept = of_class(report, class);
    let percentiles = [
        ("mean", mean),
        ("p50", class.p50_ns),
        ("p90", class.p90_ns),
        ("p99", class.p99_ns),
        ("max", class.most_ns),
    ];
    let told = format!("{} together", time(sum));
    html! {
        details class="class" data-kind=(kind) data-protocol=(protocol)
            data-bytes=(class.bytes_least) data-messages=(class.messages) data-ps=(class.sum_ps) {
            summary {
                span { (kind) ", " (protocol) ", " (sizes_of(class)) ": "
                    (count(class.messages, "message")) ", mean " (time(mean)) ", " (told) }
                span class="meter" role="img" aria-label=(told) {
                    span style={ "width:" (width) "%" } {}
                }
            }
            p class="note" {
                @for (name, ns) in percentiles {
                    span data-name=(name) data-ns=(ns) { (name) " " (time(ns)) } ", "
                }
                "total " (time(sum)) ". Steps of " (kept.len()) " of " (grouped(class.messages))
                " are kept."
            }
            @for slow in kept { (steps(slow, report.machine.model)) }
        }
    }
}

/// A message, which opens into its steps.
fn steps(slow: &Slow, model: &str) -> Markup {
    let total = slow.total_ns.max(1e-3);
    html! {
        details id=(id(slow)) class="message" data-message=(slow.message) data-ns=(slow.total_ns) {
            summary { (line(slow)) }
            @if !slow.sent_in.is_empty() {
                p class="note" {
                    "Sent in " (slow.sent_in)
                    @if !slow.received_in.is_empty() { ", received in " (slow.received_in) }
                    ", " (time(slow.start_ns)) " after the launch."
                }
            }
            div class="scroll" {
                table class="steps" {
                    tbody {
                        @for segment in &slow.segments {
                            @let width = format!("{:.3}", 100.0 * segment.ns / total);
                            @let why = MODELS.cause_of(model, &segment.name);
                            @let why = why.map_or("", |why| why.sentence);
                            tr data-name=(segment.name) data-ns=(segment.ns) {
                                th scope="row" { (segment.name) }
                                td class="num" { (time(segment.ns)) }
                                td class="num" { (share(segment.ns, total)) }
                                td class="wide" {
                                    div class="meter" {
                                        span class={ "p-" (segment.place.name()) }
                                            style={ "width:" (width) "%" } {}
                                    }
                                }
                                td class="prose" { (why) }
                            }
                        }
                    }
                }
            }
        }
    }
}

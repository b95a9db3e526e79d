//! The page of `sunstar queues`.

use super::figures::{Figures, Own, Queue};
use crate::args::queues::QueuesOptions;
use crate::report::again::Again;
use crate::report::page::page as whole;
use crate::report::units::{count, time};
use crate::report::{queues, Node};
use crate::run::Run;
use crate::summary::grouped;
use maud::{html, Markup};
use std::path::Path;

/// The page's text.
pub fn page(
    all: &[Figures],
    run: &Run,
    options: &QueuesOptions,
    file: &Path,
    nodes: &[Node],
) -> String {
    let first = &all[0];
    let (name, machine) = (options.run.programs(), run.parameters.name());
    let title = format!("Sunstar: queues of {name} on machine {machine}");
    let subtitle = format!(
        "{}, {} of simulated time",
        count(first.ranks.len() as u64, "rank"),
        time(first.simulated_ns)
    );
    let mut parts = vec![
        ("Posted receives", "posted", table(first, "posted", "Posted receives", |own| &own.posted)),
        (
            "Unexpected messages",
            "unexpected",
            table(first, "unexpected", "Unexpected messages", |own| &own.unexpected),
        ),
    ];
    if all.len() > 1 {
        parts.push(("Settings", "settings", settings(all)));
    }
    let depths = queues::section(&run.outcome.report, &run.parameters, nodes);
    parts.push(("Depths", "queues", depths));
    parts.push(again(options, file).part());
    whole(&title, &subtitle, &parts)
}

fn again(options: &QueuesOptions, file: &Path) -> Again {
    let vary: Vec<String> = options.vary.iter().cloned().collect();
    // The program's words come last.
    Again::by("queues").page(file).each("--vary", &vary).words(options.run.again(&[]))
}

/// Table of every rank, and of all together.
fn table(figures: &Figures, id: &str, title: &str, of: fn(&Own) -> &Queue) -> Markup {
    let all = figures.all()[usize::from(id != "posted")];
    html! {
        section id=(id) {
            h2 { (title) }
            @if id == "posted" && figures.untold > 0 {
                p {
                    "Not whole: of " (figures.untold) " more searches it is not known whose they \
                     were."
                }
            } @else {
                p { "Every search is counted; it ends at its match, which counts as walked." }
            }
            @if figures.units.is_some() {
                p { "The firmware walks what no matching unit holds." }
            }
            @if let (Some(ns), "posted") = (figures.firmware.flatten(), id) {
                p { "The firmware walks them: " (time(ns)) " on all nodes." }
            }
            div class="scroll" {
                table class="bars" {
                    thead { tr {
                        th { "rank" }
                        @for head in super::text::HEAD {
                            th class="num" { (head) }
                        }
                    } }
                    tbody {
                        (row("all", &all, figures.mean(of)))
                        @for own in &figures.ranks {
                            @let mean = of(own).time as f64 / own.total_ps.max(1) as f64;
                            (row(&own.rank.to_string(), of(own), mean))
                        }
                    }
                }
            }
        }
    }
}

fn row(name: &str, queue: &Queue, mean: f64) -> Markup {
    html! {
        tr data-rank=(name) data-searches=(queue.searches) data-walked=(queue.walked) {
            td { (name) }
            td class="num" { (grouped(queue.entries)) }
            td class="num" { (grouped(queue.most)) }
            td class="num" { (format!("{mean:.2}")) }
            td class="num" { (grouped(queue.searches)) }
            td class="num" { (grouped(queue.walked)) }
            td class="num" { (format!("{:.2}", queue.each())) }
            td class="num" { (grouped(queue.walked_most)) }
            td class="num" { (queue.ps.map_or("-".to_owned(), |ps| time(ps as f64 / 1e3))) }
        }
    }
}

/// Columns of the comparison.
const SETTINGS: [&str; 5] =
    ["simulated time", "posted walked", "time", "unexpected walked", "time"];

fn settings(all: &[Figures]) -> Markup {
    let told = |ns: Option<f64>| ns.map_or("-".to_owned(), time);
    html! {
        section id="settings" {
            h2 { "Comparison of the settings" }
            div class="scroll" {
                table {
                    thead { tr {
                        th { "setting" }
                        @for head in SETTINGS {
                            th class="num" { (head) }
                        }
                    } }
                    tbody {
                        @for run in all {
                            @let [posted, unexpected] = run.all();
                            tr {
                                td { (run.setting.as_deref().unwrap_or_default()) }
                                td class="num" { (time(run.simulated_ns)) }
                                td class="num" { (grouped(posted.walked)) }
                                td class="num" { (told(run.walking_ns())) }
                                td class="num" { (grouped(unexpected.walked)) }
                                td class="num" {
                                    (told(unexpected.ps.map(|ps| ps as f64 / 1e3)))
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

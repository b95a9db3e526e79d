//! The page of `sunstar queues`.

use super::figures::{Figures, Own, Queue};
use crate::args::RunOptions;
use crate::report::page::page as whole;
use crate::report::units::{count, quoted};
use crate::report::{queues, Node};
use crate::run::Run;
use crate::summary::{grouped, time_of};
use maud::{html, Markup};

/// The page's text.
pub fn page(
    all: &[Figures],
    run: &Run,
    options: &RunOptions,
    vary: Option<&str>,
    nodes: &[Node],
) -> String {
    let first = &all[0];
    let (name, machine) = (options.programs(), run.parameters.name());
    let title = format!("Sunstar: queues of {name} on machine {machine}");
    let subtitle = format!(
        "{}, {} of simulated time",
        count(first.ranks.len() as u64, "rank"),
        time_of(first.simulated_ns)
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
    let again = again(options, vary);
    parts.push((
        "Again",
        "replay",
        html! { section id="replay" { h2 { "Again" } p { code { (again) } } } },
    ));
    whole(&title, &subtitle, &parts)
}

fn again(options: &RunOptions, vary: Option<&str>) -> String {
    let mut words = vec!["sunstar".to_owned(), "queues".into(), "--machine".into()];
    words.push(options.machine.machine.clone());
    words.extend(options.machine.overrides.iter().flat_map(|set| ["--set".into(), set.clone()]));
    words.extend(vary.iter().flat_map(|vary| ["--vary".to_owned(), vary.to_string()]));
    words.extend(options.words());
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
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
                p { "The firmware walks them: " (time_of(ns)) " on all nodes." }
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
            td class="num" { (queue.ps.map_or("-".to_owned(), |ps| time_of(ps as f64 / 1e3))) }
        }
    }
}

/// Columns of the comparison.
const SETTINGS: [&str; 5] =
    ["simulated time", "posted walked", "time", "unexpected walked", "time"];

fn settings(all: &[Figures]) -> Markup {
    let time = |ns: Option<f64>| ns.map_or("-".to_owned(), time_of);
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
                                td class="num" { (time_of(run.simulated_ns)) }
                                td class="num" { (grouped(posted.walked)) }
                                td class="num" { (time(run.walking_ns())) }
                                td class="num" { (grouped(unexpected.walked)) }
                                td class="num" {
                                    (time(unexpected.ps.map(|ps| ps as f64 / 1e3)))
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

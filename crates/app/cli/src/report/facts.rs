//! Facts around the drawings: program, command line, parameters of the machine, papers.

use super::prose::prose;
use super::units::{count, share, time};
use machine::parameters::{Parameter, Parameters};
use machine::report::Report;
use maud::{html, Markup};

/// Summary of the run, in a few numbers.
pub fn summary(report: &Report, title: &str) -> Markup {
    let per_message = |number: f64| crate::summary::grouped(number.round() as u64);
    let firmware = report.firmware.as_ref();
    let untold = || format!("not told by model {}", report.machine.model);
    let messages = report.messages.as_ref().map(|all| all.ended);
    let cycles = firmware.map(|firmware| firmware.cycles_per_message);
    let numbers = [
        ("simulated time", time(report.simulated_ns)),
        ("ranks", crate::summary::grouped(report.ranks.into())),
        ("nodes", crate::summary::grouped(report.nodes.len() as u64)),
        ("messages", messages.map_or_else(untold, crate::summary::grouped)),
        (
            "firmware, a message sent or received",
            cycles.map_or("none".into(), |cycles| per_message(cycles) + " cycles"),
        ),
        ("firmware busy", firmware.map_or("none".into(), |firmware| share(firmware.busy(), 1.0))),
        ("seed", report.seed.to_string()),
        ("trace hash", report.trace_hash.clone()),
    ];
    html! {
        section id="summary" {
            h2 { (title) }
            dl class="cards" data-simulated=(report.simulated_ns) data-messages=[messages]
                data-cycles=(cycles.unwrap_or(0.0)) data-hash=(report.trace_hash) {
                @for (name, number) in numbers { div { dt { (name) } dd { (number) } } }
            }
            @for sentence in &report.exit.sentences { p class="wrong" { (sentence) } }
            @if report.exit.code != 0 {
                p class="wrong" { "The run ended with status " (report.exit.code) "." }
            }
            @if !report.deterministic {
                p class="note" {
                    "The program's own computation was measured ("
                    code { "--compute " (report.compute) }
                    "), so the next run differs."
                }
            }
            @if let Some(firmware) = firmware {
                p class="note" { "Firmware built with " code { (firmware.options) } "." }
            }
        }
    }
}

/// The command, and all else that is needed to make the same page again.
pub fn replay(command: &str, machine: &Parameters, faults: &[String]) -> Markup {
    html! {
        section id="replay" {
            h2 { "To see this again" }
            pre { code { (command) } }
            p class="note" {
                "sunstar " (env!("CARGO_PKG_VERSION")) ", machine " strong { (machine.name()) } ": "
                (prose(machine.doc())) "."
                @if !machine.overrides().is_empty() {
                    " Set on the command line: "
                    @for (index, set) in machine.overrides().iter().enumerate() {
                        @if index > 0 { ", " } code { (set) }
                    }
                    "."
                }
                @for fault in faults { " Fault: " code { (fault) } "." }
            }
        }
    }
}

/// Every parameter with its source, folded.
pub fn parameters(machine: &Parameters) -> Markup {
    let list: Vec<&Parameter> = machine.iter().collect();
    let section_of = |parameter: &Parameter| parameter.key.split('.').next().map(str::to_owned);
    html! {
        section id="parameters" {
            h2 { "Parameters of the machine" }
            p {
                "Every number that the simulation was given, with where it comes from: "
                @let roles = machine.roles();
                @for (index, (role, number)) in roles.iter().filter(|r| r.1 > 0).enumerate() {
                    @if index > 0 { ", " }
                    strong { (number) } " " (role)
                }
                ". Everything else on this page was simulated or measured with the simulation."
            }
            @for group in list.chunk_by(|a, b| section_of(a) == section_of(b)) {
                details {
                    summary {
                        code { (section_of(group[0]).unwrap_or_default()) } " "
                        span class="dim" { (count(group.len() as u64, "parameter")) }
                    }
                    div class="scroll" {
                        table {
                            thead { tr {
                                th { "parameter" } th class="num" { "value" } th { "role" }
                                th { "what it is" } th { "source" }
                            } }
                            tbody { @for parameter in group { (row(parameter)) } }
                        }
                    }
                }
            }
        }
    }
}

fn row(parameter: &Parameter) -> Markup {
    let role = parameter.role().to_string();
    html! {
        tr data-key=(parameter.key) data-value=(parameter.text) {
            td { code { (parameter.key) } }
            td class="num" { code { (parameter.text) } }
            td { span class={ "role r-" (role) } { (role) } }
            td class="prose" { (prose(&parameter.doc)) }
            td class="prose" { (prose(&parameter.source)) }
        }
    }
}

/// Entries of docs/bibliography.md for the papers that are cited by their keys, in its order.
pub fn bibliography(cited: &dyn Fn(&str) -> bool) -> Markup {
    let papers: Vec<(&str, String)> = papers().filter(|(key, _)| cited(key)).collect();
    html! {
        @if !papers.is_empty() {
            section id="bibliography" {
                h2 { "Bibliography" }
                dl {
                    @for (key, text) in papers {
                        dt id=(key) { (key) }
                        dd { (prose(&text)) }
                    }
                }
            }
        }
    }
}

/// Keys of papers with their entries, without the marks of emphasis.
fn papers() -> impl Iterator<Item = (&'static str, String)> {
    let text = include_str!("../../../../../docs/bibliography.md");
    text.split("\n### ").skip(1).filter_map(|entry| {
        let (key, rest) = entry.split_once("\n\n")?;
        let paragraph = rest.split("\n\n").next()?;
        Some((key.trim(), paragraph.replace('*', "").replace('\n', " ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn papers_are_found_by_their_keys() {
        let found: Vec<(&str, String)> = papers().collect();
        assert_eq!(found.len(), 5);
        let (_, text) = found.iter().find(|(key, _)| *key == "pedretti2005").unwrap();
        assert!(text.contains("Red Storm") && !text.contains(['*', '\n']), "{text}");
        let cited = bibliography(&|key| key == "pedretti2005").into_string();
        assert_eq!(cited.matches("<dt").count(), 1, "{cited}");
        // Titles of files in an entry are code, not marks.
        let all = bibliography(&|_| true).into_string();
        assert!(all.contains("<code>") && !all.contains('`'), "{all}");
    }
}

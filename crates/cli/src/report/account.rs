//! The program first: its largest costs, its calls and ranks, who sent to whom, its slowest messages.

use super::units::{share, size, time};
use crate::summary::account::{by_call, costs, whole};
use machine::instruments::account::{Call, Rank};
use machine::instruments::journey::{cause_of, Slow};
use machine::report::Report;
use maud::{html, Markup};

/// Rows of each table at most; its title says if there are more.
const COSTS_MAX: usize = 5;
const CALLS_MAX: usize = 8;
const RANKS_MAX: usize = 32;
const PAIRS_MAX: usize = 12;
const SLOW_MAX: usize = 10;

/// Parts of the time with their names and classes of style.
const PARTS: [(&str, &str); 6] = [
    ("library", "a-library"),
    ("kernel", "a-kernel"),
    ("NIC", "a-nic"),
    ("network", "a-network"),
    ("waiting for the other side", "a-waiting"),
    ("computation", "a-computes"),
];

/// The section; nothing for a model that keeps no account.
pub fn section(report: &Report) -> Markup {
    let account = &report.account;
    html! {
        @if !account.is_empty() {
            section id="account" {
                h2 { "Where the program's time went" }
                p {
                    "Time of all ranks together. Of a call, what lies before the other side had \
                     called is waiting; the rest is told by who was at work on the way of its \
                     messages. Bars have one scale in each table."
                }
                ul class="legend" {
                    @for (name, class) in PARTS { li { span class={ "key " (class) } {} (name) } }
                }
                (largest(account))
                (calls(account))
                (ranks(account))
                (matrix(account))
                @if let Some(messages) = &report.messages {
                    (slowest(&messages.slowest, messages.ended))
                }
            }
        }
    }
}

fn ns(ps: u64) -> f64 {
    ps as f64 / 1e3
}

/// ` (8 of 12)`, where not all are shown.
fn part_of(shown: usize, all: usize) -> String {
    if shown < all {
        format!(" ({shown} of {all})")
    } else {
        String::new()
    }
}

fn largest(account: &[Rank]) -> Markup {
    let (whole, costs) = (whole(account), costs(account));
    let shown = costs.len().min(COSTS_MAX);
    html! {
        figure id="costs" {
            h3 { "The largest costs" (part_of(shown, costs.len())) }
            ol {
                @for cost in costs.iter().take(shown) {
                    li data-ps=(cost.ps) {
                        (share(ns(cost.ps), ns(whole))) " · " (time(ns(cost.ps))) " · " (cost.what)
                    }
                }
            }
        }
    }
}

/// Bars of the parts, in a width that is that of the whole on a common scale.
fn bar(parts: [u64; 6], most: u64) -> Markup {
    let most = most.max(1) as f64;
    html! {
        div class="stack absolute" {
            @for ((name, class), ps) in PARTS.iter().zip(parts).filter(|(_, ps)| *ps > 0) {
                @let label = format!("{name}: {}", time(ns(ps)));
                @let width = format!("{:.3}", 100.0 * ps as f64 / most);
                span class=(class) style={ "width:" (width) "%" }
                    title=(label) aria-label=(label) {}
            }
        }
    }
}

fn parts_of(call: &Call) -> [u64; 6] {
    [call.library_ps, call.kernel_ps, call.nic_ps, call.network_ps, call.waiting_ps(), 0]
}

fn parts_of_rank(rank: &Rank) -> [u64; 6] {
    let mut parts = [0, 0, 0, 0, 0, rank.computes_ps];
    for own in rank.calls.iter().map(parts_of) {
        parts.iter_mut().zip(own).for_each(|(sum, part)| *sum += part);
    }
    parts
}

fn calls(account: &[Rank]) -> Markup {
    let all = by_call(account);
    let shown = all.len().min(CALLS_MAX);
    let most = all.first().map_or(1, |(call, _)| call.total_ps);
    html! {
        figure id="calls" {
            h3 { "Calls, all ranks together" (part_of(shown, all.len())) }
            div class="scroll" {
                table class="bars" {
                    thead { tr {
                        th { "function" } th class="num" { "times" } th class="num" { "time" }
                        th { "waits most for" } th { "parts" }
                    } }
                    tbody {
                        @for (call, waits) in all.iter().take(shown) {
                            tr data-call=(call.call) data-ps=(call.total_ps) {
                                td { (call.call) }
                                td class="num" { (call.times) }
                                td class="num" { (time(ns(call.total_ps))) }
                                td {
                                    @if let Some((rank, ps)) = waits.first() {
                                        "rank " (rank) ", " (time(ns(*ps)))
                                    }
                                }
                                td { (bar(parts_of(call), most)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn ranks(account: &[Rank]) -> Markup {
    let mut all: Vec<&Rank> = account.iter().collect();
    if all.len() > RANKS_MAX {
        let waiting = |rank: &Rank| rank.calls.iter().map(Call::waiting_ps).sum::<u64>();
        all.sort_by_key(|rank| (waiting(rank), rank.rank));
        // Those with the least waiting are those for whom others wait.
        all.truncate(RANKS_MAX);
    }
    let most = all.iter().map(|rank| rank.total_ps).max().unwrap_or(1);
    let title = match part_of(all.len(), account.len()) {
        part if part.is_empty() => "Ranks".to_owned(),
        part => format!("Ranks that waited least{part}"),
    };
    html! {
        figure id="ranks" {
            h3 { (title) }
            div class="scroll" {
                table class="bars" {
                    thead { tr {
                        th class="num" { "rank" } th class="num" { "time" } th { "parts" }
                    } }
                    tbody {
                        @for rank in all {
                            tr data-rank=(rank.rank) data-ps=(rank.total_ps) {
                                td class="num" { (rank.rank) }
                                td class="num" { (time(ns(rank.total_ps))) }
                                td { (bar(parts_of_rank(rank), most)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn matrix(account: &[Rank]) -> Markup {
    let row = |rank: &Rank| {
        let from = rank.rank;
        rank.sent.iter().map(move |sent| (from, sent.clone())).collect::<Vec<_>>()
    };
    let mut pairs: Vec<_> = account.iter().flat_map(row).collect();
    pairs.sort_by_key(|(from, sent)| (std::cmp::Reverse(sent.bytes), *from, sent.to));
    let (all, shown) = (pairs.len(), pairs.len().min(PAIRS_MAX));
    html! {
        figure id="matrix" {
            h3 { "Who sends most to whom" (part_of(shown, all)) }
            div class="scroll" {
                table {
                    thead { tr {
                        th class="num" { "from rank" } th class="num" { "to rank" }
                        th class="num" { "messages" } th class="num" { "payload" }
                    } }
                    tbody {
                        @for (from, sent) in pairs.iter().take(shown) {
                            tr data-from=(from) data-to=(sent.to) {
                                td class="num" { (from) } td class="num" { (sent.to) }
                                td class="num" { (sent.messages) }
                                td class="num" { (size(sent.bytes)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A message opens into its steps, with their causes.
fn slowest(slow: &[Slow], ended: u64) -> Markup {
    html! {
        figure id="slowest" {
            h3 { "The slowest messages (" (slow.len().min(SLOW_MAX)) " of " (ended) ")" }
            @for message in slow.iter().take(SLOW_MAX) {
                details data-message=(message.message) {
                    summary {
                        (message.message) ": " (message.kind.name()) ", " (message.protocol.name())
                        ", " (size(message.bytes)) ", " (time(message.total_ns))
                        @if message.entries > 1 {
                            "; " (message.entries) " entries of match lists walked"
                        }
                    }
                    table {
                        tbody {
                            @for segment in &message.segments {
                                tr {
                                    td class="num" { (share(segment.ns, message.total_ns)) }
                                    td class="num" { (time(segment.ns)) }
                                    td { (segment.name) }
                                    td { (cause_of(&segment.name).map_or("", |why| why.sentence)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

//! The program first: its largest costs, its calls and ranks, the communication matrix, its slowest messages.
//! A click on a bar leads to its parts, and from there to messages.

use super::messages::{kept, link, SLOWEST_MAX};
use super::units::{share, time};
use super::{matrix, part_of};
use crate::summary::account::{by_call, costs, has_lists, waits_of, walkers, whole, Walkers};
use machine::instruments::account::{Call, Collective, Rank, WaitsFor};
use machine::instruments::message_trace::Slow;
use machine::report::Report;
use maud::{html, Markup};

/// Most rows of each table; its title says if there are more.
const COSTS_MAX: usize = 5;
const CALLS_MAX: usize = 8;
const RANKS_MAX: usize = 32;
/// Messages that are linked from a call or a rank.
const LINKS_MAX: usize = 8;

/// Parts of the time with their names and classes of style.
const PARTS: [(&str, &str); 7] = [
    ("library", "a-library"),
    ("kernel", "a-kernel"),
    ("NIC", "a-nic"),
    ("network", "a-network"),
    ("waiting for the other side", "a-waiting"),
    ("computation", "a-computes"),
    ("clocks, sleep, sockets", "a-aside"),
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
                    @for ((name, class), ps) in PARTS.into_iter().zip(parts_of_all(account)) {
                        @if ps > 0 { li { span class={ "key " (class) } {} (name) } }
                    }
                }
                (largest(account))
                (calls(report))
                (ranks(report))
                (matrix::figure(account))
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

/// Bars of the parts; their total width is on a common scale. A click opens `opens`.
fn bar(parts: [u64; 7], most: u64, opens: &str, of: &str) -> Markup {
    let most = most.max(1) as f64;
    let parts = || PARTS.iter().zip(parts).filter(|(_, ps)| *ps > 0);
    let told = parts().map(|((name, _), ps)| format!("{name} {}", time(ns(ps))));
    let label = format!("{of}: {}; opens its parts", told.collect::<Vec<_>>().join(", "));
    html! {
        a class="stack absolute" href={ "#" (opens) } aria-label=(label) {
            @for ((name, class), ps) in parts() {
                @let width = format!("{:.3}", 100.0 * ps as f64 / most);
                span class=(class) style={ "width:" (width) "%" }
                    title={ (name) ": " (time(ns(ps))) } {}
            }
        }
    }
}

fn parts_of(call: &Call) -> [u64; 7] {
    [call.library_ps, call.kernel_ps, call.nic_ps, call.network_ps, call.waiting_ps(), 0, 0]
}

fn parts_of_rank(rank: &Rank) -> [u64; 7] {
    let aside = rank.clocks_ps + rank.sleeps_ps + rank.sockets_ps;
    let mut parts = [0, 0, 0, 0, 0, rank.computes_ps, aside];
    for own in rank.calls.iter().map(parts_of) {
        parts.iter_mut().zip(own).for_each(|(sum, part)| *sum += part);
    }
    parts
}

/// The parts of all ranks' time: which of them there are.
fn parts_of_all(account: &[Rank]) -> [u64; 6] {
    let mut all = [0; 6];
    for rank in account {
        all.iter_mut().zip(parts_of_rank(rank)).for_each(|(sum, part)| *sum += part);
    }
    all
}

fn head_of_parts(whole: &str) -> Markup {
    html! {
        thead { tr {
            th class="num" { "share" } th class="num" { "time" } th { "part of " (whole) }
        } }
    }
}

/// The parts of the calls' time, with waiting divided as far as known.
fn parts_table(call: &Call) -> Markup {
    let parts = [
        ("waiting for late senders", call.late_sender_ps),
        ("waiting for late receivers", call.late_receiver_ps),
        ("imbalance: waiting for the rank that came last", call.imbalance_ps),
        ("library", call.library_ps),
        ("kernel", call.kernel_ps),
        ("of that: disks of the other side", call.disk_ps),
        ("NIC, and the way to it", call.nic_ps),
        ("of that: refused, until there was room at the target", call.refused_ps),
        ("network", call.network_ps),
    ];
    html! {
        @if parts.iter().all(|(_, ps)| *ps == 0) { p { "It took no time." } } @else {
            table {
                (head_of_parts("the call's time"))
                tbody {
                    @for (what, ps) in parts.into_iter().filter(|(_, ps)| *ps > 0) {
                        tr data-ps=(ps) {
                            td class="num" { (share(ns(ps), ns(call.total_ps))) }
                            td class="num" { (time(ns(ps))) }
                            td { (what) }
                        }
                    }
                }
            }
        }
    }
}

/// Ranks that were waited for, the longest wait first.
fn waits(all: impl Iterator<Item = WaitsFor>) -> Markup {
    let told: Vec<_> = all.take(LINKS_MAX).collect();
    html! {
        @if !told.is_empty() {
            p {
                "Waited for "
                @for (at, one) in told.iter().enumerate() {
                    @if at > 0 { ", " }
                    "rank " (one.rank) " (" (time(ns(one.ps))) ")"
                }
                "."
            }
        }
    }
}

/// Links to the steps of the wanted messages among those whose story is kept, the slowest first.
fn links(report: &Report, what: &str, wanted: impl Fn(&Slow) -> bool) -> Markup {
    let mut all = kept(report);
    all.retain(|slow| wanted(slow));
    all.sort_by_key(|slow| (std::cmp::Reverse((slow.total_ns * 1e3) as u64), slow.message.clone()));
    let shown = all.len().min(LINKS_MAX);
    html! {
        @if shown > 0 {
            p {
                "Messages " (what) " (" (shown)
                " of those whose steps are kept, the slowest first):"
            }
            ul class="links" { @for slow in &all[..shown] { li { (link(slow)) } } }
        }
    }
}

fn calls(report: &Report) -> Markup {
    let all = by_call(&report.account);
    let shown = all.len().min(CALLS_MAX);
    let most = all.first().map_or(1, |(call, _)| call.total_ps);
    html! {
        figure id="calls" {
            h3 { "Calls, all ranks together" (part_of(shown, all.len())) }
            div class="scroll" {
                table class="bars" {
                    thead { tr {
                        th { "function" } th class="num" { "calls" } th class="num" { "total" }
                        th { "waits most for" } th { "parts" }
                    } }
                    tbody {
                        @for (call, waits) in all.iter().take(shown) {
                            @let id = format!("call-{}", call.call);
                            tr data-call=(call.call) data-ps=(call.total_ps) {
                                td { a href={ "#" (id) } { (call.call) } }
                                td class="num" { (call.times) }
                                td class="num" { (time(ns(call.total_ps))) }
                                td {
                                    @if let Some((rank, ps)) = waits.first() {
                                        "rank " (rank) ", " (time(ns(*ps)))
                                    }
                                }
                                td { (bar(parts_of(call), most, &id, call.call)) }
                            }
                        }
                    }
                }
            }
            @for (call, waits) in all.iter().take(shown) {
                details id={ "call-" (call.call) } {
                    summary { (call.call) ": what its time went into, and its messages" }
                    (parts_table(call))
                    (last(report, call.call))
                    (self::waits(waits.iter().map(|&(rank, ps)| WaitsFor { rank, ps })))
                    (links(report, "sent in it", |slow| slow.sent_in == call.call))
                    (links(report, "received in it", |slow| slow.received_in == call.call))
                }
            }
        }
    }
}

/// Table of the ranks that came last to the collective operations of a function.
fn last(report: &Report, call: &str) -> Markup {
    let all = report.collectives.iter().find(|all| all.call == call);
    html! {
        @if let Some(Collective { times, last, ranks, .. }) = all {
            table class="last" {
                thead { tr {
                    th { "came last" } th class="num" { "of " (times) }
                    th class="num" { "after the one before, mean" }
                } }
                tbody {
                    @for last in last {
                        tr data-last=(last.rank) data-times=(last.times) {
                            td { "rank " (last.rank) } td class="num" { (last.times) }
                            td class="num" { (time(ns(last.ps) / last.times.max(1) as f64)) }
                        }
                    }
                }
            }
            @if *ranks > last.len() as u64 {
                p class="note" { (last.len()) " of " (ranks) " ranks that ever came last." }
            }
        }
    }
}

fn ranks(report: &Report) -> Markup {
    let account = &report.account;
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
                        @for rank in &all {
                            @let (id, name) =
                                (format!("rank-{}", rank.rank), format!("rank {}", rank.rank));
                            tr data-rank=(rank.rank) data-ps=(rank.total_ps) {
                                td class="num" { a href={ "#" (id) } { (rank.rank) } }
                                td class="num" { (time(ns(rank.total_ps))) }
                                td { (bar(parts_of_rank(rank), most, &id, &name)) }
                            }
                        }
                    }
                }
            }
            details id="each-rank" class="folded" {
                summary { "Calls and messages of each rank" }
                @for rank in &all { (one_rank(report, rank)) }
            }
        }
    }
}

/// A rank's calls, the ranks for which it waited, its messages.
fn one_rank(report: &Report, rank: &Rank) -> Markup {
    let number = Some(rank.rank);
    let waited = waits_of(&rank.calls);
    let shown = rank.calls.len().min(CALLS_MAX);
    html! {
        details id={ "rank-" (rank.rank) } {
            summary { "Rank " (rank.rank) ": its calls and messages" }
            table {
                (head_of_parts("the rank's time"))
                tbody {
                    @for (what, ps) in rank.between().into_iter().filter(|(_, ps)| *ps > 0) {
                        tr {
                            td class="num" { (share(ns(ps), ns(rank.total_ps))) }
                            td class="num" { (time(ns(ps))) }
                            td { (what) }
                        }
                    }
                    @for call in rank.calls.iter().take(shown) {
                        tr data-ps=(call.total_ps) {
                            td class="num" { (share(ns(call.total_ps), ns(rank.total_ps))) }
                            td class="num" { (time(ns(call.total_ps))) }
                            td {
                                (call.call) ", " (call.times) " times; of it waiting "
                                (time(ns(call.waiting_ps())))
                            }
                        }
                    }
                }
            }
            (waits(waited.iter().map(|&(rank, ps)| WaitsFor { rank, ps })))
            @if has_lists(report) { (queues(rank, walkers(report))) }
            (links(report, "from it", |slow| slow.from == number))
            (links(report, "to it", |slow| slow.to == number))
        }
    }
}

/// The queues of its library: their lengths, and the cost of walking them.
fn queues(rank: &Rank, walkers: Walkers) -> Markup {
    let by = walkers.posted;
    let walking = time(ns(rank.walking_ps));
    let mean = |sum: u64| format!("{:.2}", sum as f64 / rank.total_ps.max(1) as f64);
    html! {
        div class="scroll" {
            table class="lists" {
                thead { tr {
                    th { "list" } th class="num" { "entries" } th class="num" { "most" }
                    th class="num" { "mean" } th class="num" { "walked" }
                    th class="num" { "most walked" } th class="num" { "time of walking" }
                    th { "by" }
                } }
                tbody {
                    tr data-list="posted" data-walked=(rank.entries) data-ps=(rank.walking_ps) {
                        td { "posted receives" } td class="num" { (rank.posted) }
                        td class="num" { (rank.posted_most) }
                        td class="num" { (mean(rank.posted_time)) }
                        td class="num" { (rank.entries) } td class="num" { (rank.entries_most) }
                        td class="num" { (walking) } td { (by) }
                    }
                    tr data-list="unexpected" data-walked=(rank.searched)
                        data-ps=(rank.searching_ps) {
                        td { "unexpected messages" } td class="num" { (rank.unexpected) }
                        td class="num" { (rank.unexpected_most) }
                        td class="num" { (mean(rank.unexpected_time)) }
                        td class="num" { (rank.searched) } td class="num" { "" }
                        td class="num" { (time(ns(rank.searching_ps))) }
                        td { (walkers.unexpected) }
                    }
                    @if rank.unit_results > 0 {
                        tr data-list="units" data-ps=(rank.unit_ps) {
                            td { "results of matching units" }
                            td class="num" { (rank.unit_results) }
                            @for _ in 0..4 { td {} }
                            td class="num" { (time(ns(rank.unit_ps))) } td { "unit" }
                        }
                    }
                }
            }
        }
    }
}

/// Links to the slowest messages of all classes.
fn slowest(slow: &[Slow], ended: u64) -> Markup {
    html! {
        figure id="slowest" {
            h3 { "The slowest messages (" (slow.len().min(SLOWEST_MAX)) " of " (ended) ")" }
            ul class="links" { @for slow in slow.iter().take(SLOWEST_MAX) { li { (link(slow)) } } }
        }
    }
}

//! The program's account, for people: its largest costs first, then call by call.

use super::{grouped, heading, plural, time_of};
use crate::bench::queues::UNITS;
use crate::terminal::Terminal;
use machine::instruments::account::{Call, CameLast, Collective, Rank};
use machine::parameters::Parameters;
use machine::report::Report;
use models::MODELS;
use std::collections::BTreeMap;
use std::fmt::{self, Write};

/// Costs that are named.
const COSTS_MAX: usize = 3;
/// Ranks that are named of those that came last.
const LAST_MAX: usize = 3;
/// Calls that have a line.
const CALLS_MAX: usize = 5;
/// Columns of names of functions, unless one is longer.
const NAME_WIDTH: usize = 18;

/// A cost of the program: its name, and the time of all ranks together, in picoseconds.
pub struct Cost {
    /// Name of the cost.
    pub what: String,
    /// Time, in picoseconds.
    pub ps: u64,
}

/// Calls of each function, of all ranks together, with the ranks that were waited for.
pub fn by_call(account: &[Rank]) -> Vec<(Call, Vec<(u32, u64)>)> {
    let mut all: BTreeMap<&str, (Call, Vec<&Call>)> = BTreeMap::new();
    for call in account.iter().flat_map(|rank| &rank.calls) {
        let (sum, each) = all.entry(call.call).or_default();
        sum.add(call);
        each.push(call);
    }
    let mut all: Vec<_> = all.into_values().map(|(call, each)| (call, waits_of(each))).collect();
    all.sort_by_key(|(call, _)| (std::cmp::Reverse(call.total_ps), call.call));
    all
}

/// Ranks that calls waited for, all together, the longest wait first.
pub fn waits_of<'a>(calls: impl IntoIterator<Item = &'a Call>) -> Vec<(u32, u64)> {
    let mut sums: BTreeMap<u32, u64> = BTreeMap::new();
    for one in calls.into_iter().flat_map(|call| &call.waits_for) {
        *sums.entry(one.rank).or_default() += one.ps;
    }
    let mut waits: Vec<_> = sums.into_iter().collect();
    waits.sort_by_key(|(rank, ps)| (std::cmp::Reverse(*ps), *rank));
    waits
}

/// Part that walks a machine's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walkers {
    /// Part that walks posted receives.
    pub posted: &'static str,
    /// Part that walks unexpected messages.
    pub unexpected: &'static str,
    /// True if each rank has its time for posted receives.
    pub timed: bool,
}

/// Walkers of a run.
pub fn walkers(report: &Report) -> Walkers {
    let accelerated = report.machine.values.get("firmware.accelerated");
    let accelerated = accelerated.is_some_and(|setting| setting.value != "0");
    let interface = report.machine.values.contains_key(UNITS);
    Walkers::of(accelerated, interface)
}

/// Walkers of a machine.
pub fn walkers_of(machine: &Parameters) -> Walkers {
    let has = |key: &str| machine.iter().find(|parameter| parameter.key == key);
    let accelerated = has("firmware.accelerated").is_some_and(|set| set.text != "0");
    Walkers::of(accelerated, has(UNITS).is_some())
}

impl Walkers {
    /// Walkers of a machine: `accelerated` if the firmware walks the lists of accelerated processes,
    /// `interface` if the network interface has queues of its own.
    pub fn of(accelerated: bool, interface: bool) -> Walkers {
        Walkers {
            posted: if accelerated || interface { "firmware" } else { "kernel" },
            unexpected: if interface { "firmware" } else { "library" },
            timed: !accelerated,
        }
    }
}

/// True if receives are posted and messages kept: programs that call MPI or Portals do so.
pub fn has_lists(report: &Report) -> bool {
    MODELS
        .model(report.machine.model)
        .is_none_or(|model| model.processes || model.guest_mpi.is_some())
}

/// The time of all ranks together, in picoseconds.
pub fn whole(account: &[Rank]) -> u64 {
    account.iter().map(|rank| rank.total_ps).sum()
}

/// All costs of the ranks' time, the largest first.
pub fn costs(account: &[Rank]) -> Vec<Cost> {
    let mut costs: Vec<Cost> = Vec::new();
    for (what, ps) in account.iter().flat_map(Rank::between) {
        match costs.iter_mut().find(|cost| cost.what == what) {
            Some(cost) => cost.ps += ps,
            None => costs.push(Cost { what: what.into(), ps }),
        }
    }
    for (call, waits) in by_call(account) {
        let name = call.call;
        let mut cost = |what: String, ps| costs.push(Cost { what, ps });
        let waiting = call.waiting_ps();
        let mut wait = |what: &str, ps| {
            let whom = waits.first().map_or(String::new(), |(rank, most)| {
                let share = 100 * u128::from(*most) / u128::from(waiting.max(1));
                // Ranks are counted for all kinds of waiting together.
                let of = if ps == waiting { "it" } else { "its waiting" };
                format!(", {share} % of {of} for rank {rank}")
            });
            cost(format!("{what} {name}{whom}"), ps);
        };
        wait("late senders, waited for in", call.late_sender_ps);
        wait("late receivers, waited for in", call.late_receiver_ps);
        wait("imbalance before", call.imbalance_ps);
        cost(format!("library, in {name}"), call.library_ps);
        cost(format!("kernel, in {name}"), call.kernel_ps);
        cost(format!("NIC, in {name}"), call.nic_ps);
        cost(format!("network, in {name}"), call.network_ps);
    }
    costs.retain(|cost| cost.ps > 0);
    costs.sort_by_key(|cost| std::cmp::Reverse(cost.ps));
    costs
}

/// Prints the largest costs, a line each.
pub fn largest(out: &mut String, account: &[Rank], terminal: &Terminal) -> fmt::Result {
    let (whole, costs) = (whole(account), costs(account));
    let ranks = plural(account.len() as u64, "rank");
    let time = format!("{} of {ranks}", time_of(whole as f64 / 1e3));
    heading(out, terminal, "What the program's time went into, the largest first", &time)?;
    for Cost { what, ps } in costs.iter().take(COSTS_MAX) {
        let share = 100.0 * *ps as f64 / whole.max(1) as f64;
        writeln!(out, "  {share:>3.0} % {:>11}  {what}", time_of(*ps as f64 / 1e3))?;
    }
    Ok(())
}

/// Prints a line for each function.
pub fn calls(out: &mut String, account: &[Rank], of: &str, terminal: &Terminal) -> fmt::Result {
    let all = by_call(account);
    let aside = match all.len() {
        number if number > CALLS_MAX => {
            format!("{of}; {CALLS_MAX} of {number} functions are shown, --json has all")
        }
        _ => of.to_owned(),
    };
    heading(out, terminal, "Calls", &aside)?;
    let names = ["calls", "total", "waiting", "library", "kernel", "NIC", "network"];
    // Where no kernel is entered there is none.
    let kernel = all.iter().any(|(call, _)| call.kernel_ps > 0);
    let shown = || all.iter().take(CALLS_MAX);
    let width = name_width(shown().map(|(call, _)| call.call));
    line(out, "", width, &names.map(String::from), kernel)?;
    for (call, _) in shown() {
        let share = |ps: u64| format!("{:.0} %", 100.0 * ps as f64 / call.total_ps.max(1) as f64);
        let cells = [
            grouped(call.times),
            time_of(call.total_ps as f64 / 1e3),
            share(call.waiting_ps()),
            share(call.library_ps),
            share(call.kernel_ps),
            share(call.nic_ps),
            share(call.network_ps),
        ];
        line(out, call.call, width, &cells, kernel)?;
    }
    Ok(())
}

/// Sentence about the ranks that came last to the collective operations of a function.
pub fn came_last(collective: &Collective) -> String {
    let Collective { times, spread_ps, last, ranks, .. } = collective;
    let mean = |ps: u64, times: u64| time_of(ps as f64 / 1e3 / times.max(1) as f64);
    let one = |last: &CameLast| {
        let (rank, number) = (last.rank, grouped(last.times));
        let times = if last.times == 1 { "time" } else { "times" };
        format!("rank {rank} {number} {times} ({} after the one before)", mean(last.ps, last.times))
    };
    let named: Vec<String> = last.iter().take(LAST_MAX).map(one).collect();
    let others = match ranks.saturating_sub(named.len() as u64) {
        0 => String::new(),
        others => format!(", {} the rest", plural(others, "other rank")),
    };
    format!(
        "{}; came last: {}{others}; from the first to the last {}",
        plural(*times, "operation"),
        named.join(", "),
        mean(*spread_ps, *times)
    )
}

/// Prints a line for each function with collective operations.
pub fn collectives(out: &mut String, all: &[Collective], terminal: &Terminal) -> fmt::Result {
    if all.is_empty() {
        return Ok(());
    }
    heading(out, terminal, "Who came last to collective operations", "times are means")?;
    let width = name_width(all.iter().map(|one| one.call));
    all.iter().try_for_each(|one| writeln!(out, "  {:width$}{}", one.call, came_last(one)))
}

/// Columns of names of functions: those of the longest one, and two between it and what follows.
fn name_width<'a>(names: impl Iterator<Item = &'a str>) -> usize {
    names.map(|name| name.len() + 2).max().unwrap_or(0).max(NAME_WIDTH)
}

/// Place of the kernel's column behind the total.
const KERNEL: usize = 2;

fn line(
    out: &mut String,
    name: &str,
    width: usize,
    cells: &[String; 7],
    kernel: bool,
) -> fmt::Result {
    let [times, time, parts @ ..] = cells;
    write!(out, "  {name:width$}{times:>8}{time:>12}")?;
    for (_, part) in parts.iter().enumerate().filter(|(at, _)| kernel || *at != KERNEL) {
        write!(out, "{part:>8}")?;
    }
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::instruments::account::WaitsFor;

    const PLAIN: Terminal = Terminal { colour: false, unicode: false, width: 80 };

    /// Columns are in line below their headings, however long the name of a function of MPI is.
    #[test]
    fn columns_are_in_line_with_every_function() {
        let others = abi::mpi::Function::all().iter().filter(|one| one.name() != "MPI_Send");
        for function in others {
            let call = |call| Call { call, times: 3, total_ps: 2_000_000, ..Call::default() };
            let calls = vec![call(function.name()), call("MPI_Send")];
            let rank = Rank { calls, ..Rank::default() };
            let mut out = String::new();
            super::calls(&mut out, &[rank], "1 rank", &PLAIN).unwrap();
            let lines: Vec<&str> = out.lines().skip(1).collect();
            let ends = |line: &str, word: &str| line.find(word).map(|at| at + word.len());
            assert_eq!(ends(lines[0], "calls"), ends(lines[1], " 3"), "{out}");
            assert_eq!(ends(lines[1], " 3"), ends(lines[2], " 3"), "{out}");
            assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{out}");
        }
    }

    #[test]
    fn a_rank_came_last_so_many_times() {
        let last = |rank, times| CameLast { rank, times, ps: 1_000_000 * times };
        let one = Collective {
            call: "MPI_Barrier",
            times: 4,
            spread_ps: 8_000_000,
            last: vec![last(0, 3), last(2, 1)],
            ranks: 2,
        };
        let said = came_last(&one);
        assert!(said.starts_with("4 operations; came last: rank 0 3 times ("), "{said}");
        assert!(said.contains("), rank 2 1 time ("), "{said}");
    }

    #[test]
    fn who_is_waited_for_in_several_calls_is_told_once() {
        let waits = |all: &[(u32, u64)]| {
            let waits_for = all.iter().map(|&(rank, ps)| WaitsFor { rank, ps }).collect();
            Call { waits_for, ..Call::default() }
        };
        let calls = [waits(&[(3, 50), (5, 40)]), waits(&[(5, 30), (3, 1)])];
        assert_eq!(waits_of(&calls), [(5, 70), (3, 51)]);
    }
}

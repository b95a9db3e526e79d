//! `sunstar explain`: runs a program, and explains the times of its messages and calls.

use crate::args::ExplainOptions;
use crate::run::{self, Observers};
use crate::streams::Output;
use crate::summary::{account, grouped, messages, plural, refusals, time_of};
use crate::terminal::{self, Terminal};
use machine::instruments::account::{Call, Rank};
use machine::instruments::message_trace::{Breakdown, Layer, Segment, Slow};
use machine::report::Report;
use models::MODELS;
use std::fmt::{self, Write};
use sunstar::root::Root;
use sunstar::usage_error::UsageError;

/// Number of slow messages that are explained by default.
const SLOWEST: usize = 3;
/// Ranks that are listed of a call.
const RANKS_MAX: usize = 8;
/// Share of the time below which steps are printed together.
const SHARE_MIN: f64 = 0.01;

/// Runs the program and prints the explanations after the program's own output.
pub fn explain(root: &Root, options: &ExplainOptions) -> Result<u8, UsageError> {
    let json = Output::of("--json", options.run.json.as_deref())?;
    let observers = Observers { follow: options.message, ..Observers::default() };
    let run = run::execute(root, &options.run, observers)?;
    let report = &run.outcome.report;
    let text = text(report, options, &Terminal::of_stdout())?;
    Ok(run::finish(&options.run, &run, &json, terminal::write(&text)))
}

/// Text with all explanations that were asked for.
fn text(
    report: &Report,
    options: &ExplainOptions,
    terminal: &Terminal,
) -> Result<String, UsageError> {
    let mut out = String::new();
    let Some(all) = &report.messages else {
        let model = report.machine.model;
        return Err(UsageError::sentence(format!(
            "model {model} tells neither of messages nor of calls"
        )));
    };
    let nothing = options.slowest.is_none()
        && options.message.is_none()
        && options.size.is_none()
        && options.rank.is_none()
        && options.call.is_none();
    let string = "a string takes everything";
    if nothing {
        let (account, of) = (&report.account, "all ranks together");
        writeln!(out).expect(string);
        account::largest(&mut out, account, terminal).expect(string);
        writeln!(out).expect(string);
        account::calls(&mut out, account, of, terminal).expect(string);
        writeln!(out).expect(string);
        account::collectives(&mut out, &report.collectives, terminal).expect(string);
        refusals(&mut out, report, terminal).expect(string);
    }
    if let Some(id) = options.message {
        let followed = all.followed.as_ref().ok_or_else(|| {
            UsageError::sentence(format!(
                "message {id} did not come to its end, or there is none of that name"
            ))
        })?;
        message(&mut out, report, followed, terminal).expect(string);
    }
    if let Some(bytes) = options.size {
        let has = |class: &&Breakdown| (class.bytes_least..=class.bytes_most).contains(&bytes);
        let classes: Vec<_> = report.breakdowns.iter().filter(has).collect();
        if classes.is_empty() {
            return Err(UsageError::sentence(format!(
                "no message of {} was sent",
                plural(bytes, "byte")
            )));
        }
        for class in classes {
            self::class(&mut out, report, class, terminal).expect(string);
        }
    }
    if let Some(number) = options.rank {
        let rank = report.account.iter().find(|rank| rank.rank == number).ok_or_else(|| {
            UsageError::sentence(format!("there is no rank {number}: the run has {}", report.ranks))
        })?;
        self::rank(&mut out, report, rank, terminal).expect(string);
    }
    if let Some(name) = &options.call {
        call(&mut out, report, name, terminal)?;
    }
    let slowest = options.slowest.unwrap_or(if nothing { SLOWEST } else { 0 });
    if slowest > 0 {
        let shown = slowest.min(all.slowest.len());
        let title = format!("The {shown} slowest of {} messages", grouped(all.ended));
        writeln!(out, "\n{}", terminal.bold(title)).expect(string);
    }
    for slow in all.slowest.iter().take(slowest) {
        message(&mut out, report, slow, terminal).expect(string);
    }
    Ok(out)
}

/// A message, step by step.
fn message(out: &mut String, report: &Report, slow: &Slow, terminal: &Terminal) -> fmt::Result {
    let Slow { message, kind, protocol, bytes, start_ns, total_ns, entries, .. } = slow;
    let (kind, protocol) = (kind.name(), protocol.name());
    let (start, total) = (time_of(*start_ns), time_of(*total_ns));
    let title = format!("Message {message} ({kind}, {protocol}, {} bytes)", grouped(*bytes));
    writeln!(out, "\n{} began {start} after the launch and took {total}", terminal.bold(title))?;
    steps(out, report, &slow.segments, *total_ns, *entries)
}

/// All messages of a class, step by step.
fn class(out: &mut String, report: &Report, class: &Breakdown, terminal: &Terminal) -> fmt::Result {
    let number = grouped(class.messages);
    let mean = class.sum_ps as f64 / 1e3 / class.messages.max(1) as f64;
    let all = if class.messages == 1 { "The only message" } else { "All messages" };
    let title = format!("{all} ({number}): {}", messages::class_of(class));
    let [p50, p99, max] = [class.p50_ns, class.p99_ns, class.most_ns].map(time_of);
    let times = format!("mean {}, p50 {p50}, p99 {p99}, max {max}", time_of(mean));
    writeln!(out, "\n{} took {times}", terminal.bold(title))?;
    let segment = |step: &machine::instruments::message_trace::Step| Segment {
        name: step.name.clone(),
        place: step.place,
        ns: step.sum_ps as f64 / 1e3 / class.messages.max(1) as f64,
    };
    let segments: Vec<_> = class.steps.iter().map(segment).collect();
    let entries = (class.entries as f64 / class.messages.max(1) as f64).round() as u32;
    steps(out, report, &segments, mean, entries)
}

/// Steps with their causes.
fn steps(
    out: &mut String,
    report: &Report,
    segments: &[Segment],
    total: f64,
    entries: u32,
) -> fmt::Result {
    let total = if total > 0.0 { total } else { 1.0 };
    let (told, small): (Vec<_>, Vec<_>) =
        segments.iter().partition(|segment| segment.ns / total >= SHARE_MIN);
    for segment in told {
        let share = 100.0 * segment.ns / total;
        let name = &segment.name;
        writeln!(out, "  {share:>3.0} % {:>11}  {name}", time_of(segment.ns))?;
        writeln!(out, "                     {}", cause(report, segment, entries))?;
    }
    if !small.is_empty() {
        let sum: f64 = small.iter().map(|segment| segment.ns).sum();
        let (time, number) = (time_of(sum), small.len());
        let what = match number {
            1 => "another step, below 1 %".to_owned(),
            _ => format!("{number} other steps together, each below 1 %"),
        };
        writeln!(out, "      {time:>11}  {what}")?;
    }
    Ok(())
}

/// A sentence about a step, with the parameters on which it depends.
fn cause(report: &Report, segment: &Segment, entries: u32) -> String {
    let Some(cause) = MODELS.cause_of(report.machine.model, &segment.name) else {
        return String::new();
    };
    let value = |key: &str| report.machine.values.get(key).map(|setting| setting.value.as_str());
    let mut told = match cause.walks && entries > 1 {
        true => {
            // What it costs in firmware only a run tells.
            let (each, key) = match segment.place {
                Layer::FIRMWARE => (time_of(segment.ns / f64::from(entries)), ""),
                _ => {
                    let each = value("portals.list_entry").unwrap_or_default();
                    (each.to_owned(), " (portals.list_entry)")
                }
            };
            let number = grouped(entries.into());
            format!("walked {number} entries of the posted list, {each} each{key}")
        }
        false => cause.sentence.to_string(),
    };
    let acting = cause.parameters.iter().filter(|key| !report.machine.idle.contains(*key));
    let known = acting.filter_map(|key| Some((key, value(key)?)));
    let decides: Vec<_> = known.map(|(key, value)| format!("{key} = {value}")).collect();
    if !decides.is_empty() {
        told += &format!("; {}", decides.join(", "));
    }
    if segment.place == Layer::FIRMWARE {
        // A model may have Portals' steps, and no firmware.
        let model = MODELS.model(report.machine.model);
        if model.is_none_or(|model| model.firmware.is_none()) {
            return told;
        }
        told += &format!("; firmware function {}", cause.function);
    }
    told
}

/// The account of a rank.
fn rank(out: &mut String, report: &Report, rank: &Rank, terminal: &Terminal) -> fmt::Result {
    let title = format!("Rank {}: {}", rank.rank, time_of(rank.total_ps as f64 / 1e3));
    writeln!(out, "\n{}", terminal.bold(title))?;
    account::largest(out, std::slice::from_ref(rank), terminal)?;
    account::calls(out, std::slice::from_ref(rank), "of the rank", terminal)?;
    waits(out, &rank.calls)?;
    let sent: u64 = rank.sent.iter().map(|sent| sent.messages).sum();
    let to = plural(rank.sent.len() as u64, "rank");
    writeln!(out, "  sent {} to {to}", plural(sent, "message"))?;
    if account::has_lists(report) {
        lists(out, report, rank)?;
    }
    // Others waited for it.
    let for_it = |other: &Rank| -> u64 {
        let waits = other.calls.iter().flat_map(|call| &call.waits_for);
        waits.filter(|waits| waits.rank == rank.rank).map(|waits| waits.ps).sum()
    };
    let ps: u64 = report.account.iter().map(for_it).sum();
    writeln!(out, "  the others waited {} for it", time_of(ps as f64 / 1e3))
}

/// The lists of a rank's receives and messages.
fn lists(out: &mut String, report: &Report, rank: &Rank) -> fmt::Result {
    let (unexpected, most) = (grouped(rank.unexpected), grouped(rank.unexpected_most));
    let mean = |sum: u64| sum as f64 / rank.total_ps.max(1) as f64;
    writeln!(
        out,
        "  {unexpected} came before their receive, up to {most} at a time, {:.2} in the mean",
        mean(rank.unexpected_time)
    )?;
    let (searched, time) = (grouped(rank.searched), time_of(rank.searching_ps as f64 / 1e3));
    let walkers = account::walkers(report);
    let by = walkers.unexpected;
    writeln!(out, "  receives looked at {searched} of those: {time} in the {by}")?;
    let (posted, most) = (grouped(rank.posted), grouped(rank.posted_most));
    writeln!(
        out,
        "  {posted} receives were posted early, up to {most} at a time, {:.2} in the mean",
        mean(rank.posted_time)
    )?;
    let (entries, most) = (grouped(rank.entries), grouped(rank.entries_most.into()));
    let (time, by) = (time_of(rank.walking_ps as f64 / 1e3), walkers.posted);
    writeln!(out, "  messages walked {entries} of those, up to {most} each: {time} in the {by}")?;
    if rank.unit_results > 0 {
        let (results, time) = (rank.unit_results, time_of(rank.unit_ps as f64 / 1e3));
        let results = plural(results, "result");
        writeln!(out, "  matching units gave {results}: {time} until the firmware had them")?;
    }
    Ok(())
}

fn waits(out: &mut String, calls: &[Call]) -> fmt::Result {
    for call in calls.iter().filter(|call| !call.waits_for.is_empty()) {
        let one = |waits: &machine::instruments::account::WaitsFor| {
            format!("{} for rank {}", time_of(waits.ps as f64 / 1e3), waits.rank)
        };
        let told: Vec<_> = call.waits_for.iter().map(one).collect();
        writeln!(out, "  in {} it waited {}", call.call, told.join(", "))?;
    }
    Ok(())
}

/// The calls of one function.
fn call(
    out: &mut String,
    report: &Report,
    name: &str,
    terminal: &Terminal,
) -> Result<(), UsageError> {
    let string = "a string takes everything";
    let all = account::by_call(&report.account);
    let Some((sum, waits)) = all.iter().find(|(call, _)| call.call.eq_ignore_ascii_case(name))
    else {
        let names: Vec<_> = all.iter().map(|(call, _)| call.call).collect();
        return Err(UsageError::sentence(format!(
            "{name} was not called; called were {}",
            names.join(", ")
        )));
    };
    let (times, total) = (grouped(sum.times), time_of(sum.total_ps as f64 / 1e3));
    let title = format!("{}: {times} calls of all ranks, {total} together", sum.call);
    writeln!(out, "\n{}", terminal.bold(title)).expect(string);
    let key = sum.call.trim_start_matches("MPI_").to_lowercase();
    if let Some(algorithm) = report.machine.values.get(format!("mpi.{key}").as_str()) {
        writeln!(out, "  algorithm {} (mpi.{key})", algorithm.value).expect(string);
    }
    let parts = [
        ("waiting for late senders", sum.late_sender_ps),
        ("waiting for late receivers", sum.late_receiver_ps),
        ("imbalance: waiting for the rank that came last", sum.imbalance_ps),
        ("library", sum.library_ps),
        ("kernel", sum.kernel_ps),
        ("  of that: disks of the other side", sum.disk_ps),
        ("NIC, and the way to it", sum.nic_ps),
        ("  of that: refused, until there was room at the target", sum.refused_ps),
        ("network", sum.network_ps),
    ];
    for (what, ps) in parts.into_iter().filter(|(_, ps)| *ps > 0) {
        let share = 100.0 * ps as f64 / sum.total_ps.max(1) as f64;
        writeln!(out, "  {share:>3.0} % {:>11}  {what}", time_of(ps as f64 / 1e3)).expect(string);
    }
    if let Some(all) = report.collectives.iter().find(|all| all.call == sum.call) {
        writeln!(out, "  {}", account::came_last(all)).expect(string);
    }
    if let Some((rank, ps)) = waits.first() {
        let share = 100.0 * *ps as f64 / sum.waiting_ps().max(1) as f64;
        let time = time_of(*ps as f64 / 1e3);
        writeln!(out, "  rank {rank} was waited for most: {time}, {share:.0} % of all waiting")
            .expect(string);
    }
    let of = |rank: &Rank| {
        let own = rank.calls.iter().find(|call| call.call == sum.call);
        own.map(|call| (rank.rank, call.total_ps, call.waiting_ps()))
    };
    let mut ranks: Vec<_> = report.account.iter().filter_map(of).collect();
    let number = ranks.len();
    ranks.sort_by_key(|(rank, total, _)| (std::cmp::Reverse(*total), *rank));
    ranks.truncate(RANKS_MAX);
    writeln!(out, "  the {} of {number} ranks with the most time in it:", ranks.len())
        .expect(string);
    for (rank, total, waiting) in ranks {
        let times = [total, waiting].map(|ps| time_of(ps as f64 / 1e3));
        let [total, waiting] = times;
        writeln!(out, "    rank {rank:<6}{total:>12}, of it waiting {waiting}").expect(string);
    }
    Ok(())
}

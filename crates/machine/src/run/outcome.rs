//! What is left of all nodes becomes the report.

use super::{Options, Outcome};
use crate::digest::digest;
use crate::firmware::image::FirmwareImage;
use crate::instruments::journey;
use crate::instruments::meter::Effort;
use crate::node::seam::Failure;
use crate::node::Remains;
use crate::parameters::Parameter;
use crate::report::{Exit, Firmware, Judged, Machine, Report, Setting};
use des::{Ending, Time, TraceHash};

/// Exit status of a run whose time is up, as timeout(1) has it.
const TIME_UP: i32 = 124;

/// No packet, byte or credit was lost or made. If one was, that is a bug of the simulator.
pub(super) fn balance(remains: &[Remains], ending: Ending) {
    let ledgers: Vec<_> = remains.iter().map(|node| node.ledger.clone()).collect();
    // A run that ends by itself leaves nothing between nodes.
    let settled = matches!(ending, Ending::Done | Ending::Deadlock);
    if let Err(what) = net::check(&ledgers, settled) {
        panic!("the network's books do not balance: {what}");
    }
}

/// The report, and what else is asked for.
pub(super) fn report(
    options: &Options,
    image: &FirmwareImage,
    remains: Vec<Remains>,
    ending: Ending,
    launch: Time,
    wall_seconds: f64,
) -> Outcome {
    let exit = exit_of(&remains, ending, options);
    // The last messages may still complete after the last rank has ended; that is no part of its run.
    let last = remains.iter().flat_map(|node| &node.endings).map(|(_, at, _)| *at).max();
    let horizon = remains.iter().map(|node| node.end).max().unwrap_or(launch);
    let end = if ending == Ending::Done { last.unwrap_or(horizon) } else { horizon };
    let mut hash = TraceHash::default();
    let mut firmware = Firmware {
        options: image.options.clone(),
        image: digest(&image.image),
        ..Firmware::default()
    };
    let (mut busy_instructions, mut busy_cycles) = (0.0, 0.0);
    let mut marks = Vec::new();
    let mut ties = Vec::new();
    let (mut nodes, mut sram) = (Vec::new(), Vec::new());
    let (mut profiles, mut effort) = (Vec::new(), Effort::default());
    let mut judged: Option<Judged> = None;
    for node in remains {
        hash.word(node.hash);
        if let Some(tally) = node.judged {
            judged.get_or_insert_default().add(tally);
        }
        firmware.messages += node.work.messages;
        firmware.instructions += node.work.instructions;
        firmware.cycles += node.work.cycles;
        busy_instructions += node.work.busy_instructions;
        busy_cycles += node.work.busy_cycles;
        marks.extend(node.journal.marks);
        ties.extend(node.journal.ties);
        nodes.push(node.report);
        sram.push(node.sram);
        profiles.extend(node.profile.filter(|_| options.profile));
        effort += node.effort;
    }
    let messages = firmware.messages.max(1) as f64;
    firmware.instructions_per_message = busy_instructions / messages;
    firmware.cycles_per_message = busy_cycles / messages;
    let parameters = &options.parameters;
    let ranks_per_node = parameters.number("host.ranks_per_node");
    let roles = parameters.roles().map(|(role, count)| (role.to_string(), count));
    let mut breakdowns = journey::break_down(marks.into_iter().flatten(), ties, launch);
    let breakdown = breakdowns.first().cloned();
    if let Some(first) = breakdowns.first_mut() {
        first.mean = None;
    }
    let report = Report {
        machine: Machine {
            name: parameters.name().to_string(),
            overrides: parameters.overrides().to_vec(),
            faults: options.faults.clone(),
            parameters: roles.into(),
            values: parameters.iter().map(setting).collect(),
        },
        ranks: options.ranks,
        ranks_per_node,
        seed: options.seed,
        compute: options.compute.to_string(),
        deterministic: options.compute.is_deterministic(),
        exit,
        simulated_ns: end.since(launch).as_ns(),
        wall_seconds,
        trace_hash: format!("{:016x}", hash.value()),
        breakdown,
        breakdowns,
        firmware,
        judged,
        nodes,
    };
    Outcome { report, sram, profiles, effort }
}

/// What the report says of a parameter.
fn setting(parameter: &Parameter) -> (&'static str, Setting) {
    let Parameter { key, text, source, .. } = parameter;
    (key, Setting { value: text.clone(), source: source.clone() })
}

/// Exit status and sentences. A process that was missed comes first, as what has failed then, on any node,
/// comes of that; a failure of the machine or of a rank next; then a deadlock, or that the time is up; then
/// the first rank that returned something else than 0.
fn exit_of(remains: &[Remains], ending: Ending, options: &Options) -> Exit {
    // Ranks die with an interrupted run; that is not their failure.
    if options.stop.requested() {
        return Exit { code: 130, sentences: vec!["interrupted".into()] };
    }
    let failures = remains.iter().filter_map(|node| node.failure.as_ref());
    let first = failures.min_by_key(|failure| failure.at).cloned();
    // What failed later fails in a run that is over.
    let over =
        |node: &&Remains| node.failure.as_ref().is_some_and(|own| first.as_ref() != Some(own));
    let missed = remains.iter().filter(|node| !over(node)).find_map(|node| node.missed.clone());
    if let Some((code, sentence)) = missed {
        return Exit { code, sentences: vec![sentence] };
    }
    if let Some(Failure { code, sentence, .. }) = first {
        return Exit { code, sentences: vec![sentence] };
    }
    let stands = |code, what: String| {
        let waiting = remains.iter().flat_map(|node| node.waiting.iter().cloned());
        Exit { code, sentences: std::iter::once(what).chain(waiting).collect() }
    };
    match ending {
        Ending::Deadlock => stands(1, "deadlock: nothing in the machine moves any more".into()),
        Ending::TimeUp => {
            let until = options.until.unwrap_or_default();
            stands(TIME_UP, format!("stopped at {until} of simulated time, as --until asks"))
        }
        Ending::Done | Ending::Failed | Ending::Stopped => {
            let bad = remains.iter().flat_map(|node| &node.endings).filter(|ending| ending.2 != 0);
            let code = bad.min_by_key(|(rank, at, _)| (*at, *rank)).map_or(0, |ending| ending.2);
            Exit { code, sentences: Vec::new() }
        }
    }
}

/// Where nothing moves any more, every message must have ended.
pub(super) fn settle(exit: &mut Exit, ledger: &spec::Ledger, ending: Ending, end: Time) {
    if !matches!(ending, Ending::Done | Ending::Deadlock) {
        return;
    }
    if let Some(first) = ledger.unsettled(end.0).first() {
        exit.code = 1;
        exit.sentences.insert(0, first.to_string());
    }
}

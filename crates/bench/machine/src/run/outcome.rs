//! Report, made from the results of all nodes.

use super::Options;
use crate::bench::{Bench, Ended};
use crate::instruments::message_trace::{Messages, Unfinished};
use crate::instruments::write_error::WriteError;
use crate::parameters::Parameter;
use crate::programs::Program;
use crate::remains::{Failure, Remains};
use crate::report::{Exit, Judged, Machine, Report, Setting};
use des::{Ending, Time, TraceHash};

/// Exit status of a run whose time is up, as timeout(1) has it.
const TIME_UP: i32 = 124;

impl Bench<'_> {
    /// Report without the part that only the model knows, and the results of each node for that part.
    /// `written` is the result of writing files before.
    pub fn conclude<L>(
        &self,
        ended: Ended<L>,
        written: Option<Result<(), WriteError>>,
    ) -> (Report, Vec<L>) {
        let end = ended.remains.iter().map(|node| node.end).max();
        let end = end.unwrap_or(self.common.launch());
        let ending = ended.ending;
        let endings = ended.remains.iter().flat_map(|node| &node.endings);
        let over: Vec<u32> = endings.map(|(rank, ..)| *rank).collect();
        let (mut report, left) = self.report(ended, end);
        if let Some(ledger) = &self.ledger {
            settle(&mut report.exit, ledger, ending, end);
        }
        if let Some(rules) = &self.rules {
            let stalls = self.faults.stalls();
            let waits = |rank| ending == Ending::Deadlock && !stalls && !over.contains(&rank);
            conclude(&mut report.exit, rules, ending, end, &waits);
            report.judged.get_or_insert_default().add_matching(rules.tally());
            let all = rules.mismatches();
            report.mismatches = all.iter().map(|mismatch| mismatch.to_string()).collect();
        }
        let told = self.options.observers.watchers.iter().map(|watcher| watcher.finish());
        let (meetings, launch) = (self.tallies.meetings(), self.common.launch());
        let tables =
            self.options.observers.tables.iter().flat_map(|tables| tables.finish(meetings, launch));
        for why in written.into_iter().chain(told).chain(tables).filter_map(Result::err) {
            let exit = &mut report.exit;
            exit.code = if exit.code == 0 { 1 } else { exit.code };
            exit.sentences.push(why.to_string());
        }
        (report, left)
    }

    fn report<L>(&self, ended: Ended<L>, horizon: Time) -> (Report, Vec<L>) {
        let Ended { remains, ending, wall_seconds } = ended;
        let (options, launch) = (self.options, self.common.launch());
        let exit = exit_of(&remains, ending, options);
        // The last messages may still complete after the last rank has ended; that is no part of its run.
        let last = remains.iter().flat_map(|node| &node.endings).map(|(_, at, _)| *at).max();
        let end = if ending == Ending::Done { last.unwrap_or(horizon) } else { horizon };
        let mut hash = TraceHash::default();
        let (mut unfinished, mut account) = (Unfinished::default(), Vec::new());
        let (mut nodes, mut left) = (Vec::new(), Vec::new());
        let mut judged: Option<Judged> = None;
        for node in remains {
            hash.word(node.hash);
            if let Some(tally) = node.judged {
                judged.get_or_insert_default().add(tally);
            }
            unfinished.add(node.journal.unfinished);
            account.extend(node.journal.ranks);
            nodes.extend(node.report);
            left.push(node.left);
        }
        let parameters = &options.parameters;
        let in_guests = matches!(options.program, Program::Guests(_));
        let of_systems = self.common.systems.idle(self.nodes, in_guests);
        let roles = parameters.roles().map(|(role, count)| (role.to_string(), count));
        let counted = self.tallies.sum(options.seed);
        let (messages, breakdowns) = Messages::of(counted, unfinished, launch);
        // A model without steps tells of no messages: not that there were none.
        let messages = parameters.model().messages.map(|_| messages);
        let breakdown = breakdowns.first().cloned();
        let report = Report {
            machine: Machine {
                name: parameters.name().to_string(),
                model: parameters.model().name,
                overrides: parameters.overrides().to_vec(),
                faults: options.faults.clone(),
                parameters: roles.into(),
                values: parameters.iter().map(setting).collect(),
                idle: parameters.idle().chain(of_systems).collect(),
            },
            ranks: options.ranks,
            ranks_per_node: self.common.placement.per_node,
            seed: options.seed,
            compute: options.compute.to_string(),
            deterministic: options.compute.is_deterministic(),
            exit,
            simulated_ns: end.since(launch).as_ns(),
            wall_seconds,
            trace_hash: format!("{:016x}", hash.value()),
            account,
            collectives: self.tallies.meetings().told(),
            messages,
            breakdown,
            breakdowns,
            firmware: None,
            judged,
            mismatches: Vec::new(),
            nodes,
            switches: Vec::new(),
        };
        (report, left)
    }
}

/// Entry of a parameter in the report.
fn setting(parameter: &Parameter) -> (&'static str, Setting) {
    let Parameter { key, text, source, .. } = parameter;
    (key, Setting { value: text.clone(), source: source.clone() })
}

/// Exit status and sentences. A process that was missed comes first, because failures on any node may follow
/// from it; a failure of the machine or of a rank next; then a deadlock, or the end of the time; then the
/// first rank that did not return 0.
fn exit_of<L>(remains: &[Remains<L>], ending: Ending, options: &Options) -> Exit {
    // Ranks die with an interrupted run; that is not their failure.
    if options.stop.requested() {
        return Exit { code: 130, sentences: vec!["interrupted".into()] };
    }
    let failures = remains.iter().filter_map(|node| node.failure.as_ref());
    let first = failures.min_by_key(|failure| failure.at).cloned();
    // What failed later fails in a run that is over.
    let over =
        |node: &&Remains<L>| node.failure.as_ref().is_some_and(|own| first.as_ref() != Some(own));
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

/// Checks that every message has ended where nothing moves any more.
fn settle(exit: &mut Exit, ledger: &spec::Ledger, ending: Ending, end: Time) {
    if !matches!(ending, Ending::Done | Ending::Deadlock) {
        return;
    }
    if let Some(first) = ledger.unsettled(end.0).first() {
        exit.code = 1;
        exit.sentences.insert(0, first.to_string());
    }
}

/// Adds the final verdict of the judge of MPI's rules. `waits`: a rank has not ended and never will.
fn conclude(
    exit: &mut Exit,
    rules: &spec::mpi::Ledger,
    ending: Ending,
    end: Time,
    waits: &dyn Fn(u32) -> bool,
) {
    if !matches!(ending, Ending::Done | Ending::Deadlock) {
        return;
    }
    if let Some(first) = rules.conclude(end.0, waits).first() {
        exit.code = 1;
        exit.sentences.insert(0, first.to_string());
    }
}

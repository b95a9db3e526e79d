//! `sunstar profile`: the firmware's cycles by function, by line, and as a flame graph.

mod flame;
mod table;

use crate::args::ProfileOptions;
use crate::report::page;
use crate::run::{self, Observers};
use crate::streams::Output;
use crate::terminal::Terminal;
use crate::{firmware, machines, terminal};
use machine::firmware::profile::{Cause, Cost, Profile, Summary};
use machine::firmware::symbols::Symbols;
use machine::report::Report;
use serde_json::{json, Map, Value};
use sunstar::root::Root;
use sunstar::usage_error::UsageError;

/// Functions of firmware that walk lists for MPI's messages, with the functions that they call for an entry.
pub const WALKERS: [&str; 5] =
    ["match_request", "head_takes", "search_posted", "search_unexpected", "differ"];

/// Cost of these functions, if the firmware has them.
fn walks(summary: &Summary) -> Option<Cost> {
    let functions = summary.functions.iter();
    let walkers = functions.filter(|function| WALKERS.contains(&function.name.as_str()));
    walkers.map(|function| function.own).reduce(|mut sum, own| {
        sum += own;
        sum
    })
}

/// Runs the program and prints the profile after the program's own output.
pub fn profile(root: &Root, options: &ProfileOptions) -> Result<u8, UsageError> {
    let drawn = options.flame.as_deref().map(|file| ("--flame", file));
    let parameters = machines::chosen(root, &options.run.machine())?;
    let firmware = firmware::required(&parameters, "sunstar profile")?;
    run::check_files(&options.run, &parameters, drawn)?;
    if let Some(node) = options.node.number() {
        run::check_node(root, &options.run, node)?;
    }
    let json = Output::of("--json", options.run.json.as_deref())?;
    let flame = Output::of("--flame", options.flame.as_deref())?;
    let observers = Observers { profile: true, ..Observers::default() };
    let run = run::execute(root, &options.run, observers)?;
    let profiles = run.outcome.profiles.iter();
    let asked = |nid: u32| options.node.number().is_none_or(|node| node == nid);
    let chosen: Vec<&Profile> = profiles.filter(|profile| asked(profile.nid)).collect();
    let symbols = Symbols::load(&run.firmware.join(firmware.elf))?;
    let summary = Summary::of(&chosen, &symbols);
    let nodes: Vec<u32> = chosen.iter().map(|profile| profile.nid).collect();
    let table = || {
        let sources = root.sources(firmware.sources);
        table::table(&summary, &nodes, options.lines, &sources, &Terminal::of_stdout())
    };
    let report = &run.outcome.report;
    let written = [
        if options.run.quiet { Ok(()) } else { terminal::write(&table()) },
        flame.write(|| flame::svg(&summary, &title(options, &nodes))),
        json.write(|| Ok(json_of(options, report, &nodes, &summary))),
    ];
    let drawn = options.flame.as_deref().filter(|file| file.as_os_str() != "-");
    if let Some(file) = drawn.filter(|_| written[1].is_ok() && !options.run.quiet) {
        page::tell(file);
    }
    Ok(run::end(report, written))
}

fn title(options: &ProfileOptions, nodes: &[u32]) -> String {
    let program = options.run.programs();
    match nodes {
        [node] => format!("{program}: firmware of node {node}"),
        _ => format!("{program}: firmware of {} nodes", nodes.len()),
    }
}

/// Name of a cause in tables and JSON.
fn name(cause: Cause) -> &'static str {
    match cause {
        Cause::Issue => "issue",
        Cause::Operand => "operand",
        Cause::Load => "load",
        Cause::Read => "read",
        Cause::Write => "write",
        Cause::Fetch => "fetch",
        Cause::Branch => "branch",
        Cause::Mispredict => "mispredict",
        Cause::Synchronise => "synchronise",
        Cause::Sleep => "sleep",
        Cause::Memory => "memory",
    }
}

/// The command line and the profile. The keys are those of docs/reference/profile-json.md.
fn json_of(options: &ProfileOptions, report: &Report, nodes: &[u32], summary: &Summary) -> String {
    let functions: Vec<Value> = summary
        .functions
        .iter()
        .map(|function| {
            let mut keys = Map::new();
            keys.insert("function".into(), json!(function.name));
            keys.insert("with_callees".into(), json!(function.with_callees));
            keys.extend(costs(&function.own));
            Value::Object(keys)
        })
        .collect();
    let lines: Vec<Value> = summary
        .lines
        .iter()
        .map(|line| {
            let mut keys = Map::new();
            keys.insert("file".into(), json!(line.file));
            keys.insert("line".into(), json!(line.line));
            keys.insert("function".into(), json!(line.function));
            keys.extend(costs(&line.cost));
            Value::Object(keys)
        })
        .collect();
    let stacks: Vec<Value> = summary
        .stacks
        .iter()
        .map(|(functions, cycles)| json!({ "functions": functions, "cycles": cycles }))
        .collect();
    let mut all = run::stamp(&options.run);
    let rest = json!({
        "machine": report.machine,
        "ranks": report.ranks,
        "ranks_per_node": report.ranks_per_node,
        "seed": report.seed,
        "exit": report.exit,
        "trace_hash": report.trace_hash,
        "firmware": report.firmware.as_ref().map(|firmware| &firmware.options),
        "nodes": nodes,
        "work_turns": summary.work_turns,
        "idle_turns": summary.idle_turns,
        "work": costs(&summary.work),
        "walk_cycles": walks(summary).map_or(0, |walks| walks.total()),
        "idle": costs(&summary.idle),
        "functions": functions,
        "lines": lines,
        "stacks": stacks,
    });
    if let Value::Object(rest) = rest {
        all.extend(rest);
    }
    format!("{:#}\n", Value::Object(all))
}

fn costs(cost: &Cost) -> Map<String, Value> {
    let by_cause = Cause::ALL.iter().map(|&cause| (name(cause).to_string(), json!(cost.of(cause))));
    let mut keys = Map::new();
    keys.insert("cycles".into(), json!(cost.total()));
    keys.insert("instructions".into(), json!(cost.instructions));
    keys.insert("cycles_by_cause".into(), Value::Object(by_cause.collect()));
    keys.insert("icache_misses".into(), json!(cost.icache_misses));
    keys.insert("dcache_misses".into(), json!(cost.dcache_misses));
    keys
}

//! Numbers of reports on every machine, recomputed from the tables that hold the events of the run: a row for
//! each message and each call.
//!
//! Machines on which nothing but Linux guests runs are left out.

use crate::golden::machines_with_programs;
use crate::runner::{command, ended};
use crate::tables::python;
use machine::models::Model;
use scraper::{ElementRef, Html, Selector};
use serde_json::Value;
use std::path::Path;

/// Programs of a machine: with many messages of one class, and with messages of many classes.
pub fn programs(model: &Model) -> [&'static str; 2] {
    match (model.processes, model.verbs) {
        (true, _) => ["-n 2 builtin:pingpong 8 120", "-n 6 builtin:traffic 20000 6"],
        (_, true) => ["-n 2 builtin:rdma-pingpong 8 120", "-n 2 builtin:rdma-stream 4104 40"],
        _ => ["-n 2 builtin:myrinet-pingpong 100 40", "-n 3 builtin:myrinet-incast 1400 8"],
    }
}

/// Report of a run with both tables in a folder, which `run.json` there has, too. `page` is that of a report.
fn run(folder: &Path, machine: &str, line: &str, page: Option<&Path>) -> Value {
    let mut run = command();
    let file = |name: &str| folder.join(name);
    match page {
        Some(page) => run.arg("report").arg(page),
        None => run.args(["run", "-q"]),
    };
    run.args(["-m", machine, "--json"]).arg(file("run.json"));
    run.arg("--messages").arg(file("messages.parquet"));
    run.arg("--calls").arg(file("calls.parquet"));
    let run = ended(run.args(line.split(' ')));
    assert_eq!(run.code, 0, "{machine}: {line}: {run:#?}");
    serde_json::from_slice(&std::fs::read(file("run.json")).unwrap()).unwrap()
}

/// Script that compares classes and steps of the report with the rows of the messages: numbers, sums,
/// extremes and percentiles. It prints what is wrong, and how many percentiles it has checked.
const CLASSES: &str = r#"
import json, polars as pl
from checks import column_of

report, table = json.load(open("run.json")), pl.read_parquet("messages.parquet")
wrong, checked, rows = [], 0, 0

def equal(what, told, exact):
    if told != exact:
        wrong.append(f"{what}: {told}, not {exact}")

def compare(what, told, values):
    global checked
    ps = lambda key: round(told[key] * 1e3)
    values = sorted(values)
    equal(f"{what}: number", told["messages"], len(values))
    equal(f"{what}: total", told["sum_ps"], sum(values))
    equal(f"{what}: least", ps("least_ns"), values[0])
    equal(f"{what}: max", ps("most_ns"), values[-1])
    for percent in (50, 90, 99):
        if f"p{percent}_ns" in told:
            shown = ps(f"p{percent}_ns")
            wanted = -(-len(values) * percent // 100)
            exact = values[wanted - 1]
            below = sum(v <= shown for v in values)
            if below < wanted or shown not in values or shown * 16 > exact * 17:
                wrong.append(f"{what}: p{percent} {shown}, exact {exact}")
            checked += 1

for told in report["breakdowns"]:
    what = f"{told['kind']}, {told['protocol']}, {told['bytes_least']}"
    own = table.filter((pl.col("kind") == told["kind"]) & (pl.col("protocol") == told["protocol"])
        & pl.col("bytes").is_between(told["bytes_least"], told["bytes_most"]))
    rows += own.height
    compare(what, told, own["total_ps"].to_list())
    equal(f"{what}: bytes", told["bytes_sum"], own["bytes"].sum())
    for step in told["steps"]:
        compare(f"{what}, {step['name']}", step, own[column_of(step["name"])].drop_nulls().to_list())
equal("messages", report["messages"]["ended"], rows)
equal("rows", rows, table.height)
print(json.dumps({"wrong": wrong, "checked": checked}))
"#;

#[test]
fn percentiles_of_every_machine_are_those_of_its_messages() {
    let folder = tempfile::tempdir().unwrap();
    let machines = machines_with_programs();
    assert!(machines.len() > 8, "{machines:?}");
    for machine in machines {
        let mut checked = 0;
        for line in programs(machine.model()) {
            run(folder.path(), machine.name(), line, None);
            let told: Value = serde_json::from_str(&python(folder.path(), CLASSES)).unwrap();
            assert_eq!(told["wrong"], serde_json::json!([]), "{}: {line}", machine.name());
            checked += told["checked"].as_u64().unwrap();
        }
        assert!(checked > 20, "{}: {checked}", machine.name());
    }
}

/// Counters of one thing have one name on all machines.
#[test]
fn every_machine_counts_its_messages_and_the_work_of_its_firmware() {
    let folder = tempfile::tempdir().unwrap();
    for machine in machines_with_programs() {
        let (name, model) = (machine.name(), machine.model());
        let line = programs(model)[1];
        let report = run(folder.path(), name, line, None);
        let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{name}: {value}"));
        assert!(number(&report["messages"]["ended"]) > 10, "{name}");
        let nodes = report["nodes"].as_array().unwrap();
        let counters = || nodes.iter().flat_map(|node| node["counters"].as_object().unwrap());
        let firmware = &report["firmware"];
        assert_eq!(firmware.is_object(), model.firmware.is_some(), "{name}: {firmware}");
        let of = |suffix: &str| -> Vec<&str> {
            let all = counters().map(|(key, _)| key.as_str());
            let mut all: Vec<&str> = all.filter(|key| key.ends_with(suffix)).collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        if let Some(own) = model.firmware {
            let processor = match own.processor {
                machine::models::Processor::PowerPc => "ppc",
                machine::models::Processor::Lanai => "lanai",
            };
            for what in ["instructions", "cycles"] {
                let key = format!("{processor}.{what}");
                assert!(of(what).contains(&key.as_str()), "{name}: {:?}", of(what));
                let since_power_on = counters().filter(|(of, _)| **of == key);
                let since_power_on: u64 = since_power_on.map(|(_, value)| number(value)).sum();
                let (all, busy) =
                    (number(&firmware[what]), number(&firmware[format!("busy_{what}")]));
                assert!(0 < busy && busy <= all && all <= since_power_on, "{name}: {firmware}");
                let each = firmware[format!("{what}_per_message")].as_f64().unwrap();
                let sum = each * number(&firmware["messages"]) as f64;
                assert!((sum - busy as f64).abs() <= 1.0, "{name}: {firmware}");
            }
            // Each message is sent and received, and may need others; kernels may copy those within a node.
            let classes = report["breakdowns"].as_array().unwrap().iter();
            let ended = classes.filter(|class| class["protocol"] != "local");
            let ended: u64 = ended.map(|class| number(&class["messages"])).sum();
            assert!(number(&firmware["messages"]) >= 2 * ended, "{name}: {firmware}");
        }
        assert!(of(".interrupts")
            .iter()
            .all(|key| ["nic.interrupts", "host.interrupts"].contains(key)));
        let messages = of("x.messages");
        assert!(messages.is_empty() || messages == ["rx.messages", "tx.messages"], "{messages:?}");
    }
}

/// The report's work of the firmware is that which a profile finds, cycle by cycle, but for what polls in
/// turns that work.
#[test]
fn work_of_every_firmware_is_that_of_its_profile() {
    let folder = tempfile::tempdir().unwrap();
    for machine in machines_with_programs() {
        let (name, model) = (machine.name(), machine.model());
        if model.firmware.is_none() {
            continue;
        }
        let line = programs(model)[1];
        let report = run(folder.path(), name, line, None);
        let file = folder.path().join("profile.json");
        let mut profile = command();
        profile.args(["profile", "-q", "-m", name, "--json"]).arg(&file).args(line.split(' '));
        let ended = ended(&mut profile);
        assert_eq!(ended.code, 0, "{name}: {ended:#?}");
        let profile: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let [work, idle] = ["work", "idle"].map(|key| profile[key]["cycles"].as_f64().unwrap());
        let [busy, all] =
            ["busy_cycles", "cycles"].map(|key| report["firmware"][key].as_f64().unwrap());
        let ratio = work / busy;
        assert!(
            (0.98..1.5).contains(&ratio),
            "{name}: {work} in the profile, {busy} in the report"
        );
        let ratio = (work + idle) / all;
        assert!((0.99..1.01).contains(&ratio), "{name}: {} and {all}", work + idle);
    }
}

fn all<'a>(page: &'a Html, selector: &str) -> Vec<ElementRef<'a>> {
    page.select(&Selector::parse(selector).unwrap()).collect()
}

fn shown(element: &ElementRef, name: &str) -> f64 {
    let text = element.attr(name).unwrap_or_else(|| panic!("no {name} in {}", element.html()));
    text.parse().unwrap_or_else(|_| panic!("{name}={text}"))
}

/// The page has the report's numbers; who polls does not work, and no kernel is told of where none is
/// entered.
#[test]
fn pages_of_every_machine_tell_what_the_run_counted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    for machine in machines_with_programs() {
        let (name, model) = (machine.name(), machine.model());
        let report = run(folder.path(), name, programs(model)[1], Some(&file));
        let page = Html::parse_document(&std::fs::read_to_string(&file).unwrap());
        let cards = &all(&page, "#summary dl.cards")[0];
        let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{name}: {value}"));
        assert_eq!(shown(cards, "data-messages"), number(&report["messages"]["ended"]), "{name}");
        if model.firmware.is_some() {
            let cycles = number(&report["firmware"]["cycles_per_message"]);
            assert!((shown(cards, "data-cycles") - cycles).abs() < 1e-6 * cycles, "{name}");
        }
        let nodes = report["nodes"].as_array().unwrap();
        let host = |kind: &str| -> f64 {
            let each = nodes.iter().map(|node| node["host_ns"][kind].as_f64().unwrap_or(0.0));
            each.sum()
        };
        let drawn = |what: &str| {
            let lines = all(&page, &format!("#use-courses g[data-use={what}]"));
            lines.first().map_or(0.0, |line| shown(line, "data-busy-ps") / 1e3)
        };
        // Reads of the interface, and locks, count apart in the report, wherever they are.
        let apart = host("mmio_stall") + host("lock");
        for (what, ns) in
            [("program", host("user")), ("kernel", host("kernel") + host("interrupt"))]
        {
            let drawn = drawn(what);
            assert!(
                (ns - 1.0..=ns + apart + 1.0).contains(&drawn),
                "{name}, {what}: {drawn}, {ns} ns"
            );
        }
        let ranks = report["account"].as_array().unwrap().iter();
        let calls = ranks.flat_map(|rank| rank["calls"].as_array().unwrap());
        let in_calls: f64 = calls.map(|call| number(&call["kernel_ps"])).sum();
        if host("kernel") + host("interrupt") == 0.0 {
            assert_eq!(in_calls, 0.0, "{name}: calls with time in kernels");
            let sections = all(&page, "#uses, #account, #messages");
            let text = sections.iter().flat_map(ElementRef::text).collect::<String>();
            assert!(!text.contains("kernel"), "{name}: {text}");
        }
        for class in report["breakdowns"].as_array().unwrap() {
            let told =
                format!("#messages details.class[data-ps=\"{}\"] [data-name=p99]", class["sum_ps"]);
            let Some(p99) = all(&page, &told).into_iter().next() else { continue };
            assert!((shown(&p99, "data-ns") - number(&class["p99_ns"])).abs() < 1e-3, "{name}");
        }
    }
}

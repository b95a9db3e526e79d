//! `--json`: the keys that a run writes are those that docs/reference/run-json.md documents.

use crate::runner::{command, ended, root, run, sunstar, unjudged};
use serde_json::Value;
use std::collections::BTreeSet;

/// Paths of all values: `nodes[].counters.tx.messages`.
pub fn paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                let dot = if path.is_empty() { "" } else { "." };
                paths(member, &format!("{path}{dot}{key}"), found);
            }
        }
        Value::Array(items) => {
            found.insert(format!("{path}[]"));
            items.iter().for_each(|item| paths(item, &format!("{path}[]"), found));
        }
        _ => {
            found.insert(path.to_owned());
        }
    }
}

/// Paths in the first column of the tables of a page in docs/reference; `*` at the end of one is any key.
fn documented(page: &str) -> Vec<String> {
    let page = std::fs::read_to_string(root().join("docs/reference").join(page)).unwrap();
    let cell = |line: &str| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned());
    page.lines().filter_map(cell).collect()
}

fn matches(documented: &str, path: &str) -> bool {
    match documented.strip_suffix('*') {
        Some(start) => path.len() > start.len() && path.starts_with(start),
        None => documented == path,
    }
}

/// The page documents all of these paths and no others.
#[track_caller]
pub fn assert_documented(page: &str, found: &BTreeSet<String>) {
    let documented = documented(page);
    let missing: Vec<&String> =
        found.iter().filter(|path| !documented.iter().any(|d| matches(d, path))).collect();
    assert!(missing.is_empty(), "not in docs/reference/{page}: {missing:#?}");
    let stale: Vec<&String> =
        documented.iter().filter(|d| !found.iter().any(|path| matches(d, path))).collect();
    assert!(stale.is_empty(), "documented in {page}, but in no output: {stale:#?}");
}

#[test]
fn every_key_is_documented_and_every_documented_key_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let mut found = BTreeSet::new();
    // One run that ends well and one with overrides that does not.
    for (line, code) in [
        ("-n 2 --functions examples/pingpong.c 8", 0),
        ("-n 2 --set firmware.inline=off tests/cli/wrong.c deadlock", 1),
        ("-n 3 --ranks-per-node 2 examples/ring.c", 0),
        ("-n 2 --until 1us examples/ring.c", 124),
        ("-n 2 -m redstorm-accelerated examples/pingpong.c 8", 0),
        ("-n 2 --set firmware.overflow=host examples/pingpong.c 8", 0),
        ("-n 4 -m redstorm-accelerated --fault pool.streams=1 tests/network/flood.c 5", 0),
        ("-n 2 -m amata builtin:myrinet-pingpong 8 2", 0),
        ("-n 2 tests/cli/types.c message", 0),
        // Between its calls it looks at clocks, sleeps, and uses sockets.
        ("-n 2 tests/cli/sockets.c", 0),
        // Its units answer.
        ("-n 2 -m alpu examples/ring.c", 0),
        ("-n 2 -m example --fault engine.late=#1:1us builtin:pingpong 8 2", 0),
        ("-n 2 -m queuepair builtin:pingpong 8 2", 0),
        ("-n 1 -x A=1 -wdir / examples/ring.c : -n 2 -x B=1 -wdir / examples/ring.c word", 0),
    ] {
        let file = folder.path().join("run.json");
        // There is no Portals to be judged behind these cards.
        let line = format!("--json {} {line}", file.display());
        let amata = line.contains("-m amata");
        let ended = if amata { unjudged(&format!("run {line}")) } else { run(&line) };
        assert_eq!(ended.code, code, "{ended:#?}");
        let value: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        assert_eq!(value["exit"]["code"], code);
        paths(&value, "", &mut found);
    }
    // Only calls that wait for disks have their time; the counters of these cards are not in the page.
    let disks = "run --json - -q -n 2 -m forth --set disk.kind=drives builtin:disk-read 4096 2";
    let value: Value = serde_json::from_str(&unjudged(disks).stdout).unwrap();
    paths(&value["account"], "account", &mut found);
    assert_documented("run-json.md", &found);
}

/// JSON on standard output is alone there.
#[test]
fn json_has_standard_output_for_itself() {
    let line = |verb: &str| format!("{verb} -n 2 --json - examples/hello.c");
    for (verb, told) in [
        ("run", "Trace hash"),
        ("run -q", "hello from rank 1"),
        ("trace", "mainloop+"),
        ("profile", "Work by function"),
    ] {
        let ended = ended(command().args(line(verb).split(' ')));
        let value: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!((ended.code, &value["exit"]["code"]), (0, &0.into()), "{verb}: {ended:#?}");
        // Nothing else is lost.
        for text in ["hello from rank 0", told] {
            assert!(ended.stderr.contains(text), "{verb}: no '{text}' in {ended:#?}");
        }
    }
    // What is silenced behind a page stays so.
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let ended = sunstar(["report", page.to_str().unwrap(), "--largest", "0", "--json", "-"]);
    let value: Value = serde_json::from_str(&ended.wrote(&page).stdout).unwrap();
    assert_eq!(value["ranks"], 2);
    // Neither has a workload that is no process, nor a run that ends badly, anything to say there.
    for (line, code) in [("-n 2 builtin:pingpong", 0), ("-n 2 tests/cli/wrong.c exit-three", 3)] {
        let ended = run(&format!("--json - {line}"));
        assert_eq!(ended.code, code, "{ended:#?}");
        let value: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(value["exit"]["code"], code);
    }
}

#[test]
fn numbers_of_a_run_fit_together() {
    let output = sunstar(["run", "-n", "2", "--quiet", "--json", "-", "examples/pingpong.c", "0"]);
    assert!(output.code == 0 && !output.stderr.contains("sunstar: "), "{}", output.stderr);
    let value: Value = serde_json::from_str(&output.stdout).unwrap();

    let breakdown = &value["breakdown"];
    let segments = breakdown["segments"].as_array().unwrap();
    let sum: f64 = segments.iter().map(|segment| segment["ns"].as_f64().unwrap()).sum();
    let total = breakdown["total_ns"].as_f64().unwrap();
    assert!(total > 0.0 && (sum - total).abs() < 0.01, "{sum} is not {total}");
    assert!(segments.iter().all(|segment| segment["ns"].as_f64().unwrap() >= 0.0), "{breakdown}");
    assert_eq!(breakdown["bytes"], 0);

    // The program's own clock and our breakdown tell of the same message.
    let latency: f64 = {
        let row = output.stderr.lines().find(|line| line.trim_start().starts_with("0 ")).unwrap();
        row.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    assert!((latency * 1e3 - total).abs() < 0.2 * total, "{latency} us and {total} ns");

    let nodes = value["nodes"].as_array().unwrap();
    let sum_of = |name: &str| -> u64 {
        nodes.iter().map(|node| node["counters"][name].as_u64().unwrap()).sum()
    };
    assert_eq!(sum_of("tx.messages"), sum_of("rx.messages"));
    assert_eq!(sum_of("tx.packets"), sum_of("rx.packets"));
    assert_eq!(sum_of("rx.crc_errors") + sum_of("tx.errors") + sum_of("rx.cam_overflows"), 0);
    assert!(value["firmware"]["instructions_per_message"].as_f64().unwrap() > 10.0);
    assert!(value["simulated_ns"].as_f64().unwrap() > total);
}

#[test]
fn every_size_is_broken_down_and_agrees_with_the_programs_own_clock() {
    let words =
        ["run", "-n", "2", "--quiet", "--json", "-", "examples/studies/latency.c", "262144"];
    let output = sunstar(words);
    assert!(output.code == 0 && !output.stderr.contains("sunstar: "), "{}", output.stderr);
    let value: Value = serde_json::from_str(&output.stdout).unwrap();
    let breakdowns = value["breakdowns"].as_array().unwrap();
    assert_eq!(breakdowns[0]["segments"], value["breakdown"]["segments"]);
    let breakdowns: Vec<_> = breakdowns.iter().filter(|class| class["kind"] == "send").collect();
    let number = |value: &Value| value.as_f64().unwrap();
    let table = output.stderr.lines().skip(1);
    let table: Vec<Vec<f64>> = table
        .map(|line| line.split_whitespace().filter_map(|word| word.parse().ok()).collect())
        .collect();
    assert_eq!(breakdowns.len(), table.len(), "{}", output.stderr);
    for (breakdown, row) in breakdowns.iter().zip(&table) {
        let total = number(&breakdown["total_ns"]);
        assert_eq!(number(&breakdown["bytes"]), row[0]);
        assert!((row[1] * 1e3 - total).abs() < 0.02 * total, "{row:?} and {total} ns");
        assert!(number(&breakdown["least_ns"]) <= total && total <= number(&breakdown["most_ns"]));
        let segments = breakdown["segments"].as_array().unwrap();
        let sum: f64 = segments.iter().map(|segment| number(&segment["ns"])).sum();
        assert!((sum - total).abs() < 0.01, "{sum} is not {total}");
        // Header only; header and payload.
        let steps = if row[0] <= 12.0 { 16 } else { 25 };
        assert_eq!(segments.len(), steps, "{breakdown:#}");
    }
}

/// The first message of a size has a posted receive, the second has none.
#[test]
fn long_messages_have_one_leg_if_they_were_waited_for_and_else_three() {
    let words =
        ["run", "-n", "2", "--quiet", "--json", "-", "examples/studies/overlap.c", "262144"];
    let value: Value = serde_json::from_str(&sunstar(words).stdout).unwrap();
    let of = |protocol: &str| {
        let classes = value["breakdowns"].as_array().unwrap().iter();
        let mut long = classes.filter(|class| class["bytes"] == 262144);
        long.find(|class| class["protocol"] == protocol).unwrap()
    };
    assert_eq!((&of("long")["messages"], &of("rendezvous")["messages"]), (&1.into(), &1.into()));
    let long = of("rendezvous");
    let names = long["segments"].as_array().unwrap().iter();
    let names: Vec<&str> = names.map(|segment| segment["name"].as_str().unwrap()).collect();
    let legs = ["", "fetch: ", "data: "].map(|leg| {
        let steps = |name: &&&str| {
            name.split_once(": ").map_or("", |(leg, _)| leg) == leg.trim_end_matches(": ")
        };
        names.iter().filter(steps).count()
    });
    assert!(legs[0] > 22 && legs[1] > 11 && legs[2] > 21, "{names:?}");
    for long in [of("long"), long] {
        assert!(long["least_ns"].as_f64().unwrap() > 20e6, "both computed meanwhile");
    }
}

/// Skipping the idle loop changes nothing on the whole machine; ppc440's own tests compare each part of the
/// processor.
#[test]
fn parking_changes_nothing_but_the_wall_time() {
    let folder = tempfile::tempdir().unwrap();
    for line in
        ["-n 2 examples/pingpong.c 64", "-n 5 -t 2 examples/allreduce.c", "-n 3 examples/ring.c"]
    {
        let [parked, executed] = ["", "--no-park"].map(|option| {
            let file = folder.path().join("run.json");
            let ended = run(&format!("{option} --json {} {line}", file.display()));
            assert_eq!(ended.code, 0, "{ended:#?}");
            let mut report: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
            report["wall_seconds"].take();
            report["own_work_seconds"].take();
            report
        });
        assert_eq!(parked, executed, "{line}");
    }
}

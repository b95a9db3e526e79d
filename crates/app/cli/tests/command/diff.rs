//! `sunstar diff`: real runs side by side.

use crate::json::{assert_documented, paths};
use crate::runner::{command, ended, root, run, Ended};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Runs a program and keeps its JSON.
fn kept(folder: &Path, name: &str, line: &str) -> PathBuf {
    let file = folder.join(name);
    run(&format!("-q --json {} {line}", file.display()));
    assert!(file.is_file(), "{line}");
    file
}

fn diff(a: &Path, b: &Path) -> Ended {
    ended(command().arg("diff").args([a, b]))
}

fn json(a: &Path, b: &Path) -> Value {
    let ended = ended(command().arg("diff").args([a, b]).arg("--json"));
    assert!(ended.stderr.is_empty() && ended.code < 2, "{ended:?}");
    let value: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(value["equal"], ended.code == 0);
    value
}

/// The step that differs most, after a check that all add up.
fn first_step(value: &Value) -> (&str, i64) {
    let message_trace = &value["journeys"][0];
    let steps = message_trace["steps"].as_array().unwrap();
    for key in ["a", "b", "difference"] {
        let sum: i64 = steps.iter().map(|step| step[key].as_i64().unwrap()).sum();
        assert_eq!(sum, message_trace["total"][key].as_i64().unwrap(), "{key}");
    }
    (steps[0]["name"].as_str().unwrap(), steps[0]["difference"].as_i64().unwrap())
}

#[test]
fn one_parameter_is_listed_and_shows_where_it_acts() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str, line: &str| kept(folder.path(), name, line);
    let base = at("a.json", "-n 2 builtin:pingpong 8 20");
    for (setting, step, ps) in [
        // Some messages come while the handler still runs, and need no entry.
        ("host.interrupt_entry=2us", "interrupt", 1_000_000..=1_100_000),
        ("net.link_latency=90ns", "wire", 50_000..=50_000),
        ("firmware.shadow_fifos=off", "", 1..=i64::MAX),
    ] {
        let other = at("b.json", &format!("-n 2 --set {setting} builtin:pingpong 8 20"));
        let value = json(&base, &other);
        let parameters = value["parameters"].as_array().unwrap();
        let key = setting.split_once('=').unwrap().0;
        assert_eq!(parameters.len(), 1, "{parameters:?}");
        assert_eq!(parameters[0]["key"], key);
        assert_eq!(parameters[0]["source_b"], "set on the command line");
        assert!(parameters[0]["source_a"].as_str().unwrap().len() > 8, "{parameters:?}");
        let (name, difference) = first_step(&value);
        assert!(step.is_empty() || step == name, "{setting}: {name}");
        assert!(ps.contains(&difference), "{setting}: {difference}");
        let text = diff(&base, &other);
        assert_eq!((text.code, &*text.stderr), (1, ""));
        for word in [key, step, "Where the time of a message went", "total"] {
            assert!(text.stdout.contains(word), "no {word} in\n{}", text.stdout);
        }
        assert!(text.stdout.lines().all(|line| !line.contains("NaN")), "{}", text.stdout);
    }
}

/// The tour's own example: messages that travelled in their header take a second interrupt.
#[test]
fn messages_that_travel_in_another_way_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str, line: &str| kept(folder.path(), name, line);
    let fast = at("a.json", "-n 2 examples/pingpong.c 1024");
    let slow = at("b.json", "-n 2 --set firmware.inline=off examples/pingpong.c 1024");
    let value = json(&fast, &slow);
    let journeys = value["journeys"].as_array().unwrap();
    let is = |journey: &&Value| {
        journey["bytes_least"] == 8 && journey["protocol"] == "header" && journey["kind"] == "send"
    };
    let journey = journeys.iter().find(is).expect("messages of 8 bytes");
    assert_eq!(journey["like_b"]["protocol"], "eager");
    let difference = journey["total"]["difference"].as_i64().unwrap();
    assert!((2_500_000..2_800_000).contains(&difference), "{difference}");
    let steps = journey["steps"].as_array().unwrap();
    assert_eq!((&steps[0]["name"], &steps[0]["a"]), (&"second interrupt".into(), &0.into()));
    let text = diff(&fast, &slow).stdout;
    for words in ["send, header, 8 bytes in A; send, eager, 8 bytes in B", "second interrupt"] {
        assert!(text.contains(words), "no {words} in\n{text}");
    }
}

/// Parts of calls and calls of the account add up to the difference of the ranks' times.
#[test]
fn the_account_comes_first_and_adds_up() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str, line: &str| kept(folder.path(), name, line);
    let total = |file: &Path| {
        let report: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        let ranks = report["account"].as_array().unwrap();
        ranks.iter().map(|rank| rank["total_ps"].as_i64().unwrap()).sum::<i64>()
    };
    let a = at("a.json", "-n 8 -m redstorm builtin:allreduce 64 5");
    for (name, line) in [
        ("b.json", "-n 8 -m redstorm-accelerated builtin:allreduce 64 5"),
        ("c.json", "-n 8 -m alpu builtin:allreduce 64 5"),
        ("d.json", "-n 4 -m ideal builtin:allreduce 64 5"),
    ] {
        let b = at(name, line);
        let value = json(&a, &b);
        let difference = |value: &Value| value["difference"].as_i64().unwrap();
        let calls = value["account"].as_array().unwrap();
        let mut sum = 0;
        for call in calls {
            let parts = call["parts"].as_array().unwrap().iter().map(difference).sum::<i64>();
            assert_eq!(parts, difference(&call["total"]), "{call:#}");
            sum += parts;
        }
        assert_eq!(sum, total(&b) - total(&a), "{line}");
        let text = diff(&a, &b).stdout;
        assert!(text.contains("Time in calls, all ranks"), "{text}");
        // Two machines with firmware of their own fit a screen; ideal has other values of many parameters.
        let lines = text.lines().count();
        assert!(!line.contains("alpu") || lines <= 60, "{lines} lines:\n{text}");
    }
}

#[test]
fn runs_that_were_stopped_are_compared_by_what_they_did() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str, line: &str| kept(folder.path(), name, line);
    let line = "-n 2 --until 3ms builtin:pingpong 8 100000";
    let a = at("a.json", line);
    let b = at("b.json", &format!("--set host.interrupt_entry=2us {line}"));
    let text = diff(&a, &b).stdout;
    assert!(text.contains("Both were stopped (--until) at 3.000 ms"), "{text}");
    assert!(text.contains("messages had come to their end in A"), "{text}");
    assert!(!text.contains("takes"), "{text}");
    let code = |a: &Path, b: &Path, percent: &str| {
        let mut diff = command();
        ended(diff.arg("diff").args([a, b]).args(["--fail-above", percent])).code
    };
    assert_eq!((code(&a, &b, "2%"), code(&a, &b, "50%"), code(&b, &a, "0%")), (1, 0, 0));
    let whole = at("c.json", "-n 2 builtin:pingpong 8 20");
    assert_eq!(code(&a, &whole, "1000%"), 1, "one was stopped alone");
    let slow = at("d.json", "-n 2 --set host.interrupt_entry=1us builtin:pingpong 8 20");
    assert_eq!((code(&whole, &slow, "1%"), code(&whole, &slow, "5%")), (1, 0));
    assert_eq!(code(&whole, &slow, "much"), 2);
}

#[test]
fn equal_runs_say_so_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str, line: &str| kept(folder.path(), name, line);
    let a = at("a.json", "-n 2 examples/pingpong.c 8");
    // Threads, the way to the file, and another way to write a value change nothing.
    fs::copy(root().join("examples/pingpong.c"), folder.path().join("pingpong.c")).unwrap();
    let b = at("b.json", "-n 2 -t 2 --set host.kernel_entry=0.25us examples/pingpong.c 8");
    let same = diff(&a, &b);
    assert!(same.went_well().stdout.starts_with("The runs are equal: "), "{same:?}");
    assert_eq!(same.stdout.lines().count(), 1, "{same:?}");
    assert_eq!(json(&a, &b)["equal"], true);

    let c = at("c.json", "-n 2 examples/pingpong.c 12");
    let other = json(&a, &c);
    let words: Vec<&str> =
        other["run"].as_array().unwrap().iter().map(|w| w["what"].as_str().unwrap()).collect();
    assert_eq!(words, ["arguments"], "{other:#}");
    assert!(other["messages"]["difference"].as_i64().unwrap() > 0, "{other:#}");
    let d = at("d.json", "-n 2 examples/ring.c 12");
    let text = diff(&c, &d);
    assert!(text.stdout.contains("program") && text.stdout.contains("ring.c"), "{text:?}");
}

#[test]
fn every_key_is_documented() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str, line: &str| kept(folder.path(), name, line);
    let files = [
        at("a.json", "--functions -n 2 builtin:pingpong 8 5"),
        at("b.json", "--functions -n 2 --set firmware.inline=off builtin:pingpong 64 5"),
        at("c.json", "-n 2 tests/cli/wrong.c deadlock"),
    ];
    let mut found = BTreeSet::new();
    for (a, b) in [(0, 0), (0, 1), (1, 2)] {
        let value = json(&files[a], &files[b]);
        paths(&value, "", &mut found);
        if (a, b) == (0, 1) {
            let functions = value["functions"].as_array().unwrap();
            assert!(functions.iter().any(|f| f["name"] == "rx_command"), "{functions:?}");
        }
    }
    assert_documented("diff.md", &found);
    let text = diff(&files[0], &files[1]).stdout;
    assert!(text.contains("Firmware, cycles") && text.contains("Counters that differ"), "{text}");
    assert!(diff(&files[1], &files[2]).stdout.contains("deadlock: nothing"), "no sentence");
}

#[test]
fn runs_of_a_sweep_can_be_compared() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("t.csv");
    let mut sweep = command();
    sweep.args(["sweep", "-q", "-n", "2", "--vary", "net.link_latency=60ns,1us", "-o"]).arg(&table);
    ended(sweep.args(["builtin:pingpong", "8"])).went_well();
    let mut rows = csv::Reader::from_path(&table).unwrap();
    let ids: Vec<String> =
        rows.records().map(|row| row.unwrap().iter().next_back().unwrap().to_string()).collect();
    let file = |id: &String| folder.path().join("t.csv.runs").join(format!("{id}.json"));
    let value = json(&file(&ids[0]), &file(&ids[1]));
    assert_eq!(value["parameters"][0]["key"], "net.link_latency");
    assert_eq!(value["parameters"].as_array().unwrap().len(), 1);
    assert_eq!(first_step(&value).0, "wire");
}

/// The word behind `--json` is its file.
#[test]
fn a_run_that_json_took_for_its_file() {
    for words in ["--json a.json b.json", "b.json --json a.json", "--json a.json"] {
        let ended = ended(command().arg("diff").args(words.split(' ')));
        ended.said(2, &["diff needs two runs, A.json and B.json; --json took a.json for the file"]);
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    }
    for words in ["", "a.json", "a.json --json", "--json=- a.json"] {
        let ended = ended(command().arg("diff").args(words.split_whitespace()));
        assert!(
            ended.code == 2 && ended.stderr.contains("missing (see `sunstar diff --help`)"),
            "{ended:?}"
        );
    }
}

#[test]
fn other_files_are_refused_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let good = kept(folder.path(), "a.json", "builtin:barrier");
    let other = folder.path().join("b.json");
    let with = |text: &[u8]| {
        fs::write(&other, text).unwrap();
        diff(&good, &other)
    };
    with(b"").said(2, &["b.json is not the JSON of a run"]);
    with(b"\xff\xfe{").said(2, &["b.json is not the JSON of a run"]);
    with(b"[]").said(2, &["b.json is not the JSON of a run"]);
    let mut report: Value = serde_json::from_slice(&fs::read(&good).unwrap()).unwrap();
    report["seed"] = "seven".into();
    with(report.to_string().as_bytes()).said(2, &["b.json is not the JSON of a run", "seven"]);
    report["format"] = 99.into();
    with(report.to_string().as_bytes()).said(2, &["b.json was written by a newer Sunstar"]);
    report.as_object_mut().unwrap().remove("format");
    with(report.to_string().as_bytes()).said(2, &["b.json was written by an older Sunstar"]);
    diff(&good, &folder.path().join("nosuch.json")).said(2, &["cannot read", "nosuch.json"]);
    // A run without messages has no steps, and is compared all the same.
    assert_eq!(diff(&good, &good).code, 0);
}

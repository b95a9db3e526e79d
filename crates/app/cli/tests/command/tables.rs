//! `--messages` and `--calls`: DuckDB and polars read the numbers of the run's report, and the recipes run.

use crate::runner::{command, ended, root};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Script that reads both tables with both readers, and prints the sums as JSON.
const READ: &str = r#"
import duckdb, json, polars as pl

def steps(columns):
    return [c for c in columns if c.endswith("_ps") and not c.endswith(("start_ps", "total_ps"))]

told = {}
messages, calls = pl.read_parquet("messages.parquet"), pl.read_parquet("calls.parquet")
for name, table in (("messages", messages), ("calls", calls)):
    file = f"'{name}.parquet'"
    there = duckdb.sql(f"SELECT * FROM {file}").fetchall()
    assert there == table.rows(), f"{name}: DuckDB and polars read something else"
    parts = table.select(pl.sum_horizontal(pl.col(steps(table.columns)).fill_null(0)).alias("sum"))
    wrong = (parts["sum"] != table["total_ps"]).sum()
    kept = duckdb.sql(f"SELECT value FROM parquet_kv_metadata({file})").fetchall()
    told[name] = {
        "rows": table.height, "columns": table.columns, "wrong": int(wrong),
        "about": [bytes(value).decode() for (value,) in kept],
    }
classes = messages.group_by("kind", "protocol").agg(
    pl.len().alias("messages"), pl.col("total_ps").sum(), pl.col("bytes").sum(),
    pl.col("entries_walked").sum().alias("entries"))
told["classes"] = classes.to_dicts()
told["by_rank"] = calls.group_by("rank", "call").agg(
    pl.len().alias("times"), pl.col("messages").sum(), pl.col("bytes").sum(),
    pl.col([*steps(calls.columns), "total_ps"]).sum()).to_dicts()
told["sent"] = messages.drop_nulls(["from_rank", "to_rank"]).group_by("from_rank", "to_rank").agg(
    pl.len().alias("messages"), pl.col("bytes").sum()).to_dicts()
told["steps"] = {c: int(messages[c].sum() or 0) for c in steps(messages.columns)}
print(json.dumps(told))
"#;

/// Contents of build/tables, which scripts/bootstrap test fills.
pub fn python(folder: &Path, script: &str) -> String {
    let mut python = Command::new(root().join("build/tables/bin/python"));
    // Scripts share what compares numbers (told/checks.py).
    python.env("PYTHONPATH", root().join("crates/app/cli/tests/command/told"));
    python.env("PYTHONDONTWRITEBYTECODE", "1");
    let output = python.current_dir(folder).args(["-c", script]).output();
    let output = output.expect("build/tables, which scripts/bootstrap test makes");
    assert!(output.status.success(), "{script}\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Runs with both tables in a folder, and JSON.
fn run(folder: &Path, line: &str) -> Value {
    let mut run = command();
    run.args(["run", "-q", "--json", "-"]);
    for table in ["messages", "calls"] {
        run.arg(format!("--{table}")).arg(folder.join(format!("{table}.parquet")));
    }
    let ended = ended(run.args(line.split_whitespace()));
    assert_eq!(ended.code, 0, "{line}: {}", ended.stderr);
    serde_json::from_str(&ended.stdout).unwrap_or_else(|why| panic!("{line}: {why}"))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// The sums over the rows of messages and calls are those of the report.
#[test]
fn tables_are_what_the_report_adds_up() {
    let folder = tempfile::tempdir().unwrap();
    for line in [
        "-n 4 tests/soak/random.c 11",
        "-n 3 tests/soak/portals.c 3",
        "-n 8 --set mpi.eager_limit=600B builtin:traffic 20000 40",
    ] {
        let report = run(folder.path(), line);
        let told: Value = serde_json::from_str(&python(folder.path(), READ)).unwrap();
        let (messages, calls) = (&told["messages"], &told["calls"]);
        assert_eq!(number(&messages["rows"]), number(&report["messages"]["ended"]), "{line}");
        assert_eq!((&messages["wrong"], &calls["wrong"]), (&0.into(), &0.into()), "{line}");
        let about = messages["about"][0].as_str().unwrap();
        assert!(about.contains("machine redstorm") && about.contains("seed 1"), "{about}");
        for class in told["classes"].as_array().unwrap() {
            let same =
                |other: &&Value| ["kind", "protocol"].iter().all(|key| other[key] == class[key]);
            let all = report["breakdowns"].as_array().unwrap().iter().filter(same);
            let sum = |key: &str| all.clone().map(|one| number(&one[key])).sum::<u64>();
            let sums = ["messages", "sum_ps", "bytes_sum", "entries"].map(sum);
            let told = ["messages", "total_ps", "bytes", "entries"].map(|key| number(&class[key]));
            assert_eq!(told, sums, "{line}: {class}");
        }
        let (mut rows, mut left) = (0, 0);
        for rank in report["account"].as_array().unwrap() {
            for call in rank["calls"].as_array().unwrap() {
                let all = told["by_rank"].as_array().unwrap();
                let own = all
                    .iter()
                    .find(|row| row["rank"] == rank["rank"] && row["call"] == call["call"]);
                let own = own.unwrap_or_else(|| panic!("{line}: no {call}"));
                for (key, value) in own.as_object().unwrap() {
                    assert!(
                        key == "rank" || &call[key] == value,
                        "{line}: {key} of {own} and {call}"
                    );
                }
                rows += number(&call["times"]);
            }
            for sent in rank["sent"].as_array().unwrap() {
                let same =
                    |row: &&Value| row["from_rank"] == rank["rank"] && row["to_rank"] == sent["to"];
                let all = told["sent"].as_array().unwrap().iter().filter(same);
                let messages: u64 = all.map(|row| number(&row["messages"])).sum();
                left += number(&sent["messages"]) - messages;
            }
        }
        // What has not come to its end has no row.
        let unfinished = report["messages"]["unfinished"].as_object().unwrap();
        assert_eq!(left, unfinished.values().map(number).sum::<u64>(), "{line}");
        assert_eq!(number(&calls["rows"]), rows, "{line}");
    }
}

/// Script that checks the rows of each collective operation: one for each member, with the last rank.
const LAST: &str = r#"
import json, polars as pl
calls = pl.read_parquet("calls.parquet").drop_nulls("collective")
wrong, sizes, last = 0, set(), {}
for _, rows in calls.group_by("communicator", "collective"):
    came = max(zip(rows["start_ps"], rows["rank"]))
    told = set(zip(rows["last_start_ps"], rows["last_rank"]))
    wrong += told != {came} or rows["call"].n_unique() != 1
    sizes.add(rows.height)
    name = rows["call"][0]
    last.setdefault(name, {}).setdefault(str(came[1]), 0)
    last[name][str(came[1])] += 1
print(json.dumps({"wrong": wrong, "sizes": sorted(sizes), "last": last, "rows": calls.height}))
"#;

#[test]
fn each_collective_operation_names_the_rank_that_came_last() {
    let folder = tempfile::tempdir().unwrap();
    for (line, sizes) in [
        ("-n 6 --fault host.slow=4@4 builtin:allreduce 64 20", vec![6]),
        ("-n 5 tests/mpi/collectives.c", vec![]),
        ("-n 3 -m alpu builtin:allreduce 64 20", vec![3]),
    ] {
        let report = run(folder.path(), line);
        let told: Value = serde_json::from_str(&python(folder.path(), LAST)).unwrap();
        assert_eq!(told["wrong"], 0, "{line}: {told}");
        assert!(sizes.is_empty() || told["sizes"] == serde_json::json!(sizes), "{line}: {told}");
        for all in report["collectives"].as_array().unwrap() {
            let of = &told["last"][all["call"].as_str().unwrap()];
            let counted = of.as_object().unwrap().values().map(number).sum::<u64>();
            assert_eq!(counted, number(&all["times"]), "{line}: {all}");
            for last in all["last"].as_array().unwrap() {
                assert_eq!(of[last["rank"].to_string()], last["times"], "{line}: {all}");
            }
        }
        let first = &report["collectives"][0]["last"][0];
        assert!(!line.contains("@4") || first["rank"] == 4, "{line}: {first}");
    }
}

/// The files do not depend on the number of threads, and writing them changes nothing.
#[test]
fn tables_are_the_same_on_any_number_of_threads() {
    let line = "-n 8 builtin:traffic 20000 4";
    let of = |options: &str| {
        let folder = tempfile::tempdir().unwrap();
        let report = run(folder.path(), &format!("{options} {line}"));
        let files = ["messages.parquet", "calls.parquet"];
        (
            report["trace_hash"].clone(),
            files.map(|file| std::fs::read(folder.path().join(file)).unwrap()),
        )
    };
    let first = of("");
    assert!(first == of("-t 2"));
    assert!(first == of("--no-merge --cold-boot"));
    let plain = ended(command().args(["run", "-q", "--json", "-"]).args(line.split_whitespace()));
    let plain: Value = serde_json::from_str(&plain.stdout).unwrap();
    assert_eq!(plain["trace_hash"], first.0);
}

/// Remote writes and packets of Myrinet have rows as messages of MPI do, with the steps of their model.
#[test]
fn tables_of_other_models_are_what_the_report_adds_up() {
    let folder = tempfile::tempdir().unwrap();
    for (line, step) in [
        ("-n 2 -m forth builtin:rdma-pingpong 8 20", "lanes_ps"),
        ("-n 5 -m forth-switch builtin:rdma-permutation 12296 3", "lanes_ps"),
        ("-n 5 -m amata builtin:myrinet-incast 300 4", "cables_and_switches_ps"),
        ("-n 2 -m alpu builtin:pingpong 8 20", "match_in_the_unit_ps"),
        ("-n 2 -m alpu builtin:pingpong 9000 5", "leg3_payload_by_dma_ps"),
    ] {
        let report = run(folder.path(), line);
        let told: Value = serde_json::from_str(&python(folder.path(), READ)).unwrap();
        let (messages, calls) = (&told["messages"], &told["calls"]);
        assert_eq!(number(&messages["rows"]), number(&report["messages"]["ended"]), "{line}");
        assert_eq!((&messages["wrong"], &calls["wrong"]), (&0.into(), &0.into()), "{line}");
        let ranks = report["account"].as_array().unwrap();
        let all = ranks.iter().flat_map(|rank| rank["calls"].as_array().unwrap());
        let times = all.map(|call| number(&call["times"])).sum::<u64>();
        assert_eq!(number(&calls["rows"]), times, "{line}");
        assert!(number(&told["steps"][step]) > 0, "{told}");
    }
}

/// The columns are those that the reference page lists.
#[test]
fn every_column_is_documented() {
    columns_are_documented("-n 2 builtin:pingpong 8 2");
    columns_are_documented("-n 2 -m forth builtin:rdma-pingpong 8 2");
    columns_are_documented("-n 2 -m amata builtin:myrinet-pingpong 8 2");
    columns_are_documented("-n 2 -m alpu builtin:pingpong 8 2");
}

fn columns_are_documented(line: &str) {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), line);
    let told: Value = serde_json::from_str(&python(folder.path(), READ)).unwrap();
    let page = std::fs::read_to_string(root().join("docs/reference/tables.md")).unwrap();
    let steps = std::fs::read_to_string(root().join("docs/reference/breakdown.md")).unwrap();
    let small = |name: &str| {
        let words =
            name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect::<Vec<_>>().join("_")
    };
    let rows = steps.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let steps: Vec<String> = rows.map(small).collect();
    for table in ["messages", "calls"] {
        for column in told[table]["columns"].as_array().unwrap() {
            let column = column.as_str().unwrap();
            let bare = column.trim_start_matches("leg2_").trim_start_matches("leg3_");
            let step = bare.strip_suffix("_ps").unwrap_or(bare);
            let told =
                page.contains(&format!("| `{column}` |")) || steps.iter().any(|own| own == step);
            assert!(told, "no {column} in docs/reference/tables.md");
        }
    }
}

/// All recipes on the page run, and find the slow host.
#[test]
fn recipes_run() {
    let page = std::fs::read_to_string(root().join("docs/recipes.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let blocks = page.split("```").skip(1).step_by(2);
    let mut kinds = [0; 3];
    for block in blocks {
        let (kind, text) = block.split_once('\n').unwrap();
        match kind {
            "sh" => {
                kinds[0] += 1;
                let words = text.trim().strip_prefix("sunstar ").unwrap().split_whitespace();
                let here = |word: &str| match word.ends_with(".parquet") {
                    true => folder.path().join(word).into_os_string(),
                    false => word.into(),
                };
                ended(command().args(words.map(here))).went_well();
            }
            "sql" => {
                kinds[1] += 1;
                let script = format!(
                    "import duckdb\nfound = duckdb.sql('''{text}''')\n\
                     print(found if found is not None else 'done')"
                );
                let told = python(folder.path(), &script);
                assert!(told.lines().all(|line| line.trim() != "0 rows"), "{text}\n{told}");
                let slow = told.lines().find(|line| line.starts_with('│') && line.contains(" 13 "));
                assert!(!text.contains("waited_for_rank") || slow.is_some(), "{told}");
            }
            "python" => {
                kinds[2] += 1;
                let told = python(folder.path(), text);
                assert!(told.contains("shape: (5, "), "{text}\n{told}");
            }
            other => panic!("a block of {other}"),
        }
    }
    assert!(kinds[0] == 1 && kinds[1] >= 4 && kinds[2] >= 2, "{kinds:?}");
    let small = folder.path().join("small.parquet").metadata().unwrap().len();
    assert!(small < folder.path().join("messages.parquet").metadata().unwrap().len());
}

#[test]
fn what_cannot_be_written_is_told_before_the_run() {
    let refused = |line: &str, words: &[&str]| {
        ended(command().args(line.split_whitespace())).said(2, words);
    };
    refused("run --messages no/such/m.parquet -n 2 builtin:barrier", &["no/such/m.parquet"]);
}

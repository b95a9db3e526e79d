//! `sunstar sweep`: tables of real runs.

use crate::json::{assert_documented, paths};
use crate::runner::{self, ended, on_a_terminal, root, Ended};
use crate::wrong::lives;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

/// A folder with the table of a sweep in it.
struct Bench(tempfile::TempDir);

impl Bench {
    fn new() -> Bench {
        Bench(tempfile::tempdir().unwrap())
    }
    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
    fn table(&self) -> PathBuf {
        self.file("t.csv")
    }
    /// The command, not yet started.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = runner::command();
        // What a sweep that is killed cannot remove goes with the folder.
        command.env("TMPDIR", self.0.path());
        command.args(["sweep", "--judge", "-j", "2", "-o"]).arg(self.table()).args(words);
        command
    }
    fn sweep(&self, words: &[&str]) -> Ended {
        ended(&mut self.command(words))
    }
    /// Heading and rows.
    fn rows(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let mut reader = csv::Reader::from_path(self.table()).unwrap();
        let cells = |record: &csv::StringRecord| record.iter().map(str::to_owned).collect();
        let heading = cells(reader.headers().unwrap());
        (heading, reader.records().map(|record| cells(&record.unwrap())).collect())
    }
    /// The cells of a column.
    fn column(&self, name: &str) -> Vec<String> {
        let (heading, rows) = self.rows();
        let at = heading.iter().position(|found| found == name);
        let at = at.unwrap_or_else(|| panic!("no {name} in {heading:?}"));
        rows.iter().map(|row| row[at].clone()).collect()
    }
    /// The table without the column that differs from run to run.
    fn lasting(&self) -> Vec<Vec<String>> {
        let (heading, rows) = self.rows();
        let wall = heading.iter().position(|name| name == "wall_seconds").unwrap();
        let all = std::iter::once(heading).chain(rows);
        all.map(|mut row| {
            row.remove(wall);
            row
        })
        .collect()
    }
    /// Records of the runs, and the times at which they were written.
    fn records(&self) -> BTreeSet<(PathBuf, SystemTime)> {
        let Ok(entries) = fs::read_dir(self.file("t.csv.runs")) else { return BTreeSet::new() };
        let paths = entries.flatten().map(|entry| entry.path());
        let records = paths.filter(|path| path.extension().is_some_and(|found| found == "json"));
        records.map(|path| (path.clone(), path.metadata().unwrap().modified().unwrap())).collect()
    }
}

const PINGPONG: [&str; 8] = [
    "-n",
    "2",
    "--vary",
    "host.interrupt_entry=1us..3us:1us",
    "--vary",
    "arg.size=8,1024",
    "builtin:pingpong",
    "{size}",
];

#[test]
fn a_row_for_each_point_in_the_order_of_the_sweep() {
    let bench = Bench::new();
    let columns = [
        "--take",
        "us=of {size} bytes.*: ([0-9.]+) us",
        "--column",
        "interrupt=breakdown.segments[interrupt].ns",
        "--column",
        "sum(nodes[].counters.tx.messages)",
    ];
    let words = [&columns[..], &PINGPONG[..]].concat();
    let all = bench.sweep(&words);
    all.went_well();
    assert!(all.stdout.contains("6 points, 6 run now, 0 before, 0 failed"), "{all:?}");
    let (heading, rows) = bench.rows();
    let messages = "sum(nodes[].counters.tx.messages)";
    let expected = ["host.interrupt_entry (us)", "arg.size", "us", "interrupt", messages];
    assert_eq!(heading[..5], expected);
    let rest = ["simulated_ns", "exit", "sentence", "wall_seconds", "run"];
    assert_eq!(heading[5..], rest);
    let points: Vec<String> = rows.iter().map(|row| row[..2].join(" ")).collect();
    assert_eq!(points, ["1 8", "1 1024", "2 8", "2 1024", "3 8", "3 1024"]);
    for row in &rows {
        let interrupt: f64 = row[3].parse().unwrap();
        assert_eq!(interrupt, 1e3 * row[0].parse::<f64>().unwrap(), "{row:?}");
        assert!(row[4].parse::<u64>().unwrap() >= 22 && row[6] == "0", "{row:?}");
    }
    // A point is what a user gets who runs it alone.
    let alone = runner::run("-q -n 2 --set host.interrupt_entry=3us builtin:pingpong 8");
    let us = &rows[4][2];
    assert!(alone.went_well().stdout.contains(&format!(": {us} us each")), "{alone:?} {us}");

    // Nothing is run again; what is asked for now is taken from what the runs left behind.
    let records = bench.records();
    let before = bench.lasting();
    let told = bench.sweep(&[&["--dry-run"], &words[..]].concat());
    assert_eq!(told.stdout, "6 points, 6 done already, 0 runs to do\n");
    let again = bench.sweep(&words);
    assert!(again.stdout.contains("0 run now, 6 before"), "{again:?}");
    assert_eq!((bench.lasting(), bench.records()), (before, records.clone()));
    bench.sweep(&[&["--column", "hash=trace_hash"], &PINGPONG[..]].concat()).went_well();
    assert_eq!(bench.column("hash").iter().collect::<BTreeSet<_>>().len(), 6);
    assert_eq!(bench.records(), records);

    // A result that somebody has edited is believed no more, nor is a pipe waited for in its place.
    let (edited, _) = records.first().unwrap();
    let text = fs::read_to_string(edited).unwrap();
    fs::write(edited, text.replace("\"exit\":0", "\"exit\":3")).unwrap();
    let (pipe, _) = records.last().unwrap();
    fs::remove_file(pipe).unwrap();
    assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
    let again = bench.sweep(&words);
    assert!(again.stdout.contains("2 run now, 4 before"), "{again:?}");
    again.said(0, &["is not what the sweep has kept", "it was changed since", "a pipe"]);
    assert_eq!(fs::read_to_string(edited).unwrap().matches("\"exit\":0").count(), 1);
}

#[test]
fn firmware_machines_and_names_in_step() {
    let bench = Bench::new();
    let plan = bench.file("plan.toml");
    let text = "take = ['us=: ([0-9.]+) us']\ncolumn = ['firmware.options']\n\
                [[vary]]\nmachine = ['redstorm', 'redstorm-linux']\n\
                [[vary]]\nfirmware.inline = 'on,off'\n'ranks' = [2, '3']\n";
    fs::write(&plan, text).unwrap();
    let plan = plan.to_str().unwrap();
    bench.sweep(&["--plan", plan, "--vary", "seed=1,1", "builtin:pingpong", "8"]).went_well();
    let (heading, rows) = bench.rows();
    let first = ["machine", "ranks", "firmware.inline", "seed", "us", "firmware.options"];
    assert_eq!(heading[..6], first);
    let points: Vec<String> = rows.iter().map(|row| row[..4].join(" ")).collect();
    let expected =
        ["redstorm 2 on", "redstorm 3 off", "redstorm-linux 2 on", "redstorm-linux 3 off"];
    let twice: Vec<String> =
        expected.iter().flat_map(|p| [format!("{p} 1"), format!("{p} 1")]).collect();
    assert_eq!(points, twice);
    // Points that are the same are one run.
    assert_eq!(bench.records().len(), 4);
    let us: Vec<f64> = rows.iter().map(|row| row[4].parse().unwrap()).collect();
    assert!(us[0] < us[2] && us[0] < us[4], "inline messages and Catamount are faster: {us:?}");
    assert!(rows[0][5] != rows[2][5], "{rows:?}");
}

#[test]
fn what_has_changed_is_run_again() {
    let bench = Bench::new();
    let (program, machine) = (bench.file("p.c"), bench.file("m.toml"));
    let source = |number: u32| {
        let text = "#include <mpi.h>\n#include <stdio.h>\nint main(int c, char **v) {\n\
                    MPI_Init(&c, &v); printf(\"%s NUMBER\\n\", v[1]); MPI_Finalize(); }\n";
        fs::write(&program, text.replace("NUMBER", &number.to_string())).unwrap();
    };
    let hop = |value: &str, comment: &str| {
        let text = format!(
            "name = \"m\"\ndoc = \"d\"\nbase = \"redstorm\"\n# {comment}\n\
             [net.link_latency]\nvalue = \"{value}\"\ndoc = \"d\"\nsource = \"assumed: a test\"\n"
        );
        fs::write(&machine, text).unwrap();
    };
    fs::copy(root().join("machines/redstorm.toml"), bench.file("redstorm.toml")).unwrap();
    let (program, machine) = (program.to_str().unwrap(), machine.to_str().unwrap());
    let sweep = |values: &str| {
        let values = format!("arg.x={values}");
        let words =
            ["--machine", machine, "--take", "n=([0-9]+)$", "--vary", &values, program, "{x}"];
        let ended = bench.sweep(&words);
        ended.went_well();
        let now = ended.stdout.split_once(" run now").unwrap().0.rsplit(' ').next().unwrap();
        (now.parse::<u32>().unwrap(), bench.column("n"))
    };
    source(1);
    hop("60 ns", "");
    assert_eq!(sweep("a,b"), (2, vec!["1".into(), "1".into()]));
    assert_eq!(sweep("a,b,c").0, 1);
    source(2);
    assert_eq!(sweep("a,b"), (2, vec!["2".into(), "2".into()]));
    hop("0.06 us", "another comment, the same value");
    assert_eq!(sweep("a,b").0, 0);
    hop("70 ns", "");
    assert_eq!(sweep("a,b").0, 2);
    // What was there before is still known.
    source(1);
    hop("60 ns", "");
    assert_eq!(sweep("c,a"), (0, vec!["1".into(), "1".into()]));
    // Whatever a value is made of, it is one cell.
    let plan = bench.file("plan.toml");
    fs::write(&plan, "[[vary]]\narg.x = ['a,b', 'say \"1\"', \"two\\nlines\"]").unwrap();
    let plan = plan.to_str().unwrap();
    bench.sweep(&["--take", "n=([0-9]+)$", "--plan", plan, program, "{x}"]);
    assert_eq!(bench.column("arg.x"), ["a,b", "say \"1\"", "two\nlines"]);
}

#[test]
fn a_point_that_fails_is_a_row() {
    let bench = Bench::new();
    let vary = ["--vary", "ranks=1,2", "--vary", "arg.how=deadlock,exit-three"];
    let words = [&vary[..], &["tests/cli/wrong.c", "{how}"]].concat();
    let ended = bench.sweep(&words);
    ended.said(1, &["ranks=2 arg.how=deadlock: deadlock"]);
    let (exits, sentences) = (bench.column("exit"), bench.column("sentence"));
    assert_eq!(exits.len(), 4);
    assert_eq!(exits[2], "1");
    assert_eq!(sentences[2], "deadlock: nothing in the machine moves any more");
    assert!(exits.iter().zip(&sentences).all(|(exit, why)| (exit == "0") == why.is_empty()));
    // It would fail again: it is run again only if that is asked for.
    let again = bench.sweep(&words);
    assert!(again.stdout.contains("0 run now, 4 before"), "{again:?}");
    let retried = bench.sweep(&[&["--retry"], &words[..]].concat());
    let failed = exits.iter().filter(|exit| *exit != "0").count();
    assert!(retried.stdout.contains(&format!("{failed} run now")), "{retried:?}");

    // A corner that cannot be is a row, too, with the mistake's sentence.
    let corner = Bench::new();
    corner
        .sweep(&["--vary", "ranks=1,2", "builtin:pingpong"])
        .said(1, &["ranks=1", "needs 2 ranks"]);
    assert_eq!(corner.column("exit"), ["2", "0"]);
    assert!(corner.column("sentence")[0].contains("needs 2 ranks"));
}

#[test]
fn a_firmware_that_an_installation_has_not_is_a_row() {
    let bench = Bench::new();
    let installed = bench.file("installed");
    fs::create_dir(&installed).unwrap();
    for part in ["include", "machines", "build"] {
        std::os::unix::fs::symlink(root().join(part), installed.join(part)).unwrap();
    }
    let sweep = |values: &str| {
        let words = ["--vary", values, "builtin:barrier"];
        ended(bench.command(&words).env("SUNSTAR_ROOT", &installed))
    };
    let missing = "there is no firmware with CACHE=id";
    sweep("firmware.sources=1024,777").said(1, &["firmware.sources=777", missing]);
    assert_eq!(bench.column("exit"), ["0", "2"]);
    assert!(bench.column("sentence")[1].contains("SOURCE_COUNT=777 (build/firmware/"));
    sweep("firmware.sources=777").said(2, &[missing]);
}

#[test]
fn no_fault_is_a_value_of_fault() {
    let bench = Bench::new();
    let words = ["-n", "2", "--vary", "fault=none,link.drop=1@0-1", "builtin:barrier"];
    bench.sweep(&words).said(1, &["fault=link.drop=1@0-1: deadlock"]);
    assert_eq!(bench.column("fault"), ["none", "link.drop=1@0-1"]);
    assert_eq!(bench.column("exit"), ["0", "1"]);
    let plain = Bench::new();
    plain.sweep(&["--vary", "ranks=2", "builtin:barrier"]).went_well();
    assert_eq!(bench.column("simulated_ns")[0], plain.column("simulated_ns")[0]);
}

#[test]
fn a_point_that_could_run_but_did_not_is_run_again() {
    let bench = Bench::new();
    let program = bench.file("p.c");
    // Puts a folder in the place of the report.
    let text = "#include <mpi.h>\n#include <stdio.h>\n#include <stdlib.h>\n\
                #include <sys/stat.h>\nint main(int c, char **v) { char name[4096];\n\
                MPI_Init(&c, &v); snprintf(name, 4096, \"%s/../run-0.json\", getenv(\"SUNSTAR_ROOT\"));\n\
                if (getenv(\"WRECK\")) mkdir(name, 0700); MPI_Finalize(); }\n";
    fs::write(&program, text).unwrap();
    let words = ["--vary", "seed=1", program.to_str().unwrap()];
    let wrecked = ended(bench.command(&words).env("WRECK", "1"));
    wrecked.said(1, &["seed=1: cannot write"]);
    assert_eq!(bench.column("exit"), ["1"]);
    let again = bench.sweep(&words);
    assert!(again.went_well().stdout.contains("1 run now, 0 before"), "{again:?}");
}

/// A sweep of many points that take long enough to be interrupted.
const LONG: [&str; 8] = [
    "-n",
    "8",
    "--vary",
    "mpi.allreduce=recursive_doubling,ring",
    "--vary",
    "arg.n=4..10:1",
    "builtin:allreduce",
    "8",
];

fn long(bench: &Bench) -> Command {
    bench.command(&[&LONG[..], &["{n}"]].concat())
}

/// Processes that a process has started.
fn children(parent: u32) -> Vec<i32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let of_parent = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        rest.split(' ').nth(1) == Some(&parent.to_string())
    };
    numbers.filter(of_parent).collect()
}

/// Waits until some records are there.
fn some_are_done(bench: &Bench, child: &mut Child) {
    while bench.records().len() < 3 {
        assert!(child.try_wait().unwrap().is_none(), "it was over too soon");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn what_was_finished_survives_a_sudden_end() {
    let whole = Bench::new();
    ended(&mut long(&whole)).went_well();
    for signal in [libc::SIGKILL, libc::SIGINT] {
        let bench = Bench::new();
        let mut child = long(&bench).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        some_are_done(&bench, &mut child);
        let runs = children(child.id());
        // SAFETY: kill touches no memory; the child has not been waited for.
        unsafe { libc::kill(child.id() as libc::pid_t, signal) };
        let output = Ended::from(child.wait_with_output().unwrap());
        // However it ends, what it started ends too.
        while runs.iter().any(|pid| lives(*pid)) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let finished = bench.records();
        assert!((3..14).contains(&finished.len()), "{} of 14", finished.len());
        if signal == libc::SIGINT {
            output.said(130, &["of 14 points are done"]);
            assert_eq!(bench.rows().1.len(), finished.len());
        }
        let ended = ended(&mut long(&bench));
        ended.went_well();
        let now = 14 - finished.len();
        assert!(ended.stdout.contains(&format!("{now} run now")), "{ended:?}");
        assert!(bench.records().is_superset(&finished), "a finished point was run again");
        // What the first one could not remove, the next one has.
        let left = fs::read_dir(bench.0.path()).unwrap().flatten().map(|entry| entry.file_name());
        let left: Vec<_> =
            left.filter(|name| name.to_string_lossy().starts_with(".sunstar-")).collect();
        assert!(left.is_empty(), "{left:?}");
        assert_eq!(bench.lasting(), whole.lasting());
    }
}

#[test]
fn the_bar_tells_the_time_left() {
    let bench = Bench::new();
    let mut command = long(&bench);
    command.stdout(Stdio::null());
    let (shown, code) = on_a_terminal(command, false);
    assert_eq!(code, 0, "{shown}");
    assert!(
        shown.contains("/14") && shown.contains("about ") && shown.contains(" s left"),
        "{shown}"
    );
}

#[test]
fn mistakes_are_found_before_anything_runs() {
    let bench = Bench::new();
    let vary = |what: &str, words: &[&str]| {
        bench.sweep(&[&["-n", "2", "--vary", what], words, &["builtin:pingpong"]].concat())
    };
    vary("host.interrupt=1us", &[]).said(2, &["did you mean host.interrupt_entry?"]);
    vary("net.flit=1", &[]).said(2, &["net.flit is \"1\"", "unit is missing"]);
    vary("arg.size=8", &[]).said(2, &["{size} stands nowhere in the program's arguments"]);
    vary("net.flit=1ns", &["--set", "net.flit=2ns"]).said(2, &["net.flit is varied, and set"]);
    vary("ranks=2,4", &[]).said(2, &["ranks is varied, and given with -n"]);
    vary("net.flit=1ns", &["--vary", "net.flit=2ns"]).said(2, &["varied once more"]);
    vary("seed=1..100000:1", &["--vary", "net.x=0,4"]).said(2, &["more than 100000 points"]);
    vary("machine=nosuch", &[]).said(2, &["there is no machine nosuch"]);
    vary("compute=fast", &[]).said(2, &["compute is \"fast\""]);
    vary("fault=link.nosuch=1", &[]).said(2, &["link.nosuch"]);
    vary("net.flit=1ns", &["--take", "us"]).said(2, &["NAME=REGEX"]);
    vary("net.flit=1ns", &["--take", "us=("]).said(2, &["--take us=("]);
    vary("net.flit=1ns", &["--take", "exit=x"]).said(2, &["two columns are named exit"]);
    vary("net.flit=1ns", &["--column", "nodes[].nid"]).said(2, &["sum(KEY)"]);
    for (table, said) in [
        ("/nosuch/t.csv", "cannot write /nosuch/t.csv"),
        ("README.md", "README.md is there already"),
        ("-", "names a file"),
    ] {
        let mut command = runner::command();
        command.args(["sweep", "-n", "2", "--vary", "net.flit=1ns", "-o", table]);
        command.arg("builtin:barrier");
        ended(&mut command).said(2, &[said]);
    }
    vary("net.flit=1ns", &["--plan", "nosuch.toml"]).said(2, &["cannot read nosuch.toml"]);
    bench.sweep(&["builtin:pingpong"]).said(2, &["nothing is varied"]);
    bench.sweep(&["--vary", "seed=1,2", "builtin:pingpong", "8"]).said(2, &["needs 2 ranks"]);
    bench.sweep(&["--vary", "seed=1,2", "nosuch.c"]).said(2, &["there is no program nosuch.c"]);
    bench.sweep(&["--vary", "seed=1,2", "x.c", "{size}"]).said(2, &["no arg.size is varied"]);
    let plan = bench.file("plan.toml");
    for (text, said) in [
        ("[[vary]]\nnet.flit = true", "net.flit is true"),
        ("vary = 1", "plan.toml:1"),
        ("\nshow = []", "plan.toml:2"),
        ("[[vary]]\nnet.flit = '1ns,2ns'\nseed = [1]", "go in step"),
    ] {
        fs::write(&plan, text).unwrap();
        bench.sweep(&["--plan", plan.to_str().unwrap(), "examples/hello.c"]).said(2, &[said]);
    }
    let left: Vec<_> = fs::read_dir(bench.0.path()).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "only the plan: {left:?}");
}

#[test]
fn a_column_that_is_not_there_is_told_and_costs_nothing() {
    let bench = Bench::new();
    let words = ["--column", "simulated", "--take", "us=nothing like it"];
    let ended = bench.sweep(&[&words[..], &PINGPONG[..]].concat());
    ended.said(0, &["column simulated is empty", "column us is empty"]);
    assert_eq!(bench.column("simulated"), [""; 6]);
    // An item that some runs have, and one that none has.
    let words = ["--vary", "ranks=1,2", "--column", "b=nodes[1].nid", "builtin:barrier"];
    Bench::new().sweep(&words).went_well();
    let words = [&words[..4], &["--column", "c=nodes[9].nid", "builtin:barrier"]].concat();
    Bench::new().sweep(&words).said(0, &["column c is empty: no run has a value there"]);
    assert_eq!(
        bench.sweep(&PINGPONG).went_well().stdout.split_once(" run now").unwrap().0.chars().last(),
        Some('0')
    );
}

#[test]
fn every_key_of_a_record_is_documented() {
    let bench = Bench::new();
    bench.sweep(&["--vary", "fault=link.drop=0", "--vary", "ranks=1,2", "builtin:pingpong", "8"]);
    let mut found = BTreeSet::new();
    for (file, _) in bench.records() {
        let record: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
        paths(&record, "", &mut found);
    }
    assert_documented("sweep-json.md", &found);
}

/// A table has one sweep at a time, because two would overwrite each other's files.
#[test]
fn a_table_has_one_sweep_at_a_time() {
    let bench = Bench::new();
    let mut child = long(&bench).stdout(Stdio::null()).spawn().unwrap();
    some_are_done(&bench, &mut child);
    bench.sweep(&PINGPONG).said(2, &["another sweep", "t.csv.runs"]);
    assert!(child.wait().unwrap().success());
    assert_eq!(bench.rows().1.len(), 14);
    assert!(Path::new(&bench.table()).is_file());
}

/// Points have the names that the user gave them: two are compared by their values.
#[test]
fn points_are_compared_by_their_values() {
    let bench = Bench::new();
    let vary = ["--vary", "host.interrupt_entry=500ns,1us", "--vary", "arg.size=8,64"];
    let swept = bench.sweep(&[&vary[..], &["-n", "2", "builtin:pingpong", "{size}", "4"]].concat());
    swept.went_well();
    let table = bench.table().display().to_string();
    let diff = |a: &str, b: &str| {
        let points = [a, b].map(|values| format!("{table}:{values}"));
        ended(runner::command().arg("diff").args(points))
    };
    let (a, b) =
        ("host.interrupt_entry=500ns,arg.size=8", "arg.size=8,host.interrupt_entry=0.001ms");
    let told = diff(a, b);
    assert_eq!(told.code, 1, "{told:#?}");
    for words in [&format!("{table}:{a}"), "host.interrupt_entry", "500ns", "1us", "1.000 us"] {
        assert!(told.stdout.contains(words), "no {words} in {}", told.stdout);
    }
    assert_eq!(diff(a, a).code, 0);
    diff(a, "arg.size=9").said(2, &["has no point with arg.size=9; there are 8, 64"]);
    diff(a, "arg.size=8")
        .said(2, &["has 2 points", "say also host.interrupt_entry (500ns, 1000ns)"]);
}

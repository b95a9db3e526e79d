//! Programs that use Portals itself, with the real firmware under them.

use crate::runner::{command, ended, root, run};
use std::collections::BTreeSet;
use std::process::Command;

#[test]
fn every_function_does_from_c_what_it_must() {
    let functions = run("-n 2 --quiet tests/portals/functions.c");
    assert_eq!(functions.code, 0, "{functions:?}");
    // PtlNIEqDump's lines, of both ranks.
    let dump = functions.stderr.lines().filter(|line| line.ends_with(": 2 slots, 2 events"));
    assert_eq!((dump.count(), functions.stderr.lines().count()), (2, 4), "{functions:?}");
    let mut lines: Vec<&str> = functions.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["rank 0: done", "rank 1: done"], "{functions:?}");
}

#[test]
fn the_table_of_functions_is_what_is_exported_and_called() {
    let page = std::fs::read_to_string(root().join("docs/reference/portals.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| `Ptl"));
    let mut listed = BTreeSet::new();
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        assert_eq!(cells[3], "yes", "{row}");
        listed.insert(cells[1].trim_matches('`').to_owned());
    }
    assert_eq!(listed.len(), 41);
    let library = root().join("build/lib/libportals.so");
    let symbols = Command::new("nm").args(["-D", "--defined-only"]).arg(library).output().unwrap();
    let symbols = String::from_utf8(symbols.stdout).unwrap();
    let names = symbols.lines().filter_map(|line| line.split_whitespace().nth(2));
    let exported: BTreeSet<_> = names.filter(|n| n.starts_with("Ptl")).map(String::from).collect();
    assert_eq!(exported, listed);
    let calls = std::fs::read_to_string(root().join("tests/portals/functions.c")).unwrap();
    for name in listed {
        assert!(calls.contains(&format!("{name}(")), "{name} is not called in functions.c");
    }
}

#[test]
fn puts_are_acknowledged() {
    let puts = run("-n 2 --quiet examples/portals_put.c");
    let lines: Vec<&str> = puts.went_well().stdout.lines().collect();
    assert_eq!(lines.len(), 6, "{puts:?}");
    assert!(lines[5].trim_start().starts_with("65536 bytes acknowledged after"), "{puts:?}");
}

#[test]
fn a_program_may_use_portals_alone() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("adds");
    let mut compiler = command();
    compiler.arg("cc").args(["-Wl,--as-needed", "-o"]).arg(&program);
    ended(compiler.args(["examples/portals_getadd.c", "-lportals"])).went_well();
    let needed = Command::new("readelf").arg("-d").arg(&program).output().unwrap();
    let needed = String::from_utf8(needed.stdout).unwrap();
    assert!(needed.contains("libportals.so") && !needed.contains("libmpi_abi"), "{needed}");
    let mut runs = [1, 2].map(|threads: u32| {
        let mut adds = command();
        adds.args(["run", "--judge", "-n", "2", "--quiet", "--threads", &threads.to_string()]);
        ended(adds.arg(&program).arg("20")).went_well().stdout.clone()
    });
    runs.iter_mut().for_each(|text| assert!(text.ends_with("the number is 190\n"), "{text}"));
    assert_eq!(runs[0], runs[1]);
}

#[test]
fn a_program_may_end_while_its_messages_are_under_way() {
    let leave = run("-n 2 --quiet tests/portals/leave.c");
    let lines: BTreeSet<&str> = leave.went_well().stdout.lines().collect();
    let expected = ["rank 0 leaves", "rank 1 leaves after PTL_EVENT_PUT_START"];
    assert_eq!(lines, BTreeSet::from(expected), "{leave:?}");
}

/// Operations that fail at one end end at both, with inline messages or without, and on one node.
#[test]
fn operations_that_fail_for_the_memory_of_one_side_end_at_both() {
    for way in ["", "--set firmware.inline=off ", "--ppn 2 "] {
        let gone = run(&format!("{way}-n 2 --quiet tests/portals/gone.c"));
        let lines: BTreeSet<&str> = gone.went_well().stdout.lines().collect();
        let expected = ["rank 0: 6 of 8 failed", "rank 1: 5 of 5 failed"];
        assert_eq!(lines, BTreeSet::from(expected), "{way}: {gone:?}");
    }
}

/// Programs that do not use Portals do not load its library.
#[test]
fn programs_that_do_not_use_portals_do_not_load_it() {
    let folder = tempfile::tempdir().unwrap();
    let [source, program] = ["clocks.c", "clocks"].map(|name| folder.path().join(name));
    let text = "#include <mpi.h>\n#include <sunstar.h>\n#include <sys/resource.h>\n\
                #include <time.h>\n#include <unistd.h>\nint main(void)\n{\n    \
                struct rusage usage;\n    MPI_Init(NULL, NULL);\n    sunstar_compute(1e-3);\n    \
                usleep(1);\n    time_t now = time(NULL);\n    MPI_Finalize();\n    \
                return getrusage(RUSAGE_SELF, &usage) != 0 || now > 60;\n}\n";
    std::fs::write(&source, text).unwrap();
    let mut compiler = command();
    ended(compiler.args(["cc", "-o"]).arg(&program).arg(&source)).went_well();
    let needed = Command::new("readelf").arg("-d").arg(&program).output().unwrap();
    let needed = String::from_utf8(needed.stdout).unwrap();
    assert!(!needed.contains("libportals") && needed.contains("libmpi_abi.so.1"), "{needed}");
    ended(command().args(["run", "--quiet"]).arg(&program)).went_well();
}

#[test]
fn what_a_rank_waits_for_and_how_it_ends_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("alone.c");
    let program = |body: &str| {
        let text = format!(
            "#include <portals3.h>\n#include <stddef.h>\nint main(void)\n{{\n    int n;\n    \
             ptl_handle_ni_t ni;\n    ptl_handle_eq_t eq;\n    ptl_event_t event;\n    \
             PtlInit(&n);\n    PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni);\n    \
             PtlEQAlloc(ni, 4, PTL_EQ_HANDLER_NONE, &eq);\n    {body}\n}}\n"
        );
        std::fs::write(&source, text).unwrap();
        let mut run = command();
        ended(run.args(["run", "--judge", "-n", "1", "--quiet"]).arg(&source))
    };
    let stuck = program("return PtlEQWait(eq, &event);");
    assert!(stuck.stderr.contains("rank 0 waits in PtlEQWait"), "{stuck:?}");
    assert_ne!(stuck.code, 0);
    let fails = program("return PtlEQGet(eq, &event);");
    assert_eq!(fails.code, 3, "{fails:?}");
    assert!(fails.stderr.contains("rank 0 exited with code 3"), "{fails:?}");
}

#[test]
fn a_deadline_that_nobody_waits_for_any_more_does_not_keep_the_machine_running() {
    let ended = run("-q --json - tests/portals/patience.c");
    assert_eq!((ended.code, &*ended.stderr), (0, "0 PTL_EVENT_PUT_END\n"));
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let idle = report["nodes"][0]["host_ns"]["idle"].as_f64().unwrap();
    assert!(idle < 100_000.0, "{idle} ns of ten seconds");
}

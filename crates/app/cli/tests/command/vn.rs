//! Several ranks on a node (VN), each on a core of its own, with one kernel and one network interface for
//! all.

use crate::runner::{run, Ended};
use serde_json::Value;

/// The values after `word` in the programs' output.
fn numbers(ended: &Ended, word: &str) -> Vec<f64> {
    let lines = ended.went_well().stdout.lines();
    lines.filter_map(|line| line.strip_prefix(word)?.trim().parse().ok()).collect()
}

/// JSON that a run writes, without the wall time and the options that change nothing else.
fn json(line: &str) -> Value {
    let mut value = crate::runner::json(line);
    for own in ["wall_seconds", "own_work_seconds", "threads"] {
        value[own].take();
    }
    value
}

#[test]
fn neither_threads_nor_parking_nor_the_kind_of_boot_change_anything() {
    for line in [
        "-n 9 --ranks-per-node 2 examples/allreduce.c",
        "-n 8 --ranks-per-node 2 -m redstorm-linux examples/ring.c",
        "-n 10 --ppn 2 --set host.linux_nodes=2 --set host.echo=on tests/portals/echo.c 2",
        "-n 12 --ppn 3 --set host.cores=4 builtin:alltoall 5000 2",
        "-n 4 --ppn 2 tests/network/exchange.c 300000",
    ] {
        let [plain, other] =
            ["", "-t 2 --no-park --cold-boot --no-merge"].map(|o| json(&format!("{o} {line}")));
        assert_eq!(plain["exit"]["code"], 0, "{line}: {plain:#}");
        assert_eq!(plain, other, "{line}");
    }
}

/// An unused core changes nothing.
#[test]
fn a_core_without_a_rank_changes_nothing() {
    let hash = |options: &str| {
        let line = format!("-n 3 {options} --ranks-per-node 1 examples/ring.c");
        json(&line)["trace_hash"].as_str().unwrap().to_string()
    };
    assert_eq!(hash("--set host.cores=1"), hash("--set host.cores=16"));
}

#[test]
fn ranks_with_neighbouring_numbers_share_a_node() {
    let places = run("-q -n 5 --ranks-per-node 2 tests/portals/places.c");
    let mut lines: Vec<&str> = places.went_well().stdout.lines().collect();
    lines.sort_unstable();
    let expected = [(0, 0, 100, 2), (1, 0, 101, 2), (2, 1, 100, 2), (3, 1, 101, 2), (4, 2, 100, 1)];
    let expected = expected.map(|(rank, nid, pid, near)| {
        format!("rank {rank}: nid {nid} pid {pid}, {near} near, 0 wrong")
    });
    assert_eq!(lines, expected);
    let report = json("-n 5 --ranks-per-node 2 tests/portals/places.c");
    assert_eq!((&report["ranks"], &report["ranks_per_node"]), (&5.into(), &2.into()));
    let nodes = report["nodes"].as_array().unwrap();
    let ranks = nodes.iter().map(|node| node["ranks"].to_string());
    // The smallest mesh with room for three nodes has as many.
    assert_eq!(ranks.collect::<Vec<_>>(), ["[0,1]", "[2,3]", "[4]"]);
}

/// Work of the sibling shows only where the two share something.
#[test]
fn ping_pong_between_two_nodes_while_the_siblings_do_something_else() {
    for machine in ["redstorm", "redstorm-linux"] {
        let play = |per_node: u32, mode: &str| {
            run(&format!("-q -n 4 --ppn {per_node} -m {machine} tests/cli/siblings.c {mode}"))
        };
        let latency = |per_node: u32, mode: &str| {
            let ended = play(per_node, mode);
            assert!(ended.went_well().stdout.ends_with("0 wrong\n"), "{ended:#?}");
            numbers(&ended, "latency")[0]
        };
        let alone = latency(1, "rest");
        let rest = latency(2, "rest first");
        // The lock, which nobody else wants, costs a little.
        assert!(alone < rest && rest < 1.05 * alone, "{alone} {rest}");
        // A sibling that looks into its own memory is in nobody's way; one that also plays is.
        assert!((latency(2, "poll first") - rest).abs() < 0.01 * rest);
        assert!(latency(2, "talk first") > rest);
        // The way out of the interrupt handler is no part of what a rank on the other core waits for.
        let second = latency(2, "rest second");
        assert!(second < rest, "{second} {rest}");

        // Interrupts go to the first core, whoever they are for.
        let computed = |who: &str| numbers(&play(2, &format!("compute {who}")), "computed");
        let (undisturbed, disturbed) = (computed("first"), computed("second"));
        assert!(undisturbed.len() == 2 && disturbed.len() == 2);
        assert!(undisturbed.iter().all(|us| (2000.0..2000.2).contains(us)), "{undisturbed:?}");
        assert!(disturbed.iter().all(|us| *us > 2100.0), "{disturbed:?}");
    }
}

/// The cores' times add up to the node's, and only the first one takes interrupts.
#[test]
fn the_time_of_every_core_is_told() {
    let report = json("-n 4 --ranks-per-node 2 tests/cli/siblings.c talk");
    let ns = |host: &Value, kind: &str| host["host_ns"][kind].as_f64().unwrap();
    for node in report["nodes"].as_array().unwrap() {
        let cores = node["cores"].as_array().unwrap();
        assert_eq!(cores.len(), 2);
        let kinds = ["user", "kernel", "interrupt", "mmio_stall", "polling", "idle", "lock"];
        for kind in kinds {
            let sum: f64 = cores.iter().map(|core| ns(core, kind)).sum();
            assert!((sum - ns(node, kind)).abs() < 1.0, "{kind}: {node:#}");
        }
        let sums = cores.iter().map(|core| kinds.iter().map(|kind| ns(core, kind)).sum::<f64>());
        let sums: Vec<f64> = sums.collect();
        assert!((sums[0] - sums[1]).abs() < 1.0, "{sums:?}");
        assert!(ns(&cores[0], "interrupt") > 0.0 && ns(&cores[1], "interrupt") == 0.0);
        assert!(ns(node, "lock") > 0.0, "they never met: {node:#}");
    }
    let summary = run("--full -n 4 --ranks-per-node 2 tests/cli/siblings.c talk");
    for word in ["4 ranks (2 a node)", "2 nodes", "node 1 core 1", "lock"] {
        assert!(summary.went_well().stdout.contains(word), "{word} in {summary:#?}");
    }
}

/// The most ranks that a node may have find physical memory, each with a program of its own.
#[test]
fn sixteen_ranks_a_node() {
    for per_node in [6, 16] {
        let ranks = 2 * per_node;
        let sixteen = format!("-q -n {ranks} --ppn {per_node} --set host.cores=16");
        let ended = run(&format!("{sixteen} tests/network/exchange.c 20000"));
        assert_eq!(ended.went_well().stdout, format!("{ranks} ranks\n"));
    }
    run("-q -n 32 --ppn 16 --set host.cores=16 builtin:barrier").went_well();
}

#[test]
fn every_rank_of_a_node_is_told_of() {
    let two = "-n 2 --ranks-per-node 2 tests/cli/wrong.c";
    run(&format!("{two} deadlock")).said(1, &["deadlock", "rank 0 waits", "rank 1 waits"]);
    run(&format!("{two} crash-while-awaited")).said(139, &["rank 1 was killed by SIGSEGV"]);
    run(&format!("{two} exit-without-finalize")).said(1, &["rank 1 exited with code 0"]);
}

#[test]
fn mistakes_are_sentences() {
    let program = "examples/ring.c";
    for (options, words) in [
        ("--ranks-per-node 3", &["host.ranks_per_node is 3", "2 cores", "host.cores"][..]),
        ("--set host.cores=1 --ppn 2", &["host.ranks_per_node is 2", "1 core ", "host.cores"]),
        ("--ranks-per-node 17", &["host.ranks_per_node", "1 to 16"]),
        ("--set host.ranks_per_node=two", &["host.ranks_per_node", "two"]),
        (
            "--ppn 2 --set net.x=2 --set net.y=1 --set net.z=1",
            &["5 ranks need 3 nodes at 2 ranks a node", "2 x 1 x 1 = 2"],
        ),
    ] {
        run(&format!("-n 5 {options} {program}")).said(2, words);
    }
    let none = run(&format!("--ranks-per-node 0 {program}"));
    assert!(none.code == 2 && none.stderr.contains("--ranks-per-node"), "{none:#?}");
    let late = "-m redstorm-linux --set machine.launch=1200us";
    run(&format!("-n 4 --ppn 2 {late} {program}"))
        .said(1, &["the libraries of 2 ranks were not ready for the launch", "machine.launch"]);
}

//! Pico-MPI: MPI over Directed Point in the Linux guests of machine `amata`.

use crate::guests::hash_and_output;
use crate::runner::{command, ended, Ended};
use crate::seeds::{chosen, hold, Unexpected};

/// A run of so many nodes.
fn run(nodes: &str, words: &[&str]) -> Ended {
    let before = ["run", "-q", "-m", "amata", "-n", nodes];
    ended(command().args(before).args(words))
}

/// Lines of the outputs, in no order: guests write at about the same time.
fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn every_rank_says_hello() {
    for nodes in ["1", "4"] {
        let ended = run(nodes, &["examples/hello.c"]);
        let hello = |rank: u32| format!("hello from rank {rank} of {nodes} on node{rank}");
        let expected: Vec<String> = (0..nodes.parse().unwrap()).map(hello).collect();
        assert_eq!(sorted(&ended.went_well().stdout), expected);
    }
}

#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn a_ping_pong_has_one_hash_twice_and_on_two_threads() {
    let words = ["-n", "2", "-m", "amata", "examples/pingpong.c", "0"];
    let one = hash_and_output("1", &words);
    let rows: Vec<f64> = one.1.lines().skip(1).map(latency).collect();
    assert_eq!(rows.len(), 1, "{}", one.1);
    // Directed Point takes 27 us, and polling and a header some more.
    assert!(rows.iter().all(|row| (27.0..29.0).contains(row)), "{}", one.1);
    assert_eq!(hash_and_output("1", &words), one);
    assert_eq!(hash_and_output("2", &words), one);
}

/// The same lines as on a machine of constants.
fn gives_the_same(nodes: &str, program: &str) {
    let elsewhere = ["run", "-q", "-m", "ideal", "-n", nodes, program];
    let expected = ended(command().args(elsewhere)).went_well().stdout.clone();
    let here = run(nodes, &[program]);
    assert_eq!(sorted(&here.went_well().stdout), sorted(&expected), "{program}");
}

#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn programs_give_what_they_give_elsewhere() {
    gives_the_same("4", "tests/mpi/operations.c");
    gives_the_same("4", "tests/mpi/collectives.c");
}

/// Packets that cables lose or damage come again.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn cables_that_lose_and_damage_packets_change_no_result() {
    let program = "tests/mpi/operations.c";
    let elsewhere = ["run", "-q", "-m", "ideal", "-n", "3", program];
    let expected = ended(command().args(elsewhere)).went_well().stdout.clone();
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("json");
    let faults = ["--fault", "link.drop=0.03", "--fault", "link.biterror=2e-5", "--json"];
    let here = run("3", &[&faults[..], &[json.to_str().unwrap(), program]].concat());
    assert_eq!(sorted(&here.went_well().stdout), sorted(&expected));
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    for counter in ["myrinet.lost", "myrinet.damaged"] {
        let of = |node: &serde_json::Value| node["counters"][counter].as_u64().unwrap();
        assert!(json["nodes"].as_array().unwrap().iter().map(of).sum::<u64>() > 0, "{counter}");
    }
}

#[test]
#[ignore = "long: between guests; make soak"]
fn all_programs_give_what_they_give_elsewhere() {
    for name in ["messages", "datatypes", "groups", "neighbours", "contents", "counts", "lifetimes"]
    {
        gives_the_same("4", &format!("tests/mpi/{name}.c"));
    }
    gives_the_same("16", "tests/mpi/collectives.c");
}

/// Sixteen nodes are behind three switches, and each has four places for each of the others.
fn sixteen(threads: &str) -> (String, String) {
    let words = ["-n", "16", "-m", "amata-switches", "examples/hello.c"];
    let (hash, text) = hash_and_output(threads, &words);
    let hello = |rank: u32| format!("hello from rank {rank} of 16 on node{rank}");
    let expected: Vec<String> = (0..16).map(hello).collect();
    let mut expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    expected.sort_unstable();
    assert_eq!(sorted(&text), expected);
    (hash, expected.join("\n"))
}

#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn sixteen_nodes_say_hello() {
    sixteen("2");
}

#[test]
#[ignore = "long: 48 guests; make soak"]
fn sixteen_nodes_have_one_hash_twice_and_on_two_threads() {
    let one = sixteen("1");
    assert_eq!(["1", "2"].map(sixteen), [one.clone(), one]);
}

/// The last rank has no channels when the first packets for it come; the first receives nothing for long, and
/// then the last message first.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn lost_packets_come_again_and_none_is_lost_for_want_of_room() {
    let ended = run("4", &["tests/pico/away.c"]);
    let line = |rank: u32| format!("rank {rank}: 0 wrong, 0 lost, early {}", u32::from(rank == 3));
    let expected: Vec<String> = (0..4).map(line).collect();
    assert_eq!(sorted(&ended.went_well().stdout), expected);
}

/// The end of one rank is that of the run; all others wait for it.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn a_run_ends_as_one_of_its_ranks() {
    for (how, code, said) in [
        ("abort", 42, "rank 1 called MPI_Abort with code 42"),
        ("window", 1, "rank 1 called MPI_Win_create, which is not in Pico-MPI"),
        ("exit", 1, "rank 1 ended without calling MPI_Finalize"),
        ("rank", 1, "rank 1: MPI_Send: destination 3 is not a rank of MPI_COMM_WORLD"),
        ("segv", 139, "rank 1 was killed by signal 11"),
    ] {
        let ended = run("3", &["tests/pico/ends.c", how]);
        ended.said(code, &[said]);
        let printed = if how == "segv" { "" } else { "before the end\n" };
        assert_eq!(ended.stdout, printed, "{how}");
    }
}

/// A program that was linked before, by `sunstar cc`.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn binaries_are_those_of_all_machines() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("hello");
    let words = ["cc", "-o", program.to_str().unwrap(), "examples/hello.c"];
    ended(command().args(words)).went_well();
    let hello = |name: &str| format!("hello from rank 0 of 1 on {name}\n");
    let program = [program.to_str().unwrap()];
    assert_eq!(run("1", &program).went_well().stdout, hello("node0"));
    let elsewhere = ended(command().args(["run", "-q", "-n", "1"]).args(program));
    assert_eq!(elsewhere.went_well().stdout, hello("nid00000"));
}

#[test]
fn a_node_has_one_rank() {
    let words = ["run", "-m", "amata", "-n", "2", "--ranks-per-node", "2", "examples/hello.c"];
    ended(command().args(words)).said(2, &["machines of model myrinet have one rank on each node"]);
}

/// A random program of a seed over point to point, datatypes and collective operations.
fn random(seed: u64, rounds: &str) -> Result<(), (String, Unexpected)> {
    let nodes = (2 + seed % 4).to_string();
    let (program, argument) = ("tests/soak/random.c", seed.to_string());
    let ended = run(&nodes, &[program, &argument, rounds]);
    let line = format!("sunstar run -m amata -n {nodes} {program} {seed} {rounds}");
    let well = ended.code == 0 && ended.stderr.is_empty();
    well.then_some(()).ok_or_else(|| (line, Unexpected::end(&ended)))
}

#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn a_random_program_goes_well() {
    hold(13..14, |seed| random(seed, "1"));
}

#[test]
#[ignore = "long: random programs between guests; make soak"]
fn random_programs_go_well() {
    hold(chosen(20), |seed| random(seed, "3"));
}

fn latency(line: &str) -> f64 {
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

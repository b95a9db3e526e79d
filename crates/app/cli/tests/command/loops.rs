//! Ranks in an endless loop do not block others.

use crate::runner::{command, ended, Ended};

fn run(options: &[&str], way: &str, microseconds: &str) -> Ended {
    let mut command = command();
    command.args(["run", "-n", "3", "--brief"]).args(options);
    ended(command.args(["tests/cli/loops.c", way, microseconds]))
}

/// Simulated time and hash.
fn told(ended: &Ended) -> Vec<String> {
    let lines = ended.stdout.lines();
    let wanted = lines.filter(|line| {
        ["Simulated time", "Trace hash"].iter().any(|start| line.starts_with(start))
    });
    wanted.map(|line| line.split(" in ").next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn another_rank_aborts() {
    aborts(&["turn", "clock", "probe"]);
}

#[test]
#[ignore = "ten seconds: make soak"]
fn another_rank_aborts_in_every_loop() {
    aborts(&["turn", "spin", "address", "clock", "test", "probe"]);
}

fn aborts(ways: &[&str]) {
    for way in ways {
        let once = run(&[], way, "500");
        once.said(7, &["rank 1 called MPI_Abort with code 7"]);
        assert_eq!(told(&once).len(), 2, "{once:#?}");
        if ["turn", "test"].contains(way) {
            assert_eq!(told(&once), told(&run(&["-t", "2", "--no-park"], way, "500")), "{way}");
        }
    }
}

#[test]
fn another_rank_waits() {
    let once = run(&[], "turn", "-1");
    let loops = "is in a loop of its own that nothing ends, and makes no call";
    let words =
        ["deadlock", &format!("rank 0 {loops}"), "rank 1 waits", &format!("rank 2 {loops}")];
    once.said(1, &words);
    assert_eq!(told(&once), told(&run(&["-t", "2"], "turn", "-1")));
}

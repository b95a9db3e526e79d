//! Programs that look at Portals event queues again and again.

use crate::runner::{command, ended};
use std::path::Path;

/// No look lets time pass.
const NEVER: &str = "host.poll_most=0ns";

/// Lines that the ranks of `tests/portals/polls.c` printed, in their order, simulated time and hash.
fn told(options: &[&str], how: &str, times: &str) -> Vec<String> {
    let mut run = command();
    run.args(["run", "--judge", "-n", "2"]).args(options);
    let run = ended(run.args(["tests/portals/polls.c", how, times]));
    let mut lines: Vec<_> = run.went_well().stdout.lines().map(str::to_owned).collect();
    lines.retain(|line| {
        ["rank ", "Simulated time", "Trace hash"].iter().any(|start| line.starts_with(start))
    });
    lines.sort_unstable();
    assert_eq!(lines.len(), 4, "{options:?} {how}: {lines:?}");
    lines
}

/// A number of rank 0's line: nanoseconds, or looks.
fn number(lines: &[String], index: usize) -> f64 {
    let line = lines.iter().find(|line| line.starts_with("rank 0")).unwrap();
    let words = line.split_whitespace().filter_map(|word| word.trim_matches(',').parse().ok());
    words.collect::<Vec<f64>>()[index]
}

/// Nanoseconds and looks of rank 0.
fn took(options: &[&str], how: &str, times: &str) -> (f64, f64) {
    let lines = told(options, how, times);
    (number(&lines, 0), number(&lines, 1))
}

/// Runs with an observer of every event are simulated without the library's own answers.
#[test]
fn a_run_is_the_same_when_every_look_is_simulated() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    let trace = Path::to_str(&trace).unwrap();
    for machine in ["redstorm", "redstorm-accelerated", "redstorm-linux"] {
        for (how, most) in [
            ("one", "0ns"),
            ("one", "10us"),
            ("two", "0ns"),
            ("two", "10us"),
            ("poll", "10us"),
            ("twice", "10us"),
            ("until", "10us"),
        ] {
            let most = format!("host.poll_most={most}");
            let with = |options: &[&str]| {
                told(&[&["-m", machine, "--set", &most], options].concat(), how, "7")
            };
            let leased = with(&[]);
            assert_eq!(leased, with(&["--trace", trace]), "{machine}, {how}, {most}");
            assert_eq!(leased, with(&["-t", "2"]), "{machine}, {how}, {most}");
        }
    }
}

/// A loop that looks at one queue, or at two by one call, finds each event when it would without the rule;
/// one that looks at two queues in turn may find it a look earlier or later.
#[test]
fn messages_take_as_long_when_looks_wait() {
    for (machine, look) in [("redstorm", 20.0), ("redstorm-accelerated", 50.0)] {
        // The second and third look for messages that were sent, too, which are 18 looks more.
        for (how, most) in [("one", 0.0), ("poll", 2.0 * look), ("two", 2.0 * look)] {
            let times = 20.0;
            let (spins, many) = took(&["-m", machine, "--set", NEVER], how, "20");
            let (waits, few) = took(&["-m", machine], how, "20");
            let differs = (spins - waits).abs() / (2.0 * times);
            assert!(differs <= most, "{machine}, {how}: {spins} ns, {waits} ns");
            assert!(few < many / 2.0 && few <= 42.0 * times, "{machine}, {how}: {few} of {many}");
        }
    }
}

/// However long both ranks look in vain before they send, they send.
#[test]
fn ranks_that_look_and_then_send_end() {
    for machine in ["redstorm", "redstorm-accelerated"] {
        let (spins, _) = took(&["-m", machine, "--set", NEVER], "twice", "10");
        let (waits, _) = took(&["-m", machine], "twice", "10");
        assert!((spins - waits).abs() <= 100.0, "{machine}: {spins} ns, {waits} ns");
        let (time, looks) = took(&["-m", machine], "thousand", "1");
        // Each look of a thousand waits for 10 us at most.
        assert!(looks >= 1000.0 && time > 1000.0 * 20.0, "{machine}: {time} ns, {looks} looks");
        assert!(time < 1001.0 * 11_000.0, "{machine}: {time} ns");
    }
}

/// A loop that looks until a time ends at about that time.
#[test]
fn a_loop_with_a_deadline_ends_at_about_its_deadline() {
    let (time, looks) = took(&["-m", "redstorm"], "until", "100");
    assert!((100_000.0..110_200.0).contains(&time), "{time} ns");
    assert!(looks < 40.0, "{looks}");
    let (exact, _) = took(&["-m", "redstorm", "--set", NEVER], "until", "100");
    assert!((100_000.0..100_200.0).contains(&exact), "{exact} ns");
}

/// The second thread computes in real time and then does what the first one looks for.
#[test]
fn a_thread_that_looks_does_not_hold_up_another_one() {
    for how in ["sets", "sends"] {
        for machine in ["redstorm", "redstorm-accelerated"] {
            let (_, looks) = took(&["-m", machine], how, "1");
            assert!(looks > 16.0, "{machine}, {how}: {looks}");
        }
    }
}

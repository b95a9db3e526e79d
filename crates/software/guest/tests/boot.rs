//! A guest boots, runs a program of the host's, and ends as the program does.
#![allow(clippy::unwrap_used)]

use guest::{Costs, Ending, Guest, Input, Kernel, Setup, Task};
use std::path::Path;

/// 9 September 2001, 01:46:40 UTC: a second whose number is round.
const DATE: u64 = 1_000_000_000 * 1_000_000_000;

/// Record of a guest: the times at which it went on, its ending, and the output of its program.
#[derive(Debug, PartialEq, Eq)]
struct Life {
    times: Vec<u64>,
    ending: Ending,
    end: u64,
    written: [String; 2],
}

fn live(seed: u64, costs: Costs, arguments: &[&str]) -> Life {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let kernel = Kernel::find(&root.join("build/linux")).unwrap();
    let task = Task {
        number: 0,
        guests: 1,
        memory_mb: 64,
        seed,
        costs,
        date: DATE,
        begins: 0,
        device: false,
        arguments: arguments.iter().map(Into::into).collect(),
        variables: vec![("PATH".into(), "/usr/bin:/bin".into())],
        folder: "/".into(),
        libraries: None,
        input: Input::Nothing,
        setup: Setup::default(),
    };
    let mut guest = Guest::start(&kernel, &task).unwrap();
    let mut times = Vec::new();
    let (ending, end) = guest::alone(&mut guest, |now, _| times.push(now));
    let written = guest.take_output().unwrap().map(|bytes| String::from_utf8(bytes).unwrap());
    Life { times, ending, end, written }
}

fn plain(arguments: &[&str]) -> Life {
    live(1, Costs::default(), arguments)
}

#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: linux/kernel/prepare build/linux")]
fn a_program_of_the_hosts_runs_and_its_end_is_told() {
    let life = plain(&["sh", "-c", "hostname; echo wrong >&2; exit 3"]);
    assert_eq!(life.ending, Ending::Exited(3), "{life:?}");
    assert_eq!(life.written, ["node0\n", "wrong\n"]);
    assert_eq!(plain(&["sh", "-c", "kill -9 $$"]).ending, Ending::Killed(9));
    let life = plain(&["no-such-program"]);
    assert_eq!(life.ending, Ending::Exited(127));
    assert_eq!(life.written[1], "sunstar: no-such-program: No such file or directory\n");
}

/// Programs that ask for time, addresses and random numbers do the same each time, and others with another
/// seed.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: linux/kernel/prepare build/linux")]
fn lives_are_equal_unless_their_seeds_differ() {
    let script = "date +%s.%N; sleep 0.1; date +%s.%N; cat /proc/self/maps; od -N 16 /dev/urandom";
    let all: Vec<Life> =
        [1, 1, 2].map(|seed| live(seed, Costs::default(), &["sh", "-c", script])).into();
    assert_eq!(all[0], all[1]);
    assert_ne!(all[0].written[0], all[2].written[0]);
    let (before, rest) = all[0].written[0].split_once('\n').unwrap();
    let after = rest.split_once('\n').unwrap().0;
    assert!(
        before.starts_with("1000000000.") && after.starts_with("1000000000."),
        "{before} {after}"
    );
}

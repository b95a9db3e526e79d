//! The bypass library in Linux guests: processes that talk to their cards without a system call.

use crate::runner::{command, ended};

mod messages;

const MACHINE: [&str; 4] = ["run", "-q", "-m", "amata-bypass"];

/// Sizes and times that the ping-pong printed.
fn pingpong(words: &[&str]) -> (String, Vec<(u32, f64)>) {
    let program = ["-n", "2", "examples/bypass_pingpong.c", "3"];
    let run = ended(command().args(MACHINE).args(words).args(program));
    let text = run.went_well().stdout.clone();
    let numbers = |line: &str| {
        let mut words = line.split_whitespace();
        (words.next().unwrap().parse().unwrap(), words.next().unwrap().parse().unwrap())
    };
    let rows = text.lines().skip(1).map(numbers).collect();
    (text, rows)
}

/// One run on one thread and on two; long messages take longer; a small one is faster than by Directed Point,
/// as the paper says of GM.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn messages_bypass_the_kernel() {
    let (text, rows) = pingpong(&[]);
    assert_eq!(text, pingpong(&["--threads", "2"]).0);
    assert_eq!(rows.len(), 14, "{text}");
    let times: Vec<f64> = rows.iter().map(|(_, us)| *us).collect();
    assert!(times[3] < 27.0 && times[3] * 2.0 < times[13], "{text}");
    assert!(times.windows(2).skip(7).all(|pair| pair[0] < pair[1]), "{text}");
}

#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn what_cannot_be_is_refused() {
    let words = ["-n", "1", "tests/bypass/errors.c", ":", "-n", "1", "--server", "sleep", "1d"];
    assert_eq!(ended(command().args(MACHINE).args(words)).went_well().stdout, "content\n");
}

/// Random messages of so many nodes with such faults: each comes once, in order, with its bytes. Gives the
/// nodes' own counts.
fn random(nodes: u32, messages: u32, seed: u32, faults: &[&str]) -> String {
    let (nodes, messages, seed) = (nodes.to_string(), messages.to_string(), seed.to_string());
    let mut run = command();
    run.args(MACHINE).args(["--seed", &seed, "-n", &nodes]);
    faults.iter().for_each(|fault| {
        run.args(["--fault", fault]);
    });
    run.args(["sh", "-c", &format!("$0 {messages} {seed} && cat /proc/net/bypass")]);
    let folder = tempfile::tempdir().unwrap();
    run.arg(compiled(folder.path(), "tests/bypass/random.c"));
    let run = ended(&mut run);
    let text = run.went_well().stdout.clone();
    assert_eq!(text.matches("is content").count().to_string(), nodes, "{text}");
    text
}

fn compiled(folder: &std::path::Path, source: &str) -> std::path::PathBuf {
    let program = folder.join("program");
    let mut gcc = std::process::Command::new("gcc");
    gcc.args(["-O2", "-Iinclude", "-o"]).arg(&program).arg(source);
    ended(gcc.args(["-Lbuild/lib", "-lbypass"]).current_dir(crate::runner::root())).went_well();
    program
}

/// Sum of a count over all nodes.
fn sum(text: &str, name: &str) -> u64 {
    let lines = text.lines().filter_map(|line| line.strip_prefix(name));
    lines.map(|count| count.trim().parse::<u64>().unwrap()).sum()
}

#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn random_messages_come_once_and_in_order() {
    let text = random(3, 40, 1, &[]);
    assert_eq!(sum(&text, "received "), 3 * 42, "{text}");
    assert_eq!(sum(&text, "damaged "), 0, "{text}");
    let text = random(3, 40, 2, &["link.drop=0.05", "link.biterror=1e-5"]);
    assert_eq!(sum(&text, "received "), 3 * 42, "{text}");
    assert!(sum(&text, "resent ") > 5 && sum(&text, "damaged ") > 0, "{text}");
}

#[test]
#[ignore = "long: make soak"]
fn many_random_messages_come_once_and_in_order() {
    let number = |name: &str, usual: u32| {
        std::env::var(name).map_or(usual, |text| text.parse().expect("a number"))
    };
    let (first, seeds) = (number("SOAK_FIRST", 1), number("SOAK_SEEDS", 40));
    for seed in first..first + seeds {
        let nodes = 2 + seed % 4;
        let faults: &[&str] = match seed % 5 {
            0 => &[],
            1 => &["link.drop=0.02"],
            2 => &["link.biterror=3e-5"],
            3 => &["link.drop=0.1", "link.biterror=1e-5"],
            _ => &["link.drop=0.3"],
        };
        random(nodes, 150, seed, faults);
    }
}

#[test]
fn what_is_directed_points_is_refused() {
    let refused = |words: &[&str], what: &str| {
        ended(command().args(MACHINE).args(words)).said(2, &[what, "card.module=dp"]);
    };
    refused(&["-n", "2", "builtin:myrinet-pingpong", "8", "1"], "no workload of Directed Point");
    refused(&["--judge", "-n", "1", "true"], "no judge of Directed Point");
}

//! Bring-up in stages, the bugs of the fault library, and the detectors that find them.

use crate::runner::{command, ended, root, sunstar, Ended};
use std::collections::BTreeMap;

fn bring_up(bug: Option<(&str, u32)>, seed: u64) -> Ended {
    let mut sunstar = command();
    sunstar.args(["nic", "all", "--seed", &seed.to_string()]);
    if let Some((bug, node)) = bug {
        sunstar.args(["--fault", &format!("{bug}={node}")]);
    }
    ended(&mut sunstar)
}

/// Names of all bugs, as the command lists them.
fn bugs() -> Vec<String> {
    let list = sunstar(["faults", "bug."]);
    let names = list.stdout.lines().filter(|line| line.starts_with("bug."));
    names.map(|line| line.split('=').next().unwrap().to_string()).collect()
}

/// Bugs that a run reports, and their nodes.
fn found(run: &Ended) -> Vec<(u32, String)> {
    let lines = run.stdout.lines().filter_map(|line| line.trim().strip_prefix("node "));
    let pairs = lines.filter_map(|line| line.split_once(": "));
    pairs.map(|(node, bug)| (node.parse().unwrap(), bug.to_string())).collect()
}

/// Runs with and without bugs: how often each was taken for which.
#[derive(Default)]
struct Confusion {
    counts: BTreeMap<(String, String), u32>,
    wrong: Vec<String>,
}

impl Confusion {
    fn add(&mut self, bug: Option<(&str, u32)>, seed: u64) {
        let run = bring_up(bug, seed);
        let found = found(&run);
        let right: Vec<_> = bug.iter().map(|(bug, node)| (*node, (*bug).to_string())).collect();
        let planted = bug.map_or("nothing", |(bug, _)| bug).to_string();
        let name = match &found[..] {
            [] if run.code == 0 => "nothing".to_string(),
            [] => format!("(exit {})", run.code),
            [(_, bug), ..] => bug.clone(),
        };
        *self.counts.entry((planted, name)).or_default() += 1;
        if found != right || run.code != i32::from(bug.is_some()) {
            self.wrong
                .push(format!("{bug:?}, seed {seed}: {found:?}\n{}{}", run.stdout, run.stderr));
        }
    }
    fn print(&self) {
        for ((planted, found), count) in &self.counts {
            println!("{planted:18} found as {found:18} {count:3} times");
        }
    }
}

#[test]
fn what_is_planted_is_found_by_what_the_aids_say() {
    let mut confusion = Confusion::default();
    confusion.add(None, 1);
    for (bug, node) in [("bug.bar", 1), ("bug.omit", 0), ("bug.wrap", 1), ("bug.skew", 0)] {
        confusion.add(Some((bug, node)), 1);
    }
    confusion.print();
    assert!(confusion.wrong.is_empty(), "{}", confusion.wrong.join("\n"));
}

/// Each tells of its bug; the lines that they show are compared in `documents.rs`.
#[test]
fn each_bug_has_its_story() {
    let page = std::fs::read_to_string(root().join("docs/detective-stories.md")).unwrap();
    let mut told = Vec::new();
    for block in page.split("```\n$ sunstar ").skip(1) {
        let (block, conclusion) = block.split_once("```").unwrap();
        let (line, shown) = block.split_once('\n').unwrap();
        assert!(shown.lines().count() >= 3, "{line}");
        // The conclusion names the bug that was planted.
        let (_, bug) = line.split_once("--fault ").unwrap();
        let bug = bug.split('=').next().unwrap();
        let conclusion = conclusion.split("\n#").next().unwrap();
        assert!(conclusion.contains(&format!("`{bug}`")), "{line}");
        told.push(bug.to_string());
    }
    told.sort();
    let mut all = bugs();
    all.sort();
    assert_eq!(told, all, "each bug has its story");
}

#[test]
#[ignore = "long: every bug and none with 20 seeds; make soak"]
fn the_confusion_matrix_is_diagonal() {
    let mut confusion = Confusion::default();
    let bugs = bugs();
    assert!(bugs.len() >= 16, "{bugs:?}");
    for seed in 1..=20 {
        confusion.add(None, seed);
        for bug in &bugs {
            confusion.add(Some((bug, (seed % 2) as u32)), seed);
        }
    }
    confusion.print();
    assert!(confusion.wrong.is_empty(), "{}", confusion.wrong.join("\n"));
}

#[test]
fn the_list_of_a_machine_has_what_it_can_have() {
    let list = sunstar(["faults", "--machine", "forth"]);
    for kind in ["bug.skew=NODE", "lane.credit=SHARE", "quiz=SEED"] {
        assert!(list.stdout.contains(kind), "{kind}: {list:?}");
    }
    assert!(!list.stdout.contains("link.drop"), "{list:?}");
    assert!(!sunstar(["faults", "--machine", "redstorm"]).stdout.contains("bug."));
}

/// Lines that the aids say with a fault and not without, of the first stage that has some.
fn differing(fault: &str) -> Vec<String> {
    for stage in ["config", "dma", "loopback", "link"] {
        let right = sunstar(["nic", stage, "--aids"]).went_well().stdout.clone();
        let wrong = sunstar(["nic", stage, "--aids", "--fault", fault]).went_well().stdout.clone();
        let new = wrong.lines().filter(|line| !right.lines().any(|other| other == *line));
        let new: Vec<String> = new.map(String::from).collect();
        if !new.is_empty() {
            return new;
        }
    }
    panic!("{fault} shows nothing")
}

#[test]
fn a_quiz_hides_a_bug_and_takes_an_answer_with_its_reason() {
    let asked = sunstar(["faults", "--quiz", "3"]).stdout;
    let told = ["--aids --fault quiz=3", "--answer bug.NAME --seen 'LINE'", "detective-stories.md"];
    assert!(told.iter().all(|words| asked.contains(words)), "{asked}");
    let kinds = models::MODELS.iter().find(|model| model.name == "rdma").unwrap().faults;
    let (hidden, _) = machine::faults::hidden::find(kinds, 3).unwrap();
    let answer = |name: &str, line: &str| {
        ended(command().args(["faults", "--quiz", "3", "--answer", name, "--seen", line]))
    };
    let line = &differing("quiz=3")[0];
    let right = answer(hidden.name, line);
    assert!(right
        .went_well()
        .stdout
        .starts_with(&format!("Right: it is {} on node ", hidden.name)));
    let other = bugs().into_iter().find(|bug| bug != hidden.name).unwrap();
    let wrong = answer(&other, line);
    assert_eq!(
        (wrong.code, &*wrong.stdout),
        (1, &*format!("No, it is not {other}. Look again.\n"))
    );
    answer("what", line).said(2, &["there is no bug what"]);

    // A name alone, and with what anybody could say, is no answer.
    let alone = ended(command().args(["faults", "--quiz", "3", "--answer", hidden.name]));
    assert!(alone.code == 2 && alone.stderr.contains("--seen"), "{alone:?}");
    let right = sunstar(["nic", "config", "--aids"]).stdout;
    let common = right.lines().next().unwrap();
    answer(hidden.name, common).said(2, &["without the bug, too"]);
    answer(hidden.name, "config 1 bar_bytes 1").said(2, &["do not say 'config 1 bar_bytes 1'"]);
    answer(hidden.name, "it").said(2, &["'it' is no line of the aids"]);
    // Nor does the command give it away.
    sunstar(["nic", "all", "--fault", "quiz=3"]).said(2, &["add --aids"]);
}

#[test]
fn what_cannot_be_is_refused_in_a_sentence() {
    sunstar(["nic", "lanes"]).said(2, &["there is no stage lanes", "config, dma"]);
    let run = |words: &[&str]| ended(command().args(["run", "-m", "forth", "-n", "2"]).args(words));
    run(&["--rtl", "--fault", "bug.skew=1", "builtin:rdma-stream"]).said(2, &["leave out --rtl"]);
    run(&["--fault", "bug.skew=2", "builtin:rdma-stream"]).said(2, &["there is no node 2"]);
    run(&["--fault", "quiz=x", "builtin:rdma-stream"]).said(2, &["quiz has a number"]);
}

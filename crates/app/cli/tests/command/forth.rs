//! Programs with `forth.h`: the request queue mapped, posts by plain stores.

use crate::runner::{command, compiled_by_gcc, ended, root, Ended};
use std::collections::BTreeSet;
use std::process::Command;

/// A program on two nodes, with options of `run` and its own words.
fn forth(source: &str, options: &[&str], words: &[&str]) -> Ended {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled_by_gcc(folder.path(), &[source]);
    ended(command().args(["run", "-m", "forth", "-n", "2"]).args(options).arg(program).args(words))
}

const EXAMPLE: &str = "examples/rdma/mapped_queue.c";
const BARRIER: &str = "examples/rdma/barrier.c";
const STORES: &str = "tests/forth/stores.c";

fn hash(run: &Ended) -> &str {
    assert_eq!(run.code, 0, "{run:?}");
    run.stdout.lines().find(|line| line.starts_with("Trace hash")).expect("a summary has one")
}

/// Microseconds a message.
fn mean(run: &Ended) -> f64 {
    let line = run.stdout.lines().find(|line| line.ends_with(" us a message"));
    let number = line.and_then(|line| line.split(' ').next()?.parse().ok());
    number.unwrap_or_else(|| panic!("{run:?}"))
}

#[test]
fn the_header_is_c_and_cpp() {
    for compiler in [["gcc", "-xc"], ["g++", "-xc++"]] {
        let check = Command::new(compiler[0])
            .current_dir(root())
            .args(["-Wall", "-Wextra", "-Werror", "-Iinclude", "-fsyntax-only", compiler[1]])
            .arg("include/forth.h")
            .output()
            .expect("there is a compiler");
        assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stderr));
    }
}

/// A fence a message lets a descriptor leave alone; four without one leave together, and are faster.
#[test]
fn plain_stores_post_descriptors() {
    let plain = forth(EXAMPLE, &[], &["plain", "40", "8"]);
    assert_eq!(plain.code, 0, "{plain:?}");
    assert!(plain.stdout.contains("the card has received 320 words"), "{plain:?}");
    let line = forth(EXAMPLE, &[], &["line", "40", "8"]);
    // Two stores of 8 bytes and one of 16 become the same burst.
    assert_eq!(hash(&line), hash(&plain));
    let together = forth(EXAMPLE, &[], &["none", "40", "8"]);
    let apart = forth(EXAMPLE, &["--set", "pcix.combining=off"], &["plain", "40", "8"]);
    let times = [mean(&together), mean(&plain), mean(&apart)];
    assert!(times.is_sorted() && times[0] < times[1] && times[1] < times[2], "{times:?}");
}

#[test]
fn hashes_are_equal_on_threads_and_on_the_rtl() {
    let words = ["none", "20", "64"];
    let model = forth(EXAMPLE, &[], &words);
    for options in [&["-t", "2"][..], &["--rtl"], &["--rtl", "-t", "2"]] {
        assert_eq!(hash(&forth(EXAMPLE, options, &words)), hash(&model), "{options:?}");
    }
}

/// Each posts a descriptor also where its bytes are those that stand there.
#[test]
fn stores_of_all_sizes_post_descriptors() {
    let kinds = [
        "bytes", "halves", "words", "doubles", "vector", "streamed", "single", "copied", "repeated",
    ];
    for (first, options) in [(0, &[][..]), (2, &["--set", "pcix.combining=off"])] {
        let run = forth(STORES, &[&["-q"], options].concat(), &[&first.to_string()]);
        let lines: Vec<&str> = run.stdout.lines().collect();
        assert_eq!((run.code, &lines[..]), (0, &kinds[first..]), "{run:?}");
    }
}

#[test]
fn elsewhere_there_is_no_card() {
    for example in [EXAMPLE, BARRIER] {
        let none = ended(command().args(["run", "-q", "-n", "1", "-m", "ideal", example]));
        assert!(none.code == 1 && none.stderr.contains("run it with `sunstar run"), "{none:?}");
    }
}

/// Each barrier needs a word from others, so a node that does not poll would end the run.
#[test]
fn the_example_polls_memory() {
    let on = |nodes: &str, options: &[&str]| {
        let machine = ["run", "-m", "forth-switch", "-n", nodes];
        ended(command().args(machine).args(options).args([BARRIER, "20"]))
    };
    for (nodes, rounds) in [("2", 1), ("5", 3), ("8", 3)] {
        let run = on(nodes, &[]);
        let words = nodes.parse::<u32>().unwrap() * rounds * 21;
        assert!(run.stdout.contains(&format!("Messages {words} ")), "{run:?}");
        assert!(run.stdout.contains(&format!("{nodes} nodes: ")), "{run:?}");
        assert_eq!(hash(&on(nodes, &["-t", "2"])), hash(&run));
    }
}

/// The page has all functions of the header, with their parameters, and no others.
#[test]
fn the_page_has_the_functions_of_the_header() {
    let header = std::fs::read_to_string(root().join("include/forth.h")).unwrap();
    let page = std::fs::read_to_string(root().join("docs/mapped-queue.md")).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `forth_"));
    let shown: BTreeSet<String> =
        rows.map(|row| format!("forth_{}", row.split_once('`').unwrap().0)).collect();
    let begin = |line: &&str| line.starts_with("extern ") || line.starts_with("static __inline ");
    let declared = header.lines().enumerate().filter(|(_, line)| begin(line) && line.contains('('));
    let declared: BTreeSet<String> = declared
        .map(|(at, _)| {
            let text = header.lines().skip(at).take(2).collect::<Vec<_>>().join(" ");
            let (head, rest) = text.split_once('(').unwrap();
            let name = head.rsplit([' ', '*']).next().unwrap();
            let parameters = rest.split_once(')').unwrap().0.split(',');
            let names = parameters.map(|one| one.rsplit([' ', '*']).next().unwrap());
            format!("{name}({})", names.collect::<Vec<_>>().join(", "))
        })
        .collect();
    assert!(declared.len() > 8, "{declared:?}");
    assert_eq!(shown, declared);
}

/// Account, timeline and capture know these stores and their messages.
#[test]
fn instruments_see_stores_and_messages() {
    let folder = tempfile::tempdir().unwrap();
    let pcap = folder.path().join("stores.pcapng");
    let timeline = folder.path().join("timeline.pftrace");
    let options =
        ["--full", "--pcap", pcap.to_str().unwrap(), "--trace", timeline.to_str().unwrap()];
    let run = forth(EXAMPLE, &options, &["plain", "10", "8"]);
    assert_eq!(run.code, 0, "{run:?}");
    for said in ["Messages 10 ", "a store to the card", "rdma_fence", "registered memory"] {
        assert!(run.stdout.contains(said), "{said}: {run:?}");
    }
    let timeline = std::fs::read(timeline).unwrap();
    let name = b"a store to the card";
    assert!(timeline.windows(name.len()).any(|bytes| bytes == name));
    assert!(std::fs::metadata(pcap).unwrap().len() > 10 * 64);
}

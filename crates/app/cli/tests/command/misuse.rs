//! Misuses of the RDMA NIC by programs: each has the result and the sentence of docs/misuse.md.

use crate::runner::{command, compiled_by_gcc, ended, root, Ended};
use std::collections::BTreeMap;
use std::path::Path;

/// Lines of the programs that tell what went well.
const WELL: [&str; 7] = [
    "written: success",
    "region with relaxed order: done",
    "inline: done",
    "received: 0 bytes are wrong",
    "first by verbs: done",
    "whole words to a queue's owner: done",
    "",
];

/// Rows of a section's table: result and sentence by misuse.
fn table<'a>(page: &'a str, section: &str) -> BTreeMap<&'a str, (&'a str, &'a str)> {
    let (_, rest) = page.split_once(section).expect("the page has this section");
    let rest = rest.split("\n## ").next().unwrap();
    let rows = rest.lines().filter(|line| line.starts_with("| ")).skip(1);
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        (cells[0], (cells[1], cells[2]))
    })
    .collect()
}

/// Misuses of one section as the programs met them: result and standard error.
#[derive(Default)]
struct Met(BTreeMap<String, (String, String)>);

impl Met {
    /// Each line of a program's tells a misuse and its result.
    fn told(&mut self, run: &Ended) {
        assert_eq!(run.code, 0, "{run:?}");
        for line in run.stdout.lines().filter(|line| !WELL.contains(line)) {
            let (what, result) = line.split_once(": ").unwrap_or_else(|| panic!("{run:?}"));
            self.0.insert(what.into(), (result.into(), run.stderr.clone()));
        }
    }

    /// The whole run is the misuse.
    fn was(&mut self, what: &str, run: &Ended) {
        let result = if run.code == 0 { run.stdout.trim() } else { "ends" };
        self.0.insert(what.into(), (result.into(), run.stderr.clone()));
    }

    /// Both have the same misuses, with the same results.
    fn compare(&self, section: &str) {
        let page = std::fs::read_to_string(root().join("docs/misuse.md")).unwrap();
        let table = table(&page, section);
        assert!(table.len() >= 10, "{table:?}");
        let shown: Vec<_> = table.iter().map(|(what, row)| (*what, row.0)).collect();
        let met: Vec<_> = self.0.iter().map(|(what, met)| (&**what, &*met.0)).collect();
        assert_eq!(met, shown);
        for (what, (_, sentence)) in table {
            let line = format!("sunstar: {sentence}");
            let said = self.0[what].1.lines().any(|said| said == line);
            assert!(sentence.is_empty() || said, "{what}: {:?}", self.0[what].1);
        }
    }
}

fn on_two_nodes(program: &Path, words: &[&str]) -> Ended {
    ended(command().args(["run", "-q", "-m", "forth", "-n", "2"]).arg(program).args(words))
}

#[test]
fn misuses_of_verbs_have_the_pages_results() {
    let folder = tempfile::tempdir().unwrap();
    let run = on_two_nodes(&compiled_by_gcc(folder.path(), &["tests/verbs/misuse.c"]), &[]);
    assert!(run.stdout.contains("received: 0 bytes are wrong"), "{run:?}");
    let mut met = Met::default();
    met.told(&run);
    met.compare("## Verbs");
}

#[test]
fn misuses_of_the_request_queue_have_the_pages_results() {
    let folder = tempfile::tempdir().unwrap();
    let stores = compiled_by_gcc(folder.path(), &["tests/forth/stores.c"]);
    let both = compiled_by_gcc(folder.path(), &["tests/verbs/mapped.c"]);
    let mut met = Met::default();
    met.told(&on_two_nodes(&stores, &["-", "errors"]));
    for what in ["descriptor", "nowhere", "add", "limits", "part"] {
        met.was(what, &on_two_nodes(&stores, &["-", what]));
    }
    for when in ["before", "after", "peer"] {
        met.told(&on_two_nodes(&both, &[when]));
    }
    met.compare("## Request queue");
}

//! Names in documents: commands and options, machines, parameters, faults, tests and targets exist.

use super::commands::{program, steps, Step};
use super::excused::Fate;
use super::read::{documents, Document, Piece};
use crate::runner::{ended, root, sunstar};
use regex_lite::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Options of other programs.
const OF_OTHERS: [(&str, &str); 9] = [
    ("--no-install-recommends", "apt-get"),
    ("--platform", "docker"),
    ("--security-opt", "docker"),
    ("--thread", "fio"),
    ("--iodepth", "fio"),
    ("--verify", "fio"),
    ("--test", "cargo"),
    ("--cache-sim", "valgrind"),
    ("--mca", "mpirun of Open MPI"),
];

/// Names that a regular expression finds in a text.
fn found(pattern: &str, text: &str) -> BTreeSet<String> {
    let pattern = Regex::new(pattern).unwrap();
    pattern.captures_iter(text).map(|found| found[1].to_string()).collect()
}

fn spans(document: &Document) -> impl Iterator<Item = (String, &str)> {
    document.pieces.iter().filter_map(|piece| match piece {
        Piece::Span { line, text } => Some((format!("{}:{line}", document.name), text.as_str())),
        Piece::Block(_) => None,
    })
}

/// Verbs of the command (`bench rdma` is one) with their help.
fn helps() -> BTreeMap<String, String> {
    let list = |help: &str| {
        let mut verbs = found(r"(?m)^  ([a-z][a-z-]+)(?:  |$)", help);
        verbs.retain(|verb| verb != "help" && help.contains("<COMMAND>"));
        verbs
    };
    let help = |words: &[&str]| sunstar(words.iter().chain(&["--help"])).went_well().stdout.clone();
    let mut helps = BTreeMap::from([(String::new(), help(&[]))]);
    for verb in list(&helps[""]) {
        let text = help(&[&verb]);
        for below in list(&text) {
            helps.insert(format!("{verb} {below}"), help(&[&verb, &below]));
        }
        helps.insert(verb, text);
    }
    assert!(helps.len() > 25, "{:?}", helps.keys());
    helps
}

const OPTION: &str = r"(?:^|[ \[])(--[a-z][a-z-]*)";

#[test]
fn commands_and_options_in_sentences_exist() {
    let helps = helps();
    let options: BTreeMap<&str, BTreeSet<String>> = helps
        .iter()
        .map(|(verb, help)| (verb.as_str(), found(r"(--[a-z][a-z-]*)", help)))
        .collect();
    let every: BTreeSet<&String> = options.values().flatten().collect();
    let (mut wrong, mut used, mut looked_at) = (Vec::new(), BTreeSet::new(), 0);
    for document in documents() {
        for (place, text) in spans(&document) {
            let of_command = program(text) == Some("sunstar") && !text.contains(" = ");
            if !of_command && !text.starts_with("--") {
                continue;
            }
            looked_at += 1;
            let words: Vec<&str> = text.split_whitespace().skip(1).collect();
            let pair = words.iter().take(2).copied().collect::<Vec<_>>().join(" ");
            let verb = [pair.as_str(), words.first().copied().unwrap_or("")]
                .into_iter()
                .find(|verb| of_command && options.contains_key(verb));
            if of_command && verb.is_none() {
                wrong.push(format!("{place}: there is no command `{text}`"));
            }
            // What a command runs has options of its own.
            let own = text.split(" : ").next().unwrap_or(text);
            for option in found(OPTION, own.split(" '").next().unwrap_or(own)) {
                // Compilers have many more.
                let compiles = verb.is_some_and(|verb| ["cc", "cxx", "fc"].contains(&verb));
                let known = match verb {
                    _ if compiles => true,
                    Some("bench") => every.contains(&option),
                    Some(verb) => options[verb].contains(&option),
                    None => every.contains(&option),
                };
                let other = OF_OTHERS.iter().find(|(name, _)| *name == option);
                used.extend(other.filter(|_| !known).map(|(name, _)| *name));
                if !known && other.is_none() {
                    wrong.push(format!("{place}: there is no option {option} (`{text}`)"));
                }
            }
        }
    }
    assert!(wrong.is_empty() && looked_at > 300, "{looked_at}: {wrong:#?}");
    let stale: Vec<_> = OF_OTHERS.iter().filter(|(name, _)| !used.contains(name)).collect();
    assert!(stale.is_empty(), "no document has these: {stale:?}");
}

/// Keys of all machine files.
fn parameters() -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    for file in std::fs::read_dir(root().join("machines")).unwrap().flatten() {
        let text = std::fs::read_to_string(file.path()).unwrap();
        keys.extend(found(r"(?m)^\[([a-z0-9_]+\.[a-z0-9_]+)\]", &text));
    }
    assert!(keys.len() > 100, "{}", keys.len());
    keys
}

/// Keys of outputs, which pages of the reference list; other tests compare those with outputs.
fn keys_of_outputs() -> BTreeSet<String> {
    let named = |document: &Document| {
        let reference = document.name.starts_with("docs/reference/");
        reference && (document.name.ends_with("-json.md") || document.name.contains("/forth"))
    };
    let pages = documents().into_iter().filter(named);
    let mut keys: BTreeSet<String> = pages
        .flat_map(|page| spans(&page).map(|(_, text)| text.to_string()).collect::<Vec<_>>())
        .collect();
    // Fields of dissectors, and counters of models.
    let listed = Command::new("git")
        .current_dir(root())
        .args(["ls-files", "wireshark/*.lua", "crates/models/*/src/*.rs"])
        .output();
    for file in String::from_utf8(listed.unwrap().stdout).unwrap().lines() {
        let text = std::fs::read_to_string(root().join(file)).unwrap();
        keys.extend(found(r#""([a-z]+\.[a-z_]+)""#, &text));
    }
    keys
}

/// Names of what is there.
struct Known {
    machines: BTreeSet<String>,
    parameters: BTreeSet<String>,
    faults: BTreeSet<String>,
    outputs: BTreeSet<String>,
}

impl Known {
    fn read() -> Known {
        let files = std::fs::read_dir(root().join("machines")).unwrap().flatten();
        let name = |file: std::fs::DirEntry| {
            file.file_name().to_str()?.strip_suffix(".toml").map(String::from)
        };
        let known = Known {
            machines: files.filter_map(name).collect(),
            parameters: parameters(),
            faults: found(r"(?m)^([a-z]+(?:\.[a-z_]+)?)=", &sunstar(["faults"]).stdout),
            outputs: keys_of_outputs(),
        };
        assert!(known.faults.len() > 40 && known.machines.len() > 10);
        known
    }

    /// Names behind options in a command or a form; how many there are, and what is wrong with them.
    fn behind_options(&self, text: &str) -> (usize, Vec<String>) {
        let ours = text.contains("sunstar ") || !text.contains(' ');
        let machine = r"(?:^| )(?:-m|--machine) ([a-z][a-z0-9-]*)(?: |$)";
        let mut kinds = vec![
            ("fault", &self.faults, found(r"--fault ([a-z]+(?:\.[a-z_]+)?)=", text)),
            (
                "parameter",
                &self.parameters,
                found(r"--(?:set|vary) ([a-z0-9_]+\.[a-z0-9_]+)=", text),
            ),
        ];
        if ours {
            kinds.push(("machine", &self.machines, found(machine, text)));
        }
        let count = kinds.iter().map(|(.., names)| names.len()).sum();
        let strange = kinds.iter().flat_map(|(kind, known, names)| {
            let names = names.iter().filter(|name| !known.contains(*name));
            names.filter(|name| !name.starts_with("arg.")).map(move |name| format!("{kind} {name}"))
        });
        (count, strange.collect())
    }

    /// A span that is the name of a parameter, a fault or a value of an output, by its first word: true if
    /// there is such a one.
    fn is_key(&self, text: &str) -> Option<bool> {
        let key = Regex::new(r"^([a-z0-9_]+)\.([a-z0-9_]+)(?:[ =@].*)?$").unwrap();
        let parts = key.captures(text)?;
        let whole = format!("{}.{}", &parts[1], &parts[2]);
        let endings = ["rs", "c", "h", "S", "md", "sv", "toml", "py", "awk", "html", "ko"];
        let group = |key: &String| key.split('.').next() == Some(&parts[1]);
        let ours = self.parameters.iter().chain(&self.faults).any(group);
        if endings.contains(&&parts[2]) || !ours {
            return None;
        }
        let end = format!(".{whole}");
        let output = |key: &String| *key == whole || key.ends_with(&end);
        let named = self.parameters.contains(&whole) || self.faults.contains(&whole);
        Some(named || self.outputs.iter().any(output))
    }
}

#[test]
fn machines_parameters_and_faults_in_documents_exist() {
    let known = Known::read();
    let (mut wrong, mut looked_at) = (Vec::new(), 0);
    for document in documents() {
        let typed = steps(&document).0.into_iter().map(|step| (step.place, step.line));
        let named = spans(&document).map(|(place, text)| (place, text.to_string()));
        for (place, text) in typed.chain(named) {
            let (count, strange) = known.behind_options(&text);
            wrong.extend(strange.iter().map(|what| format!("{place}: there is no {what}")));
            let key = known.is_key(&text);
            looked_at += count + usize::from(key.is_some());
            if key == Some(false) {
                wrong.push(format!("{place}: `{text}` is no parameter, fault or output"));
            }
        }
        for machine in found(r"[Mm]achines? `([a-z0-9-]+)`", &prose(&document)) {
            looked_at += 1;
            if !known.machines.contains(&machine) {
                wrong.push(format!("{}: there is no machine {machine}", document.name));
            }
        }
    }
    assert!(wrong.is_empty() && looked_at > 400, "{looked_at}: {wrong:#?}");
}

fn prose(document: &Document) -> String {
    std::fs::read_to_string(root().join(&document.name)).unwrap().replace('\n', " ")
}

/// Tests whose names begin so: of this program, or by the functions and modules of a package.
fn tests_of(package: &str, filter: &str) -> bool {
    if filter.chars().all(|c| c.is_ascii_uppercase()) && !filter.is_empty()
        || package.contains("NAME")
    {
        return true;
    }
    if package == "cli" {
        let list = ended(Command::new(std::env::current_exe().unwrap()).arg("--list"));
        if list.stdout.lines().any(|line| line.contains(filter)) {
            return true;
        }
    }
    let last = filter.rsplit("::").next().unwrap_or(filter);
    let folder = std::fs::read_dir(root().join("crates"))
        .unwrap()
        .flatten()
        .map(|group| group.path().join(package))
        .find(|folder| folder.is_dir());
    let Some(folder) = folder else { return false };
    let word = format!(r"(fn|mod) [a-z0-9_]*{last}");
    let mut grep = Command::new("grep");
    grep.args(["-rqE", "--include=*.rs", &word]).arg(folder);
    last.is_empty() || grep.status().unwrap().success()
}

/// Without a test that fits, `cargo test FILTER` passes.
#[test]
fn tests_and_targets_in_documents_exist() {
    let (mut wrong, mut looked_at) = (Vec::new(), [0; 2]);
    let package = Regex::new(r"(?:-p|--package) ([A-Za-z0-9-]+)").unwrap();
    let program_of = Regex::new(r"--(test|bench|example) ([a-z0-9_]+)").unwrap();
    for document in documents() {
        for step in steps(&document).0 {
            match program(&step.line) {
                Some("cargo") => {
                    looked_at[0] += 1;
                    let name = package.captures(&step.line).map(|found| found[1].to_string());
                    let words = step.line.split_whitespace().skip_while(|word| *word != "cargo");
                    let (kind, target) = match program_of.captures(&step.line) {
                        Some(found) => (found[1].to_string(), found[2].to_string()),
                        None => (String::new(), String::new()),
                    };
                    let filter = words
                        .skip(2)
                        .take_while(|word| *word != "--")
                        .filter(|word| !word.starts_with('-'))
                        .find(|word| *word != target && Some(*word) != name.as_deref())
                        .unwrap_or("");
                    let name = name.unwrap_or_default();
                    let there = target.is_empty() || exists(&name, &kind, &target);
                    if !there || !tests_of(&name, filter) {
                        wrong.push(format!("{}: {} finds nothing", step.place, step.line));
                    }
                }
                Some("make") if step.inline || step.fate() == Fate::LeftOut => {
                    looked_at[1] += 1;
                    if let Some(why) = no_target(&document, &step) {
                        wrong.push(format!("{}: {}: {why}", step.place, step.line));
                    }
                }
                _ => {}
            }
        }
    }
    assert!(wrong.is_empty() && looked_at[0] > 20 && looked_at[1] > 40, "{looked_at:?} {wrong:#?}");
}

/// True if the package has the test program, bench or example.
fn exists(package: &str, kind: &str, name: &str) -> bool {
    let folder = if kind == "bench" { "benches" } else { &format!("{kind}s") };
    let groups = std::fs::read_dir(root().join("crates")).unwrap().flatten();
    let mut places = groups.map(|group| group.path().join(package).join(folder));
    places.any(|at| {
        at.join(format!("{name}.rs")).is_file() || at.join(name).join("main.rs").is_file()
    })
}

/// Complaint about a target that is not in the Makefile beside the document, or in the root's.
fn no_target(document: &Document, step: &Step) -> Option<String> {
    let words: Vec<&str> =
        step.line.split_whitespace().skip_while(|word| *word != "make").skip(1).collect();
    let beside = root().join(&document.name).parent().unwrap().to_owned();
    let makefiles = [beside, root()];
    let targets: Vec<&&str> = words
        .iter()
        .filter(|word| word.chars().all(|c| c.is_ascii_lowercase() || c == '-'))
        .collect();
    let folder = words.windows(2).find(|pair| pair[0] == "-C").map(|pair| root().join(pair[1]));
    let known = |target: &str| {
        let rule = Regex::new(&format!(r"(?m)^(\.PHONY:.* )?{target}(:| |$)")).unwrap();
        let mut folders = folder.iter().chain(&makefiles);
        folders.any(|at| {
            std::fs::read_to_string(at.join("Makefile")).is_ok_and(|text| rule.is_match(&text))
        })
    };
    let strange: Vec<_> =
        targets.iter().filter(|word| !word.starts_with('-') && !known(word)).collect();
    (!strange.is_empty()).then(|| format!("there is no target {strange:?}"))
}

/// The format that pages tell is that which files have.
#[test]
fn the_format_of_outputs_is_that_of_their_pages() {
    let told = |page: &str| {
        let text = std::fs::read_to_string(root().join("docs/reference").join(page)).unwrap();
        found(r"version of this format: (\d+)", &text)
    };
    let run = ended(
        crate::runner::command().args("run -q -n 2 --json - builtin:pingpong 8 1".split(' ')),
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(told("run-json.md"), BTreeSet::from([json["format"].to_string()]));
}

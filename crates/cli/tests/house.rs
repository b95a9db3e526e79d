//! The house's own rules, kept by a test: dependencies between crates, lengths of files and lines, names and
//! marks that are not allowed, and citations. The reasons are in ARCHITECTURE.md and CONTRIBUTING.md.

// Clippy takes only functions with #[test] for tests; here everything is one.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

#[path = "house/imports.rs"]
mod imports;

/// Crates of the workspace, and the other crates that each may use outside of its tests.
const LAW: &[(&str, &[&str])] = &[
    ("abi", &[]),
    ("abigen", &[]),
    ("des", &[]),
    ("alpu", &[]),
    ("fuzz", &[]),
    ("diagnosis", &[]),
    ("block", &[]),
    ("nbd", &[]),
    ("files", &[]),
    ("scratch", &[]),
    ("bus", &["des"]),
    ("pci", &["bus"]),
    ("serial", &["abi", "des"]),
    ("rdma", &["abi", "des", "pci", "serial"]),
    ("crossbar", &["abi", "serial"]),
    ("verilated", &["files"]),
    ("rtl", &["alpu", "crossbar", "pci", "rdma", "serial", "verilated"]),
    ("ppc440", &["bus", "des"]),
    ("lanai", &["bus", "des"]),
    ("lanai-link", &["lanai"]),
    ("myrinet", &["abi", "bus", "des", "lanai"]),
    ("nic", &["abi", "bus", "des"]),
    ("offload", &["abi", "alpu", "bus", "des", "ppc440"]),
    ("ethernet", &["bus", "des"]),
    ("guest", &["bus", "scratch"]),
    ("host", &["bus", "des"]),
    ("net", &["abi", "des"]),
    ("spec", &["abi"]),
    ("portals", &["abi", "des", "host"]),
    ("mpi", &["abi", "des", "host", "portals"]),
    ("pico", &["abi", "bus", "des", "host", "mpi"]),
    ("rank", &["abi", "bus", "des", "host", "mpi", "portals"]),
    ("machine", &["abi", "bus", "des", "files", "guest", "host", "mpi", "portals", "rank", "spec"]),
    ("pcibus", &["bus", "des", "host", "pci"]),
    ("powerpc", &["des", "machine", "ppc440"]),
    ("model-bell", &["des", "machine", "pci"]),
    ("model-ethernet", &["bus", "des", "ethernet", "machine", "pci"]),
    ("model-example", &["abi", "des", "host", "machine", "portals"]),
    ("model-ideal", &["abi", "des", "host", "machine", "portals"]),
    (
        "model-myrinet",
        &["abi", "bus", "des", "host", "lanai", "machine", "myrinet", "pci", "pcibus", "spec"],
    ),
    (
        "model-offload",
        &["abi", "alpu", "bus", "des", "machine", "mpi", "offload", "powerpc", "rtl"],
    ),
    (
        "model-rdma",
        &[
            "abi", "block", "bus", "crossbar", "des", "host", "machine", "mpi", "pci", "pcibus",
            "ppc440", "rank", "rdma", "rtl", "serial",
        ],
    ),
    (
        "model-seastar",
        &[
            "abi", "bus", "des", "host", "machine", "net", "nic", "portals", "powerpc", "ppc440",
            "rank",
        ],
    ),
    (
        "models",
        &[
            "machine",
            "model-bell",
            "model-ethernet",
            "model-example",
            "model-ideal",
            "model-myrinet",
            "model-offload",
            "model-rdma",
            "model-seastar",
        ],
    ),
    (
        "cli",
        &[
            "abi",
            "block",
            "des",
            "diagnosis",
            "files",
            "guest",
            "machine",
            "models",
            "nbd",
            "rank",
            "scratch",
        ],
    ),
];

/// Most lines of a source file that is not named below.
const FILE_LINES_MAX: usize = 500;

/// Files that are longer, with their most lines. Lower a number when a file has shrunk; raise one only with
/// the reason at the top of the file.
const LONG_FILES: &[(&str, usize)] = &[];

/// Tables with a row on each line, of any width: the instructions of the processors.
const WIDE_FILES: &[&str] =
    &["crates/lanai/src/instructions.rs", "crates/ppc440/src/instructions.rs"];

/// Columns of a line of code, and of one that is a comment: rustfmt breaks the first kind only.
const CODE_COLUMNS_MAX: usize = 100;
const COMMENT_COLUMNS_MAX: usize = 110;

/// Most lines in all that are longer: a ratchet that only goes down.
const LONG_LINES_MAX: usize = 58;

/// Names that say nothing about the contents of a file or folder.
const DUMPING_GROUNDS: &[&str] = &["common", "util", "utils", "helpers", "misc"];

/// Doc comments that open with one of these: an opening is a noun or a verb. The number may only fall.
const OPENINGS: &[&str] =
    &["What", "How", "Who", "Whose", "Whom", "Since", "When", "Where", "Which", "Whether"];
const OPENINGS_MAX: usize = 2;
/// Files with such comments that stay: the data of `abi/seastar` is a part of the firmware's header, of
/// which the hash of its image is made.
const OPENINGS_HASHED: (&str, usize) = ("crates/abi/src/seastar.rs", 4);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

/// All files of the project, as paths relative to its root, without build products.
fn files() -> Vec<PathBuf> {
    fn walk(root: &Path, folder: &Path, found: &mut Vec<PathBuf>) {
        let mut entries: Vec<_> = fs::read_dir(root.join(folder)).unwrap().flatten().collect();
        entries.sort_by_key(|entry| entry.file_name());
        for entry in entries {
            let path = folder.join(entry.file_name());
            let top = folder.as_os_str().is_empty();
            let built =
                top && ["target", "build", ".git"].iter().any(|name| path == Path::new(name));
            match entry.file_type().unwrap() {
                kind if kind.is_dir() && !built => walk(root, &path, found),
                kind if kind.is_file() => found.push(path),
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    walk(&root(), Path::new(""), &mut found);
    found
}

fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    path.extension().is_some_and(|found| extensions.iter().any(|e| found == *e))
}

fn text_of(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(root().join(path)).unwrap()).into_owned()
}

/// Source that people wrote, with its text.
fn sources() -> Vec<(PathBuf, String)> {
    files()
        .into_iter()
        .filter(|path| has_extension(path, &["rs", "c", "h", "S", "ld", "awk", "sh"]))
        .map(|path| (path.clone(), text_of(&path)))
        .filter(|(path, text)| !is_generated(path, text))
        .collect()
}

fn is_generated(path: &Path, text: &str) -> bool {
    let start = text.lines().take(3).collect::<String>().to_ascii_lowercase();
    start.contains("generated") || path.components().any(|part| part.as_os_str() == "generated")
}

#[test]
fn crates_depend_only_on_whom_they_may() {
    let law: BTreeMap<&str, &[&str]> = LAW.iter().copied().collect();
    let manifests = files().into_iter().filter(|path| {
        path.starts_with("crates") && path.ends_with("Cargo.toml") && path.components().count() == 3
    });
    let mut seen = BTreeSet::new();
    for path in manifests {
        let manifest: toml::Table = toml::from_str(&text_of(&path)).unwrap();
        let name = manifest["package"]["name"].as_str().unwrap().to_owned();
        let allowed = law.get(&*name).unwrap_or_else(|| panic!("{name} has no line in LAW"));
        let tables = ["dependencies", "build-dependencies"];
        let used = tables.iter().filter_map(|table| manifest.get(*table)?.as_table());
        for other in used.flat_map(toml::Table::keys).filter(|other| law.contains_key(&***other)) {
            assert!(allowed.contains(&&**other), "{name} must not depend on {other}");
        }
        seen.insert(name);
    }
    assert_eq!(seen, law.keys().map(|name| (*name).to_owned()).collect());
}

/// Files of the command that name one model, for features that only it has (a debugger, a monitor, a trace
/// ring, a probe). Remove a file that no longer does; do not add one. Only models can name a part: [`LAW`].
const NAME_MODELS: &[&str] = &["bench/ladder.rs", "firmware.rs", "run.rs", "trace.rs"];

#[test]
fn few_files_of_the_command_name_a_model() {
    let room = Path::new("crates/cli/src");
    let mut naming = BTreeSet::new();
    for (path, text) in sources().into_iter().filter(|(path, _)| path.starts_with(room)) {
        let rest = text.replace("models::MODELS", "");
        if rest.contains(" models::") || rest.contains("(models::") {
            naming.insert(path.strip_prefix(room).unwrap().to_string_lossy().into_owned());
        }
    }
    let known: BTreeSet<String> = NAME_MODELS.iter().map(|file| (*file).to_owned()).collect();
    assert_eq!(naming, known);
}

/// Crates without unit tests are not compiled for them; crates with some run them.
#[test]
fn unit_tests_are_compiled_where_there_are_some() {
    let sources = sources();
    for (name, _) in LAW {
        let room = Path::new("crates").join(name);
        let manifest: toml::Table = toml::from_str(&text_of(&room.join("Cargo.toml"))).unwrap();
        let own = sources.iter().filter(|(file, _)| file.starts_with(room.join("src")));
        let some = own.into_iter().any(|(_, text)| text.contains("#[test]"));
        let bins = manifest.get("bin").and_then(toml::Value::as_array).into_iter().flatten();
        let mut targets = manifest.get("lib").into_iter().chain(bins);
        let off = targets.any(|target| target.get("test") == Some(&false.into()));
        assert_eq!(off, !some, "{name}: test = false stands where there are no unit tests");
    }
}

/// Comments have no tests, because `make test` does not run them: that would compile every crate again.
#[test]
fn comments_have_no_tests() {
    for (path, text) in sources().into_iter().filter(|(path, _)| has_extension(path, &["rs"])) {
        let fences = text.lines().map(str::trim_start);
        let fences = fences.filter_map(|line| {
            line.strip_prefix("//! ```").or_else(|| line.strip_prefix("/// ```"))
        });
        for (number, fence) in fences.enumerate() {
            let opens = number % 2 == 0;
            assert_eq!(opens, fence == "text", "{}: ```{fence}", path.display());
        }
    }
}

/// Crates that have unsafe code; the reasons are in ARCHITECTURE.md.
const UNSAFE: &[&str] = &[
    "alpu",
    "cli",
    "files",
    "guest",
    "host",
    "machine",
    "model-seastar",
    "mpi",
    "pico",
    "ppc440",
    "rank",
    "rtl",
    "scratch",
    "verilated",
];

/// Requests, communicators, types and collectives do not depend on the transport of their messages.
#[test]
fn mpi_names_portals_in_one_room() {
    let room = Path::new("crates/mpi/src/transport/portals");
    let outside = |path: &Path| path.starts_with("crates/mpi/src") && !path.starts_with(room);
    let mut seen = 0;
    for (path, text) in sources().into_iter().filter(|(path, _)| outside(path)) {
        seen += 1;
        let text = text.replace("transport::portals::", "");
        assert!(!text.contains("portals::"), "{} names Portals", path.display());
    }
    assert!(seen > 50, "the room has moved");
}

#[test]
fn crates_without_unsafe_code_forbid_it() {
    let architecture = text_of(Path::new("ARCHITECTURE.md"));
    let (_, table) = architecture.split_once("## Unsafe code\n").unwrap();
    let table = table.split("\n## ").next().unwrap();
    let named = table.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    assert_eq!(named.collect::<Vec<_>>(), UNSAFE, "ARCHITECTURE.md");
    let all = files();
    let roots = all.iter().filter(|path| {
        let inside = path.starts_with("crates") && path.components().count() == 4;
        inside && (path.ends_with("src/lib.rs") || path.ends_with("src/main.rs"))
    });
    for root in roots {
        let name = root.components().nth(1).unwrap().as_os_str().to_str().unwrap();
        let forbids = text_of(root).contains("#![forbid(unsafe_code)]");
        assert_eq!(forbids, !UNSAFE.contains(&name), "{}", root.display());
    }
}

#[test]
fn files_stay_short() {
    let mut allowed: BTreeMap<&str, usize> = LONG_FILES.iter().copied().collect();
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let (lines, name) = (text.lines().count(), path.to_string_lossy().into_owned());
        let max = allowed.remove(&*name);
        if lines > max.unwrap_or(FILE_LINES_MAX) {
            wrong.push(format!("{name} has {lines} lines"));
        } else if max.is_some() && lines <= FILE_LINES_MAX {
            wrong.push(format!("{name} is short now: take it out of LONG_FILES"));
        }
    }
    wrong.extend(allowed.keys().map(|name| format!("{name} in LONG_FILES is not there")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn lines_stay_short() {
    let mut long = Vec::new();
    let narrow = |path: &PathBuf| !WIDE_FILES.iter().any(|wide| path == Path::new(wide));
    for (path, text) in sources().into_iter().filter(|(path, _)| narrow(path)) {
        for (number, line) in text.lines().enumerate() {
            let comment = ["//", "/*", "*", "#"].iter().any(|m| line.trim_start().starts_with(m));
            let max = if comment { COMMENT_COLUMNS_MAX } else { CODE_COLUMNS_MAX };
            if line.chars().count() > max {
                long.push(format!("{}:{}", path.display(), number + 1));
            }
        }
    }
    let (count, list) = (long.len(), long.join("\n"));
    assert!(
        count <= LONG_LINES_MAX,
        "{count} lines are too long, allowed are {LONG_LINES_MAX}:\n{list}"
    );
}

#[test]
fn doc_comments_open_with_a_noun_or_a_verb() {
    let (mut found, mut hashed) = (Vec::new(), 0);
    // Generated files too: their comments come from `abi/`.
    for path in files().into_iter().filter(|path| has_extension(path, &["rs"])) {
        let text = text_of(&path);
        let mut before = "";
        for (line, number) in text.lines().map(str::trim_start).zip(1..) {
            let mark = ["///", "//!"].into_iter().find(|mark| line.starts_with(mark));
            let mark = mark.unwrap_or("");
            let opens = !mark.is_empty() && mark != before;
            let first = line[mark.len()..].split_whitespace().next().unwrap_or("");
            if opens && OPENINGS.contains(&first.trim_end_matches([',', '.', ':', ';'])) {
                if path == Path::new(OPENINGS_HASHED.0) {
                    hashed += 1;
                } else {
                    found.push(format!("{}:{number}: {line}", path.display()));
                }
            }
            before = mark;
        }
    }
    assert!(found.len() <= OPENINGS_MAX, "{} are too many:\n{}", found.len(), found.join("\n"));
    assert!(hashed <= OPENINGS_HASHED.1, "{hashed} in {}", OPENINGS_HASHED.0);
}

#[test]
fn no_dumping_grounds() {
    for path in files() {
        for part in path.iter() {
            let part = Path::new(part).file_stem().unwrap().to_string_lossy();
            assert!(!DUMPING_GROUNDS.contains(&&*part), "{}: name it after a noun", path.display());
        }
    }
}

#[test]
fn nothing_is_left_unfinished() {
    // Put together here, so that this file is not its own first finding.
    let marks =
        ["TO_DO", "FIX_ME", "to_do!(", "unimple_mented!(", "XX_X:"].map(|m| m.replace('_', ""));
    for (path, text) in sources() {
        for (number, line) in text.lines().enumerate() {
            let mark = marks.iter().find(|mark| line.contains(mark.as_str()));
            assert!(mark.is_none(), "{}:{}: {line}", path.display(), number + 1);
        }
    }
}

#[test]
fn every_lint_applies_everywhere() {
    for path in files().into_iter().filter(|path| path.ends_with("Cargo.toml")) {
        let manifest: toml::Table = toml::from_str(&text_of(&path)).unwrap();
        if manifest.contains_key("package") {
            let lints = manifest.get("lints").and_then(|lints| lints.get("workspace"));
            assert_eq!(lints, Some(&true.into()), "{} does not take over", path.display());
        }
    }
}

/// Texts in which papers are cited.
fn citing_texts() -> impl Iterator<Item = (PathBuf, String)> {
    files()
        .into_iter()
        .filter(|path| has_extension(path, &["rs", "c", "h", "S", "ld", "toml", "md"]))
        .filter(|path| !path.ends_with("docs/bibliography.md"))
        .map(|path| (path.clone(), text_of(&path)))
}

/// Citation keys that the bibliography defines: its third-level headings.
fn bibliography() -> BTreeSet<String> {
    let text = text_of(Path::new("docs/bibliography.md"));
    text.lines().filter_map(|line| line.strip_prefix("### ")).map(str::to_owned).collect()
}

#[test]
fn papers_are_named_by_their_keys_only() {
    let keys = bibliography();
    let surnames: BTreeSet<String> = keys
        .iter()
        .map(|key| key.trim_end_matches(|c: char| c.is_ascii_digit()))
        .map(|name| name[..1].to_uppercase() + &name[1..])
        .collect();
    assert!(surnames.len() >= 4, "the bibliography has no keys: {keys:?}");
    for (path, text) in citing_texts() {
        for name in &surnames {
            assert!(!text.contains(name.as_str()), "{}: cite {name} by its key", path.display());
        }
        let numbered = (0..5).find(|n| text.contains(&format!("paper {n:03}")));
        assert_eq!(numbered, None, "{}: cite the paper by its key", path.display());
    }
}

#[test]
fn cited_keys_are_in_the_bibliography() {
    let keys = bibliography();
    for (path, text) in citing_texts() {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric());
        for word in words.filter(|word| looks_like_key(word)) {
            assert!(keys.contains(word), "{}: {word} is not in the bibliography", path.display());
        }
    }
}

/// `surname` and a year.
fn looks_like_key(word: &str) -> bool {
    let year = word.len().saturating_sub(4);
    year >= 6
        && word.is_char_boundary(year)
        && word[..year].bytes().all(|b| b.is_ascii_lowercase())
        && matches!(word[year..].parse(), Ok(1990..=2029))
}

#[test]
fn no_paths_of_one_machine() {
    let homes = ["/work/", "/root/", "/home/"]
        .map(|home| [" ", "\"", "(", "`"].map(|q| format!("{q}{home}")));
    for (path, text) in citing_texts().filter(|(path, _)| !path.ends_with("cli/tests/house.rs")) {
        let found = homes.iter().flatten().find(|home| text.contains(home.as_str()));
        assert_eq!(found, None, "{}", path.display());
    }
}

/// Links from the index lead to every page.
#[test]
fn every_document_is_in_the_index() {
    let root = root();
    let indexed = |index: &str| {
        let text = text_of(&root.join(index));
        let folder = Path::new(index).parent().unwrap().to_owned();
        let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
        links.map(|link| folder.join(link)).collect::<BTreeSet<PathBuf>>()
    };
    let mut known = indexed("docs/README.md");
    known.extend(indexed("docs/decisions/README.md"));
    let pages = files().into_iter().filter(|file| has_extension(file, &["md"]));
    let lost: Vec<PathBuf> = pages
        .filter(|page| page.starts_with("docs") && !page.ends_with("docs/README.md"))
        .filter(|page| !known.contains(page))
        .collect();
    assert!(lost.is_empty(), "no index names {lost:?}");
}

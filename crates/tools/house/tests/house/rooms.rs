//! The rooms of the workspace, and which crate may depend on which.

use house::{files, sources, text_of};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Crates of a room, and the other crates that each may use outside of its tests.
type Room = &'static [(&'static str, &'static [&'static str])];

/// The rooms, folders of `crates`. A crate uses crates of its own room and of rooms before it only.
const ROOMS: &[(&str, Room)] = &[
    (
        "base",
        &[
            ("abi", &[]),
            ("bus", &["des"]),
            ("des", &[]),
            ("files", &[]),
            ("fuzz", &[]),
            ("scratch", &[]),
        ],
    ),
    (
        "parts",
        &[
            ("alpu", &[]),
            ("crossbar", &["abi", "serial"]),
            ("ethernet", &["bus", "des"]),
            ("forth-nic", &["abi", "des", "pci", "serial"]),
            ("host", &["bus", "des"]),
            ("lanai", &["bus", "des"]),
            ("mesh", &["abi", "des"]),
            ("myrinet", &["abi", "bus", "des", "lanai"]),
            ("offload-nic", &["abi", "alpu", "bus", "des", "ppc440"]),
            ("pci", &["bus", "des", "host"]),
            ("ppc440", &["bus", "des"]),
            ("rtl", &["alpu", "crossbar", "files", "forth-nic", "pci", "serial"]),
            ("seastar-nic", &["abi", "bus", "des"]),
            ("serial", &["abi", "des"]),
        ],
    ),
    (
        "software",
        &[
            ("block", &[]),
            ("guest", &["bus", "scratch"]),
            ("mpi", &["abi", "des", "host", "portals"]),
            ("nbd", &[]),
            ("pico", &["abi", "bus", "des", "host", "mpi"]),
            ("portals", &["abi", "des", "host"]),
            ("rank", &["abi", "bus", "des", "host", "mpi", "portals"]),
        ],
    ),
    (
        "bench",
        &[
            (
                "machine",
                &["abi", "bus", "des", "files", "guest", "host", "mpi", "portals", "rank", "spec"],
            ),
            ("mesh-network", &["abi", "des", "machine", "mesh"]),
            ("ppc440-debug", &["des", "machine", "ppc440"]),
            ("spec", &["abi"]),
        ],
    ),
    (
        "models",
        &[
            ("model-bell", &["des", "machine", "pci"]),
            ("model-ethernet", &["bus", "des", "ethernet", "machine", "pci"]),
            ("model-example", &["abi", "des", "host", "machine", "portals"]),
            ("model-ideal", &["abi", "des", "host", "machine", "portals"]),
            (
                "model-myrinet",
                &["abi", "bus", "des", "host", "lanai", "machine", "myrinet", "pci", "spec"],
            ),
            (
                "model-offload",
                &[
                    "abi",
                    "alpu",
                    "bus",
                    "des",
                    "machine",
                    "mesh",
                    "mesh-network",
                    "mpi",
                    "offload-nic",
                    "ppc440-debug",
                    "rtl",
                ],
            ),
            ("model-queuepair", &["abi", "bus", "des", "host", "machine", "portals"]),
            (
                "model-rdma",
                &[
                    "abi",
                    "block",
                    "bus",
                    "crossbar",
                    "des",
                    "forth-nic",
                    "host",
                    "machine",
                    "mpi",
                    "pci",
                    "ppc440",
                    "rank",
                    "rtl",
                    "serial",
                ],
            ),
            (
                "model-seastar",
                &[
                    "abi",
                    "bus",
                    "des",
                    "host",
                    "machine",
                    "mesh",
                    "mesh-network",
                    "portals",
                    "ppc440",
                    "ppc440-debug",
                    "rank",
                    "seastar-nic",
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
                    "model-queuepair",
                    "model-rdma",
                    "model-seastar",
                ],
            ),
        ],
    ),
    ("tools", &[("abigen", &[]), ("house", &[]), ("lanai-link", &["files", "lanai"])]),
    (
        "app",
        &[
            ("sunstar", &["des", "files", "guest", "machine", "models", "rank", "scratch"]),
            (
                "cli",
                &[
                    "abi",
                    "block",
                    "des",
                    "guest",
                    "lanai-link",
                    "machine",
                    "models",
                    "nbd",
                    "rank",
                    "scratch",
                    "sunstar",
                ],
            ),
        ],
    ),
];

/// The folder of a crate.
pub fn folder(name: &str) -> PathBuf {
    let room = ROOMS.iter().find(|(_, crates)| crates.iter().any(|(other, _)| *other == name));
    let (room, _) = room.unwrap_or_else(|| panic!("{name} has no line in ROOMS"));
    Path::new("crates").join(room).join(name)
}

/// All crates.
pub fn crates() -> impl Iterator<Item = &'static (&'static str, &'static [&'static str])> {
    ROOMS.iter().flat_map(|(_, crates)| *crates)
}

#[test]
fn crates_depend_only_on_whom_they_may() {
    let manifests = files().into_iter().filter(|path| {
        path.starts_with("crates") && path.ends_with("Cargo.toml") && path.components().count() == 4
    });
    let mut seen = BTreeSet::new();
    for path in manifests {
        let manifest: toml::Table = toml::from_str(&text_of(&path)).unwrap();
        let name = manifest["package"]["name"].as_str().unwrap().to_owned();
        assert_eq!(path, folder(&name).join("Cargo.toml"), "a crate's folder has its name");
        let (_, allowed) = crates().find(|(known, _)| *known == name).unwrap();
        let tables = ["dependencies", "build-dependencies"];
        let used = tables.iter().filter_map(|table| manifest.get(*table)?.as_table());
        let ours = |other: &&String| crates().any(|(known, _)| known == *other);
        for other in used.flat_map(toml::Table::keys).filter(ours) {
            assert!(allowed.contains(&&**other), "{name} must not depend on {other}");
        }
        seen.insert(name);
    }
    assert_eq!(seen, crates().map(|(name, _)| (*name).to_owned()).collect());
}

#[test]
fn rooms_are_in_order() {
    let number = |name: &str| {
        ROOMS.iter().position(|(_, crates)| crates.iter().any(|(known, _)| *known == name)).unwrap()
    };
    for (name, allowed) in crates() {
        for other in *allowed {
            assert!(
                number(other) <= number(name),
                "{other}, which {name} uses, is in a later room"
            );
        }
    }
}

/// Layouts of chips, modules of `abi`.
const CHIPS: [&str; 4] = ["seastar", "forth", "offload", "myrinet"];

/// The bench imports no layout of a chip: Portals on the wire is `abi::wire`.
#[test]
fn the_bench_names_no_chip() {
    let room = Path::new("crates/bench");
    let inside = |path: &Path| path.starts_with(room) && path.iter().any(|part| part == "src");
    let mut seen = 0;
    for (path, text) in sources().into_iter().filter(|(path, _)| inside(path)) {
        seen += 1;
        let code = text.split("#[cfg(test)]").next().unwrap();
        for chip in CHIPS {
            assert!(!code.contains(&format!("abi::{chip}")), "{} names {chip}", path.display());
        }
        assert!(!code.contains("use abi::{"), "{}: a line for each module of abi", path.display());
    }
    assert!(seen > 80, "the room has moved");
}

/// A model provides an interface for the bench's node, or a part of the network without a host: never a
/// process with a loop of events, a launch and a report of its own.
#[test]
fn models_have_no_node_of_their_own() {
    let models = sources().into_iter().filter(|(path, _)| path.starts_with("crates/models"));
    for (path, text) in models {
        let node = text.lines().find(|line| line.contains("LogicalProcess for "));
        assert_eq!(node, None, "{}", path.display());
    }
}

/// Files of the command with keys of models' parameters, for features that only those have (RTL, a hash of
/// settings, sentences about one parameter). Remove a file that no longer has any; do not add one.
const NAME_KEYS: &[&str] = &[
    "bench/queues.rs",
    "diff/fuzz.rs",
    "explain.rs",
    "queues/figures.rs",
    "run/hardware.rs",
    "summary/account.rs",
    "summary/refusals.rs",
];

/// A key stands once in Rust, where the parameter is declared (`machine::parameters!`): whoever means it
/// names its field, so that the compiler knows a mistyped one.
#[test]
fn parameters_are_named_by_their_declarations() {
    let mut keys = BTreeSet::new();
    for path in files().iter().filter(|path| path.starts_with("machines")) {
        let machine: toml::Table = toml::from_str(&text_of(path)).unwrap();
        for (section, values) in machine.iter() {
            let values = values.as_table().into_iter().flatten();
            keys.extend(values.map(|(name, _)| format!("{section}.{name}")));
        }
    }
    // The one that chooses the others; and a counter that is called like a parameter.
    assert!(keys.len() > 250 && keys.remove("nic.model") && keys.remove("pcix.splits"));
    let tests = |path: &Path| path.iter().any(|part| part == "tests" || part == "tests.rs");
    let mut naming = BTreeSet::new();
    for (path, text) in sources().into_iter().filter(|(path, _)| !tests(path)) {
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        if code.split('"').any(|part| keys.contains(part)) {
            let own = path.strip_prefix("crates/app/cli/src").unwrap_or(&path);
            naming.insert(own.to_string_lossy().into_owned());
        }
    }
    let known: BTreeSet<String> = NAME_KEYS.iter().map(|file| (*file).to_owned()).collect();
    assert_eq!(naming, known);
}

/// Files of the command that name one model, for features that only it has (a debugger, a monitor, a trace
/// ring, a probe). Remove a file that no longer does; do not add one. Only models can name a part: [`ROOMS`].
const NAME_MODELS: &[&str] = &["bench/ladder.rs", "run.rs", "trace.rs"];

#[test]
fn few_files_of_the_command_name_a_model() {
    let room = Path::new("crates/app/cli/src");
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

/// Requests, communicators, types and collectives do not depend on the transport of their messages.
#[test]
fn mpi_names_portals_in_one_room() {
    let room = Path::new("crates/software/mpi/src/transport/portals");
    let outside =
        |path: &Path| path.starts_with("crates/software/mpi/src") && !path.starts_with(room);
    let mut seen = 0;
    for (path, text) in sources().into_iter().filter(|(path, _)| outside(path)) {
        seen += 1;
        let text = text.replace("transport::portals::", "");
        assert!(!text.contains("portals::"), "{} names Portals", path.display());
    }
    assert!(seen > 50, "the room has moved");
}

/// Crates without unit tests are not compiled for them; crates with some run them.
#[test]
fn unit_tests_are_compiled_where_there_are_some() {
    let sources = sources();
    for (name, _) in crates() {
        let room = folder(name);
        let manifest: toml::Table = toml::from_str(&text_of(&room.join("Cargo.toml"))).unwrap();
        let own = sources.iter().filter(|(file, _)| file.starts_with(room.join("src")));
        let some = own.into_iter().any(|(_, text)| text.contains("#[test]"));
        let bins = manifest.get("bin").and_then(toml::Value::as_array).into_iter().flatten();
        let mut targets = manifest.get("lib").into_iter().chain(bins);
        let off = targets.any(|target| target.get("test") == Some(&false.into()));
        assert_eq!(off, !some, "{name}: test = false stands where there are no unit tests");
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
    "sunstar",
];

#[test]
fn crates_without_unsafe_code_forbid_it() {
    let architecture = text_of(Path::new("ARCHITECTURE.md"));
    let (_, table) = architecture.split_once("## Unsafe code\n").unwrap();
    let table = table.split("\n## ").next().unwrap();
    let named = table.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    assert_eq!(named.collect::<Vec<_>>(), UNSAFE, "ARCHITECTURE.md");
    let all = files();
    let roots = all.iter().filter(|path| {
        let inside = path.starts_with("crates") && path.components().count() == 5;
        inside && (path.ends_with("src/lib.rs") || path.ends_with("src/main.rs"))
    });
    for root in roots {
        let name = root.components().nth(2).unwrap().as_os_str().to_str().unwrap();
        let forbids = text_of(root).contains("#![forbid(unsafe_code)]");
        assert_eq!(forbids, !UNSAFE.contains(&name), "{}", root.display());
    }
}

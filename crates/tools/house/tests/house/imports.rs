//! Circles of imports between the files of a crate: files that need one another can only be understood,
//! and changed, together.

use house::sources;
use std::collections::{BTreeMap, BTreeSet};

/// Crates with a circle, and the files that the largest of each may have. A number may only fall.
const CIRCLES: &[(&str, usize)] = &[
    ("des", 3),
    ("forth-nic", 3),
    ("host", 5),
    ("lanai", 8),
    ("mesh", 3),
    ("myrinet", 6),
    ("offload-nic", 4),
    ("pci", 4),
    ("ppc440", 35),
    ("rtl", 3),
    ("seastar-nic", 7),
    ("block", 2),
    ("mpi", 7),
    ("portals", 11),
    ("rank", 14),
    ("machine", 10),
    ("ppc440-debug", 4),
    ("spec", 3),
    ("model-myrinet", 4),
    ("model-rdma", 7),
    ("model-seastar", 7),
    ("abigen", 2),
    ("lanai-link", 2),
    ("sunstar", 2),
    ("cli", 14),
];

/// Path of a module within its crate: `["request", "table"]`.
type Module = Vec<String>;

/// The files of a crate, each as a module, and the text of each without its tests and comments.
fn modules(name: &str) -> BTreeMap<Module, String> {
    let folder = crate::rooms::folder(name).join("src");
    let inside = sources().into_iter().filter_map(|(path, text)| {
        let relative = path.strip_prefix(&folder).ok()?.with_extension("");
        let mut module: Module =
            relative.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        if module.last().is_some_and(|last| last == "mod" || last == "lib") {
            module.pop();
        }
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let code: Vec<&str> = code.lines().map(|line| line.split("//").next().unwrap()).collect();
        Some((module, code.join("\n")))
    });
    inside.collect()
}

/// The paths of a use tree: `a::{b, c::{d, e}}` has three.
fn paths(tree: &str) -> Vec<Module> {
    let Some((head, rest)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap();
        return vec![path.split("::").map(|part| part.trim().to_owned()).collect()];
    };
    let head: Module = head
        .split("::")
        .map(|part| part.trim().to_owned())
        .filter(|part| !part.is_empty())
        .collect();
    let (mut depth, mut item, mut items) = (0, String::new(), Vec::new());
    for letter in rest[..rest.rfind('}').unwrap()].chars() {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        match letter {
            ',' if depth == 0 => items.push(std::mem::take(&mut item)),
            _ => item.push(letter),
        }
    }
    items.push(item);
    let items = items.iter().filter(|item| !item.trim().is_empty());
    items.flat_map(|item| paths(item)).map(|tail| [head.clone(), tail].concat()).collect()
}

/// The `use` trees of a text, public ones or others, and paths from `crate` or `super` in its code.
fn trees(code: &str, public: bool) -> Vec<Module> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("use ") {
        let before = code[..at].rsplit('\n').next().unwrap().trim();
        let is_use = matches!(before, "" | "pub" | "pub(crate)" | "pub(super)");
        if is_use && before.starts_with("pub") == public {
            found.extend(paths(code[at + 4..].split(';').next().unwrap()));
        }
    }
    if !public {
        let word = |letter: char| !(letter.is_alphanumeric() || letter == '_' || letter == ':');
        let words = code.split(word).map(|path| path.split("::").map(str::to_owned).collect());
        found.extend(words.filter(|path: &Module| {
            path.len() > 1 && is_relative(&path[0]) && !path[path.len() - 1].is_empty()
        }));
    }
    found
}

fn is_relative(first: &str) -> bool {
    ["crate", "super", "self"].contains(&first)
}

/// A path from the crate's root, as module `from` means it; `None` if it leaves the crate.
fn absolute(from: &Module, path: &[String], all: &BTreeMap<Module, String>) -> Option<Module> {
    let mut base = match path[0].as_str() {
        "crate" => return Some(path[1..].to_vec()),
        "self" => return Some([from, &path[1..]].concat()),
        "super" => from.clone(),
        child => {
            let inner = [&from[..], &[child.to_owned()]].concat();
            return all.contains_key(&inner).then(|| [from, path].concat());
        }
    };
    let ups = path.iter().take_while(|part| *part == "super").count();
    base.truncate(base.len().checked_sub(ups)?);
    Some([base, path[ups..].to_vec()].concat())
}

/// The modules that each module imports from. A name that is exported again counts where it is defined.
fn imports(all: &BTreeMap<Module, String>) -> BTreeMap<&Module, BTreeSet<&Module>> {
    let mut exported: BTreeMap<(Module, String), Module> = BTreeMap::new();
    for (module, code) in all {
        for path in trees(code, true) {
            if let Some(target) = absolute(module, &path, all) {
                exported.insert((module.clone(), path.last().unwrap().clone()), target);
            }
        }
    }
    let resolve = |mut path: Module| {
        // Names are exported again a few times at most.
        for _ in 0..4 {
            let length = (0..=path.len()).rev().find(|&at| all.contains_key(&path[..at]))?;
            let next = path.get(length).map(|name| (path[..length].to_vec(), name.clone()));
            match next.and_then(|name| exported.get(&name)) {
                Some(target) => path = [target, &path[length + 1..]].concat(),
                None => return all.get_key_value(&path[..length]).map(|(module, _)| module),
            }
        }
        None
    };
    let of = |module: &Module, code: &str| {
        let targets = trees(code, false).into_iter().filter_map(|path| {
            let found = resolve(absolute(module, &path, all)?)?;
            // The root only names what the crate exports.
            (found != module && !found.is_empty()).then_some(found)
        });
        targets.collect()
    };
    all.iter().map(|(module, code)| (module, of(module, code))).collect()
}

/// Modules from which `from` needs something, at any distance.
fn reach<'a>(
    from: &'a Module,
    imports: &BTreeMap<&'a Module, BTreeSet<&'a Module>>,
) -> BTreeSet<&'a Module> {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(module) = next.pop() {
        next.extend(imports[module].iter().filter(|target| seen.insert(**target)));
    }
    seen
}

/// The largest set of files each of which needs all others.
fn largest_circle(name: &str) -> Vec<String> {
    let all = modules(name);
    let imports = imports(&all);
    let reached: BTreeMap<_, _> =
        all.keys().map(|module| (module, reach(module, &imports))).collect();
    let circle_of = |module: &Module| -> Vec<String> {
        let both = reached[module].iter().filter(|other| reached[**other].contains(module));
        both.map(|other| other.join("/")).collect()
    };
    all.keys().map(circle_of).max_by_key(Vec::len).unwrap_or_default()
}

#[test]
fn circles_of_imports_stay_small() {
    let known: BTreeMap<&str, usize> = CIRCLES.iter().copied().collect();
    let mut wrong = Vec::new();
    for (name, _) in crate::rooms::crates() {
        let circle = largest_circle(name);
        let (found, most) = (circle.len(), known.get(name).copied().unwrap_or(1));
        if found.max(1) != most {
            let files = circle.join(", ");
            wrong
                .push(format!("{name}: {found} files need one another, {most} are known: {files}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Files of the bench that need nothing of others: an observer knows no options of a run, a fault no model,
/// a node no bench.
const NEVER: &[(&str, &[&str])] = &[
    ("instruments", &["run", "bench", "models", "programs", "node"]),
    ("faults", &["run", "bench", "models", "programs", "node"]),
    ("node", &["run", "bench", "models"]),
    ("firmware", &["run", "bench", "models", "programs", "node"]),
    ("judge", &["run", "bench", "models", "programs", "node"]),
    ("placement", &["run", "bench", "models", "programs", "node"]),
    ("remains", &["run", "bench", "models", "programs", "node"]),
];

#[test]
fn rooms_of_the_bench_are_in_order() {
    let all = modules("machine");
    let imports = imports(&all);
    for (room, others) in NEVER {
        let inside = imports.iter().filter(|(module, _)| module.first().is_some_and(|m| m == room));
        let mut seen = 0;
        for (module, targets) in inside {
            seen += 1;
            let wrong = targets.iter().find(|target| others.contains(&&*target[0]));
            assert!(wrong.is_none(), "{} imports {}", module.join("/"), wrong.unwrap().join("/"));
        }
        assert!(seen > 0, "machine has no {room} any more");
    }
}

/// Rooms that reach a core by a view alone.
const VIEWERS: &[&str] = &["translate", "untranslated", "idle_loop"];

#[test]
fn translation_and_fast_forward_reach_a_core_by_their_views() {
    let modules = modules("ppc440");
    let is_viewer =
        |module: &Module| module.first().is_some_and(|name| VIEWERS.contains(&name.as_str()));
    let rooms: Vec<_> = modules.iter().filter(|(module, _)| is_viewer(module)).collect();
    assert!(rooms.len() > 8, "ppc440 has moved: {} files", rooms.len());
    let words = |code: &str| {
        code.split(|letter: char| !letter.is_alphanumeric()).any(|word| word == "Core")
    };
    for (module, code) in rooms {
        assert!(
            !words(code),
            "{} names Core; core::blocks and core::loops have views",
            module.join("/")
        );
    }
}

#[test]
fn imports_are_read() {
    let joined = |tree: &str| paths(tree).iter().map(|path| path.join("::")).collect::<Vec<_>>();
    assert_eq!(
        joined("crate::a::{b, c::{d, e as f}, self}"),
        ["crate::a::b", "crate::a::c::d", "crate::a::c::e", "crate::a::self"]
    );
    let code = "pub use table::Row;\nuse crate::{x, y};\nfn f() { super::z::g(); }\n";
    let found = |public| trees(code, public).iter().map(|path| path.join("::")).collect::<Vec<_>>();
    assert_eq!(found(true), ["table::Row"]);
    assert_eq!(found(false), ["crate::x", "crate::y", "super::z::g"]);
}

//! Names that may stand at a place of a command line.

use super::position::{Place, What};
use crate::args::mistake;
use crate::bench::STUDIES;
use crate::nic::diagnosis::STAGES;
use crate::{faults, machines, sweep};
use clap::Arg;
use machine::faults::OF_ALL;
use machine::parameters::quantity::ValueKind;
use machine::parameters::{Parameters, Row};
use models::MODELS;
use sunstar::root::Root;

/// A name and a description of it, which may be empty.
type Name = (String, String);

/// Kind of a value, by the name that its option's help has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// One of the words that its parser takes.
    Words,
    /// One of these words.
    Of(&'static [&'static str]),
    /// These, or a folder.
    OfOrFolder(&'static [&'static str]),
    Machine,
    Parameter,
    Axis,
    Fault,
    Bug,
    Study,
    /// `STUDY=PROGRAM`.
    StudyAndProgram,
    Stage,
    Function,
    Variable,
    Program,
    File,
    Folder,
    /// A number, a time, a text: nothing that has a name.
    Free,
}

/// Names of values in help texts, and what stands in their place.
const KINDS: [(&str, Kind); 54] = [
    ("NAME|FILE", Kind::Machine),
    ("KEY=VALUE", Kind::Parameter),
    ("KEY=VALUE,...", Kind::Parameter),
    ("NAME=VALUES", Kind::Axis),
    ("FAULT", Kind::Fault),
    ("KIND", Kind::Fault),
    ("BUG", Kind::Bug),
    ("STUDY", Kind::Study),
    ("STUDY=PROGRAM", Kind::StudyAndProgram),
    ("STAGE", Kind::Stage),
    ("FUNCTION", Kind::Function),
    ("NAME[=VALUE]", Kind::Variable),
    ("PROGRAM", Kind::Program),
    ("none|scale=FACTOR", Kind::Of(&["none", "scale="])),
    ("now|DATE", Kind::Of(&["now"])),
    ("NODE|all", Kind::Of(&["all"])),
    ("own|mpich|intel|FOLDER", Kind::OfOrFolder(&["own", "mpich", "intel"])),
    ("on|check|exact", Kind::Words),
    ("PART", Kind::Words),
    ("HANDLER", Kind::Words),
    ("SHELL", Kind::Words),
    ("FILE", Kind::File),
    ("FILE.csv", Kind::File),
    ("FILE.html", Kind::File),
    ("FILE.svg", Kind::File),
    ("FILE.toml", Kind::File),
    ("FILE[@NODE:NUMBER]", Kind::File),
    ("A.json", Kind::File),
    ("B.json", Kind::File),
    ("OBJECTS", Kind::File),
    ("ARGUMENTS", Kind::File),
    ("PATH", Kind::File),
    ("FOLDER", Kind::Folder),
    ("BYTES", Kind::Free),
    ("COMMAND", Kind::Free),
    ("CYCLES", Kind::Free),
    ("LINE", Kind::Free),
    ("MB", Kind::Free),
    ("N", Kind::Free),
    ("NAME", Kind::Free),
    ("NAME=REGEX", Kind::Free),
    ("NODE", Kind::Free),
    ("NODE:NUMBER", Kind::Free),
    ("NODE[:FILE]", Kind::Free),
    ("NODE[:PORT]", Kind::Free),
    ("PERCENT", Kind::Free),
    ("RANK", Kind::Free),
    ("SEED", Kind::Free),
    ("TIME", Kind::Free),
    ("WORDS", Kind::Free),
    ("[NAME=]KEY", Kind::Free),
    ("[NODE:]EVENT", Kind::Free),
    ("JOBS", Kind::Free),
    ("RANKS", Kind::Free),
];

fn kind_of(arg: &Arg) -> Option<Kind> {
    let name = match arg.get_value_names() {
        Some([name, ..]) => name.to_string(),
        _ => arg.get_id().as_str().to_uppercase(),
    };
    KINDS.iter().find(|(of, _)| *of == name).map(|(_, kind)| *kind)
}

/// Lines for a shell: name and description with a tab between, or `:files TEXT` or `:folders TEXT` for what
/// the shell itself knows better.
pub fn lines(place: &Place<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    let names = match place.what {
        What::Nothing => Vec::new(),
        What::OfProgram => {
            lines.push(format!(":files {}", place.text));
            Vec::new()
        }
        What::Command => {
            let of = |one: &clap::Command| {
                (one.get_name().into(), one.get_about().map_or(String::new(), ToString::to_string))
            };
            let all = place.verb.get_subcommands().filter(|one| !one.is_hide_set());
            all.map(of).collect()
        }
        What::Option => options(place),
        What::Value(arg) => {
            let kind = kind_of(arg).unwrap_or(Kind::Free);
            lines.extend(files_of(kind, place));
            values(kind, arg, place)
        }
    };
    let fits = names.iter().filter(|(name, _)| name.starts_with(&place.text));
    lines.extend(fits.map(|(name, about)| {
        let about = about.lines().next().unwrap_or_default();
        format!("{}{name}\t{about}", place.fixed)
    }));
    lines
}

/// Files are completed by the shell.
fn files_of(kind: Kind, place: &Place<'_>) -> Option<String> {
    let text = &place.text;
    match kind {
        Kind::File | Kind::Machine | Kind::Program => Some(format!(":files {text}")),
        Kind::StudyAndProgram => {
            text.split_once('=').map(|(_, program)| format!(":files {program}"))
        }
        Kind::Folder | Kind::OfOrFolder(_) => Some(format!(":folders {text}")),
        _ => None,
    }
}

fn options(place: &Place<'_>) -> Vec<Name> {
    let mut all = Vec::new();
    for arg in place.verb.get_arguments().filter(|arg| !arg.is_hide_set()) {
        let about = arg.get_help().map_or(String::new(), ToString::to_string);
        let aliases = arg.get_visible_aliases().unwrap_or_default();
        let longs = arg.get_long().into_iter().chain(aliases).map(|name| format!("--{name}"));
        let short = arg.get_short().map(|letter| format!("-{letter}"));
        all.extend(short.into_iter().chain(longs).map(|name| (name, about.clone())));
    }
    all
}

fn values(kind: Kind, arg: &Arg, place: &Place<'_>) -> Vec<Name> {
    let bare = |name: &str| (name.to_owned(), String::new());
    match kind {
        Kind::Words => {
            let of = |word: clap::builder::PossibleValue| {
                let about = word.get_help().map_or(String::new(), ToString::to_string);
                (word.get_name().to_owned(), about)
            };
            arg.get_possible_values().into_iter().map(of).collect()
        }
        Kind::Of(words) | Kind::OfOrFolder(words) => words.iter().map(|word| bare(word)).collect(),
        Kind::Machine => all_machines(),
        Kind::Parameter => parameters(place),
        Kind::Axis => {
            let others = sweep::NAMES.map(|name| bare(&format!("{name}=")));
            others.into_iter().chain(parameters(place)).collect()
        }
        Kind::Fault => all_faults(place),
        Kind::Bug => faults::bugs().map(|bug| (bug.name.to_owned(), bug.what.to_owned())).collect(),
        Kind::Study => {
            STUDIES.iter().map(|study| (study.name.into(), study.title.into())).collect()
        }
        Kind::StudyAndProgram => {
            STUDIES.iter().map(|study| (format!("{}=", study.name), study.title.into())).collect()
        }
        Kind::Stage => STAGES.iter().map(|stage| stage.name).chain(["all"]).map(bare).collect(),
        Kind::Function => {
            abi::mpi::Function::all().iter().map(|function| bare(function.name())).collect()
        }
        Kind::Variable => {
            std::env::vars_os().map(|(name, _)| bare(&name.to_string_lossy())).collect()
        }
        Kind::Program if place.verb.get_name() != "guest" => {
            let prefix = rank::BUILTIN_PREFIX;
            let names = machine::Program::builtin_names(&MODELS);
            names.map(|name| bare(&format!("{prefix}{name}"))).collect()
        }
        Kind::Program | Kind::File | Kind::Folder | Kind::Free => Vec::new(),
    }
}

fn all_machines() -> Vec<Name> {
    let Ok(root) = Root::find() else { return Vec::new() };
    let about = |name: &str| machines::load(&root, name).map(|found| found.doc().to_owned());
    let names = machines::names(&root).unwrap_or_default();
    names.into_iter().map(|name| (name.clone(), about(&name).unwrap_or_default())).collect()
}

/// The machine that the command line has, or that it has if none is named.
fn chosen(place: &Place<'_>) -> Option<Parameters> {
    let of_option = place.verb.get_arguments().find(|arg| arg.get_long() == Some("machine"))?;
    let default = || Some(of_option.get_default_values().first()?.to_string_lossy().into_owned());
    let name = place.machine.clone().or_else(default)?;
    machines::load(&Root::find().ok()?, &name).ok()
}

/// Parameters of the machine, or values of the one that stands there; of all machines if it is not known.
fn parameters(place: &Place<'_>) -> Vec<Name> {
    if let Some((key, _)) = place.text.split_once('=') {
        return MODELS.row(key).map_or(Vec::new(), values_of);
    }
    match chosen(place) {
        Some(machine) => machine
            .iter()
            .map(|one| (format!("{}=", one.key), format!("{}; {}", one.text, one.doc)))
            .collect(),
        None => MODELS.all().map(|row| (format!("{}=", row.key), row.to_string())).collect(),
    }
}

fn values_of(row: &'static Row) -> Vec<Name> {
    let words: &[&str] = match row.kind {
        ValueKind::Choice(words) => words,
        ValueKind::Switch => &["on", "off"],
        _ => &[],
    };
    words.iter().map(|word| (format!("{}={word}", row.key), String::new())).collect()
}

fn all_faults(place: &Place<'_>) -> Vec<Name> {
    let model = chosen(place).map(|machine| machine.model().name);
    let own = MODELS.iter().filter(|one| model.is_none_or(|model| model == one.name));
    let kinds = OF_ALL.iter().chain(own.flat_map(|model| model.faults));
    let behind = if mistake::options(place.verb).contains(&"--fault".into()) { "=" } else { "" };
    let mut names: Vec<Name> =
        kinds.map(|kind| (format!("{}{behind}", kind.name), kind.what.to_owned())).collect();
    names.sort();
    names.dedup_by(|one, before| one.0 == before.0);
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args;
    use std::collections::BTreeSet;

    /// Calls `look` for each argument of each command that takes a value.
    fn each_value(command: &clap::Command, look: &mut impl FnMut(&clap::Command, &Arg)) {
        let takes = |arg: &&Arg| arg.get_action().takes_values();
        command.get_arguments().filter(takes).for_each(|arg| look(command, arg));
        command.get_subcommands().for_each(|one| each_value(one, look));
    }

    /// A new option must say here what its value is, or it would complete nothing.
    #[test]
    fn each_value_of_each_option_is_of_a_kind() {
        let mut used = BTreeSet::new();
        let mut all = args::command();
        all.build();
        each_value(&all, &mut |command, arg| {
            let (verb, id) = (command.get_name(), arg.get_id());
            // Of clap's own `help`.
            if verb == "help" || command.get_about().is_none() {
                return;
            }
            let kind = kind_of(arg);
            assert!(kind.is_some(), "{verb}: the value of {id} is of no kind: {arg:?}");
            let words = !arg.get_possible_values().is_empty();
            assert_eq!(words, kind == Some(Kind::Words), "{verb}: {id}");
            used.insert(arg.get_value_names().map(|names| names[0].to_string()));
        });
        assert!(used.len() > 30, "{used:?}");
    }
}

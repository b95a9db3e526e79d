//! Options of other commands that start MPI programs (`mpirun` and `mpiexec` of MPICH and Open MPI, `srun`):
//! the same by our names, or nothing here, which is told.

use clap::{Arg, Command};
use std::ffi::OsString;

/// Meaning of an option of another launcher.
enum Meaning {
    /// Ours of that name, with the same value.
    Valued(&'static str),
    /// The same without a value.
    Flag(&'static str),
    /// Ours of that name; NAME and VALUE are two words.
    Pair(&'static str),
    /// Nothing; so many values follow.
    Nothing(usize),
}

use Meaning::{Flag, Nothing, Pair, Valued};

/// By their names without dashes.
const HABITS: [(&str, Meaning); 69] = [
    ("np", Valued("-n")),
    ("c", Valued("-n")),
    ("ntasks", Valued("-n")),
    ("ppn", Valued("--ppn")),
    ("perhost", Valued("--ppn")),
    ("npernode", Valued("--ppn")),
    ("N", Valued("--ppn")),
    ("ntasks-per-node", Valued("--ppn")),
    ("env", Pair("--env")),
    ("genv", Pair("--genv")),
    ("wdir", Valued("--wdir")),
    ("wd", Valued("--wdir")),
    ("chdir", Valued("--wdir")),
    ("initial-errhandler", Valued("--initial-errhandler")),
    ("prepend-rank", Flag("--label")),
    ("tag-output", Flag("--label")),
    ("outfile-pattern", Valued("--output")),
    ("output-filename", Valued("--output")),
    // Where ranks run: each has a core of its own, nodes are filled one after the other.
    ("f", Nothing(1)),
    ("hostfile", Nothing(1)),
    ("machinefile", Nothing(1)),
    ("host", Nothing(1)),
    ("hosts", Nothing(1)),
    ("H", Nothing(1)),
    ("bind-to", Nothing(1)),
    ("bind-to-core", Nothing(0)),
    ("bind-to-socket", Nothing(0)),
    ("binding", Nothing(1)),
    ("map-by", Nothing(1)),
    ("rank-by", Nothing(1)),
    ("order-nodes", Nothing(1)),
    ("bynode", Nothing(0)),
    ("byslot", Nothing(0)),
    ("bycore", Nothing(0)),
    ("cpu-bind", Nothing(1)),
    ("cpus-per-task", Nothing(1)),
    ("cpus-per-proc", Nothing(1)),
    ("cpus-per-rank", Nothing(1)),
    ("distribution", Nothing(1)),
    ("oversubscribe", Nothing(0)),
    ("nooversubscribe", Nothing(0)),
    ("nolocal", Nothing(0)),
    ("use-hwthread-cpus", Nothing(0)),
    ("exclusive", Nothing(0)),
    ("overcommit", Nothing(0)),
    ("usize", Nothing(1)),
    // How they are started there.
    ("mca", Nothing(2)),
    ("gmca", Nothing(2)),
    ("mpi", Nothing(1)),
    ("launcher", Nothing(1)),
    ("launcher-exec", Nothing(1)),
    ("rmk", Nothing(1)),
    ("iface", Nothing(1)),
    ("prefix", Nothing(1)),
    ("partition", Nothing(1)),
    ("job-name", Nothing(1)),
    ("allow-run-as-root", Nothing(0)),
    ("genvall", Nothing(0)),
    ("genvlist", Nothing(1)),
    ("envall", Nothing(0)),
    ("envlist", Nothing(1)),
    // What is told of it.
    ("report-bindings", Nothing(0)),
    ("display-map", Nothing(0)),
    ("display-allocation", Nothing(0)),
    ("print-rank-map", Nothing(0)),
    ("print-all-exitcodes", Nothing(0)),
    ("verbose", Nothing(0)),
    ("v", Nothing(0)),
    ("stdin", Nothing(1)),
];

/// An option of others as clap takes it.
pub struct Habit {
    /// Words in its place; none if it is nothing here.
    pub words: Vec<OsString>,
    /// Ignored words, as they were written.
    pub ignored: Option<String>,
}

/// An option of others that `verb` does not have itself; `None` if `word` is no such. Takes its values, if
/// they are words of their own, out of `rest`.
pub fn of(
    verb: &Command,
    word: &OsString,
    rest: &mut impl Iterator<Item = OsString>,
) -> Option<Habit> {
    let text = word.to_str()?;
    let (name, value) = text.split_once('=').map_or((text, None), |(n, v)| (n, Some(v.to_owned())));
    let long = name.strip_prefix("--").filter(|name| name.len() > 1);
    let name = long.or_else(|| name.strip_prefix('-'))?;
    let is_own = |arg: &Arg| {
        let aliases = arg.get_all_aliases().unwrap_or_default();
        arg.get_long() == Some(name) || aliases.contains(&name)
    };
    if long.is_some() && verb.get_arguments().any(is_own) {
        return None;
    }
    let (_, meaning) = HABITS.iter().find(|(other, _)| *other == name)?;
    let mut next = || value.clone().map(OsString::from).or_else(|| rest.next());
    let mut words = Vec::new();
    let mut ignored = None;
    match meaning {
        Valued(ours) => {
            words.push(ours.into());
            words.extend(next());
        }
        Flag(ours) => words.push(ours.into()),
        Pair(ours) => {
            let mut pair = next().unwrap_or_default();
            // As Open MPI has it, NAME=VALUE is one word.
            if !pair.as_encoded_bytes().contains(&b'=') {
                pair.push("=");
                pair.push(rest.next().unwrap_or_default());
            }
            words.extend([ours.into(), pair]);
        }
        Nothing(values) => {
            let mut all = text.to_owned();
            for _ in usize::from(value.is_some())..*values {
                let value = rest.next().unwrap_or_default();
                all.push_str(&format!(" {}", value.to_string_lossy()));
            }
            ignored = Some(all);
        }
    }
    Some(Habit { words, ignored })
}

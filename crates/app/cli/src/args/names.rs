//! Names that makefiles and build systems look for: links to the command by which it is one of its verbs.

use std::ffi::OsString;
use std::path::Path;

/// Name and verb.
pub const NAMES: [(&str, &str); 8] = [
    ("mpicc", "cc"),
    ("mpicxx", "cxx"),
    ("mpic++", "cxx"),
    ("mpifort", "fc"),
    ("mpif90", "fc"),
    ("mpif77", "fc"),
    ("mpirun", "run"),
    ("mpiexec", "run"),
];

/// The words of a command line with the verb that the name stands for.
pub fn with_verb(words: impl IntoIterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    let mut words = words.into_iter();
    let name = words.next();
    let file = name.as_deref().and_then(|name| Path::new(name).file_name());
    let verb = NAMES.iter().find(|(name, _)| file.is_some_and(|file| file == *name));
    let verb = verb.map(|(_, verb)| OsString::from(verb));
    name.into_iter().chain(verb).chain(words)
}

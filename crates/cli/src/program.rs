//! The program that is to run: where it is, and whether it has to be compiled first.

use crate::args::Part;
use crate::compiler::{self, Language};
use crate::mistake::Mistake;
use crate::root::Root;
use machine::{Executable, Program};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What the user named, with its arguments, for `ranks` ranks: sources are compiled into `folder` first.
pub fn program(
    root: &Root,
    named: &Path,
    args: &[OsString],
    ranks: u32,
    folder: &Path,
) -> Result<Program, Mistake> {
    match named.to_str().and_then(|name| name.strip_prefix(rank::BUILTIN_PREFIX)) {
        Some(name) => {
            rank::Builtin::parse(name, args, ranks).map(Program::Builtin).map_err(Mistake)
        }
        None => {
            let path = executable(root, named, folder)?;
            let args = args.to_vec();
            Ok(Program::Executables(vec![Executable { ranks, path, args }]))
        }
    }
}

/// What all ranks of a run are to run.
pub fn programs(root: &Root, parts: &[Part], folder: &Path) -> Result<Program, Mistake> {
    let one = |part: &Part, folder: &Path| {
        let (named, args) = (Path::new(&part.command[0]), &part.command[1..]);
        program(root, named, args, part.ranks, folder)
    };
    if let [part] = parts {
        return one(part, folder);
    }
    let mut all = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        // Two of them may be sources of the same name.
        let folder = folder.join(number.to_string());
        std::fs::create_dir(&folder).map_err(|why| Mistake::with_file("make", &folder, why))?;
        match one(part, &folder)? {
            Program::Executables(executables) => all.extend(executables),
            Program::Builtin(_) => {
                let name = part.command[0].to_string_lossy();
                return Err(Mistake(format!("{name} is no program beside which others can run")));
            }
        }
    }
    Ok(Program::Executables(all))
}

/// The file that the user named; `None` for a workload without one.
pub fn file(named: &Path) -> Result<Option<PathBuf>, Mistake> {
    let builtin = named.as_os_str().as_encoded_bytes().starts_with(rank::BUILTIN_PREFIX.as_bytes());
    (!builtin).then(|| located(named)).transpose()
}

/// The executable for what the user named.
fn executable(root: &Root, named: &Path, folder: &Path) -> Result<PathBuf, Mistake> {
    let path = located(named)?;
    match Language::of(&path) {
        Some(language) => compiler::compile(root, language, &path, folder),
        None => {
            rank::inspect(&path).map_err(|why| Mistake(why.to_string()))?;
            Ok(path)
        }
    }
}

/// The file itself: a name without a slash is looked for here, then on PATH, as `mpirun` does.
fn located(named: &Path) -> Result<PathBuf, Mistake> {
    let mut candidates = vec![named.to_owned()];
    if named.components().count() == 1 {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        candidates.extend(std::env::split_paths(&folders).map(|folder| folder.join(named)));
    }
    let Some(path) = candidates.iter().find(|path| path.is_file()) else {
        return Err(match named.is_dir() {
            true => Mistake(format!("{} is a folder, not a program", named.display())),
            false => Mistake(format!("there is no program {}", named.display())),
        });
    };
    std::path::absolute(path).map_err(|why| Mistake::with_file("find", path, why))
}

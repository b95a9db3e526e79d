//! The program that is to run: where it is, and whether it has to be compiled first.

use crate::compiler::{self, Language};
use crate::mistake::Mistake;
use crate::root::Root;
use machine::Program;
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
            Ok(Program::Executable { path, args: args.to_vec() })
        }
    }
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

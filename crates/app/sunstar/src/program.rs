//! The program to run: its file, and its compilation if it is source.

use crate::compiler::{self, Interface, Language, Target};
use crate::guest;
use crate::mpi::{self, Choice};
use crate::root::Root;
use crate::tools::PYTHON;
use crate::usage_error::UsageError;
use machine::console;
use machine::models::Model;
use machine::programs::guests::{Guests, Input};
use machine::{Executable, Program};
use models::MODELS;
use rank::{Launcher, MpiLibrary, ProgramKind, Surroundings};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One of the programs of a run, as the user named it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// Ranks that run it: those behind the ranks of the parts before it.
    pub ranks: u32,
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// The MPI that it shall have; `None` for its own.
    pub mpi: Option<Choice>,
}

/// Program that the user named, for all its ranks: sources are compiled into `folder` first.
pub fn program(
    root: &Root,
    part: &Named,
    mut surroundings: Surroundings,
    folder: &Path,
) -> Result<Program, UsageError> {
    let (named, args, ranks) = (Path::new(&part.command[0]), &part.command[1..], part.ranks);
    match named.to_str().and_then(|name| name.strip_prefix(rank::BUILTIN_PREFIX)) {
        Some(name) => {
            keeps_to_own(part, "a workload without a process has Sunstar's MPI")?;
            Ok(Program::builtin(&MODELS, name, args, ranks)?)
        }
        None => {
            let (path, before) = executable(root, named, part.mpi.as_ref(), folder)?;
            let args: Vec<_> = before.into_iter().chain(args.iter().cloned()).collect();
            surroundings.mpi = match &part.mpi {
                Some(choice) => mpi::library(choice)?,
                None => MpiLibrary::of(&path, &args, &root.library())?,
            };
            if matches!(surroundings.mpi, MpiLibrary::Foreign(_)) {
                surroundings.launcher = Launcher::Pmi1;
            }
            let surroundings = Arc::new(surroundings);
            Ok(Program::Executables(vec![Executable { ranks, path, args, surroundings }]))
        }
    }
}

/// Refuses another implementation's MPI for what cannot have it.
fn keeps_to_own(part: &Named, why: &str) -> Result<(), UsageError> {
    let Some(choice) = &part.mpi else { return Ok(()) };
    match choice.installed()? {
        Some(other) => {
            let library = other.library.library.display();
            Err(UsageError::sentence(format!("{why}, and not that of --mpi, {library}")))
        }
        None => Ok(()),
    }
}

/// Program of all ranks of a run: each part with its surroundings.
pub fn programs(
    root: &Root,
    parts: &[Named],
    surroundings: Vec<Surroundings>,
    folder: &Path,
) -> Result<Program, UsageError> {
    let mut both = parts.iter().zip(surroundings);
    if let [_] = parts {
        let (part, around) = both.next().expect("each part has surroundings");
        return program(root, part, around, folder);
    }
    let mut all = Vec::new();
    for (number, (part, around)) in both.enumerate() {
        // Two of them may be sources of the same name.
        let folder = folder.join(number.to_string());
        std::fs::create_dir(&folder).map_err(|why| UsageError::with_file("make", &folder, why))?;
        match program(root, part, around, &folder)? {
            Program::Executables(executables) => all.extend(executables),
            Program::Builtin(_) | Program::Native(_) | Program::Guests(_) => {
                let name = part.command[0].to_string_lossy();
                return Err(UsageError::sentence(format!(
                    "{name} is no program beside which others can run"
                )));
            }
        }
    }
    Ok(Program::Executables(all))
}

/// Program of all ranks of a run in guests, one of which has this standard input.
pub fn guests(
    root: &Root,
    parts: &[Named],
    files: Vec<PathBuf>,
    surroundings: Vec<Surroundings>,
    input: Option<(u32, Input)>,
) -> Result<Program, UsageError> {
    let one = |((part, path), around): ((&Named, PathBuf), Surroundings)| Executable {
        ranks: part.ranks,
        path,
        args: part.command[1..].to_vec(),
        surroundings: Arc::new(around),
    };
    let all = parts.iter().zip(files).zip(surroundings);
    let executables = all.map(one).collect();
    Ok(Program::Guests(Guests { kernel: guest::kernel(root)?, executables, input }))
}

/// Files for what the user named, if all of it can run in guests: sources are compiled into `folder`. None if
/// something is source that calls what guests of this model have no library for, or is a workload without a
/// file.
pub fn for_guests(
    root: &Root,
    parts: &[Named],
    model: &Model,
    folder: &Path,
) -> Result<Option<Vec<PathBuf>>, UsageError> {
    let mut files = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        let named = Path::new(&part.command[0]);
        if is_builtin(named.as_os_str()) {
            return Ok(None);
        }
        keeps_to_own(part, "a program in a guest has the guest's MPI")?;
        let Some(language) = Language::of(named) else {
            files.push(named.to_owned());
            continue;
        };
        let source = located(named)?;
        let folder = folder.join(format!("guest-{number}"));
        std::fs::create_dir(&folder).map_err(|why| UsageError::with_file("make", &folder, why))?;
        files.push(match compiler::interface(language, &source) {
            Interface::Node => {
                let mpi = model.guest_mpi;
                compiler::compile_for_guests(root, language, &source, &folder, mpi)?
            }
            Interface::Mpi if model.guest_mpi.is_some() => {
                let target = Target { searched: Path::new(::guest::LIBRARIES), mpi: None };
                compiler::compile(root, language, &source, &folder, target)?
            }
            _ => return Ok(None),
        });
    }
    Ok(Some(files))
}

fn is_builtin(named: &OsStr) -> bool {
    named.as_encoded_bytes().starts_with(rank::BUILTIN_PREFIX.as_bytes())
}

/// The file that the user named; `None` for a workload without one.
pub fn file(named: &Path) -> Result<Option<PathBuf>, UsageError> {
    (!is_builtin(named.as_os_str())).then(|| located(named)).transpose()
}

/// Extension of programs that run by an interpreter, [`PYTHON`].
const ENDING: &str = "py";

/// Executable for the program that the user named, and arguments before the user's.
fn executable(
    root: &Root,
    named: &Path,
    mpi: Option<&Choice>,
    folder: &Path,
) -> Result<(PathBuf, Option<OsString>), UsageError> {
    let path = located(named)?;
    if let Some(language) = Language::of(&path) {
        let installed = mpi.map(Choice::installed).transpose()?.flatten();
        let shipped = compiler::shipped(root, language, &path).filter(|_| installed.is_none());
        let target = Target { searched: &root.library(), mpi: installed.as_ref() };
        let compile = || compiler::compile(root, language, &path, folder, target);
        let made = shipped.map_or_else(compile, Ok);
        return Ok((made?, None));
    }
    let inspected = rank::inspect(&path);
    if inspected.is_err() && path.extension().is_some_and(|own| own == ENDING) {
        let python = PYTHON.found().ok_or_else(|| UsageError::sentence(PYTHON.missing()))?;
        return Ok((python, Some(path.into())));
    }
    let kind = inspected?;
    if kind == ProgramKind::Foreign && mpi == Some(&Choice::Own) {
        return Err(UsageError::sentence(format!(
            "{} needs another implementation's library, which has another ABI than --mpi own: \
             build it with `sunstar cc`",
            path.display()
        )));
    }
    if rank::is_static(&path) {
        console::say(&format!(
            "{}: linked statically, so its clocks, time-stamp counter and random numbers are this \
             computer's; what it starts has the run's",
            path.display()
        ));
    }
    Ok((path, None))
}

/// The file itself: a name without a slash is looked for here, then on PATH, as `mpirun` does.
fn located(named: &Path) -> Result<PathBuf, UsageError> {
    let mut candidates = vec![named.to_owned()];
    if named.components().count() == 1 {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        candidates.extend(std::env::split_paths(&folders).map(|folder| folder.join(named)));
    }
    let Some(path) = candidates.iter().find(|path| path.is_file()) else {
        return Err(match named.is_dir() {
            true => UsageError::sentence(format!("{} is a folder, not a program", named.display())),
            false => UsageError::sentence(format!("there is no program {}", named.display())),
        });
    };
    std::path::absolute(path).map_err(|why| UsageError::with_file("find", path, why))
}

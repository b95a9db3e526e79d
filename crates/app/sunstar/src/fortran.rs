//! The modules `mpi` and `mpi_f08`, compiled by the compiler that will use them: a compiler does not read
//! modules of another one, or of another version of itself.

use crate::compiler::{cannot_start, joined, Language};
use crate::root::Root;
use crate::usage_error::UsageError;
use files::Cache;
use std::ffi::{OsStr, OsString};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Sources of the modules, in include/.
const MODULES: [&str; 2] = ["mpi", "mpi_f08"];
/// Option for old programs that call one procedure with data of several types (gfortran 10 and later).
const MISMATCH: &str = "-fallow-argument-mismatch";
/// File in a folder of modules if its compiler knows that option.
const KNOWS_MISMATCH: &str = "allows-mismatch";
/// Options that make INTEGER larger than the ABI's.
const WIDE_INTEGERS: [&str; 2] = ["-fdefault-integer-8", "-i8"];

/// Compiled modules.
pub struct Modules {
    folder: PathBuf,
}

impl Modules {
    /// Finds the modules of this compiler, or compiles them.
    pub fn find(root: &Root, compiler: &OsStr) -> Result<Modules, UsageError> {
        let sources = MODULES.map(|name| root.include().join(name).with_extension("f90"));
        let (cache, key) = (cache()?, key(compiler, &sources)?);
        let folder = cache.find(&key).map_or_else(|| make(compiler, &sources, &cache, &key), Ok)?;
        Ok(Modules { folder })
    }

    /// Options before the program's own.
    pub fn options(&self) -> Vec<OsString> {
        let mut options = vec![joined("-I", &self.folder)];
        if self.folder.join(KNOWS_MISMATCH).exists() {
            options.push(MISMATCH.into());
        }
        options
    }

    /// Options of the linker behind them.
    pub fn libraries(&self) -> Vec<OsString> {
        let folder = joined("-L", &self.folder);
        vec![folder, "-lmpi_modules".into(), "-lmpi_fortran".into()]
    }
}

/// Refuses options that the library does not support.
pub fn check(arguments: &[OsString]) -> Result<(), UsageError> {
    let wide = arguments.iter().find(|word| WIDE_INTEGERS.iter().any(|wide| *word == wide));
    match wide {
        Some(word) => Err(UsageError::sentence(format!(
            "INTEGER has 4 bytes in this MPI; {} would make it 8",
            word.to_string_lossy()
        ))),
        None => Ok(()),
    }
}

/// Compiled modules of earlier calls: they become part of programs.
fn cache() -> Result<Cache, UsageError> {
    let folder = crate::cache::folder().filter(|folder| std::fs::create_dir_all(folder).is_ok());
    // SAFETY: the call takes nothing and touches no memory.
    let user = unsafe { libc::geteuid() };
    let apart = || std::env::temp_dir().join(format!("sunstar-{user}"));
    Ok(Cache::open(&folder.unwrap_or_else(apart).join("fortran"))?)
}

/// Key that changes with the compiler and with the modules.
fn key(compiler: &OsStr, sources: &[PathBuf]) -> Result<String, UsageError> {
    let version = Command::new(compiler).arg("--version").output();
    let version = version.map_err(|why| cannot_start(Language::Fortran, compiler, &why))?;
    let mut hasher = DefaultHasher::new();
    (compiler, version.stdout).hash(&mut hasher);
    for source in sources {
        let text =
            std::fs::read(source).map_err(|why| UsageError::with_file("read", source, why))?;
        text.hash(&mut hasher);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

/// Compiles the modules in a folder of their own, which then appears complete, even if other commands do the
/// same.
fn make(
    compiler: &OsStr,
    sources: &[PathBuf],
    cache: &Cache,
    key: &str,
) -> Result<PathBuf, UsageError> {
    let parent = cache.folder();
    let new = tempfile::Builder::new()
        .prefix("new-")
        .tempdir_in(parent)
        .map_err(|why| UsageError::with_file("make a folder in", parent, why))?;
    let compiles = |option: Option<&str>, quiet: bool| {
        let mut command = Command::new(compiler);
        command.current_dir(new.path()).args(["-O2", "-c"]).args(option).args(sources);
        if quiet {
            command.stderr(Stdio::null());
        }
        command.status().is_ok_and(|status| status.success())
    };
    if compiles(Some(MISMATCH), true) {
        let mark = new.path().join(KNOWS_MISMATCH);
        std::fs::write(&mark, "").map_err(|why| UsageError::with_file("write", &mark, why))?;
    } else if !compiles(None, false) {
        let name = compiler.to_string_lossy();
        return Err(UsageError::sentence(format!(
            "{name} does not compile the modules of MPI; the messages above are its own"
        )));
    }
    let objects = MODULES.map(|name| format!("{name}.o"));
    let mut archiver = Command::new("ar");
    archiver.current_dir(new.path()).args(["rcs", "libmpi_modules.a"]).args(objects);
    if !archiver.status().is_ok_and(|status| status.success()) {
        return Err(UsageError::sentence("cannot make a library of the modules of MPI with ar"));
    }
    let made = new.keep();
    cache.keep(key, &made).map_err(|why| UsageError::with_file("make", &parent.join(key), why))
}

//! Compiling programs against Sunstar's mpi.h and portals3.h, libmpi_abi and libportals.

use crate::fortran::{self, Modules};
use crate::mpi::Installed;
use crate::root::Root;
use crate::tools::{self, Tool};
use crate::usage_error::UsageError;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A language whose sources are programs, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C, by gcc or $SUNSTAR_CC.
    C,
    /// C++, by g++ or $SUNSTAR_CXX.
    Cxx,
    /// Fortran, by gfortran or $SUNSTAR_FC.
    Fortran,
}

/// Extensions of Fortran: fixed and free form, the large ones for the preprocessor.
const FORTRAN: [&str; 16] = [
    "f", "for", "ftn", "f77", "f90", "f95", "f03", "f08", "F", "FOR", "FTN", "F77", "F90", "F95",
    "F03", "F08",
];

impl std::fmt::Display for Language {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Language::C => "C",
            Language::Cxx => "C++",
            Language::Fortran => "Fortran",
        })
    }
}

impl Language {
    /// The language of a source file by its extension; none if it is not a source.
    pub fn of(path: &Path) -> Option<Language> {
        match path.extension()?.to_str()? {
            "c" => Some(Language::C),
            "cc" | "cpp" | "cxx" | "c++" | "C" => Some(Language::Cxx),
            other if FORTRAN.contains(&other) => Some(Language::Fortran),
            _ => None,
        }
    }

    /// Name of its compiler.
    pub fn compiler(self) -> OsString {
        self.own_compiler().unwrap_or_else(|| self.tool().name.into())
    }

    /// The compiler that the user wants in place of ours.
    fn own_compiler(self) -> Option<OsString> {
        std::env::var_os(self.variable())
    }

    /// Variable that names it.
    fn variable(self) -> &'static str {
        match self {
            Language::C => "SUNSTAR_CC",
            Language::Cxx => "SUNSTAR_CXX",
            Language::Fortran => "SUNSTAR_FC",
        }
    }

    /// Our compiler.
    fn tool(self) -> &'static Tool {
        match self {
            Language::C => &tools::GCC,
            Language::Cxx => &tools::GXX,
            Language::Fortran => &tools::GFORTRAN,
        }
    }
}

/// Libraries for which a program is compiled.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// Folder in which the program looks for Sunstar's.
    pub searched: &'a Path,
    /// Another implementation's MPI in place of Sunstar's.
    pub mpi: Option<&'a Installed>,
}

/// Arguments before and behind the user's: `-I...`, and `-L... -lmpi_abi` with libportals for programs that
/// use it.
pub fn flags(
    root: &Root,
    language: Language,
    compiler: &OsStr,
    target: Target<'_>,
) -> Result<[Vec<OsString>; 2], UsageError> {
    let mut before = vec![joined("-I", &root.include())];
    let mut behind = vec![joined("-L", &root.library())];
    if let Some(installed) = target.mpi {
        if language == Language::Fortran {
            return Err(UsageError::sentence(
                "Fortran is compiled for Sunstar's own MPI only: use the compiler of the other MPI",
            ));
        }
        // Its mpi.h comes before ours.
        before.insert(0, joined("-I", &installed.headers()?));
        let folder = installed.library.folder();
        behind.splice(0..0, [joined("-L", folder), "-lmpi".into(), search_path(folder)]);
    } else if language == Language::Fortran {
        let modules = Modules::find(root, compiler)?;
        before.extend(modules.options());
        behind.extend(modules.libraries());
    }
    behind.extend(target.mpi.is_none().then(|| "-lmpi_abi".into()));
    let portals = ["-Wl,--push-state,--as-needed", "-lportals", "-Wl,--pop-state"];
    behind.extend(portals.map(OsString::from));
    // So that a program can be loaded by itself, as configure scripts do. The search path for libraries
    // of the environment comes before this one: by that a real MPI's mpiexec finds its own.
    // The compiler would take a comma for the end of the path.
    let is_plain = !target.searched.as_os_str().as_encoded_bytes().contains(&b',');
    behind.extend(is_plain.then(|| search_path(target.searched)));
    Ok([before, behind])
}

/// Option by which a program looks for libraries in a folder.
fn search_path(folder: &Path) -> OsString {
    joined("-Wl,--enable-new-dtags,-rpath,", folder)
}

/// An option and its folder in one word, as MPICH's and Open MPI's compilers show them: build systems look
/// for words that begin so.
pub(crate) fn joined(option: &str, folder: &Path) -> OsString {
    let mut word = OsString::from(option);
    word.push(folder);
    word
}

/// `gcc -I... ARGUMENTS -L... -lmpi_abi`.
pub fn command(
    root: &Root,
    language: Language,
    arguments: &[OsString],
    target: Target<'_>,
) -> Result<Command, UsageError> {
    let compiler = language.compiler();
    if language == Language::Fortran {
        fortran::check(arguments)?;
    }
    let [before, behind] = flags(root, language, &compiler, target)?;
    let mut command = Command::new(&compiler);
    command.args(before).args(arguments);
    if arguments.iter().any(is_input) {
        command.args(behind);
    }
    Ok(command)
}

/// True for a file, standard input or a library, or the value of an option. Without any of them the compiler
/// is asked about itself (`-v`, as configure scripts do), and must not be given a library to link.
fn is_input(word: &OsString) -> bool {
    let bytes = word.as_encoded_bytes();
    !bytes.starts_with(b"-") || bytes == b"-" || bytes.starts_with(b"-l")
}

/// Compiles `source` into `folder`; the compiler's messages go to standard error as they are.
pub fn compile(
    root: &Root,
    language: Language,
    source: &Path,
    folder: &Path,
    target: Target<'_>,
) -> Result<PathBuf, UsageError> {
    let program = named(source, folder);
    let arguments: [OsString; 6] = [
        "-O2".into(),
        "-g".into(),
        "-o".into(),
        program.clone().into(),
        source.as_os_str().to_owned(),
        // Calls of one procedure with data of several types are warned about, but right with mpif.h.
        if language == Language::Fortran { "-w".into() } else { "-lm".into() },
    ];
    compiled(language, &mut command(root, language, &arguments, target)?, source).map(|()| program)
}

/// Interface to the network that a source calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    /// MPI.
    Mpi,
    /// Portals or verbs.
    Others,
    /// That of its node's system, or none.
    Node,
}

/// The interface that a source calls, by the headers that it includes itself; of Fortran it is MPI.
pub fn interface(language: Language, source: &Path) -> Interface {
    let text = std::fs::read(source).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let includes = |header: &str| {
        let mut lines = text.lines().filter(|line| line.trim_start().starts_with('#'));
        lines.any(|line| line.contains(header))
    };
    match language {
        _ if includes("portals3.h") || includes("infiniband/verbs.h") => Interface::Others,
        Language::Fortran => Interface::Mpi,
        _ if includes("mpi.h") => Interface::Mpi,
        _ => Interface::Node,
    }
}

/// Compiles `source` into `folder` for a Linux guest: with dp.h, bypass.h and their libraries, and with the
/// guests' MPI library,
/// which stands in a folder of that name, if it calls MPI after all, by a header of its own.
pub fn compile_for_guests(
    root: &Root,
    language: Language,
    source: &Path,
    folder: &Path,
    mpi: Option<&str>,
) -> Result<PathBuf, UsageError> {
    let program = named(source, folder);
    let mut command = Command::new(language.compiler());
    command.arg("-I").arg(root.include()).args(["-O2", "-g", "-o"]).arg(&program).arg(source);
    command.arg("-L").arg(root.library()).args(["-ldp", "-lbypass", "-lm"]);
    if let Some(own) = mpi {
        let library = root.library().join(own).join("libmpi_abi.so.1");
        command.args(["-Wl,--push-state,--as-needed"]).arg(library).arg("-Wl,--pop-state");
    }
    compiled(language, &mut command, source).map(|()| program)
}

/// The program that a source becomes.
fn named(source: &Path, folder: &Path) -> PathBuf {
    folder.join(source.file_stem().unwrap_or_else(|| "program".as_ref()))
}

fn compiled(language: Language, command: &mut Command, source: &Path) -> Result<(), UsageError> {
    match status(language, command)? {
        0 => Ok(()),
        _ => Err(UsageError::sentence(format!(
            "{} does not compile; the messages above are the compiler's",
            source.display()
        ))),
    }
}

/// Runs a compiler, whose messages go to standard error; its exit status.
pub fn status(language: Language, command: &mut Command) -> Result<u8, UsageError> {
    let status = command.status();
    let status = status.map_err(|why| cannot_start(language, command.get_program(), &why))?;
    // A compiler killed by a signal has no code.
    Ok(status.code().map_or(1, |code| u8::try_from(code).unwrap_or(1)))
}

/// The sentence about a compiler that does not start.
pub(crate) fn cannot_start(
    language: Language,
    compiler: &OsStr,
    why: &std::io::Error,
) -> UsageError {
    let (tool, variable, name) = (language.tool(), language.variable(), compiler.to_string_lossy());
    UsageError::sentence(match why.kind() {
        std::io::ErrorKind::NotFound if compiler == tool.name => tool.missing(),
        std::io::ErrorKind::NotFound => format!(
            "there is no {language} compiler {name}: name another in {variable}, or none, and {}",
            tool.packages()
        ),
        _ => format!("cannot start the compiler {name}: {why}"),
    })
}

/// The program that an installation has of this very source: it needs no compiler. Its name is that of the
/// source with a CRC over it and the headers beside it, so that one that was changed is compiled. The
/// user's own compiler is always asked.
pub fn shipped(root: &Root, language: Language, source: &Path) -> Option<PathBuf> {
    let folder = root.path().join("build/examples");
    if language.own_compiler().is_some() || root.is_repository() || !folder.is_dir() {
        return None;
    }
    let program = folder.join(shipped_name(source).ok()?);
    program.is_file().then_some(program)
}

/// The name of the program; `scripts/dist/examples` gives it.
fn shipped_name(source: &Path) -> std::io::Result<String> {
    let is_header = |path: &PathBuf| path.extension().is_some_and(|own| own == "h");
    let entries = source.parent().unwrap_or(source).read_dir()?;
    let mut headers: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(is_header).collect();
    headers.sort();
    let mut crc = crc32fast::Hasher::new();
    for path in std::iter::once(source).chain(headers.iter().map(PathBuf::as_path)) {
        crc.update(&std::fs::read(path)?);
    }
    let stem = source.file_stem().unwrap_or_default().to_string_lossy();
    Ok(format!("{stem}-{:08x}", crc.finalize()))
}

//! Is a file a program that can be run as a rank, or that may start one? One sentence says why not.

use object::elf;
use object::read::elf::{Dyn, ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSymbol};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub(crate) const LIBRARY: &str = "libmpi_abi.so.1";
/// The library of the seam, which every process has.
pub(crate) const SEAM: &str = "libsunstar_seam.so";
/// Libraries of other implementations, by the names that their own ABIs have: MPICH's, which is Intel MPI's,
/// too, and Open MPI's.
pub(crate) const OTHERS: [&str; 2] = ["libmpi.so.12", "libmpi.so.40"];
/// MPI for Fortran, which needs that library itself.
pub(crate) const FORTRAN_LIBRARY: &str = "libmpi_fortran.so.1";
pub(crate) const PORTALS: &str = "libportals.so";
/// Libraries that every compiler links: a program that needs nothing else cannot reach MPI, unless it loads
/// libraries while it runs.
const RUNTIME: [&str; 11] = [
    "libc.so",
    "libm.so",
    "libdl.so",
    "libpthread.so",
    "librt.so",
    "libgcc_s.so",
    "libstdc++.so",
    "libgfortran.so",
    "libquadmath.so",
    "libgomp.so",
    "ld-linux",
];

/// Kind of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramKind {
    /// It links the library of the MPI 5.0 ABI, and perhaps that of Portals.
    Mpi,
    /// It links only the library of Portals.
    Portals,
    /// It links another implementation's MPI.
    Foreign,
    /// It links neither, but may get at them: through a library of its own, or one that it loads while it
    /// runs, as Python does.
    Indirect,
    /// It cannot get at them, but may start a program that does, as env, a shell or a script does.
    Launcher,
}

/// Reason for which a file cannot be run as a rank.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// It cannot be read.
    #[error("cannot read {0}: {1}")]
    Read(PathBuf, io::Error),
    /// It may not be executed.
    #[error("{0} is not executable: chmod +x it, or name the program itself")]
    NotExecutable(PathBuf),
    /// It is no program for this machine.
    #[error("{0} is not an MPI program of the MPI 5.0 ABI: {1}")]
    NotMpi(PathBuf, FileError),
}

/// Reason for which a file is no program for this machine.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum FileError {
    /// It is a folder.
    #[error("it is a folder")]
    Folder,
    /// It has another format.
    #[error("it is not an executable file")]
    Format,
    /// It is for another processor.
    #[error("it is a program for another machine than {}", std::env::consts::ARCH)]
    Machine,
    /// It is not linked.
    #[error("it is an object file; link it with `sunstar cc`")]
    Object,
    /// It is loaded by programs.
    #[error("it is a shared library")]
    Library,
    /// It contradicts itself.
    #[error("the file is damaged ({0})")]
    Damaged(#[from] object::Error),
    /// It is a program of another MPI.
    #[error(
        "it needs {library}, another implementation's own library; build it with `sunstar cc`"
    )]
    OtherMpi { library: String },
}

/// Looks at the program.
pub fn inspect(path: &Path) -> Result<ProgramKind, InspectError> {
    let unreadable = |error| InspectError::Read(path.into(), error);
    let facts = std::fs::metadata(path).map_err(unreadable)?;
    if facts.is_dir() {
        return Err(InspectError::NotMpi(path.into(), FileError::Folder));
    }
    let data = std::fs::read(path).map_err(unreadable)?;
    let kind = match data.starts_with(b"#!") {
        true => ProgramKind::Launcher,
        false => kind_of(&data).map_err(|why| InspectError::NotMpi(path.into(), why))?,
    };
    use std::os::unix::fs::PermissionsExt;
    if facts.permissions().mode() & 0o111 == 0 {
        return Err(InspectError::NotExecutable(path.into()));
    }
    Ok(kind)
}

/// Kind of an executable file.
fn kind_of(data: &[u8]) -> Result<ProgramKind, FileError> {
    let Links { needed, loads, .. } = links(data)?;
    let needs = |library: &str| needed.iter().any(|name| name == library);
    let other = needed.iter().find(|name| name.starts_with("libmpi"));
    match (needs(LIBRARY) || needs(FORTRAN_LIBRARY), needs(PORTALS), other) {
        (true, _, _) => Ok(ProgramKind::Mpi),
        _ if OTHERS.iter().any(|name| needs(name)) => Ok(ProgramKind::Foreign),
        (false, true, _) => Ok(ProgramKind::Portals),
        (.., Some(other)) => Err(FileError::OtherMpi { library: other.clone() }),
        _ if loads || !needed.iter().all(|name| of_runtime(name)) => Ok(ProgramKind::Indirect),
        _ => Ok(ProgramKind::Launcher),
    }
}

/// True of a program that is linked statically: it loads no library, and so none of ours.
pub fn is_static(path: &Path) -> bool {
    let data = std::fs::read(path).unwrap_or_default();
    links(&data).is_ok_and(|links| links.loader.is_none())
}

/// True if nothing is loaded before the program begins but the compiler's own libraries and ours, of which it
/// needs that of MPI.
pub(crate) fn loads_nothing_else(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    // With the rights of another user it loads preloaded libraries only from the system's folders.
    let plain = std::fs::metadata(path).is_ok_and(|facts| facts.mode() & 0o6000 == 0);
    let data = if plain { std::fs::read(path).unwrap_or_default() } else { Vec::new() };
    let ours = |name: &String| [LIBRARY, FORTRAN_LIBRARY, PORTALS, SEAM].contains(&name.as_str());
    links(&data).is_ok_and(|Links { needed, early, .. }| {
        let mpi = needed.iter().any(|name| name == LIBRARY || name == FORTRAN_LIBRARY);
        mpi && !early && needed.iter().all(|name| ours(name) || of_runtime(name))
    })
}

pub(crate) fn of_runtime(name: &str) -> bool {
    RUNTIME.iter().any(|library| name.starts_with(library))
}

/// True if what a file says of itself makes it a program, though it names no loader.
fn is_program(endian: Endianness, entries: &[elf::Dyn64<Endianness>]) -> bool {
    let mut flags = entries.iter().filter(|entry| entry.tag(endian) == elf::DT_FLAGS_1);
    flags.any(|entry| entry.d_val(endian) & elf::DF_1_PIE.0 != 0)
}

/// Dependencies of a program for this machine.
#[derive(Default)]
pub(crate) struct Links {
    /// Names of the shared libraries that it needs.
    pub needed: Vec<String>,
    /// It loads more while it runs.
    loads: bool,
    /// Something of its own comes before the libraries' constructors.
    early: bool,
    /// The loader that it names.
    pub loader: Option<PathBuf>,
    /// Folders in which it looks for libraries, as it names them: with `$ORIGIN`, joined by colons.
    pub searched: Vec<String>,
}

pub(crate) fn links(data: &[u8]) -> Result<Links, FileError> {
    if !data.starts_with(&elf::ELFMAG) {
        return Err(FileError::Format);
    }
    let machine = if cfg!(target_arch = "aarch64") { elf::EM_AARCH64 } else { elf::EM_X86_64 };
    let file = ElfFile64::<Endianness>::parse(data).map_err(|_| FileError::Machine)?;
    let (header, endian) = (file.elf_header(), file.endian());
    if header.e_machine(endian) != machine {
        return Err(FileError::Machine);
    }
    if ![elf::ET_EXEC, elf::ET_DYN].contains(&header.e_type(endian)) {
        return Err(FileError::Object);
    }
    let segments = header.program_headers(endian, data)?;
    let interpreter = segments.iter().find(|segment| segment.p_type(endian) == elf::PT_INTERP);
    let sections = header.sections(endian, data)?;
    let dynamic = sections.dynamic(endian, data)?;
    let (interpreter, dynamic) = match (interpreter, dynamic) {
        (Some(interpreter), Some(dynamic)) => (interpreter, dynamic),
        (None, Some((entries, _))) if !is_program(endian, entries) => {
            return Err(FileError::Library);
        }
        _ => return Ok(Links::default()), // linked statically
    };
    let path = interpreter.data(endian, data).ok().and_then(|path| path.strip_suffix(&[0]));
    let (dynamic, strings) = dynamic;
    let strings = sections.strings(endian, data, strings)?;
    let mut names = Vec::new();
    let entries_of = |tag| dynamic.iter().filter(move |entry| entry.tag(endian) == tag);
    for entry in entries_of(elf::DT_NEEDED) {
        let name = entry.string(endian, strings)?;
        names.push(String::from_utf8_lossy(name).into_owned());
    }
    let mut searched = Vec::new();
    for entry in entries_of(elf::DT_RUNPATH).chain(entries_of(elf::DT_RPATH)) {
        searched.push(String::from_utf8_lossy(entry.string(endian, strings)?).into_owned());
    }
    let loader = |symbol: object::read::elf::ElfSymbol64<'_, '_>| {
        symbol.is_undefined() && symbol.name_bytes().is_ok_and(|name| name == b"dlopen")
    };
    let early = entries_of(elf::DT_PREINIT_ARRAY).next().is_some();
    let loads = file.dynamic_symbols().any(loader);
    let loader = path.map(|path| PathBuf::from(OsStr::from_bytes(path)));
    Ok(Links { needed: names, early, loads, loader, searched })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_of_a_file_is_a_sentence() {
        let damaged = ElfFile64::<Endianness>::parse(&b"no program"[..]).unwrap_err();
        let told = format!("the file is damaged ({damaged})");
        let machine =
            format!("it is a program for another machine than {}", std::env::consts::ARCH);
        let cases = [
            (FileError::Folder, "it is a folder"),
            (FileError::Format, "it is not an executable file"),
            (FileError::Machine, &machine),
            (FileError::Object, "it is an object file; link it with `sunstar cc`"),
            (FileError::Library, "it is a shared library"),
            (FileError::Damaged(damaged), &told),
            (
                FileError::OtherMpi { library: "libmpi.so.40".into() },
                "it needs libmpi.so.40, another implementation's own library; build it with \
                 `sunstar cc`",
            ),
        ];
        for (error, sentence) in cases {
            assert_eq!(error.to_string(), sentence);
        }
    }
}

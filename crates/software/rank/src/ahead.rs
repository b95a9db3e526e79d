//! Libraries of a program's own that come before MPI's: tools between the two (MPI 5.0, 15.2), or
//! that replace clocks.
//!
//! Ours is preloaded, because only so it is the one that is meant by its name, whatever paths the program has
//! built in, and its clocks precede the C library's. A preloaded library precedes all that the program names,
//! so what the loader would have put before MPI's is preloaded before it, in the loader's order.

use crate::inspect::{self, Links, ProgramKind};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Libraries that the program loads before that of MPI, which is in the folder `ours`, in the loader's order;
/// all of its own if it gets at MPI only while it runs. The compiler's libraries are not among them. Of a
/// launcher, the program of MPI among its arguments counts, if one is.
pub fn ahead_of_mpi(program: &Path, args: &[OsString], ours: &Path) -> io::Result<Vec<PathBuf>> {
    let program = with_mpi(program, args);
    let data = std::fs::read(program)?;
    // A file that may not be run is refused elsewhere.
    let Ok(Links { needed, loader: Some(loader), .. }) = inspect::links(&data) else {
        return Ok(Vec::new());
    };
    if needed.iter().take_while(|name| !is_of_mpi(name)).all(|name| known(name)) {
        return Ok(Vec::new());
    }
    let listed = list(&loader, program, Some(ours))?;
    let before = listed.iter().take_while(|(name, _)| !is_of_mpi(name));
    Ok(before.filter(|(name, _)| !runtime(name)).map(|(_, path)| path.clone()).collect())
}

/// The program with MPI: of a launcher the one among its arguments, if one is.
pub(crate) fn with_mpi<'a>(program: &'a Path, args: &'a [OsString]) -> &'a Path {
    let is_mpi = |path: &&Path| {
        matches!(inspect::inspect(path), Ok(ProgramKind::Mpi | ProgramKind::Foreign))
    };
    let launched = || args.iter().map(Path::new).find(is_mpi);
    if is_mpi(&program) {
        program
    } else {
        launched().unwrap_or(program)
    }
}

/// The library of an MPI.
fn is_of_mpi(name: &str) -> bool {
    name == inspect::LIBRARY || inspect::OTHERS.contains(&name)
}

/// One that replaces nothing of MPI's.
fn known(name: &str) -> bool {
    runtime(name) || [inspect::FORTRAN_LIBRARY, inspect::PORTALS, inspect::SEAM].contains(&name)
}

/// The compiler's own. Those of its sanitizers take over clocks, too, and then ask the next in the row, which
/// must be ours: they come behind it.
fn runtime(name: &str) -> bool {
    inspect::of_runtime(name) || name.contains("san.so")
}

/// Name and path of each library that the loader would load, in its order, which is that of the search for
/// symbols; it finds `ours` first, if there is that. It loads them, but runs nothing of theirs.
pub(crate) fn list(
    loader: &Path,
    program: &Path,
    ours: Option<&Path>,
) -> io::Result<Vec<(String, PathBuf)>> {
    let mut command = Command::new(loader);
    command
        .arg("--list")
        .arg(std::path::absolute(program)?)
        .stdin(Stdio::null())
        .env_remove("LD_PRELOAD");
    let users = std::env::var_os("LD_LIBRARY_PATH").filter(|paths| !paths.is_empty());
    let folders = ours.map(|folder| folder.as_os_str().to_os_string()).into_iter().chain(users);
    let paths = folders.collect::<Vec<_>>().join(OsStr::new(":"));
    let output = command.env("LD_LIBRARY_PATH", paths).output()?;
    Ok(output.stdout.split(|byte| *byte == b'\n').filter_map(entry).collect())
}

/// Name and path in a line as `libm.so.6 => /lib/libm.so.6 (0x00007f...)`, or with a path alone; `None` if
/// nothing was found.
fn entry(line: &[u8]) -> Option<(String, PathBuf)> {
    let line = line.trim_ascii();
    let at = line.windows(3).rposition(|part| part == b" (0")?;
    let named = &line[..at];
    let arrow = named.windows(4).position(|part| part == b" => ");
    let (name, path) = arrow.map_or((named, named), |at| (&named[..at], &named[at + 4..]));
    // The name is a path if the program names it by one.
    let name = Path::new(OsStr::from_bytes(name)).file_name()?;
    Some((name.to_string_lossy().into_owned(), PathBuf::from(OsStr::from_bytes(path))))
}

#[cfg(test)]
mod tests {
    use super::entry;
    use std::path::Path;

    #[test]
    fn lines_of_the_loader_are_read() {
        let read = |line: &str| entry(line.as_bytes());
        let (name, path) =
            read("\tlibm.so.6 => /lib/a (b)/libm.so.6 (0x00007ffff7c00000)").unwrap();
        assert_eq!((&*name, &*path), ("libm.so.6", Path::new("/lib/a (b)/libm.so.6")));
        let (name, path) = read("\t./own/libp.so (0x00007ffff7c00000)").unwrap();
        assert_eq!((&*name, &*path), ("libp.so", Path::new("./own/libp.so")));
        assert!(read("\tlibp.so => not found").is_none() && read("").is_none());
    }
}

//! The program that is to run: what kind of file it is, and whether it can run here at all.

use crate::compiler::{self, Language};
use crate::mistake::Mistake;
use crate::root::Root;
use object::elf::{FileHeader64, PT_INTERP};
use object::read::elf::{FileHeader, ProgramHeader};
use object::LittleEndian;
use std::path::{Path, PathBuf};
use std::process::Command;

/// SONAME of the MPI 5.0 ABI's library.
const LIBRARY: &str = "libmpi_abi.so.1";

/// The executable for what the user named: sources are compiled into `folder` first.
pub fn executable(root: &Root, named: &Path, folder: &Path) -> Result<PathBuf, Mistake> {
    let path = located(named)?;
    match Language::of(&path) {
        Some(language) => compiler::compile(root, language, &path, folder),
        None => checked(root, &path).map(|()| path),
    }
}

/// The file itself: a name without a slash is looked for here, then on PATH, as `mpirun` does.
fn located(named: &Path) -> Result<PathBuf, Mistake> {
    let mut candidates = vec![named.to_owned()];
    if named.components().count() == 1 {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        candidates.extend(std::env::split_paths(&folders).map(|folder| folder.join(named)));
    }
    let found = candidates.iter().find(|path| path.is_file());
    let Some(path) = found else {
        return Err(match named.is_dir() {
            true => Mistake(format!("{} is a folder, not a program", named.display())),
            false => Mistake(format!("there is no program {}", named.display())),
        });
    };
    std::path::absolute(path).map_err(|e| Mistake::with_file("find", path, e))
}

/// Makes sure that `path` is something that can become ranks.
fn checked(root: &Root, path: &Path) -> Result<(), Mistake> {
    let mistake = |what: &str| Err(Mistake(format!("{} {what}", path.display())));
    let bytes = std::fs::read(path).map_err(|e| Mistake::with_file("read", path, e))?;
    if bytes.starts_with(b"#!") {
        return Ok(()); // a script may start an MPI program
    }
    let Ok(header) = FileHeader64::<LittleEndian>::parse(&*bytes) else {
        return mistake(
            "is neither an executable for this kind of machine nor a .c, .cc or .cpp source",
        );
    };
    let segments = header.program_headers(LittleEndian, &*bytes).unwrap_or_default();
    if !segments.iter().any(|segment| segment.p_type(LittleEndian) == PT_INTERP) {
        return mistake(
            "is not an MPI program that can run here: it is not linked dynamically with \
             libmpi_abi.so.1; build it with `sunstar cc` or `sunstar cxx`",
        );
    }
    match missing_library(&loaded_libraries(root, path)?) {
        None => Ok(()),
        Some(what) => mistake(&what),
    }
}

/// What the dynamic linker would load, one library a line: `name => path` or `name => not found`.
fn loaded_libraries(root: &Root, path: &Path) -> Result<String, Mistake> {
    let output = Command::new(path)
        .env("LD_TRACE_LOADED_OBJECTS", "1")
        .env("LD_LIBRARY_PATH", library_path(root))
        .output()
        .map_err(|e| Mistake::with_file("start", path, e))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Our library first, then what the user had.
fn library_path(root: &Root) -> std::ffi::OsString {
    let mut path = root.library().into_os_string();
    if let Some(inherited) = std::env::var_os("LD_LIBRARY_PATH") {
        path.push(":");
        path.push(inherited);
    }
    path
}

/// Why a program that loads `libraries` cannot run, as the end of a sentence that begins with its name.
fn missing_library(libraries: &str) -> Option<String> {
    let names = || libraries.lines().filter_map(|line| line.split_whitespace().next());
    // The library itself must be there; a program of another MPI has none of ours.
    if let Some(other) =
        names().find(|name| name.starts_with("libmpi.so") || *name == "libmpich.so.12")
    {
        return Some(format!(
            "is built for another MPI ({other}); build it with `sunstar cc`, or for the MPI 5.0 ABI"
        ));
    }
    if let Some(line) = libraries.lines().find(|line| line.ends_with("=> not found")) {
        let name = line.split_whitespace().next().unwrap_or_default();
        return Some(match name {
            LIBRARY => "needs libmpi_abi.so.1, which is not built; `make build` builds it".into(),
            _ => format!("needs the library {name}, which is not found; set LD_LIBRARY_PATH"),
        });
    }
    match names().any(|name| name == LIBRARY) {
        true => None,
        false => Some(
            "is not an MPI program: it is not linked with libmpi_abi.so.1; \
             build it with `sunstar cc` or `sunstar cxx`"
                .into(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_judged_by_their_libraries() {
        let libc = "\tlibc.so.6 => /lib/libc.so.6 (0x1)\n";
        let ours = format!("\tlibmpi_abi.so.1 => /x/libmpi_abi.so.1 (0x2)\n{libc}");
        assert_eq!(missing_library(&ours), None);
        let reason = |text: &str| missing_library(text).expect("a reason");
        assert!(reason(libc).starts_with("is not an MPI program"));
        assert!(reason(&format!("{libc}\tlibfoo.so => not found\n")).contains("libfoo.so"));
        assert!(reason("\tlibmpi.so.40 => not found\n").starts_with("is built for another MPI"));
        assert!(reason("\tlibmpi_abi.so.1 => not found\n").contains("make build"));
    }
}

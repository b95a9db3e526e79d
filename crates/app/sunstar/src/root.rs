//! Folder of Sunstar's own files: machines, headers, the MPI library, firmware images.

use crate::cache;
use crate::usage_error::UsageError;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The folder with `machines/`, `include/` and `build/`: the repository's root or an installation's
/// `share/sunstar`.
#[derive(Clone, Debug)]
pub struct Root(PathBuf);

impl Root {
    /// `$SUNSTAR_ROOT`, or the first such folder upwards from the executable.
    pub fn find() -> Result<Root, UsageError> {
        if let Some(path) = std::env::var_os("SUNSTAR_ROOT") {
            // Commands that are started in other folders are told of it, too.
            let path = std::path::absolute(&path).unwrap_or(path.into());
            return match is_root(&path) {
                true => Ok(Root(path)),
                false => Err(UsageError::sentence(format!(
                    "SUNSTAR_ROOT is {}, but there is no machines/ and no include/mpi.h in it",
                    path.display()
                ))),
            };
        }
        let executable =
            std::env::current_exe().and_then(|path| path.canonicalize()).map_err(|e| {
                UsageError::sentence(format!("cannot find out where sunstar itself stands: {e}"))
            })?;
        executable
            .ancestors()
            .skip(1)
            .flat_map(|folder| [folder.to_owned(), folder.join("share/sunstar")])
            .find(|folder| is_root(folder))
            .map(Root)
            .ok_or_else(|| {
                UsageError::sentence(format!(
                    "cannot find machines/ and include/mpi.h upwards from {}; \
                     set SUNSTAR_ROOT to the folder that holds them",
                    executable.display()
                ))
            })
    }

    /// Root at this folder, which is not looked at.
    pub fn at(folder: &Path) -> Root {
        Root(folder.to_owned())
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.0
    }
    /// Folder of mpi.h.
    pub fn include(&self) -> PathBuf {
        self.0.join("include")
    }
    /// Folder of sources that are only read. An installation has those of firmware in a folder of their own,
    /// so that none of its images is ever older than they are.
    pub fn sources(&self, folder: &str) -> PathBuf {
        let apart = self.0.join("sources").join(folder);
        if apart.is_dir() {
            return apart;
        }
        self.0.join(folder)
    }
    /// True for the repository, whose files are made anew when what they are made of has changed.
    pub fn is_repository(&self) -> bool {
        self.0.join("Cargo.toml").is_file()
    }
    /// Folder for what is compiled of the RTL.
    pub fn compiled(&self) -> PathBuf {
        let ours = self.made("verilated");
        // What is loaded from there is executed: it must be this user's.
        let kept = cache::folder().filter(|_| !is_own(&ours));
        kept.map_or(ours, |kept| kept.join("verilated"))
    }
    /// Folder for the kernel of guests.
    pub fn guests(&self) -> PathBuf {
        self.made("linux")
    }
    /// Folder for what can be made again: the repository's own, or the user's for an installation.
    fn made(&self, name: &str) -> PathBuf {
        let kept = cache::folder().filter(|_| !self.is_repository());
        kept.unwrap_or_else(|| self.0.join("build")).join(name)
    }
    /// Folder of the libraries that programs load.
    pub fn library(&self) -> PathBuf {
        self.0.join("build/lib")
    }
}

/// True of a folder, or of the place where it would be made, that belongs to this user and can be written.
fn is_own(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let found = folder.ancestors().find_map(|path| Some((path, path.metadata().ok()?)));
    found.is_some_and(|(path, facts)| {
        let path = CString::new(path.as_os_str().as_bytes());
        // SAFETY: the first call touches no memory, and the other reads a text that ends with a zero byte.
        path.is_ok_and(|path| unsafe {
            facts.uid() == libc::geteuid() && libc::access(path.as_ptr(), libc::W_OK) == 0
        })
    })
}

fn is_root(folder: &Path) -> bool {
    folder.join("machines").is_dir() && folder.join("include/mpi.h").is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_user_owns_is_not_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let compiled = folder.path().join("build/verilated");
        assert!(is_own(&compiled), "it would be made in a folder of ours");
        std::fs::create_dir_all(&compiled).unwrap();
        assert!(is_own(&compiled));
        let root = Root::at(folder.path());
        std::fs::write(folder.path().join("Cargo.toml"), "").unwrap();
        assert_eq!(root.compiled(), compiled);
        // Only root can give a folder away.
        if std::os::unix::fs::chown(&compiled, Some(65_533), None).is_ok() {
            assert!(!is_own(&compiled));
            assert_ne!(root.compiled(), compiled);
            assert!(root.compiled().ends_with("sunstar/verilated"));
        }
    }
}

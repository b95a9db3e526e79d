//! Temporary folders, for as long as the command runs. A folder that a killed command left behind is removed
//! when the next one is made.

use crate::usage_error::UsageError;
use std::fs::{self, DirEntry, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use tempfile::TempDir;

/// Prefix of the names of all of them.
const PREFIX: &str = "sunstar-";

/// File in each folder, locked by the process that owns the folder: the lock ends with the process in any
/// case.
const OWNER: &str = ".owner";

/// Folder that is removed when this value is dropped.
pub struct Scratch {
    folder: TempDir,
    _lock: File,
}

impl Scratch {
    /// Makes a folder, whose name has `kind` in it.
    pub fn new(kind: &str) -> Result<Scratch, UsageError> {
        remove_abandoned(&std::env::temp_dir());
        let made = || {
            let folder = tempfile::Builder::new().prefix(&format!("{PREFIX}{kind}")).tempdir()?;
            // It gets its name when it is locked: nobody finds one that belongs to nobody yet.
            let new = folder.path().join(".new");
            let lock = File::create(&new)?;
            if !lock_of(&lock) {
                return Err(io::Error::last_os_error());
            }
            fs::rename(&new, folder.path().join(OWNER))?;
            Ok(Scratch { folder, _lock: lock })
        };
        made().map_err(|why| UsageError(format!("cannot make a temporary folder: {why}")))
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Takes the lock of a file; false if it is taken.
fn lock_of(file: &File) -> bool {
    // SAFETY: flock takes a descriptor that is open and touches no memory.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 }
}

/// Removes this user's folders in `parent` whose owner has ended. Other processes may do so at the same time.
fn remove_abandoned(parent: &Path) {
    // SAFETY: it touches no memory.
    let us = unsafe { libc::geteuid() };
    let ours = |entry: &DirEntry| {
        let named = entry.file_name().to_string_lossy().starts_with(PREFIX);
        named && entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == us)
    };
    for entry in fs::read_dir(parent).into_iter().flatten().flatten().filter(ours) {
        let Ok(owner) = File::open(entry.path().join(OWNER)) else { continue };
        if lock_of(&owner) {
            // Nothing can be done about a folder that cannot be removed.
            fs::remove_dir_all(entry.path()).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_nobody_owns_go() {
        let parent = tempfile::tempdir().unwrap();
        let folder = |name: &str, owner: bool| {
            let folder = parent.path().join(name);
            fs::create_dir(&folder).unwrap();
            owner.then(|| File::create(folder.join(OWNER)).unwrap())
        };
        let mine = folder("sunstar-mine", true).unwrap();
        assert!(lock_of(&mine));
        drop([folder("sunstar-dead", true), folder("sunstar-other", false), folder("x", true)]);
        remove_abandoned(parent.path());
        let left = || {
            let entries = fs::read_dir(parent.path()).unwrap().flatten();
            let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(left(), ["sunstar-mine", "sunstar-other", "x"]);
        drop(mine);
        remove_abandoned(parent.path());
        assert_eq!(left(), ["sunstar-other", "x"]);
    }
}

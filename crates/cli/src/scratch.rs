//! Temporary folders, for as long as the command runs. A folder that a killed command left behind is removed
//! when the next one is made.

use crate::usage_error::UsageError;
use std::fs::{self, DirEntry, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use tempfile::TempDir;

/// Prefix of the names of all of them; no folder of a user's is called so.
const PREFIX: &str = ".sunstar-";

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
        let parent = std::env::temp_dir();
        remove_abandoned(&parent);
        let made = || {
            // Until it is locked it belongs to nobody, and another command may remove it.
            loop {
                let prefix = format!("{PREFIX}{kind}");
                let folder = tempfile::Builder::new().prefix(&prefix).tempdir_in(&parent)?;
                if let Some(lock) = taken(folder.path())? {
                    return Ok(Scratch { folder, _lock: lock });
                }
            }
        };
        made()
            .map_err(|why: io::Error| UsageError(format!("cannot make a temporary folder: {why}")))
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

/// Takes a new folder; none if another process has removed it, or does so now.
fn taken(folder: &Path) -> io::Result<Option<File>> {
    let owner = folder.join(OWNER);
    match File::create(&owner) {
        Ok(lock) => Ok((lock_of(&lock) && owner.exists()).then_some(lock)),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(why) => Err(why),
    }
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
        // Nothing can be done about a folder that cannot be removed.
        match File::open(entry.path().join(OWNER)) {
            Ok(owner) if lock_of(&owner) => fs::remove_dir_all(entry.path()).ok(),
            Ok(_) => None,
            // Its maker had no time to take it.
            Err(_) => fs::remove_dir(entry.path()).ok(),
        };
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
        let mine = folder(".sunstar-mine", true).unwrap();
        assert!(lock_of(&mine));
        drop([folder(".sunstar-dead", true), folder(".sunstar-new", false)]);
        drop([folder("sunstar-users", false), folder("x", true)]);
        folder(".sunstar-full", false);
        fs::write(parent.path().join(".sunstar-full/a"), "").unwrap();
        remove_abandoned(parent.path());
        let left = || {
            let entries = fs::read_dir(parent.path()).unwrap().flatten();
            let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(left(), [".sunstar-full", ".sunstar-mine", "sunstar-users", "x"]);
        drop(mine);
        remove_abandoned(parent.path());
        assert_eq!(left(), [".sunstar-full", "sunstar-users", "x"]);
    }

    #[test]
    fn a_folder_that_another_process_removes_is_not_taken() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join(".sunstar-x");
        assert!(taken(&folder).unwrap().is_none());
        fs::create_dir(&folder).unwrap();
        let other = File::create(folder.join(OWNER)).unwrap();
        assert!(lock_of(&other));
        assert!(taken(&folder).unwrap().is_none());
        drop(other);
        assert!(taken(&folder).unwrap().is_some());
    }
}

//! Folders for what is needed as long as the command runs. One that was left behind, by a command that was
//! killed, goes when the next one is made.

use crate::mistake::Mistake;
use std::fs::{self, DirEntry, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use tempfile::TempDir;

/// What the names of all of them begin with.
const PREFIX: &str = "sunstar-";

/// A file in each, locked by whoever the folder belongs to: the lock ends with the process, however it ends.
const OWNER: &str = ".owner";

/// A folder that goes with this value.
pub struct Scratch {
    folder: TempDir,
    _lock: File,
}

impl Scratch {
    /// Makes a folder, whose name has `kind` in it.
    pub fn new(kind: &str) -> Result<Scratch, Mistake> {
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
        made().map_err(|why| Mistake(format!("cannot make a temporary folder: {why}")))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Takes the lock of a file; false if somebody has it.
fn lock_of(file: &File) -> bool {
    // SAFETY: flock takes a descriptor that is open and touches no memory.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 }
}

/// Removes those of this user's folders in `parent` that nobody owns any more. Others may do so at the same time.
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

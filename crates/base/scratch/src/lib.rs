//! Temporary folders, for as long as their maker lives. A folder that a killed process left behind is removed
//! when the next one is made beside it.
//!
//! Each folder has a file that its maker has locked, and the lock ends with the maker in any case. So who
//! looks need not know the maker's process, which may be one of another namespace.

use std::fs::{self, DirEntry, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Prefix of the names of all of them; no folder of a user's is called so.
const PREFIX: &str = ".sunstar-";

/// File in each folder, locked by the process that owns the folder.
const OWNER: &str = ".owner";

/// Folder that is removed when this value is dropped.
pub struct Scratch {
    folder: TempDir,
    _lock: File,
}

impl Scratch {
    /// Makes a folder in the first of `parents` that takes one; its name has `kind` in it, and names of one
    /// kind are of one length.
    pub fn new(kind: &str, parents: &[PathBuf]) -> io::Result<Scratch> {
        let mut refused = io::Error::from(io::ErrorKind::NotFound);
        for parent in parents {
            match Scratch::new_in(kind, parent) {
                Ok(folder) => return Ok(folder),
                Err(why) => refused = why,
            }
        }
        Err(refused)
    }

    fn new_in(kind: &str, parent: &Path) -> io::Result<Scratch> {
        remove_abandoned(parent);
        let prefix = format!("{PREFIX}{kind}");
        // Until it is locked it belongs to nobody, and another command may remove it.
        loop {
            let folder = tempfile::Builder::new().prefix(&prefix).tempdir_in(parent)?;
            if let Some(lock) = taken(folder.path())? {
                return Ok(Scratch { folder, _lock: lock });
            }
        }
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Folder for files, which the environment may name (TMPDIR).
pub fn temporary() -> PathBuf {
    std::env::temp_dir()
}

/// Folder for files that are in memory if possible, and the one to take otherwise.
pub fn in_memory() -> [PathBuf; 2] {
    [PathBuf::from("/dev/shm"), temporary()]
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
pub fn remove_abandoned(parent: &Path) {
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
        let parent = tempfile::tempdir().expect("a folder");
        let folder = |name: &str, owner: bool| {
            let folder = parent.path().join(name);
            fs::create_dir(&folder).expect("a folder");
            owner.then(|| File::create(folder.join(OWNER)).expect("a file"))
        };
        let mine = folder(".sunstar-mine", true).expect("its lock");
        assert!(lock_of(&mine));
        drop([folder(".sunstar-dead", true), folder(".sunstar-new", false)]);
        drop([folder("sunstar-users", false), folder("x", true)]);
        folder(".sunstar-full", false);
        fs::write(parent.path().join(".sunstar-full/a"), "").expect("a file");
        remove_abandoned(parent.path());
        let left = || {
            let entries = fs::read_dir(parent.path()).expect("a folder").flatten();
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
        let parent = tempfile::tempdir().expect("a folder");
        let folder = parent.path().join(".sunstar-x");
        assert!(taken(&folder).expect("no error").is_none());
        fs::create_dir(&folder).expect("a folder");
        let other = File::create(folder.join(OWNER)).expect("a file");
        assert!(lock_of(&other));
        assert!(taken(&folder).expect("no error").is_none());
        drop(other);
        assert!(taken(&folder).expect("no error").is_some());
    }

    #[test]
    fn the_first_parent_that_takes_a_folder_has_it_under_a_name_of_one_length() {
        let parent = tempfile::tempdir().expect("a folder");
        let parents = [parent.path().join("none"), parent.path().to_owned()];
        let folders = [(); 2].map(|()| Scratch::new("guest-", &parents).expect("a folder"));
        let [one, other] = folders.each_ref().map(|folder| folder.path().to_owned());
        assert_eq!(one.parent(), Some(parent.path()));
        assert_ne!(one, other);
        assert_eq!(one.as_os_str().len(), other.as_os_str().len());
        drop(folders);
        assert!(!one.exists() && !other.exists());
        assert!(Scratch::new("guest-", &parents[..1]).is_err());
    }
}

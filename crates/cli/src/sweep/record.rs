//! What the points of a sweep left behind: a file each, in a folder beside the table. A file is there once
//! its run is over, whatever happens to the sweep afterwards, and is found again by what its run was made of.

use crate::mistake::Mistake;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// A run that is over (docs/reference/sweep.md).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// All that the result depends on.
    pub identity: Value,
    /// The values of the point for which it was run.
    pub point: Map<String, Value>,
    /// Exit status; 128 and the number of the signal that ended it.
    pub exit: i32,
    /// What went wrong; empty if nothing did.
    pub sentence: String,
    /// From the start of its process to the end.
    pub wall_seconds: f64,
    /// What the program printed to standard output.
    pub output: String,
    /// The run's JSON; null if it did not come so far.
    pub report: Value,
}

impl Record {
    /// True if the run would end the same way again: not if the simulator died, or somebody ended it, or if it
    /// could not run though the point is `possible` (a full disk).
    pub fn is_final(&self, possible: bool) -> bool {
        let from_outside = [libc::SIGHUP, libc::SIGINT, libc::SIGKILL, libc::SIGTERM];
        let ended = from_outside.iter().any(|signal| self.exit == 128 + signal);
        let mistake = self.exit == i32::from(crate::EXIT_MISTAKE) && !possible;
        let told = !self.report.is_null() || mistake;
        told && !ended
    }
}

/// The folder with the records of one table.
pub struct Records {
    table: PathBuf,
    folder: PathBuf,
    /// The folder, open: keeps others from using it at the same time.
    _lock: File,
}

impl Drop for Records {
    fn drop(&mut self) {
        if !self.table.exists() {
            // Only if nothing is in it.
            std::fs::remove_dir(&self.folder).ok();
        }
    }
}

impl Records {
    /// The folder for a table; it is made if it is not there.
    pub fn beside(table: &Path) -> Result<Records, Mistake> {
        let folder = folder_of(table);
        let found = table.metadata().is_ok_and(|found| found.len() > 0);
        if found && !folder.is_dir() {
            let (table, folder) = (table.display(), folder.display());
            return Err(Mistake(format!(
                "{table} is there already, but is not of a sweep (there is no {folder}); \
                 remove it or name another file"
            )));
        }
        let failed = |why| Mistake::with_file("write", &folder, why);
        std::fs::create_dir_all(&folder).map_err(failed)?;
        let lock = File::open(&folder).map_err(failed)?;
        // SAFETY: flock takes a descriptor that is open and touches no memory.
        if unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            let folder = folder.display();
            return Err(Mistake(format!("another sweep is writing to {folder}; wait for its end")));
        }
        Ok(Records { table: table.to_owned(), folder, _lock: lock })
    }

    /// The record of this identity, if there is one. A file that cannot be read is none.
    pub fn find(&self, id: &str, identity: &Value) -> Option<Record> {
        let text = std::fs::read_to_string(self.file(id)).ok()?;
        let record: Record = serde_json::from_str(&text).ok()?;
        (record.identity == *identity).then_some(record)
    }

    /// Writes a record: all of it or nothing.
    pub fn keep(&self, id: &str, record: &Record) -> Result<(), Mistake> {
        let text = serde_json::to_string(record).expect("a record has only strings as keys");
        replace(&self.file(id), text.as_bytes())
    }

    fn file(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }
}

fn folder_of(table: &Path) -> PathBuf {
    let mut name = table.as_os_str().to_owned();
    name.push(".runs");
    PathBuf::from(name)
}

/// Puts a file in its place whole, so that nobody ever sees a part of it.
pub fn replace(file: &Path, bytes: &[u8]) -> Result<(), Mistake> {
    let failed = |why| Mistake::with_file("write", file, why);
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = file.with_file_name(name);
    let written = std::fs::write(&part, bytes).and_then(|()| std::fs::rename(&part, file));
    if written.is_err() {
        std::fs::remove_file(&part).ok();
    }
    written.map_err(failed)
}

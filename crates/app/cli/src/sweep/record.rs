//! Records of a sweep's points: a file for each, in a folder beside the table. The file exists once its run
//! is over, even if the sweep fails later, and is found again by the inputs of its run.

use machine::{console, input};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use sunstar::usage_error::UsageError;

/// A finished run (docs/reference/sweep.md).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// All that the result depends on.
    pub identity: Value,
    /// The values of the point for which it was run.
    pub point: Map<String, Value>,
    /// Exit status; 128 and the number of the signal that ended it.
    pub exit: i32,
    /// Error; empty if there was none.
    pub sentence: String,
    /// Wall time from the start of its process to the end.
    pub wall_seconds: f64,
    /// Standard output of the program.
    pub output: String,
    /// The run's JSON; null if it did not get that far.
    pub report: Value,
}

impl Record {
    /// True if the run would end the same way again: not if the simulator died or was killed, or if it could
    /// not run although the point is `possible` (a full disk).
    pub fn is_final(&self, possible: bool) -> bool {
        let from_outside = [libc::SIGHUP, libc::SIGINT, libc::SIGKILL, libc::SIGTERM];
        let ended = from_outside.iter().any(|signal| self.exit == 128 + signal);
        let usage_error = self.exit == i32::from(crate::EXIT_USAGE) && !possible;
        let told = !self.report.is_null() || usage_error;
        told && !ended
    }
}

/// The folder with the records of one table.
pub struct Records {
    table: PathBuf,
    folder: PathBuf,
    /// Lock of the folder, against use by others at the same time.
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
    /// Opens the folder for a table; it is made if it is not there.
    pub fn beside(table: &Path) -> Result<Records, UsageError> {
        let folder = folder_of(table);
        let found = table.metadata().is_ok_and(|found| found.len() > 0);
        if found && !folder.is_dir() {
            let (table, folder) = (table.display(), folder.display());
            return Err(UsageError::sentence(format!(
                "{table} is there already, but is not of a sweep (there is no {folder}); \
                 remove it or name another file"
            )));
        }
        let failed = |why| UsageError::with_file("write", &folder, why);
        std::fs::create_dir_all(&folder).map_err(failed)?;
        let lock = File::open(&folder).map_err(failed)?;
        // SAFETY: flock takes a descriptor that is open and touches no memory.
        if unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            let folder = folder.display();
            return Err(UsageError::sentence(format!(
                "another sweep is writing to {folder}; wait for its end"
            )));
        }
        Ok(Records { table: table.to_owned(), folder, _lock: lock })
    }

    /// The record of this identity, if there is one. A damaged file does not count, and is reported.
    pub fn find(&self, id: &str, identity: &Value) -> Option<Record> {
        let file = self.file(id);
        let read = match input::read(&file, input::WRITTEN_MAX) {
            Err(why) if why.kind() == ErrorKind::NotFound => return None,
            Err(why) => Err(why.to_string()),
            Ok(bytes) => unsealed(&bytes).ok_or_else(|| "it was changed since".to_string()),
        };
        let told = |why: &String| {
            let file = file.display();
            console::say(&format!(
                "{file} is not what the sweep has kept ({why}): its point runs again"
            ));
        };
        read.inspect_err(told).ok().filter(|record| record.identity == *identity)
    }

    /// Writes a record: all of it or nothing.
    pub fn keep(&self, id: &str, record: &Record) -> Result<(), UsageError> {
        replace(&self.file(id), sealed(record).as_bytes())
    }

    fn file(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }
}

/// Text before the checksum in a record's file, and behind it. The checksum is that of the rest of the file.
const SEAL: &str = "{\"checksum\":\"";
const SEAL_END: &str = "\",";

/// Text of a record's file: JSON whose first key is a checksum, because a kept result is trusted.
fn sealed(record: &Record) -> String {
    let text = serde_json::to_string(record).expect("a record has only strings as keys");
    let rest = text.strip_prefix('{').expect("a record is an object");
    format!("{SEAL}{}{SEAL_END}{rest}", machine::digest(rest.as_bytes()))
}

/// The record, if the checksum is right.
fn unsealed(bytes: &[u8]) -> Option<Record> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (checksum, rest) = text.strip_prefix(SEAL)?.split_once(SEAL_END)?;
    let whole = checksum == machine::digest(rest.as_bytes());
    whole.then(|| serde_json::from_str(&format!("{{{rest}")).ok())?
}

fn folder_of(table: &Path) -> PathBuf {
    let mut name = table.as_os_str().to_owned();
    name.push(".runs");
    PathBuf::from(name)
}

/// Writes a file and moves it to its place, so that nobody ever sees a part of it.
pub fn replace(file: &Path, bytes: &[u8]) -> Result<(), UsageError> {
    let failed = |why| UsageError::with_file("write", file, why);
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = file.with_file_name(name);
    let written = std::fs::write(&part, bytes).and_then(|()| std::fs::rename(&part, file));
    if written.is_err() {
        std::fs::remove_file(&part).ok();
    }
    written.map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_noticed_wherever_it_is() {
        let record = Record {
            identity: "point".into(),
            point: Map::new(),
            exit: 0,
            sentence: String::new(),
            wall_seconds: 0.1 + 0.2,
            output: "4.9 us\n".into(),
            report: serde_json::json!({ "simulated_ns": 1.0e23 }),
        };
        let text = sealed(&record);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["output"], "4.9 us\n", "it is JSON for others, too");
        let again = unsealed(text.as_bytes()).unwrap();
        assert_eq!((again.output, again.report), (record.output, record.report));
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            assert!(unsealed(&bytes).is_none(), "byte {at} of {}", text.len());
            assert!(unsealed(&text.as_bytes()[..at]).is_none(), "{at} bytes");
        }
    }
}

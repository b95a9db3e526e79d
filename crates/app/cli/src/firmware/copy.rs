//! `sunstar fw --copy`: a folder of the user's own that runs take firmware from, with its sources.

use crate::terminal;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};
use sunstar::root::Root;
use sunstar::usage_error::UsageError;

/// Sources of firmware, and the data that its Makefiles read.
const SOURCES: [&str; 2] = ["firmware", "abi"];
/// Folders that runs read beside them; the images come last.
const OTHERS: [&str; 11] = [
    "machines",
    "published",
    "examples",
    "wireshark",
    "rtl",
    "rtl/shim",
    "linux",
    "include",
    "build/lib",
    "build/examples",
    "build/firmware",
];

/// Copies into a folder that is new or empty.
pub fn copy(root: &Root, folder: &Path) -> Result<u8, UsageError> {
    let failed = |why| UsageError::with_file("write", folder, why);
    if folder.exists() && folder.read_dir().map_err(failed)?.next().is_some() {
        return Err(UsageError::sentence(format!("{} is there, and not empty", folder.display())));
    }
    // The files of an installation have any time, as what unpacked it gave them: images must be younger.
    let before = SystemTime::now() - Duration::from_secs(1);
    let time = (!root.is_repository()).then_some(before);
    for part in SOURCES {
        copy_tree(&root.sources(part), &folder.join(part), Times::of(time, false))
            .map_err(failed)?;
    }
    for part in OTHERS.iter().filter(|part| root.path().join(part).exists()) {
        let times = Times::of(time, true);
        copy_tree(&root.path().join(part), &folder.join(part), times).map_err(failed)?;
    }
    let place = folder.display();
    terminal::write(&format!(
        "Sources of all firmware: {place}/firmware\nSUNSTAR_ROOT={place} sunstar run ... takes it \
         from there, and builds what has changed\n"
    ))?;
    Ok(0)
}

/// Times of copied files.
#[derive(Clone, Copy)]
enum Times {
    /// As they were, in the repository: what is older than its sources stays so.
    Kept,
    Given(SystemTime),
    Now,
}

impl Times {
    fn of(time: Option<SystemTime>, made: bool) -> Times {
        match time {
            None => Times::Kept,
            Some(_) if made => Times::Now,
            Some(time) => Times::Given(time),
        }
    }
}

/// Copies a folder; links stay links. A copy can be written, whatever it was made of.
fn copy_tree(from: &Path, to: &Path, times: Times) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in from.read_dir()? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_tree(&source, &target, times)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(source.read_link()?, &target)?;
        } else if kind.is_file() {
            let facts = source.metadata()?;
            let mut file = File::create(&target)?;
            io::copy(&mut File::open(&source)?, &mut file)?;
            let time = match times {
                Times::Kept => Some(facts.modified()?),
                Times::Given(time) => Some(time),
                Times::Now => None,
            };
            if let Some(time) = time {
                file.set_modified(time)?;
            }
            use std::os::unix::fs::PermissionsExt;
            let mode = facts.permissions().mode() | 0o200;
            file.set_permissions(fs::Permissions::from_mode(mode & 0o777))?;
        }
    }
    Ok(())
}

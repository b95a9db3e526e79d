//! Lengths of files and lines, and names of files.

use house::{files, sources};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Most lines of a source file that is not named below.
const FILE_LINES_MAX: usize = 500;

/// Files that are longer, with their most lines. Lower a number when a file has shrunk; raise one only with
/// the reason at the top of the file.
const LONG_FILES: &[(&str, usize)] = &[];

/// Tables with a row on each line, of any width: the instructions of the processors.
const WIDE_FILES: &[&str] =
    &["crates/parts/lanai/src/instructions.rs", "crates/parts/ppc440/src/instructions.rs"];

/// Columns of a line of code, and of one that is a comment: rustfmt breaks the first kind only.
const CODE_COLUMNS_MAX: usize = 100;
const COMMENT_COLUMNS_MAX: usize = 110;

/// Most lines in all that are longer: a ratchet that only goes down.
const LONG_LINES_MAX: usize = 58;

#[test]
fn files_stay_short() {
    let mut allowed: BTreeMap<&str, usize> = LONG_FILES.iter().copied().collect();
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let (lines, name) = (text.lines().count(), path.to_string_lossy().into_owned());
        let max = allowed.remove(&*name);
        if lines > max.unwrap_or(FILE_LINES_MAX) {
            wrong.push(format!("{name} has {lines} lines"));
        } else if max.is_some() && lines <= FILE_LINES_MAX {
            wrong.push(format!("{name} is short now: take it out of LONG_FILES"));
        }
    }
    wrong.extend(allowed.keys().map(|name| format!("{name} in LONG_FILES is not there")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn lines_stay_short() {
    let mut long = Vec::new();
    let narrow = |path: &PathBuf| !WIDE_FILES.iter().any(|wide| path == Path::new(wide));
    for (path, text) in sources().into_iter().filter(|(path, _)| narrow(path)) {
        for (number, line) in text.lines().enumerate() {
            let comment = ["//", "/*", "*", "#"].iter().any(|m| line.trim_start().starts_with(m));
            let max = if comment { COMMENT_COLUMNS_MAX } else { CODE_COLUMNS_MAX };
            if line.chars().count() > max {
                long.push(format!("{}:{}", path.display(), number + 1));
            }
        }
    }
    let (count, list) = (long.len(), long.join("\n"));
    assert!(
        count <= LONG_LINES_MAX,
        "{count} lines are too long, allowed are {LONG_LINES_MAX}:\n{list}"
    );
}

/// Names that say nothing about the contents of a file or folder.
const DUMPING_GROUNDS: &[&str] = &["common", "util", "utils", "helpers", "misc"];

#[test]
fn no_dumping_grounds() {
    for path in files() {
        for part in path.iter() {
            let part = Path::new(part).file_stem().unwrap().to_string_lossy();
            assert!(!DUMPING_GROUNDS.contains(&&*part), "{}: name it after a noun", path.display());
        }
    }
}

//! The project's files as its rules need them; the rules are the tests of this crate. The reasons are in
//! ARCHITECTURE.md and CONTRIBUTING.md.

#![forbid(unsafe_code)]
// It is for tests alone: a file that cannot be read ends the test.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

/// The project's folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).unwrap().to_owned()
}

/// All files of the project, as paths relative to its root, without build products.
pub fn files() -> Vec<PathBuf> {
    fn walk(root: &Path, folder: &Path, found: &mut Vec<PathBuf>) {
        let mut entries: Vec<_> = fs::read_dir(root.join(folder)).unwrap().flatten().collect();
        entries.sort_by_key(|entry| entry.file_name());
        for entry in entries {
            let path = folder.join(entry.file_name());
            let top = folder.as_os_str().is_empty();
            let built =
                top && ["target", "build", ".git"].iter().any(|name| path == Path::new(name));
            match entry.file_type().unwrap() {
                kind if kind.is_dir() && !built => walk(root, &path, found),
                kind if kind.is_file() => found.push(path),
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    walk(&root(), Path::new(""), &mut found);
    found
}

/// True if the file's name ends with one of these.
pub fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    path.extension().is_some_and(|found| extensions.iter().any(|e| found == *e))
}

/// Contents of a file of the project.
pub fn text_of(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(root().join(path)).unwrap()).into_owned()
}

/// Source that people wrote, with its text.
pub fn sources() -> Vec<(PathBuf, String)> {
    files()
        .into_iter()
        .filter(|path| has_extension(path, &["rs", "c", "h", "S", "ld", "awk", "sh"]))
        .map(|path| (path.clone(), text_of(&path)))
        .filter(|(path, text)| !is_generated(path, text))
        .collect()
}

/// True if a program has written the file.
pub fn is_generated(path: &Path, text: &str) -> bool {
    let start = text.lines().take(3).collect::<String>().to_ascii_lowercase();
    start.contains("generated") || path.components().any(|part| part.as_os_str() == "generated")
}

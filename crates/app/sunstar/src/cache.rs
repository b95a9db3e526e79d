//! Cache folder, for files that can be made again: `$XDG_CACHE_HOME/sunstar` or `~/.cache/sunstar`.

use std::path::{Path, PathBuf};

/// The folder, which need not exist; `None` without a home.
pub fn folder() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|path| Path::new(path).is_absolute());
    let home = variable("HOME").map(|home| Path::new(&home).join(".cache"));
    let folder = variable("XDG_CACHE_HOME").map(PathBuf::from).or(home)?;
    Some(folder.join("sunstar"))
}

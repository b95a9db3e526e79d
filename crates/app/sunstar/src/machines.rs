//! Machines by their names.

use crate::root::Root;
use crate::usage_error::UsageError;
use machine::parameters::Parameters;
use machine::suggestion;
use models::MODELS;
use std::path::{Path, PathBuf};

/// Loads a machine. A name is one of Sunstar's machines; a path or a name with an extension is the user's own
/// file.
pub fn load(root: &Root, name: &str) -> Result<Parameters, UsageError> {
    read(root, &file(root, name)?)
}

/// Reads a machine's file, which may build on one of Sunstar's.
pub fn read(root: &Root, file: &Path) -> Result<Parameters, UsageError> {
    Parameters::load_among(&MODELS, file, &folder(root))
}

/// The file of a machine.
pub fn file(root: &Root, name: &str) -> Result<PathBuf, UsageError> {
    let path = Path::new(name);
    let own = path.extension().is_some() || path.components().count() > 1;
    let file = if own { path.to_owned() } else { folder(root).join(format!("{name}.toml")) };
    if !own && !file.is_file() {
        let known = names(root)?;
        let advice = suggestion::question_or(name, known.iter().map(String::as_str), || {
            format!("there is {}, or name a file of your own (.toml)", known.join(", "))
        });
        return Err(UsageError::sentence(format!("there is no machine {name}; {advice}")));
    }
    Ok(file)
}

fn folder(root: &Root) -> PathBuf {
    root.path().join("machines")
}

/// Names of Sunstar's own machines, in alphabetical order.
pub fn names(root: &Root) -> Result<Vec<String>, UsageError> {
    let folder = folder(root);
    let entries =
        std::fs::read_dir(&folder).map_err(|why| UsageError::with_file("read", &folder, why))?;
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    Ok(names)
}

//! Files that a command writes: no two are the same, and none is an input of the command.

use machine::parameters::Parameters;
use std::fs::OpenOptions;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use sunstar::usage_error::UsageError;

/// File, and what names it: an option, or another file.
pub type Named<'a> = (&'static str, &'a Path);

/// Identity of a file, however its name is spelled.
#[derive(PartialEq)]
enum Identity {
    /// A file that is there: its device and its inode number.
    Present(u64, u64),
    /// A file that is not there yet: its canonical folder, and its name.
    New(PathBuf),
}

/// `None` for standard output, and for devices such as /dev/null.
fn identity(file: &Path) -> Option<Identity> {
    match file.metadata() {
        _ if is_stdout(file) => None,
        Ok(found) if !found.is_file() => None,
        Ok(found) => Some(Identity::Present(found.dev(), found.ino())),
        Err(_) => {
            // A name alone is in the present folder.
            let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
            Some(Identity::New(folder.join(file.file_name()?)))
        }
    }
}

fn is_stdout(file: &Path) -> bool {
    file.as_os_str() == "-"
}

/// Checks now that the files can be written later, that no two are the same, and that none is an input.
pub fn check(outputs: &[Named], inputs: &[Named]) -> Result<(), UsageError> {
    for (at, (name, file)) in outputs.iter().enumerate() {
        let this = identity(file);
        let same = |(_, other): &&Named| this.is_some() && identity(other) == this;
        let shown = file.display();
        if let Some((input, _)) = inputs.iter().find(same) {
            return Err(UsageError::sentence(format!(
                "{name} would overwrite {input}, {shown}; name another file"
            )));
        }
        if let Some((other, _)) = outputs[..at].iter().find(same) {
            return Err(UsageError::sentence(format!(
                "{other} and {name} both write {shown}; name two files"
            )));
        }
        let also = outputs[..at].iter().find(|(_, other)| is_stdout(file) && is_stdout(other));
        if let Some((other, _)) = also {
            let text = format!("{other} and {name} both write to standard output; name a file");
            return Err(UsageError::sentence(text));
        }
        check_writable(file)?;
    }
    Ok(())
}

/// The files of a machine, as inputs.
pub fn files_of(machine: &Parameters) -> impl Iterator<Item = Named<'_>> {
    let bases = machine.bases().map(|file| ("what the machine builds on", file));
    std::iter::once(("the machine's file", machine.file())).chain(bases)
}

/// Checks now that a file can be written later, and leaves nothing behind.
fn check_writable(file: &Path) -> Result<(), UsageError> {
    if is_stdout(file) {
        return Ok(());
    }
    let mut options = OpenOptions::new();
    options.append(true);
    if options.clone().create_new(true).open(file).is_ok() {
        std::fs::remove_file(file).ok();
        return Ok(());
    }
    let opened = options.create(true).open(file);
    opened.map(drop).map_err(|why| UsageError::with_file("write", file, why))
}

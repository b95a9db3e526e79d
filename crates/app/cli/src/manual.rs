//! Manual pages and shell completions, both made from the definition of the command line.

use crate::args::Arguments;
use crate::terminal;
use clap::CommandFactory;
use std::path::Path;
use sunstar::usage_error::UsageError;

/// Prints the completions for a shell.
pub fn completions(shell: clap_complete::Shell) -> Result<u8, UsageError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "sunstar", &mut script);
    terminal::write(&String::from_utf8_lossy(&script))?;
    Ok(0)
}

/// Writes `sunstar.1` and a page for each command into `folder`.
pub fn pages(folder: &Path) -> Result<u8, UsageError> {
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Arguments::command(), folder))
        .map_err(|why| UsageError::with_file("write to", folder, why))?;
    Ok(0)
}

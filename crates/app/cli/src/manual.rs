//! Manual pages, made from the definition of the command line.

use crate::args::Arguments;
use clap::CommandFactory;
use std::path::Path;
use sunstar::usage_error::UsageError;

/// Writes `sunstar.1` and a page for each command into `folder`.
pub fn pages(folder: &Path) -> Result<u8, UsageError> {
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Arguments::command(), folder))
        .map_err(|why| UsageError::with_file("write to", folder, why))?;
    Ok(0)
}

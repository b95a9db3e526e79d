//! The kernel of Linux guests, with our modules.

use crate::firmware;
use crate::root::Root;
use crate::tools::MAKE;
use crate::usage_error::UsageError;
use guest::Kernel;
use machine::console;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// Modules of ours: folders of `linux`, each with a Makefile, and the control program that each loads, as a
/// C array.
const MODULES: [(&str, &str); 2] = [("dp", "mcp.h"), ("bypass", "bypass/mcp.h")];

/// The guests' kernel, with first program and modules as their sources are.
pub fn kernel(root: &Root) -> Result<Kernel, UsageError> {
    let kernel = Kernel::find(&root.guests())?;
    let _lock = firmware::locked(&root.guests())
        .map_err(|why| UsageError::with_file("write in", &root.guests(), why))?;
    let linux = root.path().join("linux");
    if is_older(&kernel.init(), &[linux.join("init")]) {
        prepare(root)?;
    }
    for (name, program) in MODULES {
        let (sources, made) = (linux.join(name), kernel.module(name));
        let program = root.path().join("build/firmware/lanai").join(program);
        let card = linux.join("card");
        if is_older(&made, &[sources.clone(), card, program.clone()]) {
            build(&sources, &kernel, name, &program)?;
        }
    }
    Ok(kernel)
}

/// Builds a module against the kernel; messages are shown only if that fails.
fn build(sources: &Path, kernel: &Kernel, name: &str, program: &Path) -> Result<(), UsageError> {
    if MAKE.found().is_none() {
        return Err(UsageError::sentence(MAKE.missing()));
    }
    let mut make = firmware::make(sources);
    make.arg(format!("TREE={}", kernel.tree().display()));
    make.arg(format!("OUT={}", kernel.module(name).with_file_name("").display()));
    make.arg(format!("PROGRAM={}", program.display()));
    let output =
        make.output().map_err(|why| UsageError::sentence(format!("cannot start make: {why}")))?;
    if output.status.success() {
        return Ok(());
    }
    console::pass_on(&String::from_utf8_lossy(&output.stderr));
    Err(UsageError::sentence(format!(
        "the module {name} does not build; the messages above are the compiler's"
    )))
}

/// True if a file is missing, or not younger than all of these, which may be folders.
fn is_older(made: &Path, sources: &[PathBuf]) -> bool {
    let changed = |path: &PathBuf| -> Option<SystemTime> {
        match path.is_dir() {
            true => firmware::times(path).ok()?.into_iter().max(),
            false => std::fs::metadata(path).ok()?.modified().ok(),
        }
    };
    let of = std::fs::metadata(made).and_then(|facts| facts.modified()).ok();
    // What is not there is older than anything.
    of <= sources.iter().filter_map(changed).max()
}

/// Builds the guests' kernel, unless it is there.
pub fn prepare(root: &Root) -> Result<(), UsageError> {
    let script = root.path().join("linux/kernel/prepare");
    let ended = Command::new(&script).arg(root.guests()).status();
    match ended.map_err(|why| UsageError::with_file("run", &script, why))? {
        status if status.success() => Ok(()),
        // The script has said why.
        _ => Err(UsageError::sentence("there is no kernel for guests")),
    }
}

//! `abigen` writes its output; `abigen --check` lists stale files and fails.

#![forbid(unsafe_code)]

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let check = match std::env::args().nth(1).as_deref() {
        None => false,
        Some("--check") => true,
        Some(other) => {
            eprintln!("abigen: unknown argument {other}; usage: abigen [--check]");
            return ExitCode::from(2);
        }
    };
    // The tool is run from its own checkout only, so the root is known when it is built.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    match run(&root, check) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("abigen: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Output that is not written.
#[derive(Debug, thiserror::Error)]
enum RunError {
    /// The data cannot be used.
    #[error(transparent)]
    Layout(#[from] abigen::LayoutError),
    /// A file cannot be written.
    #[error("cannot write {}: {why}", path.display())]
    Write { path: PathBuf, why: io::Error },
}

/// Returns false if `check` found a stale file.
fn run(root: &Path, check: bool) -> Result<bool, RunError> {
    let mut current = true;
    for output in abigen::generate(root)? {
        if output.is_current(root) {
            continue;
        }
        if check {
            eprintln!("{} is stale: run `cargo run -p abigen`", output.path.display());
            current = false;
            continue;
        }
        let path = root.join(&output.path);
        let folder = path.parent().expect("an output stands below the root");
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&path, &output.text))
            .map_err(|why| RunError::Write { path: path.clone(), why })?;
        println!("{}", output.path.display());
    }
    Ok(current)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_written_is_a_sentence() {
        let why = io::Error::from_raw_os_error(28);
        let error = RunError::Write { path: PathBuf::from("include/mpi.h"), why };
        assert_eq!(
            error.to_string(),
            "cannot write include/mpi.h: No space left on device (os error 28)"
        );
    }
}

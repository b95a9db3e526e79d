//! `abigen` writes its output; `abigen --check` lists stale files and fails.

#![forbid(unsafe_code)]

use std::path::Path;
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
        Err(message) => {
            eprintln!("abigen: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Returns false if `check` found a stale file.
fn run(root: &Path, check: bool) -> Result<bool, String> {
    let mut current = true;
    for output in abigen::generate(root).map_err(|error| error.to_string())? {
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
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        println!("{}", output.path.display());
    }
    Ok(current)
}

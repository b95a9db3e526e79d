//! The models together with the bench: their parameters, machine files, faults; a node between doubles.

#![allow(clippy::unwrap_used)]

mod faults;
mod fuzz;
mod node;
mod parameters;
mod schema;
mod words;

use std::path::PathBuf;

fn machines() -> PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../machines")
}

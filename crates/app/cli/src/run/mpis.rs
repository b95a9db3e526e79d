//! The MPI libraries of a run's programs, in words.

use machine::Program;
use rank::{MpiLibrary, Notes};

/// Those of other implementations that programs were started with.
pub fn foreign(program: &Program) -> Vec<String> {
    let mut all = Vec::new();
    for executable in program.executables() {
        if let MpiLibrary::Foreign(mpi) = &executable.surroundings.mpi {
            let told = format!("{} ({})", mpi.family, mpi.library.display());
            if !all.contains(&told) {
                all.push(told);
            }
        }
    }
    all
}

/// All of them behind the run: Sunstar's is named if a program has begun it.
pub fn all(notes: &Notes, foreign: Vec<String>) -> String {
    let own = notes.begun_mpi().then(|| "own MPI".to_owned());
    own.into_iter().chain(foreign).collect::<Vec<_>>().join(", ")
}

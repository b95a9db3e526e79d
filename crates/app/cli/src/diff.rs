//! `sunstar diff`: differences between two runs, in parameters and in the breakdown of time.

mod account;
mod compare;
#[cfg(test)]
mod fuzz;
mod messages;
mod point;
mod read;
mod table;

use crate::args::DiffOptions;
use crate::terminal::{self, Terminal};
use crate::{bench, outputs};
use compare::Diff;
use sunstar::usage_error::UsageError;

/// Exit status if the runs differ, as of diff(1), or the second one is too slow.
const EXIT_DIFFERENT: u8 = 1;

/// Compares two runs; the exit status is 0 if they are equal, or the second one is not slower than allowed.
pub fn diff(options: &DiffOptions) -> Result<u8, UsageError> {
    let files = [point::file_of(&options.a)?, point::file_of(&options.b)?];
    if let Some(file) = &options.json {
        let compared = files.each_ref().map(|run| ("what is compared", run.as_path()));
        outputs::check(&[("--json", file)], &compared)?;
    }
    let [mut a, mut b] = [read::read(&files[0])?, read::read(&files[1])?];
    // A point has the name that the user knows it by.
    (a.file, b.file) = (options.a.display().to_string(), options.b.display().to_string());
    let diff = Diff::of(&a, &b);
    match &options.json {
        Some(file) => bench::write_json(file, &diff)?,
        None => terminal::write(&table::table(&diff, &Terminal::of_stdout()))?,
    }
    let differs = match options.fail_above {
        Some(most) => diff.slower() > most,
        None => !diff.equal,
    };
    Ok(if differs { EXIT_DIFFERENT } else { 0 })
}

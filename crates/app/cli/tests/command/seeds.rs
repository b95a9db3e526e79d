//! Random runs by their seeds, one after the other.

use crate::runner::Ended;
use std::ops::Range;

/// A run that is not as it should be.
#[derive(Debug, thiserror::Error)]
pub enum Unexpected {
    /// It has ended in another way.
    #[error("{0:#?}")]
    End(Box<Ended>),
    /// It is another if it is simulated in another way.
    #[error("{how} changes it: {again:#?} {ended:#?}")]
    Changes { how: String, again: Box<Ended>, ended: Box<Ended> },
    /// Its report is another.
    #[error("{how}: {difference}")]
    Differs { how: String, difference: String },
    /// Its files are others.
    #[error("{how}: files differ")]
    Files { how: String },
    /// The same, with the line that repeats it.
    #[error("sunstar {line}\n{why}")]
    Of { line: String, why: Box<Unexpected> },
}

impl Unexpected {
    pub fn end(ended: &Ended) -> Unexpected {
        Unexpected::End(Box::new(ended.clone()))
    }
    pub fn changes(how: &str, again: Ended, ended: &Ended) -> Unexpected {
        let (again, ended) = (Box::new(again), Box::new(ended.clone()));
        Unexpected::Changes { how: how.to_owned(), again, ended }
    }
}

/// The number that an environment variable has.
pub fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("it is a number"))
}

/// The seeds that SOAK_FIRST and SOAK_SEEDS choose; so many from 1000 on if they say nothing.
pub fn chosen(count: u64) -> Range<u64> {
    let first = number("SOAK_FIRST", 1000);
    first..first + number("SOAK_SEEDS", count)
}

/// Checks these seeds, and fails with a list of those that failed, with the line that repeats each.
pub fn hold(seeds: Range<u64>, check: impl Fn(u64) -> Result<(), (String, Unexpected)>) {
    let (made, mut wrong) = (seeds.end - seeds.start, Vec::new());
    for seed in seeds {
        if let Err((replay, why)) = check(seed) {
            let told = format!("seed {seed}: {replay}\n{why}");
            eprintln!("{told}");
            wrong.push(told);
        }
    }
    println!("{made} seeds, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{} of {made} seeds failed:\n{}", wrong.len(), wrong.join("\n"));
}

/// One seed in `of` is simulated once more, in another way: the run is the same.
pub fn same_in_another_way(
    (seed, of): (u64, u64),
    ended: &Ended,
    others: &[&str],
    again: impl Fn(&str) -> Ended,
) -> Result<(), Unexpected> {
    let Some(other) = others.get((seed % of) as usize) else { return Ok(()) };
    let again = again(other);
    if again.hash().is_none() || again.hash() != ended.hash() {
        return Err(Unexpected::changes(other, again, ended));
    }
    Ok(())
}

//! Random runs by their seeds, one after the other.

use crate::runner::Ended;
use std::ops::Range;

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
pub fn hold(seeds: Range<u64>, check: impl Fn(u64) -> Result<(), (String, String)>) {
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
) -> Result<(), String> {
    let Some(other) = others.get((seed % of) as usize) else { return Ok(()) };
    let again = again(other);
    if again.hash().is_none() || again.hash() != ended.hash() {
        return Err(format!("{other} changes it: {again:#?} {ended:#?}"));
    }
    Ok(())
}

//! Times of the tests, as `scripts/test-times` has measured them last (docs/test-times.csv), keep to budgets.

use crate::rooms::crates;
use house::text_of;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Seconds for all tests of a crate, one after the other, on the machine that measures; all others have
/// [`SMALL`]. Who needs more moves something into the long ring, or says why in the commit that raises this.
const BUDGETS: [(&str, f64); 9] = [
    ("cli", 1250.0),
    ("forth-nic", 30.0),
    ("lanai", 35.0),
    ("model-seastar", 35.0),
    ("mpi", 25.0),
    ("myrinet", 25.0),
    ("portals", 35.0),
    ("ppc440", 45.0),
    ("rank", 30.0),
];
/// Seconds for all tests of any other crate.
const SMALL: f64 = 15.0;
/// Seconds for one test.
const ONE: f64 = 30.0;

#[test]
fn tests_keep_to_the_time_that_their_crate_has() {
    let text = text_of(Path::new("docs/test-times.csv"));
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    let mut slow = Vec::new();
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [of, _, test, seconds] = fields[..] else { panic!("not a row: {line}") };
        let seconds: f64 = seconds.parse().unwrap();
        *sums.entry(of).or_default() += seconds;
        if seconds > ONE {
            slow.push(format!("{test}: {seconds} s"));
        }
    }
    let known: BTreeSet<&str> = crates().map(|(name, _)| *name).collect();
    let strange: Vec<_> = sums.keys().filter(|name| !known.contains(**name)).collect();
    assert!(strange.is_empty() && sums.len() > 20, "{strange:?} of {}", sums.len());
    let budget = |name: &str| {
        let own = BUDGETS.iter().find(|(own, _)| *own == name);
        own.map_or(SMALL, |(_, seconds)| *seconds)
    };
    let over = sums.iter().filter(|(name, sum)| **sum > budget(name));
    let over: Vec<_> = over.map(|(name, sum)| format!("{name}: {sum:.0} s")).collect();
    assert!(over.is_empty() && slow.is_empty(), "over budget: {over:?} {slow:?}");
}

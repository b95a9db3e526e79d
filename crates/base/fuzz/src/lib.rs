//! Random inputs for readers of untrusted bytes: valid inputs with small changes. Used by tests only.
//!
//! A [`Target`] has seeds, which are valid inputs, and words, which have a meaning for the reader. Each input
//! is a seed with some edits. In normal tests a few hundred of them are tried, always the same; under
//! `make fuzz` (`SUNSTAR_FUZZ_SECONDS`) new ones until the time is over. An input that makes the reader panic
//! is made smaller and printed, with the seed of its numbers (`SUNSTAR_FUZZ_SEED` gives it again); one that
//! keeps it busy for too long ends the tests.

#![forbid(unsafe_code)]

mod edit;

use edit::Edit;

use proptest::collection::vec;
use proptest::prelude::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// Seconds that each target is tried for.
const SECONDS: &str = "SUNSTAR_FUZZ_SECONDS";
/// The seed of the numbers, in hexadecimal: that of a run that found something.
const SEED: &str = "SUNSTAR_FUZZ_SEED";
/// Inputs of a normal test.
const FEW: u32 = 256;
/// Edits of an input.
const EDITS: usize = 8;
/// Most bytes by which an input may be longer than its seed.
const GROWTH: usize = 1 << 16;
/// Time after which a busy reader counts as hanging. Only under `make fuzz`.
const HANG: Duration = Duration::from_secs(60);

/// Reader of bytes, under test.
#[derive(Debug)]
pub struct Target {
    name: &'static str,
    few: u32,
    seeds: Vec<Vec<u8>>,
    words: Vec<Vec<u8>>,
}

impl Target {
    /// A target, whose name is for messages; it needs a seed.
    pub fn new(name: &'static str) -> Target {
        Target { name, few: FEW, seeds: Vec::new(), words: Vec::new() }
    }
    /// A valid input.
    pub fn seed(mut self, bytes: impl Into<Vec<u8>>) -> Target {
        self.seeds.push(bytes.into());
        self
    }
    /// Pieces that mean something in an input.
    pub fn words(mut self, words: impl IntoIterator<Item = impl Into<Vec<u8>>>) -> Target {
        self.words.extend(words.into_iter().map(Into::into));
        self
    }
    /// Only so many inputs in a normal test, because each takes long.
    pub fn few(mut self, few: u32) -> Target {
        self.few = few;
        self
    }

    /// Runs the test on inputs.
    ///
    /// # Panics
    /// If the test does: with the smallest input that was found to make it panic.
    pub fn run(&self, test: impl Fn(&[u8])) {
        assert!(!self.seeds.is_empty(), "{} has no seeds", self.name);
        // Seeds are valid, and their reader must accept them.
        self.seeds.iter().for_each(|seed| test(seed));
        let words = self.words.len();
        let edits = vec(Edit::any(words), 0..=EDITS);
        let inputs = (0..self.seeds.len(), edits).prop_map(|(seed, edits)| Case { seed, edits });
        let plan = Plan::new(self.few);
        explore(self.name, &plan, &inputs, |case| test(&self.bytes(case)), |case| self.told(case));
    }

    fn bytes(&self, case: &Case) -> Vec<u8> {
        let mut bytes = self.seeds[case.seed].clone();
        let most = bytes.len() + GROWTH;
        for edit in &case.edits {
            edit.apply(&mut bytes, &self.words, &self.seeds);
            bytes.truncate(most);
        }
        bytes
    }

    fn told(&self, case: &Case) -> String {
        let bytes = self.bytes(case);
        match bytes.len() {
            0..=2000 => format!("b\"{}\"", bytes.escape_ascii()),
            many => format!("{many} bytes, {case:?}"),
        }
    }
}

/// A seed by its number, and the changes made to it.
#[derive(Clone, Debug)]
struct Case {
    seed: usize,
    edits: Vec<Edit>,
}

/// Number and choice of the inputs.
struct Plan {
    /// Seed of the first batch; each further batch has the next one.
    seed: u64,
    /// Inputs of a batch.
    batch: u32,
    length: Length,
}

enum Length {
    Batches(u64),
    Until(Instant),
}

impl Plan {
    /// Plan that the environment asks for.
    fn new(few: u32) -> Plan {
        let seconds = std::env::var(SECONDS).ok().and_then(|text| text.parse().ok());
        let given = std::env::var(SEED).ok().and_then(|text| u64::from_str_radix(&text, 16).ok());
        let now = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos() as u64);
        match seconds.map(Duration::from_secs) {
            None => Plan { seed: given.unwrap_or(0), batch: few, length: Length::Batches(1) },
            Some(span) => {
                let length = Length::Until(Instant::now() + span);
                Plan { seed: given.unwrap_or(now), batch: few, length }
            }
        }
    }
}

fn explore<S: Strategy>(
    name: &str,
    plan: &Plan,
    values: &S,
    test: impl Fn(&S::Value),
    tell: impl Fn(&S::Value) -> String,
) {
    let long = matches!(plan.length, Length::Until(_));
    let watch = long.then(|| Watch::start(name.to_owned()));
    let tried = Cell::new(0u64);
    for batch in 0.. {
        let seed = plan.seed.wrapping_add(batch);
        // A runner that has had its inputs has no more.
        let found = runner(seed, plan.batch).run(values, |value| {
            tried.set(tried.get() + 1);
            if let Some(watch) = &watch {
                watch.beat(seed);
            }
            test(&value);
            Ok::<(), TestCaseError>(())
        });
        match found {
            Err(TestError::Fail(why, value)) => {
                let value = tell(&value);
                panic!("{name} ({SEED}={seed:x}): {why}, for {value}");
            }
            Err(TestError::Abort(why)) => panic!("{name}: {why}"),
            Ok(()) => {}
        }
        let over = match plan.length {
            Length::Batches(batches) => batch + 1 >= batches,
            Length::Until(end) => Instant::now() >= end,
        };
        if over {
            break;
        }
    }
    if long {
        eprintln!("{name}: {} inputs", tried.get());
    }
}

fn runner(seed: u64, cases: u32) -> TestRunner {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

/// Ends the tests if one input keeps its reader busy for too long.
struct Watch {
    /// Inputs so far, and the seed of their batch.
    beats: Arc<[AtomicU64; 2]>,
}

impl Watch {
    fn start(name: String) -> Watch {
        let beats: Arc<[AtomicU64; 2]> = Arc::default();
        let seen = Arc::downgrade(&beats);
        std::thread::spawn(move || {
            let mut last = u64::MAX;
            while let Some(beats) = seen.upgrade() {
                let [now, seed] = beats.each_ref().map(|number| number.load(Ordering::Relaxed));
                if now == last {
                    eprintln!("{name} ({SEED}={seed:x}): an input takes more than {HANG:?}");
                    std::process::abort();
                }
                last = now;
                drop(beats);
                std::thread::sleep(HANG);
            }
        });
        Watch { beats }
    }

    fn beat(&self, seed: u64) {
        self.beats[1].store(seed, Ordering::Relaxed);
        self.beats[0].fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::panic::{catch_unwind, AssertUnwindSafe};

    #[test]
    fn what_breaks_a_reader_is_found_and_made_small() {
        let target = Target::new("a reader").seed("12 34 56").words(["end"]);
        let broken = catch_unwind(AssertUnwindSafe(|| {
            target.run(|bytes| {
                assert!(!bytes.windows(3).any(|part| part == b"end"), "it is the end")
            });
        }));
        let why = broken.unwrap_err();
        let why = why.downcast_ref::<String>().unwrap();
        assert!(why.contains("it is the end") && why.contains("a reader"), "{why}");
        assert!(why.contains("end12 34 56\""), "one edit is enough: {why}");
    }

    #[test]
    fn each_batch_has_inputs_of_its_own() {
        let (tried, seen) = (Cell::new(0), std::cell::RefCell::new(BTreeSet::new()));
        let plan = |seed, batches| Plan { seed, batch: 100, length: Length::Batches(batches) };
        let test = |number: &u64| {
            tried.set(tried.get() + 1);
            seen.borrow_mut().insert(*number);
        };
        let numbers = proptest::num::u64::ANY;
        explore("numbers", &plan(7, 5), &numbers, test, |number| number.to_string());
        assert_eq!((tried.get(), seen.borrow().len()), (500, 500));
        // The seed of a batch gives it again.
        explore("numbers", &plan(11, 1), &numbers, test, |number| number.to_string());
        assert_eq!((tried.get(), seen.borrow().len()), (600, 500));
    }

    #[test]
    fn inputs_are_many_and_bounded_and_the_same_each_time() {
        let inputs = || {
            let (tried, sum) = (Cell::new(0), Cell::new(0u64));
            Target::new("inputs").seed(vec![7; 100]).seed("").run(|bytes| {
                assert!(bytes.len() <= 100 + GROWTH);
                tried.set(tried.get() + 1);
                let bytes = bytes.iter().fold(sum.get(), |sum, byte| {
                    sum.wrapping_mul(31).wrapping_add(u64::from(*byte))
                });
                sum.set(bytes);
            });
            (tried.get(), sum.get())
        };
        let first = inputs();
        assert!(first.0 >= FEW);
        if std::env::var(SECONDS).is_err() {
            assert_eq!(first, inputs());
        }
    }
}

//! The library by itself, held against the specification.

#![allow(clippy::unwrap_used)] // A test may panic anywhere.

// The machine's backend asks what this one need not know.
#[allow(dead_code)]
#[path = "../clause/mod.rs"]
mod clause;
mod contract;
mod small_worlds;
// Words that these tests do not need stay unused.
#[allow(dead_code)]
#[path = "../../../../bench/machine/src/judge/words.rs"]
mod words;

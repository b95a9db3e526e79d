//! Ranks that speak MPI in a small world.

#![allow(clippy::unwrap_used)] // A test may panic anywhere.

mod collectives;
mod errors;
mod judged;
mod matching;
mod point_to_point;
mod script;
mod world;

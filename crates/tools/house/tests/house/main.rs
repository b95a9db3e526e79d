//! The project's own rules, kept by tests.

// Clippy takes only functions with #[test] for tests; here everything is one.
#![allow(clippy::unwrap_used)]

mod citations;
mod documents;
mod imports;
mod rooms;
mod shape;
mod times;
mod words;

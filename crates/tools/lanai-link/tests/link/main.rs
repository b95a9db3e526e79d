//! Objects of clang's, linked: `objects` has what comes out, and each way in which they do not fit together;
//! `mutants` the bugs that it finds.
#![allow(clippy::unwrap_used)]

#[cfg(debug_assertions)]
mod mutants;
mod objects;

//! Objects of clang's, linked: `objects` has what comes out, and each way in which they do not fit together;
//! `planted` the bugs that it finds.
#![allow(clippy::unwrap_used)]

mod objects;
#[cfg(debug_assertions)]
mod planted;

//! The associative list processing unit of brightwell2005: what it does (`Spec`, `Judge`), and when, cycle
//! by cycle.

mod judge;
mod spec;
mod types;

pub use judge::Judge;
pub use spec::Spec;
pub use types::{Command, Entry, Kind, Request, Response};

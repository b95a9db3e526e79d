//! A bug that is planted without its name: `--fault KIND=SEED`, of a kind with a seed ([`Form::Seed`]).

use super::fault_error::FaultError;
use super::kinds::{FaultKind, Form, Scope};

/// Kinds that a seed may hide: those of one node that are in the hardware.
pub fn bugs(
    kinds: &'static [&'static FaultKind],
) -> impl Iterator<Item = &'static FaultKind> + Clone {
    let planted = |kind: &&&FaultKind| kind.scope == Scope::Hardware && kind.value == Form::Node;
    kinds.iter().filter(planted).copied()
}

/// The seed behind `KIND=`.
pub fn seed(kind: &FaultKind, text: &str) -> Result<u64, FaultError> {
    let seed = text.trim().parse();
    seed.map_err(|_| FaultError::Seed { kind: kind.name, text: text.to_owned() })
}

/// Bug that a seed hides, and its node, 0 or 1; none if there are no bugs.
pub fn find(kinds: &'static [&'static FaultKind], seed: u64) -> Option<(&'static FaultKind, u32)> {
    let mixed = (seed ^ 0x5EED).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = mixed ^ mixed >> 29;
    let count = bugs(kinds).count();
    let kind = bugs(kinds).nth((mixed as usize).checked_rem(count)?)?;
    Some((kind, (mixed >> 40) as u32 % 2))
}

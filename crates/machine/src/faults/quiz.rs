//! A bug that is planted without its name: `--fault quiz=SEED`.

use super::kinds::{FaultKind, KINDS};

/// Bugs of cards and their driver.
pub fn bugs() -> impl Iterator<Item = &'static FaultKind> {
    KINDS.iter().filter(|kind| kind.name.starts_with("bug."))
}

/// The seed that stands behind `quiz=`. The error is a sentence.
pub fn seed(text: &str) -> Result<u64, String> {
    let seed = text.trim().parse();
    seed.map_err(|_| format!("a quiz has a number, as in quiz=7, which '{text}' is not"))
}

/// Bug that a seed hides, and its node, 0 or 1.
pub fn hidden(seed: u64) -> (&'static str, u32) {
    let mixed = (seed ^ 0x5EED).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = mixed ^ mixed >> 29;
    let count = bugs().count();
    let kind = bugs().nth(mixed as usize % count).expect("there are so many");
    (kind.name, (mixed >> 40) as u32 % 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_hide_every_bug_on_either_node() {
        let hidden: Vec<_> = (0..2000).map(hidden).collect();
        for bug in bugs() {
            for node in 0..2 {
                assert!(hidden.contains(&(bug.name, node)), "{} on {node}", bug.name);
            }
        }
        assert!(seed("x").is_err());
    }
}

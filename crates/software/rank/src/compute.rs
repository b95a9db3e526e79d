//! Cost of a program's own computation, in simulated time.

use std::fmt;
use std::str::FromStr;

/// Parts of a factor that are told apart.
const PARTS: f64 = 1e6;
/// Largest factor.
const MAX: f64 = 1e6;

/// Rule for the simulated time of computation between calls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Compute {
    /// No simulated time, unless the program says so itself (`sunstar.h`): runs are deterministic.
    #[default]
    None,
    /// So many times the processor time that the rank's process has used. Runs differ from one another.
    Scale(f64),
}

impl Compute {
    /// Millionths of a simulated second a second of processor time; 0: nothing is measured.
    pub(crate) fn millionths(self) -> u64 {
        match self {
            Compute::None => 0,
            Compute::Scale(factor) => (factor * PARTS).round() as u64,
        }
    }

    /// True if equal runs have equal results.
    pub fn is_deterministic(self) -> bool {
        self == Compute::None
    }
}

impl fmt::Display for Compute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Compute::None => f.write_str("none"),
            Compute::Scale(factor) => write!(f, "scale={factor}"),
        }
    }
}

/// A text that is no rule of computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is none, or scale=FACTOR with 0.000001 to 1000000")]
pub struct ComputeError;

impl FromStr for Compute {
    type Err = ComputeError;

    fn from_str(text: &str) -> Result<Compute, ComputeError> {
        if text == "none" {
            return Ok(Compute::None);
        }
        let factor = text.strip_prefix("scale=").and_then(|factor| factor.parse::<f64>().ok());
        factor
            .filter(|factor| (1.0 / PARTS..=MAX).contains(factor))
            .map(Compute::Scale)
            .ok_or(ComputeError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        for text in ["none", "scale=1", "scale=0.25", "scale=1000000"] {
            let compute: Compute = text.parse().unwrap();
            assert_eq!(compute.to_string(), text);
            assert_eq!(compute.is_deterministic(), text == "none");
        }
        assert_eq!(Compute::Scale(0.25).millionths(), 250_000);
        for text in ["", "scale", "scale=", "scale=0", "scale=-1", "scale=NaN", "scale=2e6", "1"] {
            let why = text.parse::<Compute>().unwrap_err().to_string();
            assert_eq!(why, "it is none, or scale=FACTOR with 0.000001 to 1000000", "{text}");
        }
    }
}

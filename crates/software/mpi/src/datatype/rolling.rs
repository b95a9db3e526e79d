//! A number for a sequence of kinds: equal sequences have equal numbers, and others hardly ever. That of
//! sequences one behind the other, or repeated, comes from theirs, so that nothing is ever spelt out.

/// Arithmetic is modulo this prime.
const PRIME: u64 = (1 << 61) - 1;
/// Value of a place in the sequence.
const BASE: u64 = 0x1234_5678_9abc_def1 % PRIME;

/// A sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rolling {
    /// Its items as digits.
    digits: u64,
    /// The value of the place before the first one.
    power: u64,
    /// One of its items matches all others: `MPI_PACKED`.
    pub matches_all: bool,
}

/// The kind of `MPI_PACKED`.
const PACKED: u8 = crate::constant::PACKED as u8;

impl Default for Rolling {
    fn default() -> Rolling {
        Rolling { digits: 0, power: 1, matches_all: false }
    }
}

fn times(a: u64, b: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(PRIME)) as u64
}

impl Rolling {
    /// One item.
    pub fn of(kind: u8) -> Rolling {
        Rolling { digits: u64::from(kind) + 1, power: BASE, matches_all: kind == PACKED }
    }

    /// This, and then the other.
    pub fn then(self, other: Rolling) -> Rolling {
        Rolling {
            digits: (times(self.digits, other.power) + other.digits) % PRIME,
            power: times(self.power, other.power),
            matches_all: self.matches_all || other.matches_all,
        }
    }

    /// This, so often.
    pub fn repeated(self, mut number: u64) -> Rolling {
        let (mut all, mut doubled) = (Rolling::default(), self);
        while number > 0 {
            if number % 2 == 1 {
                all = all.then(doubled);
            }
            number /= 2;
            if number > 0 {
                doubled = doubled.then(doubled);
            }
        }
        all
    }

    /// The number of the sequence.
    pub fn number(self) -> u64 {
        self.digits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelt(kinds: &[u8]) -> Rolling {
        kinds.iter().fold(Rolling::default(), |all, kind| all.then(Rolling::of(*kind)))
    }

    #[test]
    fn sequences_are_what_they_are_made_of_in_any_way() {
        let whole = spelt(&[3, 3, 3, 9, 3, 3, 3, 9, 5]);
        let three = Rolling::of(3).repeated(3);
        let pieces = three.then(Rolling::of(9)).repeated(2).then(Rolling::of(5));
        assert_eq!(whole, pieces);
        assert_eq!(spelt(&[7; 1000]), Rolling::of(7).repeated(1000));
        assert_eq!(Rolling::of(7).repeated(0), Rolling::default());
    }

    #[test]
    fn order_length_and_kind_matter() {
        let sequences: [&[u8]; 7] = [&[], &[0], &[0, 0], &[1], &[1, 0], &[0, 1], &[0, 1, 0]];
        let mut numbers: Vec<u64> = sequences.iter().map(|kinds| spelt(kinds).number()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), sequences.len());
        assert!(spelt(&[1, PACKED]).matches_all && !spelt(&[1, 2]).matches_all);
    }
}

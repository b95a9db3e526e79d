//! A set of processes that is walked in ascending order at the cost of its members.

/// Members by number: a bit each, and above 64 of them a bit that says whether any is set.
#[derive(Clone, Debug)]
pub(crate) struct Set {
    bits: Vec<u64>,
    words: Vec<u64>,
}

const BITS: usize = u64::BITS as usize;

/// The first bit of `word` that is set, from bit `from` on.
#[inline(always)]
fn first(word: u64, from: usize) -> Option<usize> {
    let rest = word & (u64::MAX << from);
    (rest != 0).then(|| rest.trailing_zeros() as usize)
}

impl Set {
    /// An empty set of numbers below `count`.
    pub(crate) fn new(count: usize) -> Set {
        let bits = count.div_ceil(BITS);
        Set { bits: vec![0; bits], words: vec![0; bits.div_ceil(BITS)] }
    }
    /// Puts `member` into the set, or takes it out.
    #[inline(always)]
    pub(crate) fn set(&mut self, member: usize, within: bool) {
        let word = member / BITS;
        let bits = &mut self.bits[word];
        *bits = *bits & !(1 << (member % BITS)) | u64::from(within) << (member % BITS);
        let any = u64::from(*bits != 0);
        let words = &mut self.words[word / BITS];
        *words = *words & !(1 << (word % BITS)) | any << (word % BITS);
    }
    /// The first member from `from` on.
    #[inline(always)]
    pub(crate) fn from(&self, from: usize) -> Option<usize> {
        let word = from / BITS;
        match first(*self.bits.get(word)?, from % BITS) {
            Some(bit) => Some(word * BITS + bit),
            None => self.behind(word + 1),
        }
    }
    /// The first member in word `word` or behind it.
    fn behind(&self, word: usize) -> Option<usize> {
        let (above, from) = (word / BITS, word % BITS);
        let here = first(*self.words.get(above)?, from).map(|bit| (above, bit));
        let next = || {
            let rest = (above + 1..).zip(self.words.get(above + 1..)?);
            rest.into_iter().find_map(|(above, word)| Some((above, first(*word, 0)?)))
        };
        let (above, bit) = here.or_else(next)?;
        let word = above * BITS + bit;
        Some(word * BITS + self.bits[word].trailing_zeros() as usize)
    }
    /// All members.
    #[inline(always)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.iter_from(0)
    }
    /// All members from `from` on.
    #[inline(always)]
    pub(crate) fn iter_from(&self, mut from: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::from_fn(move || {
            let member = self.from(from)?;
            from = member + 1;
            Some(member)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;
    use std::collections::BTreeSet;

    #[test]
    fn members_are_walked_in_order() {
        let mut random = Random::new(4);
        for count in [1, 2, 63, 64, 65, 4_095, 4_096, 4_097, 10_001, 300_000] {
            let (mut set, mut expected) = (Set::new(count), BTreeSet::new());
            for _ in 0..40 {
                for _ in 0..random.below(6) {
                    // Often the first and the last of a word.
                    let member = match random.below(2) {
                        0 => random.below(count as u64) as usize,
                        _ => (random.below(count as u64) as usize / 64 * 64 + 63).min(count - 1),
                    };
                    let within = random.below(3) > 0;
                    set.set(member, within);
                    match within {
                        true => expected.insert(member),
                        false => expected.remove(&member),
                    };
                }
                assert!(set.iter().eq(expected.iter().copied()), "of {count}");
            }
            expected.iter().for_each(|member| set.set(*member, false));
            assert_eq!(set.from(0), None);
        }
    }
}

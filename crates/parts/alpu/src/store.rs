//! The entries of the cells, kept for speed: an entry stays in one slot from its insert to its match.
//!
//! Hardware compares all cells at once and deletes by shifting the younger ones. Here tables say, for each
//! digit (five bits) of a match word and each of its 32 values, which slots have it, one bit a slot, and
//! which have a mask there. A search is the conjunction of a row or two for each digit, whatever the entries
//! are. Almost always one slot is left, or none; of several the oldest wins by its serial number. The present
//! places of the entries in the chain of cells are not kept (see `cells`), because a match does not depend on
//! them: the order is the same.

use crate::Entry;

/// Bits of a digit of a match word, and the values that it has.
const DIGIT: u32 = 5;
const VALUES: usize = 1 << DIGIT;
const LAST: u64 = VALUES as u64 - 1;

/// Digits that are compared in one go, so that loops are unrolled and their shifts are constants.
const GO: usize = 3;
const GO_BITS: u32 = GO as u32 * DIGIT;

/// Slots of a row, and the words that they take.
const SLOTS: usize = 256;
const WORDS: usize = SLOTS / 64;

/// A bit for each slot.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Row([u64; WORDS]);

const NONE: Row = Row([0; WORDS]);

/// The slots with each value of a digit, and behind them those that mask a bit of it, for the digits of a go.
type Digits = [[Row; VALUES + 1]; GO];

/// Entry that was inserted last into a slot, with its serial number.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    entry: Entry,
    serial: u64,
}

/// A list of entries.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    /// The tables: all digits of the first row of slots, all of the second ... They are right for all slots,
    /// also for those whose entry is gone.
    digits: Box<[Digits]>,
    /// Number of goes for a match word.
    goes: usize,
    /// Slots with an entry.
    live: Box<[Row]>,
    slots: Box<[Slot]>,
    /// Serial number of the next entry.
    serial: u64,
    /// Slots whose entry is gone, or never came.
    free: Vec<usize>,
    wide: bool,
}

impl Store {
    /// An empty list for at most `cells` entries with match words of `width` bits.
    pub fn new(cells: usize, width: u32) -> Store {
        let (rows, goes) = (cells.div_ceil(SLOTS), width.div_ceil(GO_BITS) as usize);
        // At first all slots hold an entry of zeros that is gone.
        let mut digit = [NONE; VALUES + 1];
        digit[0] = Row([u64::MAX; WORDS]);
        let mut store = Store {
            digits: vec![[digit; GO]; rows * goes].into_boxed_slice(),
            goes,
            live: vec![NONE; rows].into_boxed_slice(),
            slots: vec![Slot::default(); cells].into_boxed_slice(),
            serial: 0,
            free: Vec::with_capacity(cells),
            wide: has_wide_vectors(),
        };
        store.clear();
        store
    }

    /// Forgets all entries.
    pub fn clear(&mut self) {
        self.live.fill(NONE);
        self.free.clear();
        self.free.extend((0..self.slots.len()).rev());
    }

    /// Adds a new youngest entry. The caller has checked that no bit above the width is set, and that there
    /// is room.
    #[inline]
    pub fn push(&mut self, entry: Entry) {
        let slot = self.free.pop().expect("an INSERT into a full unit is discarded");
        let gone = std::mem::replace(&mut self.slots[slot], Slot { entry, serial: self.serial });
        self.serial += 1;
        let (row, word, bit) = (slot / SLOTS, slot % SLOTS / 64, 1 << (slot % 64));
        let digits = &mut self.digits[row * self.goes..][..self.goes];
        for_rows(digits, &gone.entry, |row| row.0[word] &= !bit);
        for_rows(digits, &entry, |row| row.0[word] |= bit);
        self.live[row].0[word] |= bit;
    }

    /// Slot of the oldest entry that agrees with `bits` outside of its own mask. No bit above the width is
    /// set.
    #[inline]
    pub fn find(&self, bits: u64) -> Option<usize> {
        self.find_fast::<false>(bits, 0)
    }

    /// The slot of the oldest entry that agrees with `bits` in all but those of `mask`, if entries have no
    /// masks of their own. No bit above the width is set.
    #[inline]
    pub fn find_masked(&self, bits: u64, mask: u64) -> Option<usize> {
        match mask {
            0 => self.find(bits),
            _ => self.find_fast::<true>(bits, mask),
        }
    }

    #[inline]
    fn find_fast<const MASKED: bool>(&self, bits: u64, mask: u64) -> Option<usize> {
        #[cfg(target_arch = "x86_64")]
        if self.wide {
            // SAFETY: `wide` is set only where the processor has what the function wants.
            return unsafe { self.find_wide::<MASKED>(bits, mask) };
        }
        self.find_plain::<MASKED>(bits, mask)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    unsafe fn find_wide<const MASKED: bool>(&self, bits: u64, mask: u64) -> Option<usize> {
        if self.live.len() == 1 {
            return self.find_in_row::<wide::Slots, MASKED>(0, bits, mask);
        }
        // SAFETY: this function wants of the processor what that one wants.
        unsafe { self.find_widely::<MASKED>(bits, mask) }
    }

    /// Apart, so that nothing is saved for it where there is one row.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    #[inline(never)]
    unsafe fn find_widely<const MASKED: bool>(&self, bits: u64, mask: u64) -> Option<usize> {
        self.find_in_rows::<wide::Slots, MASKED>(bits, mask)
    }

    #[inline(never)]
    fn find_plain<const MASKED: bool>(&self, bits: u64, mask: u64) -> Option<usize> {
        self.find_in_rows::<Row, MASKED>(bits, mask)
    }

    #[inline(always)]
    fn find_in_rows<S: Slots, const MASKED: bool>(&self, bits: u64, mask: u64) -> Option<usize> {
        let mut oldest: Option<usize> = None;
        for row in 0..self.live.len() {
            let Some(slot) = self.find_in_row::<S, MASKED>(row, bits, mask) else {
                continue;
            };
            oldest = match oldest {
                Some(other) if self.slots[other].serial < self.slots[slot].serial => oldest,
                _ => Some(slot),
            };
        }
        oldest
    }

    #[inline(always)]
    fn find_in_row<S: Slots, const MASKED: bool>(
        &self,
        row: usize,
        bits: u64,
        mask: u64,
    ) -> Option<usize> {
        let digits = &self.digits[row * self.goes..][..self.goes];
        let live = S::load(&self.live[row]);
        let hits = match MASKED {
            true => masked(digits, live, bits, mask),
            false => agreeing(digits, live, bits),
        };
        let (hits, full) = hits.split();
        if full == 0 {
            return None;
        }
        // Which word it is in cannot be foretold, so nothing branches on it.
        let word = full.trailing_zeros() as usize;
        let last = hits.0[word & (WORDS - 1)];
        if u64::from(full & (full - 1)) | (last & (last - 1)) != 0 {
            return self.oldest(row, &hits, bits, mask);
        }
        let slot = row * SLOTS + word * 64 + last.trailing_zeros() as usize;
        self.agrees(slot, bits, mask).then_some(slot)
    }

    /// Tells whether the entry in `slot` agrees also in the digits in which it masks some bits.
    #[inline(always)]
    fn agrees(&self, slot: usize, bits: u64, mask: u64) -> bool {
        let entry = &self.slots[slot].entry;
        (entry.bits ^ bits) & !(entry.mask | mask) == 0
    }

    /// The oldest of some slots of a row that agrees.
    #[inline(never)]
    fn oldest(&self, row: usize, slots: &Row, bits: u64, mask: u64) -> Option<usize> {
        let (mut oldest, mut least) = (None, u64::MAX);
        for (word, mut left) in slots.0.into_iter().enumerate() {
            while left != 0 {
                let slot = row * SLOTS + word * 64 + left.trailing_zeros() as usize;
                left &= left - 1;
                if self.slots[slot].serial < least && self.agrees(slot, bits, mask) {
                    (oldest, least) = (Some(slot), self.slots[slot].serial);
                }
            }
        }
        oldest
    }

    /// Takes out the entry in `slot` and returns its tag.
    #[inline]
    pub fn remove(&mut self, slot: usize) -> u64 {
        self.live[slot / SLOTS].0[slot % SLOTS / 64] &= !(1 << (slot % 64));
        self.free.push(slot);
        self.slots[slot].entry.tag
    }
}

/// Applies `act` to the row of each digit that an entry belongs to.
#[inline(always)]
fn for_rows(digits: &mut [Digits], entry: &Entry, mut act: impl FnMut(&mut Row)) {
    let mut bits = entry.bits;
    if entry.mask == 0 {
        for digits in digits {
            for (place, digit) in digits.iter_mut().enumerate() {
                act(&mut digit[(bits >> (place as u32 * DIGIT) & LAST) as usize]);
            }
            bits >>= GO_BITS;
        }
        return;
    }
    let mut mask = entry.mask;
    for digits in digits {
        for (place, digit) in digits.iter_mut().enumerate() {
            let [bits, mask] = [bits, mask].map(|word| word >> (place as u32 * DIGIT) & LAST);
            act(&mut digit[if mask == 0 { bits as usize } else { VALUES }]);
        }
        (bits, mask) = (bits >> GO_BITS, mask >> GO_BITS);
    }
}

/// Slots of `live` that agree with `bits` in all digits without mask.
#[inline(always)]
fn agreeing<S: Slots>(digits: &[Digits], live: S, bits: u64) -> S {
    let (mut hits, mut bits) = (live, bits);
    for digits in digits {
        for (place, digit) in digits.iter().enumerate() {
            let value = (bits >> (place as u32 * DIGIT) & LAST) as usize;
            hits = hits.both(S::load(&digit[VALUES]).or(&digit[value]));
        }
        bits >>= GO_BITS;
    }
    hits
}

/// Slots of `live` that agree with `bits` in all but those of `mask`, if entries have no masks.
#[inline(always)]
fn masked<S: Slots>(digits: &[Digits], live: S, bits: u64, mask: u64) -> S {
    let (mut hits, mut bits, mut mask) = (live, bits, mask);
    for digit in digits.iter().flatten() {
        if mask & LAST != LAST {
            let none = S::load(&NONE);
            hits = hits.both(values(bits, mask).fold(none, |any, value| any.or(&digit[value])));
        }
        (bits, mask) = (bits >> DIGIT, mask >> DIGIT);
    }
    hits
}

/// The values of a digit that agree with the lowest of `bits`, if those of `mask` do not matter.
#[inline(always)]
fn values(bits: u64, mask: u64) -> impl Iterator<Item = usize> {
    let (fixed, mask) = (bits & !mask & LAST, mask & LAST);
    // From the mask down to 0 through all numbers within it.
    let mut next = Some(mask);
    std::iter::from_fn(move || {
        let free = next?;
        next = (free != 0).then(|| (free - 1) & mask);
        Some((fixed | free) as usize)
    })
}

/// The slots of a row while they are computed with.
trait Slots: Copy {
    fn load(row: &Row) -> Self;
    fn or(self, row: &Row) -> Self;
    fn both(self, other: Self) -> Self;
    /// The words, and a bit for each of them that is not zero.
    fn split(self) -> (Row, u32);
}

/// Without vectors, or with those that the compiler makes.
impl Slots for Row {
    #[inline(always)]
    fn load(row: &Row) -> Row {
        *row
    }

    #[inline(always)]
    fn or(self, row: &Row) -> Row {
        Row(std::array::from_fn(|word| self.0[word] | row.0[word]))
    }

    #[inline(always)]
    fn both(self, other: Row) -> Row {
        Row(std::array::from_fn(|word| self.0[word] & other.0[word]))
    }

    #[inline(always)]
    fn split(self) -> (Row, u32) {
        let full = |(place, word): (usize, &u64)| u32::from(*word != 0) << place;
        (self, self.0.iter().enumerate().map(full).sum())
    }
}

/// The same in a vector of 256 bits.
#[cfg(target_arch = "x86_64")]
mod wide {
    use super::{Row, NONE};
    use std::arch::x86_64::*;

    #[derive(Clone, Copy)]
    pub struct Slots(__m256i);

    impl super::Slots for Slots {
        #[inline(always)]
        fn load(row: &Row) -> Slots {
            // SAFETY: a row is a vector, aligned; only `Store::find_wide`, which has AVX2, comes here.
            unsafe { Slots(_mm256_load_si256(row.0.as_ptr().cast())) }
        }

        #[inline(always)]
        fn or(self, row: &Row) -> Slots {
            // SAFETY: as in `load`.
            unsafe { Slots(_mm256_or_si256(self.0, Self::load(row).0)) }
        }

        #[inline(always)]
        fn both(self, other: Slots) -> Slots {
            // SAFETY: as in `load`.
            unsafe { Slots(_mm256_and_si256(self.0, other.0)) }
        }

        #[inline(always)]
        fn split(self) -> (Row, u32) {
            let mut words = NONE;
            // SAFETY: as in `load`.
            let empty = unsafe {
                _mm256_store_si256(words.0.as_mut_ptr().cast(), self.0);
                let empty = _mm256_cmpeq_epi64(self.0, _mm256_setzero_si256());
                _mm256_movemask_pd(_mm256_castsi256_pd(empty))
            };
            (words, !(empty as u32) & ((1 << super::WORDS) - 1))
        }
    }
}

fn has_wide_vectors() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("bmi1")
        && std::arch::is_x86_feature_detected!("bmi2");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

#[cfg(test)]
mod tests {
    use super::*;
    use des::Random;

    /// Both forms of the search against the plain one, while entries come and go.
    #[test]
    fn searches_agree() {
        for (cells, width) in [(256, 42), (300, 41), (5, 3), (64, 64)] {
            let mut random = Random::new(5);
            let all = u64::MAX >> (64 - width);
            let word = |random: &mut Random| {
                (random.below(8) | random.below(2) << 33 | random.below(2) << 63) & all
            };
            let some = |random: &mut Random| match random.below(8) {
                0 => random.next_u64() & all,
                1 => all,
                2 | 3 => 1 << random.below(width.into()),
                _ => 0,
            };
            let (mut list, mut store) = (Vec::<Entry>::new(), Store::new(cells, width));
            let mut explicit = store.clone();
            for tag in 0..20_000 {
                if list.len() < cells {
                    let entry = Entry { bits: word(&mut random), mask: some(&mut random), tag };
                    list.push(entry);
                    store.push(entry);
                    explicit.push(Entry { mask: 0, ..entry });
                }
                let (bits, mask) = (word(&mut random), some(&mut random));
                let slot = explicit.find_masked(bits, mask);
                assert_eq!(slot, explicit.find_plain::<true>(bits, mask));
                let place = list.iter().position(|entry| (entry.bits ^ bits) & !mask == 0);
                assert_eq!(
                    place.map(|at| list[at].tag),
                    slot.map(|slot| explicit.slots[slot].entry.tag)
                );
                let slot = store.find(bits);
                assert_eq!(slot, store.find_plain::<false>(bits, 0));
                let place = list.iter().position(|entry| (entry.bits ^ bits) & !entry.mask == 0);
                assert_eq!(
                    place.map(|at| list[at].tag),
                    slot.map(|slot| store.slots[slot].entry.tag)
                );
                if let (Some(place), Some(slot), true) = (place, slot, random.below(4) > 0) {
                    let tag = list.remove(place).tag;
                    assert_eq!((tag, tag), (store.remove(slot), explicit.remove(slot)));
                }
                if random.below(3000) == 0 {
                    list.clear();
                    store.clear();
                    explicit.clear();
                }
            }
        }
    }
}

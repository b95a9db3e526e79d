//! The entries of the cells, kept for speed: in order of age in arrays, never moved by a match.
//!
//! Hardware deletes by shifting every younger cell. Here a deleted entry leaves a dead slot, and the slots
//! are packed once in `SLACK` inserts or more. Where in the chain of cells the entries stand at a moment is
//! kept elsewhere (`cells`), because a match does not depend on it: the order is the same.
//!
//! The halves of the match words lie apart, so that a search reads the lower ones only until one agrees.

use crate::Entry;

/// Slots beside the cells. More make packing rarer, and the tail of dead slots that is searched longer.
const SLACK: usize = 192;

/// Slots that are compared at once.
const GROUP: usize = 32;

/// Slots of a vector.
const LANES: usize = 8;

/// Match words of a group of slots and the bits in which each must agree.
#[derive(Clone, Copy, Debug)]
struct Halves {
    bits: [u32; GROUP],
    care: [u32; GROUP],
}

/// A list of entries, oldest first.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    low: Box<[Halves]>,
    high: Box<[Halves]>,
    /// A bit for each slot: there is an entry in it.
    live: Box<[u32]>,
    tags: Box<[u64]>,
    used: usize,
    wide: bool,
}

impl Store {
    /// An empty list for at most `cells` entries.
    pub fn new(cells: usize) -> Store {
        let groups = (cells + SLACK).div_ceil(GROUP);
        let halves = Halves { bits: [0; GROUP], care: [0; GROUP] };
        Store {
            low: vec![halves; groups].into_boxed_slice(),
            high: vec![halves; groups].into_boxed_slice(),
            live: vec![0; groups].into_boxed_slice(),
            tags: vec![0; groups * GROUP].into_boxed_slice(),
            used: 0,
            wide: has_wide_vectors(),
        }
    }

    /// Forgets all entries.
    pub fn clear(&mut self) {
        self.live.fill(0);
        self.used = 0;
    }

    /// Appends a new youngest entry. Only the bits of `width` count.
    #[inline]
    pub fn push(&mut self, entry: Entry, width: u64) {
        if self.used == self.tags.len() {
            self.pack();
        }
        let (group, slot) = (self.used / GROUP, self.used % GROUP);
        let care = width & !entry.mask;
        self.low[group].bits[slot] = entry.bits as u32;
        self.low[group].care[slot] = care as u32;
        self.high[group].bits[slot] = (entry.bits >> 32) as u32;
        self.high[group].care[slot] = (care >> 32) as u32;
        self.live[group] |= 1 << slot;
        self.tags[self.used] = entry.tag;
        self.used += 1;
    }

    /// The slot of the oldest entry that agrees with `bits` where it cares to.
    #[inline]
    pub fn find(&self, bits: u64) -> Option<usize> {
        self.find_fast::<true>(bits, 0)
    }

    /// The slot of the oldest entry that agrees with `bits` in all bits of `care`, whatever the entries' own
    /// masks.
    #[inline]
    pub fn find_masked(&self, bits: u64, care: u64) -> Option<usize> {
        self.find_fast::<false>(bits, care)
    }

    #[inline]
    fn find_fast<const STORED: bool>(&self, bits: u64, care: u64) -> Option<usize> {
        #[cfg(target_arch = "x86_64")]
        if self.wide {
            // SAFETY: `wide` is set only where the processor has AVX2.
            return unsafe { self.find_wide::<STORED>(bits, care) };
        }
        self.find_anywhere::<STORED>(bits, care)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    unsafe fn find_wide<const STORED: bool>(&self, bits: u64, care: u64) -> Option<usize> {
        self.find_anywhere::<STORED>(bits, care)
    }

    /// With `STORED` the entries' masks count, otherwise `care`. Written so that the compiler makes vectors
    /// of the loops over a group.
    #[inline(always)]
    fn find_anywhere<const STORED: bool>(&self, bits: u64, care: u64) -> Option<usize> {
        let differs = |half: &Halves, slot: usize, bits: u64, care: u64| {
            let care = if STORED { half.care[slot] } else { care as u32 };
            (half.bits[slot] ^ bits as u32) & care
        };
        let groups = self.used.div_ceil(GROUP);
        let groups = self.low[..groups].iter().zip(&self.high[..groups]).zip(&self.live[..groups]);
        for (index, ((low, high), live)) in groups.enumerate() {
            // The least difference is zero if any is. A minimum in each lane takes less than comparing all.
            let mut least = [u32::MAX; LANES];
            for (lane, least) in least.iter_mut().enumerate() {
                for row in 0..GROUP / LANES {
                    *least = (*least).min(differs(low, row * LANES + lane, bits, care));
                }
            }
            if least.iter().fold(0, |any, least| any | u32::from(*least == 0)) == 0 {
                continue;
            }
            let mut agree = 0;
            for slot in 0..GROUP {
                let upper = differs(high, slot, bits >> 32, care >> 32);
                agree |= u32::from(differs(low, slot, bits, care) | upper == 0) << slot;
            }
            let found = agree & live;
            if found != 0 {
                return Some(index * GROUP + found.trailing_zeros() as usize);
            }
        }
        None
    }

    /// Takes out the entry in `slot` and returns its tag.
    #[inline]
    pub fn remove(&mut self, slot: usize) -> u64 {
        self.live[slot / GROUP] &= !(1 << (slot % GROUP));
        self.tags[slot]
    }

    /// Closes the gaps that removed entries left.
    #[cold]
    fn pack(&mut self) {
        let mut to = 0;
        for here in 0..self.live.len() {
            let mut live = self.live[here];
            while live != 0 {
                let slot = live.trailing_zeros() as usize;
                live &= live - 1;
                let (there, place) = (to / GROUP, to % GROUP);
                for half in [&mut self.low, &mut self.high] {
                    half[there].bits[place] = half[here].bits[slot];
                    half[there].care[place] = half[here].care[slot];
                }
                self.tags[to] = self.tags[here * GROUP + slot];
                to += 1;
            }
        }
        self.used = to;
        let (whole, part) = (to / GROUP, to % GROUP);
        self.live[..whole].fill(u32::MAX);
        self.live[whole..].fill(0);
        if part > 0 {
            self.live[whole] = (1 << part) - 1;
        }
    }
}

fn has_wide_vectors() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All forms of the search against the plain one, through many packings.
    #[test]
    fn searches_agree() {
        let mut random = des::Random::new(5);
        let (width, mut list, mut store) = ((1 << 42) - 1, Vec::<Entry>::new(), Store::new(256));
        for tag in 0..20_000 {
            let place = random.below(42);
            let bits = random.below(8) | random.below(2) << 33;
            let mask = if random.below(3) == 0 { 1 << place } else { 0 };
            if list.len() < 256 {
                let entry = Entry { bits, mask, tag };
                list.push(entry);
                store.push(entry, width);
            }
            let (bits, care) = (random.below(8) | random.below(2) << 33, width & !random.below(3));
            let masked = list.iter().position(|entry| (entry.bits ^ bits) & care == 0);
            let slot = store.find_masked(bits, care);
            assert_eq!(slot, store.find_anywhere::<false>(bits, care));
            assert_eq!(masked.map(|at| list[at].tag), slot.map(|slot| store.tags[slot]));
            let stored = list.iter().position(|entry| (entry.bits ^ bits) & !entry.mask == 0);
            let slot = store.find(bits);
            assert_eq!(slot, store.find_anywhere::<true>(bits, 0));
            assert_eq!(stored.map(|at| list[at].tag), slot.map(|slot| store.tags[slot]));
            if let (Some(place), Some(slot), true) = (stored, slot, random.below(4) > 0) {
                assert_eq!(list.remove(place).tag, store.remove(slot));
            }
        }
    }
}

//! The entries of the cells, kept for speed: in order of age in arrays of words, never moved by a match.
//!
//! Hardware deletes by shifting every younger cell. Here a deleted entry leaves a dead slot, and the slots
//! are packed once in `SLACK` inserts. Where in the chain of cells the entries stand at a moment is kept
//! elsewhere (`cells`), because a match does not depend on it: the order is the same.

use crate::Entry;

/// Slots beside the cells, so that packing is rare. A longer tail of dead slots would cost more to search.
const SLACK: usize = 64;

/// Slots that are compared at once.
const GROUP: usize = 16;

/// A list of entries, oldest first.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    bits: Box<[u64]>,
    care: Box<[u64]>,
    tags: Box<[u64]>,
    live: Box<[u64]>,
    used: usize,
    len: usize,
    wide: bool,
}

impl Store {
    /// An empty list for at most `cells` entries.
    pub fn new(cells: usize) -> Store {
        let slots = (cells + SLACK).next_multiple_of(64);
        let words = || vec![0; slots].into_boxed_slice();
        Store {
            bits: words(),
            care: words(),
            tags: words(),
            live: vec![0; slots / 64].into_boxed_slice(),
            used: 0,
            len: 0,
            wide: has_wide_vectors(),
        }
    }

    /// Entries in the list.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Forgets all entries.
    pub fn clear(&mut self) {
        self.live.fill(0);
        (self.used, self.len) = (0, 0);
    }

    /// Appends a new youngest entry. The mask becomes the bits that must agree, limited to `width_mask`.
    pub fn push(&mut self, entry: Entry, width_mask: u64) {
        if self.used == self.bits.len() {
            self.pack();
        }
        let slot = self.used;
        self.bits[slot] = entry.bits;
        self.care[slot] = width_mask & !entry.mask;
        self.tags[slot] = entry.tag;
        self.live[slot / 64] |= 1 << (slot % 64);
        self.used += 1;
        self.len += 1;
    }

    /// The slot of the oldest entry that agrees with `bits` in all bits of `care` that the entry cares for.
    #[inline]
    pub fn find(&self, bits: u64, care: u64) -> Option<usize> {
        #[cfg(target_arch = "x86_64")]
        if self.wide {
            // SAFETY: `wide` is set only where the processor has AVX2.
            return unsafe { self.find_avx2(bits, care) };
        }
        self.find_groups(bits, care)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    unsafe fn find_avx2(&self, bits: u64, care: u64) -> Option<usize> {
        self.find_groups(bits, care)
    }

    /// Written so that the compiler makes vectors of it.
    #[inline(always)]
    fn find_groups(&self, bits: u64, care: u64) -> Option<usize> {
        let groups = self.bits.chunks_exact(GROUP).zip(self.care.chunks_exact(GROUP));
        for (index, (group_bits, group_care)) in groups.enumerate() {
            let first = index * GROUP;
            if first >= self.used {
                break;
            }
            let mut any = 0u64;
            for (entry_bits, entry_care) in group_bits.iter().zip(group_care) {
                any |= u64::from((entry_bits ^ bits) & entry_care & care == 0);
            }
            if any == 0 {
                continue;
            }
            let live = self.live[first / 64] >> (first % 64);
            for slot in 0..GROUP {
                let agrees = (group_bits[slot] ^ bits) & group_care[slot] & care == 0;
                if agrees && live >> slot & 1 == 1 {
                    return Some(first + slot);
                }
            }
        }
        None
    }

    /// How many entries are older than the one in `slot`.
    pub fn older(&self, slot: usize) -> usize {
        let whole: u32 = self.live[..slot / 64].iter().map(|word| word.count_ones()).sum();
        let part = self.live[slot / 64] & ((1 << (slot % 64)) - 1);
        (whole + part.count_ones()) as usize
    }

    /// Takes out the entry in `slot` and returns its tag.
    pub fn remove(&mut self, slot: usize) -> u64 {
        self.live[slot / 64] &= !(1 << (slot % 64));
        self.len -= 1;
        self.tags[slot]
    }

    /// The live entries' slots, oldest first.
    pub fn slots(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.used).filter(|slot| self.live[slot / 64] >> (slot % 64) & 1 == 1)
    }

    /// The entry in `slot`, with the mask as far as it is limited by the match width.
    pub fn entry(&self, slot: usize, width_mask: u64) -> Entry {
        let mask = width_mask & !self.care[slot];
        Entry { bits: self.bits[slot], mask, tag: self.tags[slot] }
    }

    /// Closes the gaps that removed entries left.
    #[cold]
    fn pack(&mut self) {
        let mut to = 0;
        for from in 0..self.used {
            if self.live[from / 64] >> (from % 64) & 1 == 1 {
                self.bits[to] = self.bits[from];
                self.care[to] = self.care[from];
                self.tags[to] = self.tags[from];
                to += 1;
            }
        }
        self.used = to;
        for (index, word) in self.live.iter_mut().enumerate() {
            *word = match to.saturating_sub(index * 64) {
                0 => 0,
                count if count < 64 => (1 << count) - 1,
                _ => u64::MAX,
            };
        }
    }
}

fn has_wide_vectors() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

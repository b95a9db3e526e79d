//! Handles and the slabs behind them. A handle is an index with a generation, so that one that outlived
//! its object is recognised, also when it comes back in an ACK or REPLY. Objects never move, and nothing
//! is allocated once a slab has grown to what the program needs.

const INDEX_BITS: u32 = 20;
const INDEX_MASK: u32 = (1 << INDEX_BITS) - 1;
const GENERATION_MAX: u32 = u32::MAX >> INDEX_BITS;
const END: u32 = u32::MAX;
/// Slots by which a slab grows: four times as many as there are, within these limits.
const LEAST_GROWTH: usize = 16;
const MOST_GROWTH: usize = 256;

macro_rules! handle {
    ($name:ident, $doc:literal) => {
        #[doc = $doc]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// The handle as a word, to travel in a header. Never 0.
            pub fn raw(self) -> u32 {
                self.0
            }
            /// The handle that a header carried; it may name nothing.
            pub fn from_raw(raw: u32) -> $name {
                $name(raw)
            }
        }
    };
}

handle!(MeHandle, "Names a match entry of one interface.");
handle!(MdHandle, "Names a memory descriptor of one interface.");
handle!(EqHandle, "Names an event queue of one interface.");

/// A new match entry on a portal that was never used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnPortal {
    /// The portal.
    pub pt_index: u32,
    /// The entry.
    pub me: MeHandle,
}

/// A match entry and its memory descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryPair {
    /// The entry.
    pub me: MeHandle,
    /// The descriptor.
    pub md: MdHandle,
}

impl EqHandle {
    pub(crate) fn index(self) -> u32 {
        self.0 & INDEX_MASK
    }
}
impl MeHandle {
    pub(crate) fn index(self) -> u32 {
        self.0 & INDEX_MASK
    }
}
impl MdHandle {
    pub(crate) fn index(self) -> u32 {
        self.0 & INDEX_MASK
    }
}

struct Slot<T> {
    generation: u32,
    next_free: u32,
    value: Option<T>,
}

/// Objects of one kind.
pub(crate) struct Slab<T> {
    slots: Vec<Slot<T>>,
    free: u32,
    limit: u32,
}

impl<T> Slab<T> {
    pub(crate) fn new(limit: u32) -> Slab<T> {
        assert!(limit <= INDEX_MASK, "a slab's limit must fit in a handle");
        Slab { slots: Vec::new(), free: END, limit }
    }

    /// Stores `value`; returns its raw handle, or None when the slab is full.
    pub(crate) fn insert(&mut self, value: T) -> Option<u32> {
        let index = if self.free != END {
            self.free
        } else if (self.slots.len() as u32) < self.limit {
            if self.slots.len() == self.slots.capacity() {
                // MPI has some 260 descriptors as soon as it starts. What is never used of a thousand nodes'
                // slabs is memory, too, and to move them takes time.
                let more = 4 * self.slots.len();
                self.slots.reserve_exact(more.clamp(LEAST_GROWTH, MOST_GROWTH));
            }
            self.slots.push(Slot { generation: 1, next_free: END, value: None });
            self.slots.len() as u32 - 1
        } else {
            return None;
        };
        let slot = &mut self.slots[index as usize];
        self.free = slot.next_free;
        slot.next_free = END;
        slot.value = Some(value);
        Some(slot.generation << INDEX_BITS | index)
    }

    /// Takes the object out and makes its handles stale.
    pub(crate) fn remove(&mut self, raw: u32) -> Option<T> {
        self.get(raw)?;
        let slot = &mut self.slots[(raw & INDEX_MASK) as usize];
        let value = slot.value.take();
        // Generation 0 is left out, so that a handle is never 0.
        slot.generation = if slot.generation == GENERATION_MAX { 1 } else { slot.generation + 1 };
        slot.next_free = self.free;
        self.free = raw & INDEX_MASK;
        value
    }

    /// All objects with their raw handles.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let raw = |index: usize, slot: &Slot<T>| slot.generation << INDEX_BITS | index as u32;
        let slots = self.slots.iter().enumerate();
        slots.filter_map(move |(index, slot)| Some((raw(index, slot), slot.value.as_ref()?)))
    }

    /// All objects, to be changed.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().filter_map(|slot| slot.value.as_mut())
    }

    pub(crate) fn get(&self, raw: u32) -> Option<&T> {
        let slot = self.slots.get((raw & INDEX_MASK) as usize)?;
        slot.value.as_ref().filter(|_| slot.generation == raw >> INDEX_BITS)
    }

    pub(crate) fn get_mut(&mut self, raw: u32) -> Option<&mut T> {
        let slot = self.slots.get_mut((raw & INDEX_MASK) as usize)?;
        slot.value.as_mut().filter(|_| slot.generation == raw >> INDEX_BITS)
    }

    /// The object at an index that is known to be occupied (a link of a list).
    pub(crate) fn at(&self, index: u32) -> &T {
        self.slots[index as usize].value.as_ref().expect("lists link live objects only")
    }

    /// The same as `at`, to be changed.
    pub(crate) fn at_mut(&mut self, index: u32) -> &mut T {
        self.slots[index as usize].value.as_mut().expect("lists link live objects only")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stale_handles_name_nothing_even_after_the_slot_is_used_again() {
        let mut slab = Slab::new(2);
        let first = slab.insert('a').unwrap();
        assert_eq!(slab.remove(first), Some('a'));
        let second = slab.insert('b').unwrap();
        assert_eq!(first & INDEX_MASK, second & INDEX_MASK);
        assert_eq!(slab.get(first), None);
        assert_eq!(slab.remove(first), None);
        assert_eq!(slab.get(second), Some(&'b'));
    }

    #[test]
    fn a_full_slab_refuses_and_generations_never_reach_zero() {
        let mut slab = Slab::new(1);
        for n in 0..3 * GENERATION_MAX {
            let raw = slab.insert(n).unwrap();
            assert_ne!(raw, 0);
            assert_eq!(slab.insert(n), None);
            slab.remove(raw);
        }
    }
}

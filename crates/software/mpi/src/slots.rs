//! Objects of one kind by handle, and the handles of all kinds.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// First handle of the datatypes that programs make. Kinds lie `KIND` apart, above the standard's own handles
/// and the requests, which the program's library counts from 2^16 on.
pub(crate) const DATATYPES: u64 = KIND;
/// Communicators.
pub(crate) const COMMUNICATORS: u64 = 2 * KIND;
/// Operations.
pub(crate) const OPERATIONS: u64 = 3 * KIND;
/// Groups.
pub(crate) const GROUPS: u64 = 4 * KIND;
/// Error handlers.
pub(crate) const ERRHANDLERS: u64 = 5 * KIND;
/// Info objects.
pub(crate) const INFOS: u64 = 6 * KIND;
/// Messages. As all handles, they are positive as an `int`.
pub(crate) const MESSAGES: u64 = 7 * KIND;
/// Handles of a kind.
pub(crate) const KIND: u64 = 1 << 28;

/// Objects with handles from `FIRST` on. A new one gets the lowest that is free.
#[derive(Debug)]
pub(crate) struct Slots<T, const FIRST: u64> {
    all: Vec<Option<T>>,
    /// Slots without an object, the lowest first: a program may have millions of objects.
    free: BinaryHeap<Reverse<usize>>,
}

impl<T, const FIRST: u64> Default for Slots<T, FIRST> {
    fn default() -> Self {
        Slots { all: Vec::new(), free: BinaryHeap::new() }
    }
}

impl<T, const FIRST: u64> Slots<T, FIRST> {
    fn index(handle: u64) -> Option<usize> {
        handle.checked_sub(FIRST).and_then(|index| usize::try_from(index).ok())
    }
    /// Adds one; its handle.
    pub fn add(&mut self, object: T) -> u64 {
        let index = match self.free.pop() {
            Some(Reverse(index)) => {
                self.all[index] = Some(object);
                index
            }
            None => {
                self.all.push(Some(object));
                self.all.len() - 1
            }
        };
        FIRST + index as u64
    }
    /// The object of a handle.
    pub fn get(&self, handle: u64) -> Option<&T> {
        self.all.get(Self::index(handle)?)?.as_ref()
    }
    /// The same, to be changed.
    pub fn get_mut(&mut self, handle: u64) -> Option<&mut T> {
        self.all.get_mut(Self::index(handle)?)?.as_mut()
    }
    /// Takes it out.
    pub fn remove(&mut self, handle: u64) -> Option<T> {
        let index = Self::index(handle)?;
        let object = self.all.get_mut(index)?.take()?;
        self.free.push(Reverse(index));
        Some(object)
    }
    /// All, with their handles.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        (FIRST..).zip(&self.all).filter_map(|(handle, slot)| Some((handle, slot.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_handle_is_next() {
        let mut slots = Slots::<char, GROUPS>::default();
        assert_eq!(
            "abc".chars().map(|c| slots.add(c)).collect::<Vec<_>>(),
            [0, 1, 2].map(|n| GROUPS + n)
        );
        assert_eq!((slots.remove(GROUPS), slots.remove(GROUPS)), (Some('a'), None));
        assert_eq!(
            (slots.get(GROUPS), slots.get(GROUPS - 1), slots.get(GROUPS + 3)),
            (None, None, None)
        );
        assert_eq!(slots.iter().next(), Some((GROUPS + 1, &'b')));
        assert_eq!((slots.add('d'), slots.add('e')), (GROUPS, GROUPS + 3));
    }
}

//! MPI's lists as those who observe a card know them: from the commands and headers that its firmware has
//! fetched, in that order, and from what it has told its units. The firmware's own lists are in its memory.

use std::collections::VecDeque;

/// A list of posted receives, or of messages that are kept.
#[derive(Debug)]
pub(super) struct List<T> {
    entries: VecDeque<Entry<T>>,
    /// Entries before the first that the firmware has not given to the list's unit.
    given: usize,
    /// The unit is being emptied, and has not said that it is.
    resets: bool,
    /// Entries that the unit holds.
    pub held: u32,
}

/// Bits that match; bits that match anything.
pub(super) type Pattern = (u64, u64);

#[derive(Debug)]
struct Entry<T> {
    pattern: Pattern,
    /// Tag with which the unit reports it.
    tag: Option<u64>,
    what: T,
}

/// Part of a list that a search has to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// The whole list.
    All,
    /// The entries that no unit has.
    Rest,
    /// Nothing: a unit has found it.
    Nothing,
}

impl<T> Default for List<T> {
    fn default() -> List<T> {
        List { entries: VecDeque::new(), given: 0, resets: false, held: 0 }
    }
}

impl<T> List<T> {
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The place of the first entry that matches.
    pub fn find(&self, (bits, mask): Pattern) -> Option<usize> {
        self.entries
            .iter()
            .position(|Entry { pattern: (own, ignored), .. }| (own ^ bits) & !(mask | ignored) == 0)
    }

    /// Entries that the firmware looks at until it reaches that at `place`, or to the end.
    pub fn walked(&self, scope: Scope, place: Option<usize>) -> u32 {
        let from = match scope {
            Scope::All => 0,
            Scope::Rest => self.given,
            Scope::Nothing => return 0,
        };
        let end = place.map_or(self.len(), |place| place + 1);
        end.saturating_sub(from) as u32
    }

    /// A new youngest one.
    pub fn append(&mut self, pattern: Pattern, what: T) {
        self.entries.push_back(Entry { pattern, tag: None, what });
    }

    /// Takes one out.
    pub fn remove(&mut self, place: usize) -> Option<T> {
        let entry = self.entries.remove(place)?;
        self.given -= usize::from(place < self.given);
        Some(entry.what)
    }

    /// The first that is so.
    pub fn place_of(&self, is: impl Fn(&T) -> bool) -> Option<usize> {
        self.entries.iter().position(|entry| is(&entry.what))
    }

    /// All of them.
    pub fn each(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.iter_mut().map(|entry| &mut entry.what)
    }

    /// The process has gone.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.given = 0;
    }

    // ---- its unit ----------------------------------------------------------------------------------------

    /// The firmware gives the unit the oldest entry that it has not got.
    pub fn insert(&mut self, tag: u64) {
        if let Some(entry) = self.entries.get_mut(self.given) {
            entry.tag = Some(tag);
            self.given += 1;
        }
        self.held += 1;
    }

    /// It tells the unit to forget all.
    pub fn reset(&mut self) {
        self.given = 0;
        self.resets = true;
    }

    /// The unit begins to take entries.
    pub fn acknowledged(&mut self) {
        if std::mem::take(&mut self.resets) {
            self.entries.iter_mut().for_each(|entry| entry.tag = None);
            self.held = 0;
        }
    }

    /// The unit has found an entry: one of the list, or one that has left it and makes the firmware search
    /// all of it.
    pub fn found(&mut self, tag: u64) -> Scope {
        self.held = self.held.saturating_sub(1);
        match self.entries.iter().any(|entry| entry.tag == Some(tag)) {
            true => Scope::Nothing,
            false => Scope::All,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(bits: impl IntoIterator<Item = u64>) -> List<u64> {
        let mut list = List::default();
        bits.into_iter().for_each(|bits| list.append((bits, 0), bits));
        list
    }

    #[test]
    fn a_search_looks_at_what_no_unit_has_got() {
        let mut list = list([1, 2, 3, 4]);
        list.insert(10);
        list.insert(11);
        assert_eq!(list.walked(Scope::All, list.find((3, 0))), 3);
        assert_eq!(list.walked(Scope::Rest, list.find((3, 0))), 1);
        assert_eq!(list.walked(Scope::Rest, list.find((9, 0))), 2);
        assert_eq!(list.walked(Scope::Nothing, list.find((1, 0))), 0);
        // An entry that leaves the list moves the border; one that matches anything is found first.
        assert_eq!(list.remove(0), Some(1));
        assert_eq!(list.walked(Scope::Rest, list.find((4, 0))), 2);
        assert_eq!(list.find((0, u64::MAX)), Some(0));
    }

    #[test]
    fn a_unit_may_find_what_has_left_the_list() {
        let mut list = list([1, 2]);
        list.insert(10);
        list.insert(11);
        assert_eq!(list.remove(0), Some(1));
        assert_eq!((list.found(10), list.found(11), list.held), (Scope::All, Scope::Nothing, 0));
        list.insert(12);
        list.reset();
        assert_eq!(list.walked(Scope::Rest, None), 1);
        list.acknowledged();
        assert_eq!((list.found(12), list.held), (Scope::All, 0));
    }
}

//! Request handles. The program's library counts them up and never uses one twice, so that it can
//! hand them out without asking. Those in use lie close together: a window over the numbers finds
//! them without hashing. A few old ones may stay behind for long; they move to a map.

use crate::request::RequestId;
use std::collections::{BTreeMap, VecDeque};

/// Numbers that the window spans before it lets go of its oldest handle.
const WINDOW: usize = 1 << 14;

/// Requests by handle.
#[derive(Default)]
pub(crate) struct Handles {
    first: u64,
    window: VecDeque<Option<RequestId>>,
    old: BTreeMap<u64, RequestId>,
}

impl Handles {
    /// `handle` names `request` from now on.
    pub fn insert(&mut self, handle: u64, request: RequestId) {
        if self.window.is_empty() {
            self.first = handle;
        }
        let place = handle.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
        match place {
            Some(place) if place < 2 * WINDOW => {
                while self.window.len() <= place {
                    self.window.push_back(None);
                }
                self.window[place] = Some(request);
            }
            _ => {
                self.old.insert(handle, request);
            }
        }
        while self.window.len() > WINDOW {
            if let Some(Some(request)) = self.window.pop_front() {
                self.old.insert(self.first, request);
            }
            self.first += 1;
        }
    }

    /// The request of `handle`.
    pub fn get(&self, handle: u64) -> Option<RequestId> {
        let place = handle.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
        let near = place.and_then(|place| self.window.get(place).copied().flatten());
        near.or_else(|| self.old.get(&handle).copied())
    }

    /// Forgets `handle`.
    pub fn remove(&mut self, handle: u64) {
        let place = handle.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
        match place.and_then(|place| self.window.get_mut(place)) {
            Some(slot) if slot.is_some() => *slot = None,
            _ => {
                self.old.remove(&handle);
            }
        }
        while let Some(None) = self.window.front() {
            self.window.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(index: u32) -> RequestId {
        RequestId { index, generation: 0 }
    }

    #[test]
    fn a_handle_that_stays_behind_is_found_and_does_not_hold_memory() {
        let mut handles = Handles::default();
        handles.insert(0x10000, id(7));
        for n in 0x10001..0x40000 {
            handles.insert(n, id(8));
            assert_eq!(handles.get(n), Some(id(8)));
            handles.remove(n);
            assert_eq!(handles.get(n), None);
        }
        assert_eq!(handles.get(0x10000), Some(id(7)));
        assert!(handles.window.len() <= WINDOW);
        handles.remove(0x10000);
        assert_eq!(handles.get(0x10000), None);
        handles.insert(0x123, id(9));
        assert_eq!(handles.get(0x123), Some(id(9)));
    }

    #[test]
    fn handles_may_come_out_of_order() {
        let mut handles = Handles::default();
        for handle in [0x10005, 0x10001, 0x10003, 0x90000] {
            handles.insert(handle, id(handle as u32));
        }
        for handle in [0x10003, 0x10005, 0x90000, 0x10001] {
            assert_eq!(handles.get(handle), Some(id(handle as u32)));
            handles.remove(handle);
            assert_eq!(handles.get(handle), None);
        }
    }
}

//! Objects that operations need and that the program may free before those are over: datatypes,
//! operations, communicators, by handle.

use std::collections::BTreeMap;

/// Use of an object.
#[derive(Default)]
struct Use {
    operations: u32,
    /// The program has freed it.
    freed: bool,
}

/// The objects in use.
#[derive(Default)]
pub(crate) struct Uses(BTreeMap<u64, Use>);

impl Uses {
    /// An operation needs an object until it lets go of it.
    pub fn hold(&mut self, handle: u64) {
        self.0.entry(handle).or_default().operations += 1;
    }

    /// Ends an operation's use of an object. True if it was freed and nothing uses it any more.
    pub fn let_go(&mut self, handle: u64) -> bool {
        let object = self.0.get_mut(&handle).expect("counted when it was held");
        object.operations -= 1;
        if object.operations > 0 {
            return false;
        }
        let freed = object.freed;
        self.0.remove(&handle);
        freed
    }

    /// The program frees an object. False if an operation needs it: it goes with the last of them.
    pub fn free(&mut self, handle: u64) -> bool {
        match self.0.get_mut(&handle) {
            Some(object) => {
                object.freed = true;
                false
            }
            None => true,
        }
    }
}

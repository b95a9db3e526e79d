//! Objects that operations need and that the program may free before those are over: datatypes,
//! operations, communicators, by handle.

use crate::error::Result;
use crate::process::Process;
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

impl Process {
    /// An operation needs an object until it lets go of it.
    pub(crate) fn hold(&mut self, handle: u64) {
        self.uses.0.entry(handle).or_default().operations += 1;
    }

    /// Ends an operation's use of an object, which is removed if it was freed.
    pub(crate) fn let_go(&mut self, handle: u64) -> Result<()> {
        let object = self.uses.0.get_mut(&handle).expect("counted when it was held");
        object.operations -= 1;
        if object.operations > 0 {
            return Ok(());
        }
        let freed = object.freed;
        self.uses.0.remove(&handle);
        if freed {
            self.free_object(handle)?;
        }
        Ok(())
    }

    /// The program frees an object: now, or when no operation needs it any more.
    pub(crate) fn free_when_unused(&mut self, handle: u64) -> Result<()> {
        match self.uses.0.get_mut(&handle) {
            Some(object) => {
                object.freed = true;
                Ok(())
            }
            None => self.free_object(handle),
        }
    }
}

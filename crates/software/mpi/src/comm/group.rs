//! Groups: lists of ranks of MPI_COMM_WORLD.

use crate::constant;
use crate::error::{Error, Result};
use crate::slots::{Slots, GROUPS};
use std::rc::Rc;

/// The groups of a process.
#[derive(Default)]
pub(crate) struct Groups {
    table: Slots<Rc<[u32]>, GROUPS>,
}

impl Groups {
    /// Adds one; its handle.
    pub fn add(&mut self, members: Rc<[u32]>) -> u64 {
        if members.is_empty() {
            return constant::GROUP_EMPTY;
        }
        self.table.add(members)
    }
    /// The members of a group.
    pub fn get(&self, handle: u64) -> Result<Rc<[u32]>> {
        if handle == constant::GROUP_EMPTY {
            return Ok(Rc::new([]));
        }
        self.table.get(handle).cloned().ok_or_else(|| {
            let text = match handle {
                constant::GROUP_NULL => "the group is MPI_GROUP_NULL".to_string(),
                _ => format!("{handle:#x} is no group, or it was freed"),
            };
            Error::new(constant::ERR_GROUP, text)
        })
    }
    /// Forgets one.
    pub fn remove(&mut self, handle: u64) -> Result<()> {
        self.get(handle)?;
        self.table.remove(handle);
        Ok(())
    }
}

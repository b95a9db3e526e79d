//! Groups: lists of ranks of MPI_COMM_WORLD.

use crate::constant;
use crate::error::{Error, Result};
use std::rc::Rc;

/// First handle of the groups that programs make.
const FIRST: u64 = 0x4000_0000;

/// The groups of a process.
#[derive(Default)]
pub(crate) struct Groups {
    table: Vec<Option<Rc<[u32]>>>,
}

impl Groups {
    /// Adds one; its handle.
    pub fn add(&mut self, members: Rc<[u32]>) -> u64 {
        if members.is_empty() {
            return constant::GROUP_EMPTY;
        }
        let index = self.table.iter().position(Option::is_none).unwrap_or(self.table.len());
        if index == self.table.len() {
            self.table.push(None);
        }
        self.table[index] = Some(members);
        FIRST + index as u64
    }
    /// The members of a group.
    pub fn get(&self, handle: u64) -> Result<Rc<[u32]>> {
        if handle == constant::GROUP_EMPTY {
            return Ok(Rc::new([]));
        }
        let index = handle.checked_sub(FIRST).and_then(|index| usize::try_from(index).ok());
        index.and_then(|index| self.table.get(index).cloned().flatten()).ok_or_else(|| {
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
        if handle != constant::GROUP_EMPTY {
            self.table[(handle - FIRST) as usize] = None;
        }
        Ok(())
    }
}

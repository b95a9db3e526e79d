//! Buffers that hold a part for each rank.

use crate::datatype::items::Items;

/// A part for each rank.
#[derive(Clone, Debug)]
pub(crate) enum Parts {
    /// Equal parts, one behind the other: the first.
    Equal(Items),
    /// Any parts.
    Any(Vec<Items>),
}

impl Parts {
    /// That of `rank`.
    pub fn of(&self, rank: u32) -> Items {
        match self {
            Parts::Equal(first) => first.nth(rank),
            Parts::Any(parts) => parts[rank as usize].clone(),
        }
    }
    /// Bytes of each part, if they are known to be equal on all ranks.
    pub fn block(&self) -> Option<u64> {
        match self {
            Parts::Equal(first) => Some(first.bytes()),
            Parts::Any(_) => None,
        }
    }
}

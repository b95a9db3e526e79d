//! Path from an effective address to bytes: translation, the cache arrays, the load and store unit.

pub(crate) mod arrays;
pub(crate) mod coherence;
pub(crate) mod gather;
pub(crate) mod slots;
pub(crate) mod tlb;
pub(crate) mod unit;

//! Semantics of instructions: the functions that the rows of [`crate::instructions`] name.

pub(crate) mod caches;
pub(crate) mod flow;
pub(crate) mod integer;
pub(crate) mod memory;
pub(crate) mod multiply;
pub(crate) mod system;

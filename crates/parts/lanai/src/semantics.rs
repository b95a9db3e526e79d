//! The functions that the instruction table names.

pub(crate) mod flow;
pub(crate) mod integer;
pub(crate) mod memory;

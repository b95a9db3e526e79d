//! Keys of attributes, and the attributes of datatypes.

use crate::comm::attributes::Attributes;
use crate::constant;
use crate::error::{Error, Result};
use std::collections::BTreeMap;

/// First key that programs make.
pub(crate) const FIRST: i32 = 1024;

/// A key, and the functions of the program that copy and delete what is attached under it.
#[derive(Clone, Copy)]
pub(crate) struct Keyval {
    pub copy: u64,
    pub delete: u64,
    pub extra: u64,
    pub freed: bool,
}

/// The keys of a process, and the attributes of datatypes.
#[derive(Default)]
pub(crate) struct Keyvals {
    pub table: Vec<Keyval>,
    pub types: BTreeMap<u64, Attributes>,
    /// Addresses of the words behind predefined attributes.
    pub predefined: BTreeMap<i32, u64>,
}

impl Keyvals {
    pub fn get(&self, key: i32) -> Result<Keyval> {
        let index = key.checked_sub(FIRST).and_then(|index| usize::try_from(index).ok());
        index.and_then(|index| self.table.get(index).copied()).ok_or_else(|| {
            Error::new(
                constant::ERR_KEYVAL,
                format!("{key} is no attribute key, or not to be changed"),
            )
        })
    }
}

//! Persistent requests: arguments that are kept, and begun whenever they are started.

use crate::error::Result;
use crate::process::Process;
use crate::request::RequestId;
use crate::scratch::Buffer;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Begins an operation with the arguments that were kept.
pub(crate) type Begin = Rc<dyn Fn(&mut Process) -> Result<RequestId>>;

/// An operation that can be started.
#[derive(Clone)]
pub(crate) struct Persistent {
    pub begin: Begin,
    /// A collective operation's place in the order of those of its communicator: that of the call
    /// which made the request, whenever it is started.
    pub tag: Option<i32>,
    /// Objects that it uses and that the program may free first.
    pub kept: Vec<u64>,
    /// Copies of arrays among the arguments: the program may use its own for something else.
    pub copies: Vec<Buffer>,
}

/// Persistent requests by handle.
#[derive(Default)]
pub(crate) struct Persistents {
    pub table: BTreeMap<u64, Persistent>,
}

impl Persistents {
    /// True if `handle` is one.
    pub fn has(&self, handle: u64) -> bool {
        self.table.contains_key(&handle)
    }
}

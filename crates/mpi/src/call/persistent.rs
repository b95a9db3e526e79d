//! Persistent requests: arguments that are kept, and begun whenever they are started. Beside its
//! handle here, an active one has the request of the operation under way.

use super::arguments::count;
use super::table::Begin;
use super::Answer;
use crate::constant;
use crate::error::{Error, Result};
use crate::process::Process;
use std::collections::BTreeMap;

/// An operation that can be started.
#[derive(Clone)]
struct Persistent {
    begin: Begin,
    args: Vec<u64>,
}

/// Persistent requests by handle.
#[derive(Default)]
pub(crate) struct Persistents {
    table: BTreeMap<u64, Persistent>,
}

impl Persistents {
    /// The last argument is the handle.
    pub fn insert(&mut self, begin: Begin, args: &[u64]) {
        self.table.insert(args[args.len() - 1], Persistent { begin, args: args.to_vec() });
    }
    /// True if `handle` is one.
    pub fn has(&self, handle: u64) -> bool {
        self.table.contains_key(&handle)
    }
    /// Forgets one. True if it was there.
    pub fn remove(&mut self, handle: u64) -> bool {
        self.table.remove(&handle).is_some()
    }
}

fn start_one(mpi: &mut Process, handle: u64) -> Result<()> {
    let wrong = |text: String| Err(Error::new(constant::ERR_REQUEST, text));
    let Some(Persistent { begin, args }) = mpi.side.persistent.table.get(&handle).cloned() else {
        return wrong(format!("{handle:#x} is no persistent request"));
    };
    if mpi.side.handles.get(handle).is_some() {
        return wrong("the request was started before and is not complete".into());
    }
    let id = begin(mpi, &args)?;
    mpi.side.handles.insert(handle, id);
    Ok(())
}

pub(super) fn start(mpi: &mut Process, args: &[u64]) -> Answer {
    let handle = mpi.get_word(args[0], "the request")?;
    start_one(mpi, handle)
}

pub(super) fn startall(mpi: &mut Process, args: &[u64]) -> Answer {
    let number = count(args[0], "count")?;
    let handles = mpi.numbers::<8>(args[1], number, "the requests")?;
    handles.into_iter().try_for_each(|handle| start_one(mpi, handle as u64))
}

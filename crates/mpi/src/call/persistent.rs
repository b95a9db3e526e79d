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
    /// A collective operation's place in the order of those of its communicator: that of the call
    /// which made the request, whenever it is started.
    tag: Option<i32>,
    /// What it uses and the program may free before.
    kept: Vec<u64>,
}

/// How an object is used that persistent requests need.
#[derive(Default)]
struct Kept {
    requests: u32,
    /// The program has freed it.
    freed: bool,
}

/// Persistent requests by handle.
#[derive(Default)]
pub(crate) struct Persistents {
    table: BTreeMap<u64, Persistent>,
    kept: BTreeMap<u64, Kept>,
}

impl Persistents {
    /// True if `handle` is one.
    pub fn has(&self, handle: u64) -> bool {
        self.table.contains_key(&handle)
    }
}

impl Process {
    /// Makes a persistent request; the last argument is its handle. A collective one's third last is
    /// its communicator.
    pub(crate) fn make_persistent(
        &mut self,
        begin: Begin,
        args: &[u64],
        collective: bool,
    ) -> Answer {
        let tag = match collective {
            true => {
                let comm = self.comm_of(args[args.len() - 3])?;
                Some(self.comms.next_collective(comm))
            }
            false => None,
        };
        // An address or a number that looks like an object keeps that a little longer: no harm.
        let kept: Vec<u64> =
            args.iter().copied().filter(|&handle| self.is_freeable(handle)).collect();
        let persistents = &mut self.side.persistent;
        for &handle in &kept {
            persistents.kept.entry(handle).or_default().requests += 1;
        }
        let request = Persistent { begin, args: args.to_vec(), tag, kept };
        persistents.table.insert(args[args.len() - 1], request);
        Ok(())
    }

    /// Forgets a persistent request. True if it was there.
    pub(crate) fn free_persistent(&mut self, handle: u64) -> Result<bool> {
        let Some(request) = self.side.persistent.table.remove(&handle) else { return Ok(false) };
        for handle in request.kept {
            let kept =
                self.side.persistent.kept.get_mut(&handle).expect("counted when it was made");
            kept.requests -= 1;
            if kept.requests == 0 {
                let freed = kept.freed;
                self.side.persistent.kept.remove(&handle);
                if freed {
                    self.free_object(handle)?;
                }
            }
        }
        Ok(true)
    }

    /// The program frees an object: now, or when no persistent request needs it any more.
    pub(crate) fn free_when_unused(&mut self, handle: u64) -> Answer {
        match self.side.persistent.kept.get_mut(&handle) {
            Some(kept) => {
                kept.freed = true;
                Ok(())
            }
            None => self.free_object(handle),
        }
    }
}

fn start_one(mpi: &mut Process, handle: u64) -> Result<()> {
    let wrong = |text: String| Err(Error::new(constant::ERR_REQUEST, text));
    let Some(request) = mpi.side.persistent.table.get(&handle).cloned() else {
        return wrong(format!("{handle:#x} is no persistent request"));
    };
    if mpi.side.handles.get(handle).is_some() {
        return wrong("the request was started before and is not complete".into());
    }
    mpi.collective_tag = request.tag;
    let begun = (request.begin)(mpi, &request.args);
    mpi.collective_tag = None;
    mpi.side.handles.insert(handle, begun?);
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

//! Persistent requests: arguments that are kept, and begun whenever they are started. Beside its
//! handle here, an active one has the request of the operation under way.

use super::arguments::count;
use super::handler::{request_of, Answer, Begun};
use super::neighbor::neighbours;
use crate::comm::CommId;
use crate::constant;
use crate::error::{Error, Result};
use crate::process::Process;
use crate::scratch::Buffer;
use crate::side::persistent::Persistent;
use abi::arguments::Arguments;
use abi::mpi::args;
use abi::mpi::Function;
use std::rc::Rc;

/// An array among arguments.
pub(super) struct Array<'a> {
    /// Its address.
    va: &'a mut u64,
    entries: Entries,
    side: Side,
}

/// Entries of an array.
#[derive(Clone, Copy)]
enum Entries {
    Counts,
    Places,
    Handles,
}

/// Ranks that an array has entries for, in a neighbourhood: all ranks elsewhere.
#[derive(Clone, Copy)]
enum Side {
    Send,
    Receive,
}

impl Entries {
    /// Bytes of an entry.
    fn width(self, function: Function) -> usize {
        let wide = match self {
            Entries::Handles => true,
            // Of the type MPI_Aint.
            Entries::Places if function == Function::NeighborAlltoallwInit => true,
            Entries::Counts | Entries::Places => function.name().ends_with("_c"),
        };
        if wide {
            8
        } else {
            4
        }
    }
}

/// Arguments of a collective operation.
pub(super) trait Collective: Arguments + 'static {
    /// Handle of the communicator.
    fn comm(&self) -> u64;
    /// The arrays.
    fn arrays(&mut self) -> Vec<Array<'_>>;
}

macro_rules! collective {
    ($($args:ident: [$($array:ident $entries:ident $side:ident),*];)*) => {$(
        impl Collective for args::$args {
            fn comm(&self) -> u64 {
                self.comm
            }
            fn arrays(&mut self) -> Vec<Array<'_>> {
                vec![$(
                    Array {
                        va: &mut self.$array,
                        entries: Entries::$entries,
                        side: Side::$side,
                    }
                ),*]
            }
        }
    )*};
}

// Each structure is that of all functions with the same arguments.
collective! {
    Barrier: [];
    Bcast: [];
    Reduce: [];
    Scan: [];
    Gather: [];
    Alltoall: [];
    ReduceScatterBlock: [];
    ReduceScatter: [recvcounts Counts Receive];
    Gatherv: [recvcounts Counts Receive, displs Places Receive];
    Allgatherv: [recvcounts Counts Receive, displs Places Receive];
    Scatterv: [sendcounts Counts Send, displs Places Send];
    Alltoallv: [
        sendcounts Counts Send, sdispls Places Send,
        recvcounts Counts Receive, rdispls Places Receive
    ];
    Alltoallw: [
        sendcounts Counts Send, sdispls Places Send, sendtypes Handles Send,
        recvcounts Counts Receive, rdispls Places Receive, recvtypes Handles Receive
    ];
}

/// Makes a persistent request; the last word is its handle.
pub(super) fn make<A: Arguments + 'static>(
    mpi: &mut Process,
    words: &[u64],
    begin: fn(&mut Process, &A) -> Begun,
) -> Answer {
    let args = A::read(words);
    let begin = Rc::new(move |mpi: &mut Process| begin(mpi, &args));
    let (kept, copies) = (words.to_vec(), Vec::new());
    mpi.keep(request_of(words), Persistent { begin, tag: None, kept, copies });
    Ok(())
}

/// The same for a collective operation.
pub(super) fn make_collective<A: Collective>(
    mpi: &mut Process,
    function: Function,
    words: &[u64],
    begin: fn(&mut Process, &A) -> Begun,
) -> Answer {
    let mut args = A::read(words);
    let comm = mpi.comm_of(args.comm())?;
    let tag = Some(mpi.p2p.comms.next_collective(comm));
    let (mut kept, mut copies) = (words.to_vec(), Vec::new());
    for array in args.arrays() {
        let Some((copy, entries)) = mpi.copy_array(function, comm, &array)? else { continue };
        *array.va = copy.va;
        copies.push(copy);
        kept.extend(entries);
    }
    let begin = Rc::new(move |mpi: &mut Process| begin(mpi, &args));
    mpi.keep(request_of(words), Persistent { begin, tag, kept, copies });
    Ok(())
}

impl Process {
    fn keep(&mut self, handle: u64, mut request: Persistent) {
        // An address or a number that looks like an object keeps that a little longer: no harm.
        request.kept.retain(|&handle| self.objects.is_freeable(&self.p2p, handle));
        for &handle in &request.kept {
            self.objects.uses.hold(handle);
        }
        self.side.persistent.table.insert(handle, request);
    }

    /// A copy of an array of an argument, and its entries if they may be handles. None if it cannot be
    /// read: it need not be there on a rank on which it has no meaning.
    fn copy_array(
        &mut self,
        function: Function,
        comm: CommId,
        array: &Array<'_>,
    ) -> Result<Option<(Buffer, Vec<u64>)>> {
        let width = array.entries.width(function);
        let length = match (function.name().contains("eighbor"), array.side) {
            (true, Side::Send) => neighbours(self, comm)?.destinations.len(),
            (true, Side::Receive) => neighbours(self, comm)?.sources.len(),
            (false, _) => self.size(comm)? as usize,
        };
        let mut bytes = vec![0; length * width];
        if self.read(*array.va, &mut bytes).is_err() {
            return Ok(None);
        }
        let copy = self.p2p.local.take_buffer(bytes.len() as u64);
        self.write(copy.va, &bytes)?;
        let words = bytes.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().expect("eight")));
        let words = if width == 8 { words.collect() } else { Vec::new() };
        Ok(Some((copy, words)))
    }

    /// Forgets a persistent request. True if it was there.
    pub(crate) fn free_persistent(&mut self, handle: u64) -> Result<bool> {
        let Some(request) = self.side.persistent.table.remove(&handle) else { return Ok(false) };
        request.copies.into_iter().for_each(|copy| self.p2p.local.give_buffer(copy));
        for handle in request.kept {
            self.objects.let_go(&mut self.p2p, handle)?;
        }
        Ok(true)
    }
}

fn start_one(mpi: &mut Process, handle: u64) -> Result<()> {
    let wrong = |text: String| Err(Error::new(constant::ERR_REQUEST, text));
    let Some(request) = mpi.side.persistent.table.get(&handle) else {
        return wrong(format!("{handle:#x} is no persistent request"));
    };
    if mpi.side.handles.get(handle).is_some() {
        return wrong("the request was started before and is not complete".into());
    }
    let begin = request.begin.clone();
    mpi.collectives.tag = request.tag;
    let begun = begin(mpi);
    mpi.collectives.tag = None;
    mpi.side.handles.insert(handle, begun?);
    Ok(())
}

pub(super) fn start(mpi: &mut Process, args: &args::Start) -> Answer {
    let handle = mpi.get_word(args.request, "the request")?;
    start_one(mpi, handle)
}

pub(super) fn startall(mpi: &mut Process, args: &args::Startall) -> Answer {
    let number = count(args.count, "count")?;
    let handles = mpi.numbers::<8>(args.array_of_requests, number, "the requests")?;
    handles.into_iter().try_for_each(|handle| start_one(mpi, handle as u64))
}

//! Persistent requests: arguments that are kept, and begun whenever they are started. Beside its
//! handle here, an active one has the request of the operation under way.

use super::arguments::count;
use super::handler::Answer;
use super::neighbor::neighbours;
use crate::comm::CommId;
use crate::constant;
use crate::error::{Error, Result};
use crate::process::Process;
use crate::scratch::Buffer;
use crate::side::persistent::{Begin, Persistent};
use abi::mpi::Function;

/// The arguments before this one say what is sent, where a function has arrays for both.
const SEND_ARGUMENTS: usize = 4;

/// The arguments that are arrays: which, and the bytes of an item.
fn arrays(function: Function) -> &'static [(usize, usize)] {
    use Function::*;
    match function {
        GathervInit | AllgathervInit | NeighborAllgathervInit => &[(4, 4), (5, 4)],
        GathervInitC | AllgathervInitC | NeighborAllgathervInitC => &[(4, 8), (5, 8)],
        ScattervInit => &[(1, 4), (2, 4)],
        ScattervInitC => &[(1, 8), (2, 8)],
        AlltoallvInit | NeighborAlltoallvInit => &[(1, 4), (2, 4), (5, 4), (6, 4)],
        AlltoallvInitC | NeighborAlltoallvInitC => &[(1, 8), (2, 8), (5, 8), (6, 8)],
        AlltoallwInit => &[(1, 4), (2, 4), (3, 8), (5, 4), (6, 4), (7, 8)],
        NeighborAlltoallwInit => &[(1, 4), (2, 8), (3, 8), (5, 4), (6, 8), (7, 8)],
        AlltoallwInitC | NeighborAlltoallwInitC => {
            &[(1, 8), (2, 8), (3, 8), (5, 8), (6, 8), (7, 8)]
        }
        ReduceScatterInit => &[(2, 4)],
        ReduceScatterInitC => &[(2, 8)],
        _ => &[],
    }
}

impl Process {
    /// Makes a persistent request; the last argument is its handle. A collective one's third last is
    /// its communicator.
    pub(crate) fn make_persistent(
        &mut self,
        begin: Begin,
        args: &[u64],
        collective: Option<Function>,
    ) -> Answer {
        let (mut args, mut tag, mut copies) = (args.to_vec(), None, Vec::new());
        let mut kept = args.clone();
        if let Some(function) = collective {
            let comm = self.comm_of(args[args.len() - 3])?;
            tag = Some(self.p2p.comms.next_collective(comm));
            for array in arrays(function) {
                let Some((copy, words)) = self.copy_array(function, comm, array, &args)? else {
                    continue;
                };
                args[array.0] = copy.va;
                copies.push(copy);
                kept.extend(words);
            }
        }
        // An address or a number that looks like an object keeps that a little longer: no harm.
        kept.retain(|&handle| self.objects.is_freeable(&self.p2p, handle));
        for &handle in &kept {
            self.objects.uses.hold(handle);
        }
        let request = Persistent { begin, args, tag, kept, copies };
        self.side.persistent.table.insert(request.args[request.args.len() - 1], request);
        Ok(())
    }

    /// A copy of an array of an argument, and its items if they are handles. None if it cannot be read:
    /// it need not be there on a rank on which it has no meaning.
    fn copy_array(
        &mut self,
        function: Function,
        comm: CommId,
        &(index, width): &(usize, usize),
        args: &[u64],
    ) -> Result<Option<(Buffer, Vec<u64>)>> {
        let length = match function.name().contains("eighbor") {
            true if index < SEND_ARGUMENTS => neighbours(self, comm)?.destinations.len(),
            true => neighbours(self, comm)?.sources.len(),
            false => self.size(comm)? as usize,
        };
        let mut bytes = vec![0; length * width];
        if self.read(args[index], &mut bytes).is_err() {
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
    let Some(request) = mpi.side.persistent.table.get(&handle).cloned() else {
        return wrong(format!("{handle:#x} is no persistent request"));
    };
    if mpi.side.handles.get(handle).is_some() {
        return wrong("the request was started before and is not complete".into());
    }
    mpi.collectives.tag = request.tag;
    let begun = (request.begin)(mpi, &request.args);
    mpi.collectives.tag = None;
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

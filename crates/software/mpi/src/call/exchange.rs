//! A send and a receive as one request: it is over when both are.

use super::arguments::int;
use super::handler::Begun;
use crate::comm::CommId;
use crate::datatype::items::Items;
use crate::process::Process;

/// Items to a rank with a tag, and items from a rank with a tag.
fn begin(
    mpi: &mut Process,
    comm: CommId,
    buffer: Option<u64>,
    (out, to, send_tag): (Items, i32, i32),
    (into, from, receive_tag): (Items, i32, i32),
) -> Begun {
    mpi.p2p.may_send(to, send_tag, comm)?;
    mpi.p2p.receive_envelope(from, receive_tag, comm)?;
    into.check(&mpi.p2p.local)?;
    // Not a collective operation: it has no place in the order of those.
    mpi.collectives.tag = Some(0);
    mpi.start(comm, |plan| {
        let copy = match buffer {
            Some(bytes) => {
                let copy = plan.buffer(bytes);
                let copy = plan.bytes(copy, bytes);
                plan.copy(out.clone(), copy.clone());
                copy
            }
            None => out.clone(),
        };
        plan.message_from(from, receive_tag, into);
        plan.message_to(to, send_tag, copy, out);
        Ok(())
    })
}

/// `sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag,
/// comm`.
pub(super) fn begin_sendrecv(mpi: &mut Process, args: &[u64]) -> Begun {
    let comm = mpi.comm_of(args[10])?;
    let out = mpi.items(args[0], args[1], args[2])?;
    let into = mpi.room(args[5], args[6], args[7])?;
    let to = (out, int(args[3]), int(args[4]));
    begin(mpi, comm, None, to, (into, int(args[8]), int(args[9])))
}

/// `buf, count, datatype, dest, sendtag, source, recvtag, comm`.
pub(super) fn begin_sendrecv_replace(mpi: &mut Process, args: &[u64]) -> Begun {
    let comm = mpi.comm_of(args[7])?;
    let items = mpi.items(args[0], args[1], args[2])?;
    let to = (items.clone(), int(args[3]), int(args[4]));
    begin(mpi, comm, Some(items.bytes()), to, (items, int(args[5]), int(args[6])))
}

//! A send and a receive as one request: it is over when both are.

use super::handler::Begun;
use crate::comm::CommId;
use crate::datatype::items::Items;
use crate::process::Process;
use abi::mpi::args;

/// Items to a rank or from a rank, with a tag.
struct Half {
    items: Items,
    peer: i32,
    tag: i32,
}

/// Both at once. What is sent is copied first into a buffer of so many bytes, if any.
fn begin(mpi: &mut Process, comm: CommId, buffer: Option<u64>, to: Half, from: Half) -> Begun {
    mpi.p2p.may_send(to.peer, to.tag, comm)?;
    mpi.p2p.receive_envelope(from.peer, from.tag, comm)?;
    from.items.check(&mpi.p2p.local)?;
    // Not a collective operation: it has no place in the order of those.
    mpi.collectives.tag = Some(0);
    mpi.start(comm, |plan| {
        let copy = match buffer {
            Some(bytes) => {
                let copy = plan.buffer(bytes);
                let copy = plan.bytes(copy, bytes);
                plan.copy(to.items.clone(), copy.clone());
                copy
            }
            None => to.items.clone(),
        };
        plan.message_from(from.peer, from.tag, from.items);
        plan.message_to(to.peer, to.tag, copy, to.items);
        Ok(())
    })
}

pub(super) fn begin_sendrecv(mpi: &mut Process, args: &args::Isendrecv) -> Begun {
    let comm = mpi.comm_of(args.comm)?;
    let out = mpi.items(args.sendbuf, args.sendcount, args.sendtype)?;
    let into = mpi.room(args.recvbuf, args.recvcount, args.recvtype)?;
    let to = Half { items: out, peer: args.dest, tag: args.sendtag };
    let from = Half { items: into, peer: args.source, tag: args.recvtag };
    begin(mpi, comm, None, to, from)
}

pub(super) fn begin_sendrecv_replace(mpi: &mut Process, args: &args::IsendrecvReplace) -> Begun {
    let comm = mpi.comm_of(args.comm)?;
    let items = mpi.items(args.buf, args.count, args.datatype)?;
    let bytes = items.bytes();
    let to = Half { items: items.clone(), peer: args.dest, tag: args.sendtag };
    let from = Half { items, peer: args.source, tag: args.recvtag };
    begin(mpi, comm, Some(bytes), to, from)
}

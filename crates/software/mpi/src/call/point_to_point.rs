//! Sends, receives, probes.

use super::arguments::count;
use super::handler::{Answer, Begun};
use crate::comm::CommId;
use crate::constant;
use crate::datatype::items::Items;
use crate::error::Result;
use crate::process::Process;
use crate::request::waiting::Whose;
use crate::request::{RequestId, Status};
use crate::transport::Mode;
use abi::mpi::args;

fn begin(mpi: &mut Process, args: &args::Send, mode: Mode) -> Begun {
    let comm = mpi.comm_of(args.comm)?;
    let items = mpi.items(args.buf, args.count, args.datatype)?;
    mpi.p2p.begin_send(&items, args.dest, args.tag, comm, mode)
}

pub(super) fn begin_send(mpi: &mut Process, args: &args::Isend) -> Begun {
    begin(mpi, args, Mode::Standard)
}

pub(super) fn begin_ssend(mpi: &mut Process, args: &args::Issend) -> Begun {
    begin(mpi, args, Mode::Synchronous)
}

pub(super) fn begin_receive(mpi: &mut Process, args: &args::Irecv) -> Begun {
    let comm = mpi.comm_of(args.comm)?;
    let items = mpi.room(args.buf, args.count, args.datatype)?;
    mpi.p2p.begin_receive(&items, args.source, args.tag, comm)
}

pub(super) fn send(mpi: &mut Process, args: &args::Send) -> Answer {
    let id = begin_send(mpi, args)?;
    mpi.finish(id, Whose::Own).map(|_| ())
}

pub(super) fn ssend(mpi: &mut Process, args: &args::Ssend) -> Answer {
    let id = begin_ssend(mpi, args)?;
    mpi.finish(id, Whose::Own).map(|_| ())
}

/// Waits for a receive and stores its status, which holds also if it failed.
pub(super) fn end_receive(mpi: &mut Process, id: RequestId, status_va: u64) -> Answer {
    mpi.wait_for_own(&[id], Whose::Own)?;
    let (status, result) = mpi.p2p.take(id);
    mpi.put_status(status_va, &status)?;
    result
}

pub(super) fn recv(mpi: &mut Process, args: &args::Recv) -> Answer {
    let args::Recv { buf, count, datatype, source, tag, comm, .. } = *args;
    let id = begin_receive(mpi, &args::Irecv { buf, count, datatype, source, tag, comm })?;
    end_receive(mpi, id, args.status)
}

/// Waits for both halves of a sendrecv.
fn end_both(mpi: &mut Process, outgoing: RequestId, incoming: RequestId, status_va: u64) -> Answer {
    mpi.wait_for_own(&[incoming, outgoing], Whose::Own)?;
    let sent = mpi.p2p.take(outgoing).1;
    end_receive(mpi, incoming, status_va).and(sent)
}

/// Half of a sendrecv: items to a rank or from a rank, with a tag.
struct Half<'a> {
    items: &'a Items,
    peer: i32,
    tag: i32,
}

/// Starts both halves of a sendrecv; nothing stays behind if the second cannot start.
fn begin_both(
    mpi: &mut Process,
    comm: CommId,
    to: &Half<'_>,
    from: &Half<'_>,
) -> Result<(RequestId, RequestId)> {
    let incoming = mpi.p2p.begin_receive(from.items, from.peer, from.tag, comm)?;
    match mpi.p2p.begin_send(to.items, to.peer, to.tag, comm, Mode::Standard) {
        Ok(outgoing) => Ok((outgoing, incoming)),
        Err(error) => {
            mpi.p2p.abandon(incoming);
            Err(error)
        }
    }
}

pub(super) fn sendrecv(mpi: &mut Process, args: &args::Sendrecv) -> Answer {
    let comm = mpi.comm_of(args.comm)?;
    let out = mpi.items(args.sendbuf, args.sendcount, args.sendtype)?;
    let into = mpi.room(args.recvbuf, args.recvcount, args.recvtype)?;
    let to = Half { items: &out, peer: args.dest, tag: args.sendtag };
    let from = Half { items: &into, peer: args.source, tag: args.recvtag };
    let (outgoing, incoming) = begin_both(mpi, comm, &to, &from)?;
    end_both(mpi, outgoing, incoming, args.status)
}

pub(super) fn sendrecv_replace(mpi: &mut Process, args: &args::SendrecvReplace) -> Answer {
    let comm = mpi.comm_of(args.comm)?;
    let items = mpi.items(args.buf, args.count, args.datatype)?;
    items.check(&mpi.p2p.local)?;
    let datatype = mpi.datatype(constant::BYTE)?;
    let buffer = mpi.p2p.local.take_buffer(items.bytes());
    let out = Items { va: buffer.va, count: items.bytes(), datatype };
    let to = Half { items: &out, peer: args.dest, tag: args.sendtag };
    let from = Half { items: &items, peer: args.source, tag: args.recvtag };
    mpi.p2p.local.declare_send(&items);
    let gathered = items.gather(&mut mpi.p2p.local, buffer.va);
    let result = gathered
        .and_then(|()| begin_both(mpi, comm, &to, &from))
        .and_then(|(outgoing, incoming)| end_both(mpi, outgoing, incoming, args.status));
    mpi.p2p.local.give_buffer(buffer);
    result
}

pub(super) fn probe(mpi: &mut Process, args: &args::Probe) -> Answer {
    let comm = mpi.comm_of(args.comm)?;
    let from = mpi.p2p.receive_envelope(args.source, args.tag, comm)?;
    let status = match from.peer {
        constant::PROC_NULL => Status::PROC_NULL,
        _ => mpi.look_until_found(from)?,
    };
    mpi.put_status(args.status, &status)
}

pub(super) fn iprobe(mpi: &mut Process, args: &args::Iprobe) -> Answer {
    let comm = mpi.comm_of(args.comm)?;
    let from = mpi.p2p.receive_envelope(args.source, args.tag, comm)?;
    let found = match from.peer {
        constant::PROC_NULL => Some(Status::PROC_NULL),
        _ => mpi.look(from)?,
    };
    mpi.put_int(args.flag, "the flag", i32::from(found.is_some()))?;
    found.map_or(Ok(()), |status| mpi.put_status(args.status, &status))
}

/// Number of whole items in a status; `None` if they are not whole.
fn items_received(mpi: &mut Process, args: &args::GetCount) -> Result<Option<u64>> {
    let size = mpi.objects.types.any(args.datatype)?.size;
    let (bytes, _) = mpi.get_status(args.status)?;
    Ok(match (bytes, size) {
        (0, _) => Some(0),
        (_, 0) => None,
        _ => (bytes % size == 0).then_some(bytes / size),
    })
}

pub(super) fn get_count(mpi: &mut Process, args: &args::GetCount) -> Answer {
    let items = items_received(mpi, args)?.and_then(|items| i32::try_from(items).ok());
    mpi.put_int(args.count, "the count", items.unwrap_or(constant::UNDEFINED))
}

pub(super) fn get_count_c(mpi: &mut Process, args: &args::GetCountC) -> Answer {
    let items = items_received(mpi, args)?.map(|items| count(items as i64, "count")).transpose()?;
    mpi.put_word(args.count, "the count", items.unwrap_or(constant::UNDEFINED as i64 as u64))
}

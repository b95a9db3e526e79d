//! Sends, receives, probes.

use super::arguments::{count, int};
use super::handler::{Answer, Begun};
use crate::comm::CommId;
use crate::constant;
use crate::datatype::items::Items;
use crate::error::Result;
use crate::process::Process;
use crate::request::waiting::Whose;
use crate::request::{RequestId, Status};
use crate::transport::Mode;

/// `buf, count, datatype, dest, tag, comm`.
fn begin(mpi: &mut Process, args: &[u64], mode: Mode) -> Begun {
    let comm = mpi.comm_of(args[5])?;
    let items = mpi.items(args[0], args[1], args[2])?;
    mpi.p2p.begin_send(&items, int(args[3]), int(args[4]), comm, mode)
}

pub(super) fn begin_send(mpi: &mut Process, args: &[u64]) -> Begun {
    begin(mpi, args, Mode::Standard)
}

pub(super) fn begin_ssend(mpi: &mut Process, args: &[u64]) -> Begun {
    begin(mpi, args, Mode::Synchronous)
}

/// `buf, count, datatype, source, tag, comm`.
pub(super) fn begin_receive(mpi: &mut Process, args: &[u64]) -> Begun {
    let comm = mpi.comm_of(args[5])?;
    let items = mpi.room(args[0], args[1], args[2])?;
    mpi.p2p.begin_receive(&items, int(args[3]), int(args[4]), comm)
}

pub(super) fn send(mpi: &mut Process, args: &[u64]) -> Answer {
    let id = begin_send(mpi, args)?;
    mpi.finish(id, Whose::Own).map(|_| ())
}

pub(super) fn ssend(mpi: &mut Process, args: &[u64]) -> Answer {
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

pub(super) fn recv(mpi: &mut Process, args: &[u64]) -> Answer {
    let id = begin_receive(mpi, args)?;
    end_receive(mpi, id, args[6])
}

/// Waits for both halves of a sendrecv.
fn end_both(mpi: &mut Process, outgoing: RequestId, incoming: RequestId, status_va: u64) -> Answer {
    mpi.wait_for_own(&[incoming, outgoing], Whose::Own)?;
    let sent = mpi.p2p.take(outgoing).1;
    end_receive(mpi, incoming, status_va).and(sent)
}

/// Starts both halves of a sendrecv; nothing stays behind if the second cannot start.
fn begin_both(
    mpi: &mut Process,
    comm: CommId,
    (out, to, send_tag): (&Items, i32, i32),
    (into, from, receive_tag): (&Items, i32, i32),
) -> Result<(RequestId, RequestId)> {
    let incoming = mpi.p2p.begin_receive(into, from, receive_tag, comm)?;
    match mpi.p2p.begin_send(out, to, send_tag, comm, Mode::Standard) {
        Ok(outgoing) => Ok((outgoing, incoming)),
        Err(error) => {
            mpi.p2p.abandon(incoming);
            Err(error)
        }
    }
}

pub(super) fn sendrecv(mpi: &mut Process, args: &[u64]) -> Answer {
    let comm = mpi.comm_of(args[10])?;
    let out = mpi.items(args[0], args[1], args[2])?;
    let into = mpi.room(args[5], args[6], args[7])?;
    let to = (&out, int(args[3]), int(args[4]));
    let from = (&into, int(args[8]), int(args[9]));
    let (outgoing, incoming) = begin_both(mpi, comm, to, from)?;
    end_both(mpi, outgoing, incoming, args[11])
}

pub(super) fn sendrecv_replace(mpi: &mut Process, args: &[u64]) -> Answer {
    let comm = mpi.comm_of(args[7])?;
    let items = mpi.items(args[0], args[1], args[2])?;
    items.check(&mpi.p2p.local)?;
    let datatype = mpi.datatype(constant::BYTE)?;
    let buffer = mpi.p2p.local.take_buffer(items.bytes());
    let out = Items { va: buffer.va, count: items.bytes(), datatype };
    let to = (&out, int(args[3]), int(args[4]));
    let from = (&items, int(args[5]), int(args[6]));
    mpi.p2p.local.declare_send(&items);
    let gathered = items.gather(&mut mpi.p2p.local, buffer.va);
    let result = gathered
        .and_then(|()| begin_both(mpi, comm, to, from))
        .and_then(|(outgoing, incoming)| end_both(mpi, outgoing, incoming, args[8]));
    mpi.p2p.local.give_buffer(buffer);
    result
}

pub(super) fn probe(mpi: &mut Process, args: &[u64]) -> Answer {
    let comm = mpi.comm_of(args[2])?;
    let from = mpi.p2p.receive_envelope(int(args[0]), int(args[1]), comm)?;
    let status = match from.peer {
        constant::PROC_NULL => Status::PROC_NULL,
        _ => mpi.look_until_found(from)?,
    };
    mpi.put_status(args[3], &status)
}

pub(super) fn iprobe(mpi: &mut Process, args: &[u64]) -> Answer {
    let comm = mpi.comm_of(args[2])?;
    let from = mpi.p2p.receive_envelope(int(args[0]), int(args[1]), comm)?;
    let found = match from.peer {
        constant::PROC_NULL => Some(Status::PROC_NULL),
        _ => mpi.look(from)?,
    };
    mpi.put_int(args[3], "the flag", i32::from(found.is_some()))?;
    found.map_or(Ok(()), |status| mpi.put_status(args[4], &status))
}

/// Number of whole items in a status; `None` if they are not whole.
fn items_received(mpi: &mut Process, args: &[u64]) -> Result<Option<u64>> {
    let size = mpi.objects.types.any(args[1])?.size;
    let (bytes, _) = mpi.get_status(args[0])?;
    Ok(match (bytes, size) {
        (0, _) => Some(0),
        (_, 0) => None,
        _ => (bytes % size == 0).then_some(bytes / size),
    })
}

pub(super) fn get_count(mpi: &mut Process, args: &[u64]) -> Answer {
    let items = items_received(mpi, args)?.and_then(|items| i32::try_from(items).ok());
    mpi.put_int(args[2], "the count", items.unwrap_or(constant::UNDEFINED))
}

pub(super) fn get_count_c(mpi: &mut Process, args: &[u64]) -> Answer {
    let items = items_received(mpi, args)?.map(|items| count(items, "count")).transpose()?;
    mpi.put_word(args[2], "the count", items.unwrap_or(constant::UNDEFINED as i64 as u64))
}

//! Probes that take a message out of the queue, and the receives of it.

use super::handler::{Answer, Begun};
use crate::constant;
use crate::error::{Error, Result};
use crate::process::Process;
use crate::request::point_to_point::Envelope;
use crate::request::{Direction, Status};
use crate::side::messages::Probed;
use crate::transport::message::Found;
use abi::mpi::args;

impl Process {
    /// Takes the message that a probe has found.
    fn take_message(&mut self, from: Envelope, status: &Status) -> Result<u64> {
        let wanted = self.p2p.wanted(from)?;
        let message = self.p2p.transport.take(&mut self.p2p.local, wanted);
        let Status { source, tag, bytes, .. } = *status;
        let found = Found { source, tag, bytes };
        Ok(self.side.messages.add(Probed { comm: from.comm, message, found }))
    }
}

pub(super) fn mprobe(mpi: &mut Process, args: &args::Mprobe) -> Answer {
    let comm = mpi.comm_of(args.comm)?;
    let from = mpi.p2p.receive_envelope(args.source, args.tag, comm)?;
    let (handle, status) = if from.peer == constant::PROC_NULL {
        (constant::MESSAGE_NO_PROC, Status::PROC_NULL)
    } else {
        let status = mpi.look_until_found(from)?;
        (mpi.take_message(from, &status)?, status)
    };
    mpi.put_word(args.message, "the message", handle)?;
    mpi.put_status(args.status, &status)
}

pub(super) fn improbe(mpi: &mut Process, args: &args::Improbe) -> Answer {
    let comm = mpi.comm_of(args.comm)?;
    let from = mpi.p2p.receive_envelope(args.source, args.tag, comm)?;
    let (handle, status) = if from.peer == constant::PROC_NULL {
        (constant::MESSAGE_NO_PROC, Some(Status::PROC_NULL))
    } else {
        match mpi.look(from)? {
            Some(status) => (mpi.take_message(from, &status)?, Some(status)),
            None => (constant::MESSAGE_NULL, None),
        }
    };
    mpi.put_int(args.flag, "the flag", i32::from(status.is_some()))?;
    let Some(status) = status else { return Ok(()) };
    mpi.put_word(args.message, "the message", handle)?;
    mpi.put_status(args.status, &status)
}

/// The message's handle becomes null.
pub(super) fn begin(mpi: &mut Process, args: &args::Imrecv) -> Begun {
    let handle = mpi.get_word(args.message, "the message")?;
    let items = mpi.room(args.buf, args.count, args.datatype)?;
    if handle == constant::MESSAGE_NO_PROC {
        mpi.put_word(args.message, "the message", constant::MESSAGE_NULL)?;
        return Ok(mpi.p2p.nothing(Direction::Receive, Process::SELF));
    }
    let probed = mpi.side.messages.table.get(&handle).copied().ok_or_else(|| {
        let text = format!("{handle:#x} is no message, or it was received before");
        Error::new(constant::ERR_REQUEST, text)
    })?;
    mpi.side.blame = probed.comm;
    // A message that cannot be received now stays for another call.
    items.check(&mpi.p2p.local)?;
    mpi.put_word(args.message, "the message", constant::MESSAGE_NULL)?;
    mpi.side.messages.table.remove(&handle);
    mpi.p2p.receive_matched(probed, &items)
}

pub(super) fn mrecv(mpi: &mut Process, args: &args::Mrecv) -> Answer {
    let args::Mrecv { buf, count, datatype, message, .. } = *args;
    let id = begin(mpi, &args::Imrecv { buf, count, datatype, message })?;
    super::point_to_point::end_receive(mpi, id, args.status)
}

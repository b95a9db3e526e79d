//! Communicators.

use super::arguments::{comm_handle, int};
use super::{Answer, Mpi};
use crate::comm::OnError;
use crate::constant;
use crate::error::Error;
use crate::process::Process;

pub(super) fn rank(mpi: &mut Mpi, args: &[u64]) -> Answer {
    let comm = mpi.comm(args[0])?;
    let rank = mpi.process.rank(comm)?;
    mpi.put_int(args[1], "the rank", rank as i32)
}

pub(super) fn size(mpi: &mut Mpi, args: &[u64]) -> Answer {
    let comm = mpi.comm(args[0])?;
    let size = mpi.process.size(comm)?;
    mpi.put_int(args[1], "the size", size as i32)
}

pub(super) fn dup(mpi: &mut Mpi, args: &[u64]) -> Answer {
    let comm = mpi.comm(args[0])?;
    let new = mpi.process.duplicate(comm)?;
    mpi.put_word(args[1], "the new communicator", comm_handle(new))
}

pub(super) fn split(mpi: &mut Mpi, args: &[u64]) -> Answer {
    let (comm, color) = (mpi.comm(args[0])?, int(args[1]));
    if color < 0 && color != constant::UNDEFINED {
        let text = format!("color {color} is negative and not MPI_UNDEFINED");
        return Err(Error::new(constant::ERR_ARG, text));
    }
    let new = mpi.process.split(comm, color, int(args[2]))?;
    let handle = new.map_or(constant::COMM_NULL, comm_handle);
    mpi.put_word(args[3], "the new communicator", handle)
}

pub(super) fn free(mpi: &mut Mpi, args: &[u64]) -> Answer {
    let handle = mpi.get_word(args[0], "the communicator")?;
    let comm = mpi.comm(handle)?;
    if comm == Process::WORLD || comm == Process::SELF {
        let text = "MPI_COMM_WORLD and MPI_COMM_SELF cannot be freed";
        return Err(Error::new(constant::ERR_COMM, text));
    }
    mpi.put_word(args[0], "the communicator", constant::COMM_NULL)?;
    mpi.process.comms.remove(comm)
}

pub(super) fn compare(mpi: &mut Mpi, args: &[u64]) -> Answer {
    let (one, other) = (mpi.comm(args[0])?, mpi.comm(args[1])?);
    let members = |comm| mpi.process.comm(comm).map(|comm| comm.members.to_vec());
    let (mut a, mut b) = (members(one)?, members(other)?);
    let same_order = a == b;
    a.sort_unstable();
    b.sort_unstable();
    let result = match () {
        () if one == other => constant::IDENT,
        () if same_order => constant::CONGRUENT,
        () if a == b => constant::SIMILAR,
        () => constant::UNEQUAL,
    };
    mpi.put_int(args[2], "the result", result)
}

pub(super) fn set_errhandler(mpi: &mut Mpi, args: &[u64]) -> Answer {
    let comm = mpi.comm(args[0])?;
    let on_error = match args[1] {
        constant::ERRORS_ARE_FATAL | constant::ERRORS_ABORT => OnError::Fatal,
        constant::ERRORS_RETURN => OnError::Return,
        handle => {
            let text = format!("{handle:#x} is no error handler");
            return Err(Error::new(constant::ERR_ERRHANDLER, text));
        }
    };
    mpi.process.comms.get_mut(comm)?.on_error = on_error;
    Ok(())
}

pub(super) fn get_errhandler(mpi: &mut Mpi, args: &[u64]) -> Answer {
    let comm = mpi.comm(args[0])?;
    let handle = match mpi.process.on_error(comm)? {
        OnError::Fatal => constant::ERRORS_ARE_FATAL,
        OnError::Return => constant::ERRORS_RETURN,
    };
    mpi.put_word(args[1], "the error handler", handle)
}

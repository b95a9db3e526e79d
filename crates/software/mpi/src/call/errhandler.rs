//! Functions of error handlers, and of error classes of the program's own.

use super::handler::Answer;
use crate::callback::Callback;
use crate::comm::{CommId, OnError};
use crate::constant;
use crate::error::{Error, Result};
use crate::process::Process;
use crate::side::errhandlers::Kept;
use crate::slots::ERRHANDLERS;
use abi::mpi::args;

impl Process {
    /// Runs an error handler of the program. If the program ends in it, the call notices.
    pub(crate) fn call_errhandler(&mut self, handle: u64, comm: CommId, code: i32) {
        let function = self.side.errhandlers.functions[(handle - ERRHANDLERS) as usize];
        let callback = Callback::new(function, &[comm.handle(), code as u64]);
        let _ = self.run_callback(&Callback { indirect: 0b11, ..callback });
    }
}

/// `errorcode`, a code of the program's own that is no class.
pub(super) fn remove_error_code(mpi: &mut Process, args: &args::RemoveErrorCode) -> Answer {
    remove(mpi, args.errorcode, false)
}

/// `errorclass`, a class of the program's own.
pub(super) fn remove_error_class(mpi: &mut Process, args: &args::RemoveErrorClass) -> Answer {
    remove(mpi, args.errorclass, true)
}

fn remove(mpi: &mut Process, code: i32, is_class: bool) -> Answer {
    let what = if is_class { "class" } else { "code" };
    mpi.side.errhandlers.remove(code, is_class).map_err(|kept| {
        let why = match kept {
            Kept::Unknown => return unknown(what, code),
            Kept::HasText => "still has a text (MPI_Remove_error_string)".into(),
            Kept::HasCode(other) => format!("still has code {other} (MPI_Remove_error_code)"),
        };
        Error::new(constant::ERR_OTHER, format!("error {what} {code} {why}"))
    })
}

fn unknown(what: &str, code: i32) -> Error {
    let text = format!("the program has not added error {what} {code}, or has removed it");
    Error::new(constant::ERR_ARG, text)
}

/// `errorcode`: its string becomes empty.
pub(super) fn remove_error_string(mpi: &mut Process, args: &args::RemoveErrorString) -> Answer {
    let code = args.errorcode;
    let text = mpi.side.errhandlers.text_mut(code);
    text.ok_or_else(|| unknown("code", code))?.clear();
    Ok(())
}

fn on_error(mpi: &Process, handle: u64) -> Result<OnError> {
    let known = ERRHANDLERS..ERRHANDLERS + mpi.side.errhandlers.functions.len() as u64;
    match handle {
        constant::ERRORS_ARE_FATAL => Ok(OnError::Fatal),
        constant::ERRORS_ABORT => Ok(OnError::Abort),
        constant::ERRORS_RETURN => Ok(OnError::Return),
        _ if known.contains(&handle) => Ok(OnError::Call(handle)),
        _ => {
            let text = format!("{handle:#x} is no error handler");
            Err(Error::new(constant::ERR_ERRHANDLER, text))
        }
    }
}

pub(super) fn create(mpi: &mut Process, args: &args::CommCreateErrhandler) -> Answer {
    let functions = &mut mpi.side.errhandlers.functions;
    functions.push(args.comm_errhandler_fn);
    let handle = ERRHANDLERS + functions.len() as u64 - 1;
    mpi.put_word(args.errhandler, "the error handler", handle)
}

pub(super) fn free(mpi: &mut Process, args: &args::ErrhandlerFree) -> Answer {
    let handle = mpi.get_word(args.errhandler, "the error handler")?;
    on_error(mpi, handle)?;
    mpi.put_word(args.errhandler, "the error handler", constant::ERRHANDLER_NULL)
}

pub(super) fn set(mpi: &mut Process, args: &args::CommSetErrhandler) -> Answer {
    let comm = mpi.comm_of(args.comm)?;
    let on_error = on_error(mpi, args.errhandler)?;
    mpi.p2p.comms.get_mut(comm)?.on_error = on_error;
    Ok(())
}

pub(super) fn get(mpi: &mut Process, args: &args::CommGetErrhandler) -> Answer {
    let comm = mpi.comm_of(args.comm)?;
    let handle = match mpi.on_error(comm)? {
        OnError::Fatal => constant::ERRORS_ARE_FATAL,
        OnError::Abort => constant::ERRORS_ABORT,
        OnError::Return => constant::ERRORS_RETURN,
        OnError::Call(handle) => handle,
    };
    mpi.put_word(args.errhandler, "the error handler", handle)
}

pub(super) fn call(mpi: &mut Process, args: &args::CommCallErrhandler) -> Answer {
    let comm = mpi.comm_of(args.comm)?;
    let code = args.errorcode;
    match mpi.on_error(comm)? {
        OnError::Return => Ok(()),
        OnError::Call(handle) => {
            mpi.call_errhandler(handle, comm, code);
            Ok(())
        }
        OnError::Fatal | OnError::Abort => {
            Err(Error::new(code, format!("the program reports error {code}, which is fatal here")))
        }
    }
}

pub(super) fn add_error_class(mpi: &mut Process, args: &args::AddErrorClass) -> Answer {
    let class = mpi.side.errhandlers.add(None);
    mpi.put_int(args.errorclass, "the error class", class)
}

pub(super) fn add_error_code(mpi: &mut Process, args: &args::AddErrorCode) -> Answer {
    let code = mpi.side.errhandlers.add(Some(args.errorclass));
    mpi.put_int(args.errorcode, "the error code", code)
}

pub(super) fn add_error_string(mpi: &mut Process, args: &args::AddErrorString) -> Answer {
    let text = mpi.get_string(args.string, constant::MAX_ERROR_STRING, "the string")?;
    let code = args.errorcode;
    let place = mpi.side.errhandlers.text_mut(code);
    *place.ok_or_else(|| unknown("code", code))? = text;
    Ok(())
}

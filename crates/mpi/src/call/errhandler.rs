//! Functions of error handlers, and of error classes of the program's own.

use super::arguments::int;
use super::handler::Answer;
use crate::callback::Callback;
use crate::comm::{CommId, OnError};
use crate::constant;
use crate::error::{Error, Result};
use crate::process::Process;
use crate::slots::ERRHANDLERS;

impl Process {
    /// Runs an error handler of the program. If the program ends in it, the call notices.
    pub(crate) fn call_errhandler(&mut self, handle: u64, comm: CommId, code: i32) {
        let function = self.side.errhandlers.functions[(handle - ERRHANDLERS) as usize];
        let callback = Callback::new(function, &[comm.handle(), code as u64]);
        let _ = self.run_callback(&Callback { indirect: 0b11, ..callback });
    }
}

/// The class or code that was added last goes first, and its text before it, as the standard asks.
pub(super) fn remove_error_code(mpi: &mut Process, args: &[u64]) -> Answer {
    let (code, last) = (int(args[0]), mpi.side.errhandlers.last());
    if mpi.side.errhandlers.text(code).is_some_and(|text| !text.is_empty()) {
        let text = format!("error code {code} still has a text (MPI_Remove_error_string)");
        return Err(Error::new(constant::ERR_OTHER, text));
    }
    if code != last || mpi.side.errhandlers.codes.pop().is_none() {
        let text = format!("error code {code} is not the one that was added last ({last})");
        return Err(Error::new(constant::ERR_OTHER, text));
    }
    Ok(())
}

/// `errorcode`: its string becomes empty.
pub(super) fn remove_error_string(mpi: &mut Process, args: &[u64]) -> Answer {
    let code = int(args[0]);
    let index = code.checked_sub(constant::ERR_LASTCODE + 1).map(|index| index as usize);
    match index.and_then(|index| mpi.side.errhandlers.codes.get_mut(index)) {
        Some(code) => {
            code.text.clear();
            Ok(())
        }
        None => {
            let text = format!("the program has not added error code {code}");
            Err(Error::new(constant::ERR_OTHER, text))
        }
    }
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

/// `function, errhandler`.
pub(super) fn create(mpi: &mut Process, args: &[u64]) -> Answer {
    let functions = &mut mpi.side.errhandlers.functions;
    functions.push(args[0]);
    let handle = ERRHANDLERS + functions.len() as u64 - 1;
    mpi.put_word(args[1], "the error handler", handle)
}

pub(super) fn free(mpi: &mut Process, args: &[u64]) -> Answer {
    let handle = mpi.get_word(args[0], "the error handler")?;
    on_error(mpi, handle)?;
    mpi.put_word(args[0], "the error handler", constant::ERRHANDLER_NULL)
}

pub(super) fn set(mpi: &mut Process, args: &[u64]) -> Answer {
    let comm = mpi.comm_of(args[0])?;
    let on_error = on_error(mpi, args[1])?;
    mpi.p2p.comms.get_mut(comm)?.on_error = on_error;
    Ok(())
}

pub(super) fn get(mpi: &mut Process, args: &[u64]) -> Answer {
    let comm = mpi.comm_of(args[0])?;
    let handle = match mpi.on_error(comm)? {
        OnError::Fatal => constant::ERRORS_ARE_FATAL,
        OnError::Abort => constant::ERRORS_ABORT,
        OnError::Return => constant::ERRORS_RETURN,
        OnError::Call(handle) => handle,
    };
    mpi.put_word(args[1], "the error handler", handle)
}

/// `comm, errorcode`.
pub(super) fn call(mpi: &mut Process, args: &[u64]) -> Answer {
    let comm = mpi.comm_of(args[0])?;
    let code = int(args[1]);
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

pub(super) fn add_error_class(mpi: &mut Process, args: &[u64]) -> Answer {
    let class = mpi.side.errhandlers.add(None);
    mpi.put_int(args[0], "the error class", class)
}

/// `class, code`.
pub(super) fn add_error_code(mpi: &mut Process, args: &[u64]) -> Answer {
    let code = mpi.side.errhandlers.add(Some(int(args[0])));
    mpi.put_int(args[1], "the error code", code)
}

/// `code, string`.
pub(super) fn add_error_string(mpi: &mut Process, args: &[u64]) -> Answer {
    let text = mpi.get_string(args[1], constant::MAX_ERROR_STRING, "the string")?;
    let index = int(args[0]).wrapping_sub(constant::ERR_LASTCODE + 1);
    let codes = &mut mpi.side.errhandlers.codes;
    let code = usize::try_from(index).ok().and_then(|index| codes.get_mut(index));
    let code = code.ok_or_else(|| {
        let text = format!("error code {} was not added by the program", int(args[0]));
        Error::new(constant::ERR_ARG, text)
    })?;
    code.text = text;
    Ok(())
}

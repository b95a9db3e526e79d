//! Beginning and end, versions, error codes.

use super::handler::Answer;
use crate::constant;
use crate::error::Error;
use crate::process::Process;
use crate::side::Phase;
use abi::mpi::args;

pub(super) fn init(mpi: &mut Process, _: &args::Init) -> Answer {
    start(mpi)
}

fn start(mpi: &mut Process) -> Answer {
    if mpi.side.phase != Phase::Before {
        return Err(Error::new(constant::ERR_OTHER, "MPI was initialized before"));
    }
    mpi.side.phase = Phase::Running;
    mpi.set_environment();
    Ok(())
}

pub(super) fn init_thread(mpi: &mut Process, args: &args::InitThread) -> Answer {
    start(mpi)?;
    // A call holds the library until it returns, so threads must take turns.
    mpi.side.thread_level = args.required.min(constant::THREAD_SERIALIZED);
    mpi.put_int(args.provided, "the level provided", mpi.side.thread_level)
}

pub(super) fn query_thread(mpi: &mut Process, args: &args::QueryThread) -> Answer {
    mpi.put_int(args.provided, "the level provided", mpi.side.thread_level)
}

pub(super) fn initialized(mpi: &mut Process, args: &args::Initialized) -> Answer {
    mpi.put_int(args.flag, "the flag", i32::from(mpi.side.phase != Phase::Before))
}

pub(super) fn finalized(mpi: &mut Process, args: &args::Finalized) -> Answer {
    mpi.put_int(args.flag, "the flag", i32::from(mpi.side.phase == Phase::After))
}

pub(super) fn finalize(mpi: &mut Process, _: &args::Finalize) -> Answer {
    mpi.delete_comm_attributes(Process::SELF)?;
    mpi.shut_down()?;
    mpi.side.phase = Phase::After;
    Ok(())
}

pub(super) fn get_processor_name(mpi: &mut Process, args: &args::GetProcessorName) -> Answer {
    let name = mpi.p2p.transport.node_name(mpi.world().rank);
    mpi.put_string(args.name, args.resultlen, name)
}

pub(super) fn get_version(mpi: &mut Process, args: &args::GetVersion) -> Answer {
    mpi.put_int(args.version, "the version", constant::VERSION)?;
    mpi.put_int(args.subversion, "the subversion", constant::SUBVERSION)
}

pub(super) fn get_library_version(mpi: &mut Process, args: &args::GetLibraryVersion) -> Answer {
    let (version, subversion) = (constant::VERSION, constant::SUBVERSION);
    mpi.put_string(
        args.version,
        args.resultlen,
        format!("Sunstar (MPI {version}.{subversion} ABI)"),
    )
}

/// The program's library knows its threads, and answers itself.
pub(super) fn is_thread_main(mpi: &mut Process, args: &args::IsThreadMain) -> Answer {
    mpi.put_int(args.flag, "the flag", 1)
}

/// The program's library does this itself, and asks only when it has failed.
pub(super) fn alloc_mem(_: &mut Process, args: &args::AllocMem) -> Answer {
    if args.baseptr == 0 {
        let text = "the address of the memory is a null pointer";
        return Err(Error::new(constant::ERR_ARG, text));
    }
    let text = format!("there is no memory for {} bytes", args.size);
    Err(Error::new(constant::ERR_NO_MEM, text))
}

/// No level means anything here.
pub(super) fn pcontrol(_: &mut Process, _: &args::Pcontrol) -> Answer {
    Ok(())
}

/// Every error code of the standard is its own class.
pub(super) fn error_class(mpi: &mut Process, args: &args::ErrorClass) -> Answer {
    let code = args.errorcode;
    let class = match mpi.side.errhandlers.class(code) {
        Some(class) => class,
        None => describe(code).map(|_| code)?,
    };
    mpi.put_int(args.errorclass, "the class", class)
}

pub(super) fn error_string(mpi: &mut Process, args: &args::ErrorString) -> Answer {
    let code = args.errorcode;
    let text = match mpi.side.errhandlers.text(code) {
        Some(text) => text,
        None => describe(code)?.as_bytes(),
    };
    mpi.put_string(args.string, args.resultlen, text)
}

/// Name and meaning of an error class, by class from 0.
const CLASSES: [&str; 63] = [
    "MPI_SUCCESS: no error",
    "MPI_ERR_BUFFER: the buffer is not valid",
    "MPI_ERR_COUNT: the count is not valid",
    "MPI_ERR_TYPE: the datatype is not valid",
    "MPI_ERR_TAG: the tag is not valid",
    "MPI_ERR_COMM: the communicator is not valid",
    "MPI_ERR_RANK: the rank is not valid",
    "MPI_ERR_REQUEST: the request is not valid",
    "MPI_ERR_ROOT: the root is not valid",
    "MPI_ERR_GROUP: the group is not valid",
    "MPI_ERR_OP: the operation is not valid",
    "MPI_ERR_TOPOLOGY: the topology is not valid",
    "MPI_ERR_DIMS: a dimension is not valid",
    "MPI_ERR_ARG: an argument is not valid",
    "MPI_ERR_UNKNOWN: an unknown error",
    "MPI_ERR_TRUNCATE: the message is longer than the receive buffer",
    "MPI_ERR_OTHER: an error with no class of its own",
    "MPI_ERR_INTERN: an error inside the library",
    "MPI_ERR_PENDING: the operation is neither complete nor failed",
    "MPI_ERR_IN_STATUS: the error code is in the status",
    "MPI_ERR_ACCESS: permission denied",
    "MPI_ERR_AMODE: the access mode is not valid",
    "MPI_ERR_ASSERT: the assertion is not valid",
    "MPI_ERR_BAD_FILE: the file name is not valid",
    "MPI_ERR_BASE: the base address is not valid",
    "MPI_ERR_CONVERSION: a data conversion failed",
    "MPI_ERR_DISP: the displacement is not valid",
    "MPI_ERR_DUP_DATAREP: the data representation is defined already",
    "MPI_ERR_FILE_EXISTS: the file exists",
    "MPI_ERR_FILE_IN_USE: the file is in use",
    "MPI_ERR_FILE: the file handle is not valid",
    "MPI_ERR_INFO_KEY: the key is too long",
    "MPI_ERR_INFO_NOKEY: the key is not there",
    "MPI_ERR_INFO_VALUE: the value is too long",
    "MPI_ERR_INFO: the info object is not valid",
    "MPI_ERR_IO: an input or output error",
    "MPI_ERR_KEYVAL: the attribute key is not valid",
    "MPI_ERR_LOCKTYPE: the lock type is not valid",
    "MPI_ERR_NAME: the service name is not known",
    "MPI_ERR_NO_MEM: no memory is left",
    "MPI_ERR_NOT_SAME: an argument differs between ranks",
    "MPI_ERR_NO_SPACE: no space is left",
    "MPI_ERR_NO_SUCH_FILE: the file does not exist",
    "MPI_ERR_PORT: the port name is not valid",
    "MPI_ERR_QUOTA: the quota is exceeded",
    "MPI_ERR_READ_ONLY: the file is read only",
    "MPI_ERR_RMA_ATTACH: memory cannot be attached",
    "MPI_ERR_RMA_CONFLICT: conflicting accesses to a window",
    "MPI_ERR_RMA_RANGE: the target memory is not in the window",
    "MPI_ERR_RMA_SHARED: memory cannot be shared",
    "MPI_ERR_RMA_SYNC: wrong synchronization of a window",
    "MPI_ERR_SERVICE: the service name is not published",
    "MPI_ERR_SIZE: the size is not valid",
    "MPI_ERR_SPAWN: processes cannot be started",
    "MPI_ERR_UNSUPPORTED_DATAREP: the data representation is not supported",
    "MPI_ERR_UNSUPPORTED_OPERATION: the operation is not supported",
    "MPI_ERR_WIN: the window is not valid",
    "MPI_ERR_RMA_FLAVOR: the window has the wrong flavor",
    "MPI_ERR_PROC_ABORTED: the peer was aborted",
    "MPI_ERR_VALUE_TOO_LARGE: the value is too large to be stored",
    "MPI_ERR_SESSION: the session is not valid",
    "MPI_ERR_ERRHANDLER: the error handler is not valid",
    "MPI_ERR_ABI: the ABI's settings cannot be changed",
];

fn describe(code: i32) -> Result<&'static str, Error> {
    let found = usize::try_from(code).ok().and_then(|code| CLASSES.get(code).copied());
    found.ok_or_else(|| Error::new(constant::ERR_ARG, format!("{code} is no error code")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_classes_is_in_the_order_of_the_abi() {
        for (class, name) in [
            (constant::ERR_BUFFER, "MPI_ERR_BUFFER"),
            (constant::ERR_TRUNCATE, "MPI_ERR_TRUNCATE"),
            (constant::ERR_IN_STATUS, "MPI_ERR_IN_STATUS"),
            (constant::ERR_IO, "MPI_ERR_IO"),
            (constant::ERR_RMA_SYNC, "MPI_ERR_RMA_SYNC"),
            (constant::ERR_WIN, "MPI_ERR_WIN"),
            (constant::ERR_ABI, "MPI_ERR_ABI"),
        ] {
            let text = describe(class).expect("a known class");
            assert_eq!(text.split(':').next(), Some(name));
        }
        assert!(describe(63).is_err() && describe(-1).is_err());
    }
}

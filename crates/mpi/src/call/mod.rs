//! MPI as C programs call it: raw arguments in, error codes out.
//!
//! Integers come sign-extended in 64 bits, so a function and its large-count twin (`MPI_Send`,
//! `MPI_Send_c`) look the same here. Pointers are addresses in the program's memory. The last
//! argument of a function that makes a request is the request's handle, which the program's library
//! has chosen.

mod arguments;
mod collective;
mod comm;
mod completion;
mod datatype;
mod environment;
mod handles;
mod point_to_point;

use crate::comm::{CommId, OnError};
use crate::constant;
use crate::error::Error;
use crate::params::Params;
use crate::process::{Process, Waiting, World};
use abi::mpi::Function;
use handles::Handles;
use host::Cpu;
use portals::Ni;

/// What becomes of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It returns this MPI error code.
    Ok(i32),
    /// The program has done something wrong and does not handle errors: the run ends with this
    /// sentence.
    Fatal(String),
    /// MPI_Abort: the run ends with this code.
    Abort(i32),
    /// The function is not implemented: the run ends with its name.
    Unimplemented,
}

/// How far the program has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Before,
    Running,
    After,
}

/// The MPI library of one program's process.
pub struct Mpi {
    process: Process,
    requests: Handles,
    phase: Phase,
    thread_level: i32,
    /// The communicator whose error handler hears of an error in the present call.
    blame: CommId,
}

/// What a call gives: success, or an error for the error handler.
type Answer = std::result::Result<(), Error>;
/// Does one function.
type Handler = fn(&mut Mpi, &[u64]) -> Answer;

impl Mpi {
    /// To be made in a fibre of the rank's host; from then on messages are accepted. All ranks must
    /// have been made before the first returns from MPI_Init.
    pub fn new(ni: Ni, cpu: Cpu, world: World, params: Params) -> Mpi {
        Mpi {
            process: Process::new(ni, cpu, world, params),
            requests: Handles::default(),
            phase: Phase::Before,
            thread_level: constant::THREAD_SINGLE,
            blame: Process::SELF,
        }
    }

    /// What the rank waits for while a call waits.
    pub fn waiting(&self) -> Waiting {
        self.process.waiting()
    }

    /// The Rust interface of the same library.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// True if a program may call `function`.
    pub fn implements(function: Function) -> bool {
        function == Function::Abort || handler(function).is_some()
    }

    /// Does `function` with its raw C arguments.
    pub fn call(&mut self, function: Function, args: &[u64]) -> Outcome {
        if function == Function::Abort {
            return Outcome::Abort(args[1] as i32);
        }
        let Some(handler) = handler(function) else { return Outcome::Unimplemented };
        self.blame = Process::SELF;
        self.process.enter(function.name());
        let answer = handler(self, args);
        self.process.leave();
        match answer {
            Ok(()) => Outcome::Ok(constant::SUCCESS),
            Err(error) => self.handle(function, args, error),
        }
    }

    /// Does what the error handler says.
    fn handle(&mut self, function: Function, args: &[u64], error: Error) -> Outcome {
        let on_error = self.process.on_error(self.blame).unwrap_or(OnError::Fatal);
        if on_error == OnError::Fatal {
            let rank = self.process.world().rank;
            return Outcome::Fatal(format!("rank {rank}: {}: {}", function.name(), error.text));
        }
        let class = error.class;
        if function.makes_request() {
            // The program has the handle already and will wait for it.
            let request = self.process.failed_request(self.blame, error);
            self.requests.insert(args[args.len() - 1], request);
        }
        Outcome::Ok(class)
    }
}

/// Who does a function; None: nobody.
fn handler(function: Function) -> Option<Handler> {
    use Function::*;
    Some(match function {
        Init => environment::init,
        InitThread => environment::init_thread,
        QueryThread => environment::query_thread,
        Initialized => environment::initialized,
        Finalized => environment::finalized,
        Finalize => environment::finalize,
        GetProcessorName => environment::get_processor_name,
        GetVersion => environment::get_version,
        GetLibraryVersion => environment::get_library_version,
        ErrorClass => environment::error_class,
        ErrorString => environment::error_string,
        ErrhandlerFree => environment::errhandler_free,

        CommRank => comm::rank,
        CommSize => comm::size,
        CommDup => comm::dup,
        CommSplit => comm::split,
        CommFree => comm::free,
        CommCompare => comm::compare,
        CommSetErrhandler => comm::set_errhandler,
        CommGetErrhandler => comm::get_errhandler,

        Send | SendC | Rsend | RsendC => point_to_point::send,
        Ssend | SsendC => point_to_point::ssend,
        Recv | RecvC => point_to_point::recv,
        Isend | IsendC | Irsend | IrsendC => point_to_point::isend,
        Issend | IssendC => point_to_point::issend,
        Irecv | IrecvC => point_to_point::irecv,
        Sendrecv | SendrecvC => point_to_point::sendrecv,
        SendrecvReplace | SendrecvReplaceC => point_to_point::sendrecv_replace,
        Probe => point_to_point::probe,
        Iprobe => point_to_point::iprobe,
        GetCount => point_to_point::get_count,
        GetCountC => point_to_point::get_count_c,

        Wait => completion::wait,
        Waitall => completion::waitall,
        Waitany => completion::waitany,
        Waitsome => completion::waitsome,
        Test => completion::test,
        Testall => completion::testall,
        Testany => completion::testany,
        Testsome => completion::testsome,
        Cancel => completion::cancel,
        TestCancelled => completion::test_cancelled,
        RequestFree => completion::request_free,
        RequestGetStatus => completion::request_get_status,

        Function::Barrier => collective::barrier,
        Function::Bcast | BcastC => collective::bcast,
        Function::Reduce | ReduceC => collective::reduce,
        Function::Allreduce | AllreduceC => collective::allreduce,
        Gather | GatherC => collective::gather,
        Scatter | ScatterC => collective::scatter,
        Allgather | AllgatherC => collective::allgather,
        Alltoall | AlltoallC => collective::alltoall,

        TypeSize => datatype::size,
        TypeSizeC | TypeSizeX => datatype::size_c,
        TypeGetExtent | TypeGetExtentC | TypeGetExtentX => datatype::get_extent,
        TypeGetTrueExtent | TypeGetTrueExtentC | TypeGetTrueExtentX => datatype::get_true_extent,
        TypeContiguous | TypeContiguousC => datatype::contiguous,
        TypeVector | TypeVectorC => datatype::vector,
        TypeCreateHvector | TypeCreateHvectorC => datatype::hvector,
        TypeCommit => datatype::commit,
        TypeFree => datatype::free,
        _ => return None,
    })
}

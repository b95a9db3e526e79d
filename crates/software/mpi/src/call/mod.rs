//! MPI as C programs call it: words of arguments in, error codes out.
//!
//! Integers come sign-extended in 64 bits, so a function and its large-count twin (`MPI_Send`,
//! `MPI_Send_c`) look the same here. Pointers are addresses in the program's memory. The last
//! argument of a function that makes a request is the request's handle, which the program's library
//! has chosen.

mod arguments;
mod attribute;
mod buffered;
mod collective;
mod comm;
mod completion;
mod contents;
mod datatype;
mod datatype_arrays;
mod environment;
mod errhandler;
mod exchange;
mod graph;
mod group;
mod handler;
mod info;
mod matched;
mod neighbor;
mod op;
mod packing;
mod persistent;
mod point_to_point;
mod table;
mod topology;
mod vector;

use crate::callback::Ran;
use crate::comm::OnError;
use crate::constant;
use crate::error::Error;
use crate::local::{Local, World};
use crate::process::{Process, Settings};
use crate::request::waiting::{Waiting, Whose};
use crate::transport::Transport;
use abi::arguments::Arguments;
use abi::mpi::args;
use abi::mpi::Function;
use handler::{request_of, Answer, Handler};
use host::{Cpu, SpaceId};
use table::{handler, may_reduce};

/// Outcome of a call.
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
    /// The program has ended in a function of its own that the library ran.
    Ended,
    /// The program has left such a function, and the call with it: nobody waits for an answer.
    Left,
}

/// The MPI library of one program's process.
pub struct Mpi {
    process: Process,
}

impl Mpi {
    /// Library over the transport that `open` makes. It must be made in a fibre of the rank's host; from
    /// then on messages are accepted. All ranks must have been made before the first returns from MPI_Init.
    pub fn new(
        cpu: Cpu,
        space: SpaceId,
        world: World,
        settings: Settings,
        open: impl FnOnce(&mut Local) -> Box<dyn Transport>,
    ) -> Mpi {
        Mpi { process: Process::new(cpu, space, world, settings, open) }
    }

    /// Reason for which the rank waits, while a call waits.
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
        self.process.call(function, args)
    }
}

impl Process {
    /// Does `function` with its raw C arguments, also within a function of the program that the
    /// library runs.
    pub fn call(&mut self, function: Function, args: &[u64]) -> Outcome {
        if function == Function::Abort {
            return Outcome::Abort(args::Abort::read(args).errorcode);
        }
        let handler = handler(function);
        if handler.is_none() && !function.is_local() {
            return Outcome::Unimplemented;
        }
        self.side.blame = Process::SELF;
        self.enter(function.name());
        let answer = match handler {
            // What the program's library does by itself comes here for this alone.
            None => {
                Err(Error::new(constant::ERR_ARG, "the address of an argument is a null pointer"))
            }
            Some(_) if self.callbacks.reduces() && !may_reduce(function) => Err(Error::new(
                constant::ERR_OTHER,
                "called by the function of a reduction, which may not communicate",
            )),
            Some(_) if function.makes_request() && args.last() == Some(&0) => Err(Error::new(
                constant::ERR_REQUEST,
                "the address of the request is a null pointer",
            )),
            Some(handler) => self.obey(function, handler, args),
        };
        self.leave();
        let outcome = match answer {
            Ok(()) => Outcome::Ok(constant::SUCCESS),
            Err(error) if self.callbacks.broken_off.is_none() => self.handle(function, args, error),
            Err(_) => Outcome::Left,
        };
        match self.callbacks.broken_off {
            // The calls around it have ended, too.
            Some(Ran::Ended) => Outcome::Ended,
            // That around it, if there is one, is under way.
            Some(_) => {
                self.callbacks.broken_off = None;
                Outcome::Left
            }
            None => outcome,
        }
    }

    fn obey(&mut self, function: Function, handler: Handler, args: &[u64]) -> Answer {
        match handler {
            Handler::Direct(run) => run(self, args),
            Handler::Blocking(begin) => {
                let id = begin(self, args)?;
                self.finish(id, Whose::Own).map(|_| ())
            }
            Handler::Starting(begin) => {
                let id = begin(self, args)?;
                self.side.handles.insert(request_of(args), id);
                Ok(())
            }
            Handler::Persistent(keep) => keep(self, function, args),
        }
    }

    /// Does what the error handler says.
    fn handle(&mut self, function: Function, args: &[u64], error: Error) -> Outcome {
        let mut comm = self.side.blame;
        let mut on_error = self.on_error(comm).unwrap_or(OnError::Fatal);
        // Errors that concern no communicator are MPI_COMM_SELF's since MPI 4, and were
        // MPI_COMM_WORLD's before: programs that handle errors handle them there.
        if comm == Process::SELF && on_error.is_fatal() {
            comm = Process::WORLD;
            on_error = self.on_error(comm).unwrap_or(OnError::Fatal);
        }
        if on_error.is_fatal() {
            let rank = self.world().rank;
            return Outcome::Fatal(format!("rank {rank}: {}: {}", function.name(), error.text));
        }
        let class = error.class;
        let handle = args.last().copied().unwrap_or_default();
        if function.is_posted() && handle != 0 {
            // The program has the handle already and will wait for it.
            let request = self.p2p.failed_request(comm, error);
            self.side.handles.insert(handle, request);
        } else if let OnError::Call(errhandler) = on_error {
            self.call_errhandler(errhandler, comm, class);
        }
        Outcome::Ok(class)
    }
}

//! MPI over a transport, of which Portals is the first.
//!
//! [`Mpi::call`] takes the raw C arguments of a program's MPI call; beneath it, [`Process`] is the
//! same library for built-in workloads in Rust. Everything happens inside calls: there is no
//! progress thread, as on the machine that is modelled; what the transport does by itself (Portals:
//! matching, moving bytes) goes on without the library.
//!
//! | module | what |
//! |---|---|
//! | `call`, `api` | the facade: MPI's functions as programs call them, and for built-in workloads |
//! | `process`, `completion` | the process, which consists of the parts below; progress, and waiting |
//! | `callback`, `side` | the program: its functions, and what only its calls know |
//! | `collective` | algorithms; the schedules that they plan; the execution of those |
//! | `objects` | types, operations, groups (`slots`), and uses of them (`uses`) |
//! | `request` | point-to-point operations, and the report of a deadlock |
//! | `comm` | communicators, groups, and ranks in grids and graphs |
//! | `transport` | the seam below requests; how messages travel over Portals, and over queues of the NIC's |
//! | `datatype`, `reduction` | where an item's bytes lie, how types are made; what operations make of items |
//! | `local` | its time, its memory (`scratch`), its place in the world |
//!
//! A part knows only those in the lines below it (decision 0112); `completion`, `callback` and the facade
//! take the whole process.

mod api;
mod call;
mod callback;
mod collective;
mod comm;
mod completion;
mod datatype;
mod error;
mod local;
mod objects;
mod observe;
mod params;
mod process;
mod reduction;
mod request;
mod scratch;
mod side;
mod slots;
mod transport;
mod uses;

use abi::mpi as constant;

pub use api::CollectiveBuffers;
pub use call::{Mpi, Outcome};
pub use callback::{Callback, Program, Ran, Returned, CALLBACK_ARGUMENTS};
pub use collective::{Algorithm, AlgorithmError, Algorithms};
pub use comm::topology::balance;
pub use comm::{CommId, InitialErrors, OnError};
pub use error::{Error, Result};
pub use local::{Local, World};
pub use observe::{Exchange, Kinds, Observer, Seat, Sent, Share, Witness};
pub use params::{Params, ParamsError, PortalsParams};
pub use process::{Process, Settings};
pub use reduction::op::Op;
pub use request::waiting::{Wait, Waiting};
pub use request::{RequestId, Status};
pub use transport::portals::matching::{is_collective, PortalsRequest, Rendezvous, MAX_RANKS};
pub use transport::portals::Portals;
pub use transport::queues::{Queues, QueuesSetup, Rings};
pub use transport::{Address, Begun, Bytes, Ending, Found, Mode, Step, Taken, Transport, Wanted};

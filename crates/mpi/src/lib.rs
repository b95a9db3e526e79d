//! MPI over a transport, of which Portals is the first.
//!
//! [`Mpi::call`] takes the raw C arguments of a program's MPI call; beneath it, [`Process`] is the
//! same library for built-in workloads in Rust. Everything happens inside calls: there is no
//! progress thread, as on the machine that is modelled; what the transport does by itself (Portals:
//! matching, moving bytes) goes on without the library.
//!
//! | module | what |
//! |---|---|
//! | `call` | MPI's functions as programs call them: arguments, and answers |
//! | `api` | the same for built-in workloads |
//! | `process` | what a process holds: handles (`slots`, `uses`), memory (`scratch`), program (`callback`) |
//! | `local` | its time, its memory, its place in the world |
//! | `comm` | communicators, groups, and ranks in grids and graphs |
//! | `datatype` | where an item's bytes lie, how types are made and named |
//! | `request` | operations under way, waiting for them, and the report of a deadlock |
//! | `transport` | the seam below requests; how messages travel over Portals, and over queues of the NIC's |
//! | `collective` | algorithms, and the schedules that they plan |
//! | `reduction` | what operations make of items |

mod api;
mod call;
mod callback;
mod collective;
mod comm;
mod datatype;
mod error;
mod local;
mod observe;
mod params;
mod process;
mod reduction;
mod request;
mod scratch;
mod slots;
mod transport;
mod uses;

use abi::mpi as constant;

pub use call::{Mpi, Outcome};
pub use callback::{Callback, Program, Ran, Returned, CALLBACK_ARGUMENTS};
pub use collective::{Algorithm, Algorithms};
pub use comm::topology::balance;
pub use comm::{CommId, OnError};
pub use error::{Error, Result};
pub use local::{Local, World};
pub use observe::{Observer, Sent, Witness};
pub use params::Params;
pub use process::Process;
pub use reduction::op::Op;
pub use request::waiting::{Wait, Waiting};
pub use request::{RequestId, Status};
pub use transport::portals::matching::{is_collective, Rendezvous, MAX_RANKS};
pub use transport::portals::Portals;
pub use transport::queues::{Queues, QueuesSetup, Rings};
pub use transport::{Address, Begun, Bytes, Ending, Found, Mode, Step, Taken, Transport, Wanted};

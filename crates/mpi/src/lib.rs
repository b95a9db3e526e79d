//! MPI over Portals and nothing else.
//!
//! [`Mpi::call`] takes the raw C arguments of a program's MPI call; beneath it, [`Process`] is the
//! same library for built-in workloads in Rust. Everything happens inside calls: there is no
//! progress thread, as on the machine that is modelled; what Portals does by itself (matching,
//! moving bytes) goes on without the library.
//!
//! How messages travel: `transport`. Matching: `matching`, `unexpected`. Collectives: `collective`.

mod api;
mod call;
mod callback;
mod collective;
mod comm;
mod constructor;
mod datatype;
mod error;
mod failure;
mod graph;
mod group;
mod items;
mod long_double;
mod matching;
mod numbering;
mod op;
mod params;
mod process;
mod queues;
mod recipe;
mod reduction;
mod request;
mod schedule;
mod scratch;
mod slots;
mod topology;
mod transport;
mod types;
mod unexpected;
mod uses;
mod wait;
mod waiting;

use abi::mpi as constant;

pub use call::{Mpi, Outcome};
pub use callback::{Callback, Program, Returned, CALLBACK_ARGUMENTS};
pub use collective::{Algorithm, Algorithms};
pub use comm::{CommId, OnError};
pub use error::{Error, Result};
pub use failure::Unsent;
pub use matching::{Rendezvous, MAX_RANKS};
pub use op::Op;
pub use params::Params;
pub use process::{Process, World};
pub use request::{RequestId, Status};
pub use topology::balance;
pub use transport::Mode;
pub use waiting::{Wait, Waiting};

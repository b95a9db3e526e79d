//! Pico-MPI: MPI over Directed Point, in the processes of Linux guests (vorakosit2001 names it, and has
//! published no more of it).
//!
//! It is the library of all machines, crate [`mpi`], on the guest's processor, whose time it leaves to the
//! guest's kernel, and over a transport of its own. `lib/pico` makes a `libmpi_abi.so.1` of it, with the
//! same functions in C as the one that asks the simulator.
//!
//! ```text
//!  program ─► stubs.c, seam.c ─► seam ─► mpi::Mpi ─► transport, messages ─► link ─► channels ─► libdp
//! ```

mod begin_error;
mod channels;
mod link;
mod messages;
mod seam;
mod space;
mod transport;

pub use begin_error::BeginError;
pub use link::{Came, Link, FIRST, FULL};
pub use messages::{places, Messages, Network, DP_MAX, EAGER};
pub use space::Space;
pub use transport::Carried;

use des::Duration;
use host::{Costs, Host};
use mpi::{Mpi, World};
use std::cell::RefCell;
use std::rc::Rc;

/// A rank's library, and its messages, which it must close at its end.
pub struct Library<N> {
    /// MPI.
    pub mpi: Mpi,
    /// The same messages that it uses.
    pub messages: Rc<RefCell<Messages<N>>>,
}

/// Costs and limits: a guest's kernel charges what takes time, and the limits are the transport's own.
fn settings() -> mpi::Settings {
    let free = Duration::ZERO;
    let params = mpi::Params {
        call: free,
        request: free,
        event: free,
        reduce_element: free,
        datatype_run: free,
        alltoall_short: EAGER as u64,
        allgather_short: EAGER as u64,
    };
    mpi::Settings { params, algorithms: mpi::Algorithms::default() }
}

impl<N: Network + 'static> Library<N> {
    /// The library of a rank of `world` that sends through `network`.
    pub fn new(world: World, network: N) -> Result<Library<N>, BeginError> {
        let places = places(world.size)?;
        let cpu = Host::new(&Costs::NOTHING).cpu();
        let memory = cpu.memory().clone();
        let space = memory.borrow_mut().add_program_space(Box::new(space::Own));
        let messages =
            Messages::new(world.rank, world.size, places, Space::new(memory, space), network);
        let messages = Rc::new(RefCell::new(messages));
        let carried = Carried(messages.clone());
        let mpi = Mpi::new(cpu, space, world, settings(), |_| Box::new(carried));
        Ok(Library { mpi, messages })
    }
}

//! Carriers of the messages of a node's processes.

use portals::Nal;
use std::rc::Rc;

/// Makes the driver of a node's network interface when its kernel boots.
pub type MakeNal = Rc<dyn Fn(&host::Cpu) -> Rc<dyn Nal>>;

/// Opens the queues of the process on a core.
pub type OpenQueues = Rc<dyn Fn(&mut mpi::Local, u32) -> Box<dyn mpi::Transport>>;

/// Transport of the messages of a node's processes.
#[derive(Clone)]
pub enum Carrier {
    /// Portals in the kernel, over this driver.
    Portals(MakeNal),
    /// The network interface itself, which keeps MPI's queues; there is no Portals.
    Queues(OpenQueues),
}

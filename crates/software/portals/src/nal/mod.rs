//! The seam between the kernel's Portals and a network interface: the network abstraction layer of Portals
//! 3.0. A driver carries messages, each a wire header and a payload, from the kernel of one node to that of
//! another; what they mean is the kernel's.

use crate::kernel::{Counters, Data, Kernel, Slot};
use crate::library::{Operation, Span};
use abi::seastar::PortalsHeader;
use des::Time;
use host::{Cpu, SpaceId};
use std::rc::Rc;

pub mod messages;
pub mod seastar;

/// A driver of a network interface. All but `has_events` and `takes_pieces` is called in the kernel, with its
/// lock held.
pub trait Nal {
    /// Starts the network interface; a fault of the fibre if it does not answer as it should.
    fn start(&self, kernel: &Kernel, cpu: &Cpu);

    /// Sends a message, or keeps it until there is room. Its operation ends ([`Kernel`]) when its bytes have
    /// left.
    fn transmit(&self, kernel: &Kernel, cpu: &Cpu, message: Transmit);

    /// Takes all that the network interface has to tell, in the interrupt handler.
    fn interrupt(&self, kernel: &Kernel, cpu: &Cpu, run: Run);

    /// True if the network interface has events that have not been taken.
    fn has_events(&self) -> bool;

    /// True if a payload in so many physical pieces can be sent and received.
    fn takes_pieces(&self, pieces: usize) -> bool;

    /// Adds the driver's own counts.
    fn count(&self, counters: &mut Counters);

    /// The kernel that it drives the interface for; told once, before [`Nal::start`].
    fn join(&self, _kernel: &Rc<Kernel>) {}

    /// Gives a process Portals on the network interface, if it has room and the means; else it is the
    /// kernel's.
    fn accelerate(
        &self,
        _kernel: &Kernel,
        _cpu: &Cpu,
        _user: NewUser,
    ) -> Option<Rc<seastar::Accelerated>> {
        None
    }

    /// True if messages for a process were refused because its event queue was full.
    fn has_refused(&self, _slot: Slot) -> bool {
        false
    }

    /// There may be room in event queues again.
    fn make_room(&self, _kernel: &Kernel, _cpu: &Cpu) {}

    /// Such a process has left.
    fn end(&self, _kernel: &Kernel, _cpu: &Cpu, _process: &seastar::Accelerated) {}
}

/// A process that opens its interface.
#[derive(Clone, Copy, Debug)]
pub struct NewUser {
    pub(crate) slot: Slot,
    pub(crate) pid: u16,
    /// Its memory.
    pub(crate) space: SpaceId,
}

/// A run of the interrupt handler.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Time at which the interrupt was raised.
    pub raised: Time,
    /// Time at which the handler began.
    pub entered: Time,
}

/// A message to be sent.
#[derive(Clone, Debug)]
pub struct Transmit {
    pub(crate) header: PortalsHeader,
    /// Its payload.
    pub(crate) source: Source,
    /// Operation that ends when the message has left; `None` for an acknowledgement.
    pub(crate) ending: Option<Ending>,
}

/// An operation of a process that ends with a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ending {
    pub(crate) slot: Slot,
    pub(crate) operation: Operation,
}

/// Source of a payload.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// There is none.
    Nothing,
    /// The memory of the process `ending.slot`.
    Span(Span),
    /// The kernel: the answer of an atomic operation.
    Data(Data),
    /// There should be an answer of an atomic operation, which failed.
    Lost,
}

//! Breakdown of a message's time, from timestamps that each part of the machine records under the message's
//! id.
//!
//! ```text
//! marks ─► Desk of the node ── Flight goes with its message ──► Desk of the next node
//!                                                                  │ the way has ended
//!                                          Tally (sums, samples) ◄─┘ ─► Messages of the report
//! ```
//! Memory grows with the messages under way, not with the run.

use des::Time;

mod cause;
mod desk;
mod fabric;
mod flight;
mod histogram;
mod message_path;
mod messages;
pub mod portals;
mod sample;
mod tally;
#[cfg(test)]
mod tests;

pub use cause::Cause;
pub use cause::{cause, firmware, walk};
pub(crate) use desk::Desk;
pub use desk::Unfinished;
pub use flight::Flight;
pub use flight::{MessageKind, Protocol};
pub use message_path::MessagePath;
pub use message_path::{step, PathStep};
pub(crate) use message_path::{LEGS, SLOTS};
pub use messages::{Breakdown, Messages, Segment, Slow, Step};
pub(crate) use tally::Tallies;

/// An instant in the life of a message: the number under which a leg keeps its time. Those that the bench's
/// own parts mark, processes with their libraries and kernels, drivers, and the network, are here; a model
/// has others ([`Waypoint::own`]). Their order is that of the steps of a [`MessagePath`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waypoint(u8);

/// Most waypoints that a model has of its own.
const OWN: u8 = 11;

impl Waypoint {
    /// The program's call reached the MPI library.
    pub const CALL_ENTERED: Waypoint = Waypoint(0);
    /// The libfabric provider called Portals.
    pub const PROVIDER_CALLED: Waypoint = Waypoint(1);
    /// The MPI library called `PtlPut`.
    pub const PUT_ENTERED: Waypoint = Waypoint(2);
    /// The library of a process on the network interface wrote the command itself: no kernel had the call.
    pub const LIBRARY_COMMANDED: Waypoint = Waypoint(3);
    /// The kernel had the call.
    pub const KERNEL_ENTERED: Waypoint = Waypoint(4);
    /// The kernel wrote the tail index of the mailbox.
    pub const COMMAND_WRITTEN: Waypoint = Waypoint(5);
    /// That write reached the NIC's SRAM.
    pub const COMMAND_ARRIVED: Waypoint = Waypoint(6);
    /// The same when it sent the message again, because the network had lost it: the last time.
    pub const RESENT: Waypoint = Waypoint(7);
    /// The first packet entered the network.
    pub const INJECTED: Waypoint = Waypoint(8);
    /// The first packet reached the target's RX engine.
    pub const ARRIVED: Waypoint = Waypoint(9);
    /// The same when it came again, the last time, because the target had refused it.
    pub const REPEATED: Waypoint = Waypoint(10);
    /// Firmware that matches had the header.
    pub const HEADER_READ: Waypoint = Waypoint(11);
    /// The same, when it had searched the match list.
    pub const SEARCHED: Waypoint = Waypoint(12);
    /// The firmware wrote the interrupt register; or the event itself, for a process that needs no interrupt.
    pub const INTERRUPT_WRITTEN: Waypoint = Waypoint(13);
    /// The interrupt reached the host.
    pub const INTERRUPT_ARRIVED: Waypoint = Waypoint(14);
    /// The library of a process on the network interface had read the event in its ring.
    pub const RING_READ: Waypoint = Waypoint(15);
    /// The interrupt handler's first instruction.
    pub const HANDLER_ENTERED: Waypoint = Waypoint(16);
    /// The handler had read the event; where firmware matches, it had the header.
    pub const EVENT_DRAINED: Waypoint = Waypoint(17);
    /// The kernel had searched the process's match list; or the firmware, what no unit holds of it.
    pub const MATCHED: Waypoint = Waypoint(18);
    /// Of messages that do not travel in their header, from here to `CompletionDrained`: the kernel wrote the
    /// tail index of the mailbox.
    pub const RECEIVE_WRITTEN: Waypoint = Waypoint(19);
    /// That write reached the NIC's SRAM; where firmware matches, it had the receive.
    pub const RECEIVE_ARRIVED: Waypoint = Waypoint(20);
    /// The firmware wrote the interrupt register for it.
    pub const COMPLETION_WRITTEN: Waypoint = Waypoint(21);
    /// That interrupt reached the host.
    pub const COMPLETION_ARRIVED: Waypoint = Waypoint(22);
    /// The library of a process on the network interface had read that event in its ring.
    pub const RING_COMPLETED: Waypoint = Waypoint(23);
    /// The first instruction of its handler.
    pub const COMPLETION_ENTERED: Waypoint = Waypoint(24);
    /// The handler had read the event.
    pub const COMPLETION_DRAINED: Waypoint = Waypoint(25);
    /// The Portals event was in the process's event queue.
    pub const EVENT_POSTED: Waypoint = Waypoint(26);
    /// The same, where the process's library has put it there.
    pub const LIBRARY_POSTED: Waypoint = Waypoint(27);
    /// The process entered the call that took the event, if it was not in one.
    pub const PROCESS_LOOKED: Waypoint = Waypoint(28);
    /// The MPI library had it.
    pub const EVENT_RETURNED: Waypoint = Waypoint(29);
    /// The receive was called, of a message for which none had been posted.
    pub const CLAIMED: Waypoint = Waypoint(30);
    /// The program's call returned.
    pub const CALL_RETURNED: Waypoint = Waypoint(31);
    /// Waypoints of the bench.
    const OF_BENCH: u8 = 32;

    /// A model's own waypoint. Fails to compile if there are not so many.
    pub const fn own(number: u8) -> Waypoint {
        assert!(number < OWN);
        Waypoint(Self::OF_BENCH + number)
    }
    /// Its number in a leg.
    fn at(self) -> usize {
        usize::from(self.0)
    }
}

/// Part of the machine that works during a step of a message's way. Those here are of many models; a model
/// may have others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layer {
    name: &'static str,
    text: &'static str,
}

impl Layer {
    /// The host's processor.
    pub const HOST: Layer = Layer::new("host", "host processor: program and system software");
    /// The bus between host and NIC.
    pub const BUS: Layer = Layer::new("bus", "the bus between host and NIC");
    /// The NIC's processor.
    pub const FIRMWARE: Layer = Layer::new("firmware", "firmware on the NIC's processor");
    /// The NIC's DMA engines.
    pub const DMA: Layer =
        Layer::new("dma", "the NIC's DMA engines, with all that a payload passes while it streams");
    /// A unit that matches.
    pub const UNIT: Layer = Layer::new("unit", "units that match");
    /// Routers and links.
    pub const NETWORK: Layer = Layer::new("network", "routers and links");
    /// Disks.
    pub const DISK: Layer = Layer::new("disk", "disks");

    /// A layer with its name in JSON, which is a word, and its text in legends.
    pub const fn new(name: &'static str, text: &'static str) -> Layer {
        Layer { name, text }
    }
    /// Its name: a word.
    pub fn name(self) -> &'static str {
        self.name
    }
    /// Its text in legends.
    pub fn text(self) -> &'static str {
        self.text
    }
}

impl serde::Serialize for Layer {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

/// Part of the machine that works during a step, as the account of the program names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Libraries of the processes.
    Library,
    /// Kernels.
    Kernel,
    /// Network interfaces, and the way to them.
    Nic,
    /// The network.
    Network,
    /// None: the message waits at its sender for room at its target, which has refused it.
    Refused,
    /// Disks of the other side.
    Disk,
}

impl Part {
    /// All of them.
    pub const ALL: [Part; 6] =
        [Part::Library, Part::Kernel, Part::Nic, Part::Network, Part::Refused, Part::Disk];
}

/// Waypoints of a leg.
const WAYPOINTS: usize = (Waypoint::OF_BENCH + OWN) as usize;

/// Times at which a flight passed each waypoint of a leg; `Time::NEVER` at those that it did not pass.
type Leg = [Time; WAYPOINTS];

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
mod flight;
mod histogram;
mod message_path;
mod messages;
mod portals;
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
pub use portals::PORTALS;
pub(crate) use tally::Tallies;

/// Instants in the life of a put, in the order in which a message passes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Waypoint {
    /// The program's call reached the MPI library.
    CallEntered,
    /// The MPI library called `PtlPut`.
    PutEntered,
    /// The kernel had the call.
    KernelEntered,
    /// The kernel wrote the tail index of the mailbox.
    CommandWritten,
    /// That write reached the NIC's SRAM.
    CommandArrived,
    /// The DMA engine had the command for the payload, if firmware fetches that before it sends the header.
    FetchCommanded,
    /// The payload was in the NIC's memory.
    Fetched,
    /// The TX engine took the firmware's command for the header.
    HeaderCommanded,
    /// The same when it sent the message again, because the network had lost it: the last time.
    Resent,
    /// The first packet entered the network.
    Injected,
    /// The first packet reached the target's RX engine.
    Arrived,
    /// The same when it came again, the last time, because the target had refused it.
    Repeated,
    /// The firmware could see the notification.
    Announced,
    /// Firmware that matches had the header.
    HeaderRead,
    /// The same, when it had searched the match list.
    Searched,
    /// The entries that it had to wait for were inserted into the lists of the matching units.
    Inserted,
    /// The firmware wrote the interrupt register; or the event itself, for a process that needs no interrupt.
    InterruptWritten,
    /// The interrupt reached the host.
    InterruptArrived,
    /// The interrupt handler's first instruction.
    HandlerEntered,
    /// The handler had read the event; where firmware matches, it had the header.
    EventDrained,
    /// A matching unit had answered, and the answer was fetched.
    UnitAnswered,
    /// The kernel had searched the process's match list; or the firmware, what no unit holds of it.
    Matched,
    /// Of messages that do not travel in their header, from here to `CompletionDrained`: the kernel wrote the
    /// tail index of the mailbox.
    ReceiveWritten,
    /// That write reached the NIC's SRAM; where firmware matches, it had the receive.
    ReceiveArrived,
    /// The matching unit of kept messages had answered for the receive.
    UnitFound,
    /// The firmware had found the message among those that it keeps.
    Found,
    /// The RX engine took the firmware's command for the payload.
    ReceiveCommanded,
    /// The payload was in host memory.
    Deposited,
    /// The firmware could see the completion.
    Completed,
    /// The firmware wrote the interrupt register for it.
    CompletionWritten,
    /// That interrupt reached the host.
    CompletionArrived,
    /// The first instruction of its handler.
    CompletionEntered,
    /// The handler had read the event.
    CompletionDrained,
    /// The Portals event was in the process's event queue.
    EventPosted,
    /// The process entered the call that took the event, if it was not in one.
    ProcessLooked,
    /// The MPI library had it.
    EventReturned,
    /// The receive was called, of a message for which none had been posted.
    Claimed,
    /// The program's call returned.
    CallReturned,
}

/// Part of the machine that works during a step of a message's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// The host's processor.
    Host,
    /// The link between host and NIC.
    HyperTransport,
    /// The bus between host and NIC.
    Bus,
    /// The NIC's processor.
    Firmware,
    /// The NIC's DMA engines, with all that a payload passes while it streams.
    Dma,
    /// A unit that matches.
    Unit,
    /// Routers and links.
    Network,
    /// Disks.
    Disk,
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
const WAYPOINTS: usize = Waypoint::CallReturned as usize + 1;

/// Times at which a flight passed each waypoint of a leg; `Time::NEVER` at those that it did not pass.
type Leg = [Time; WAYPOINTS];

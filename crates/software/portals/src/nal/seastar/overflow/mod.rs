//! Recovery from exhaustion by the kernel: brightwell2007 names a protocol that runs entirely on the Opteron, and
//! no format. The firmware drops a message for which it has no stream, source or pending and tells its kernel, and
//! carries packets of the control class between kernels; all else is here (go-back-n, pedretti2005 s4.3.3).
//!
//! ```text
//!     sender                                       receiver
//!     n, n+1, n+2  ----------------------------->  n finds no pending; n+1, n+2 are turned away
//!     keeps what was not taken  <---- REFUSED n
//!                               <---- CALLED n     when pendings are back, in turn
//!     n (tell)  --------------------------------->
//!                               <---- TAKEN n
//!     n+1 (tell), then bursts that grow  -------->
//! ```
//!
//! Links keep the order of messages between two nodes, and of packets of the control class; so each copy of a
//! message is either taken, or comes again after a CALLED, and none can be mistaken for another.

mod inbound;
mod outbound;
mod relay;
#[cfg(test)]
mod worlds;

use inbound::Inbound;
use outbound::Outbound;
pub use relay::OverflowCounts;
pub(super) use relay::{Relay, Sending};

/// Bits of a message's number.
const NUMBER_MASK: u16 = 0x7fff;

/// Packets of the control class between kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    /// The message and all before it were taken.
    Taken,
    /// The message was refused, all before it were taken.
    Refused,
    /// There is room for the message; all before it were taken.
    Called,
}

/// A resource that a message found exhausted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Lack {
    /// Streams or sources: they come back when payloads are in memory.
    Stream,
    /// Receive pendings: they come back when the kernel releases them.
    #[default]
    Pending,
    /// The event queue of a process, by its place in the kernel.
    Queue(usize),
}

/// The number after another.
fn after(number: u16) -> u16 {
    number.wrapping_add(1) & NUMBER_MASK
}

/// Messages from `from` to `to`; half of the numbers or more if `to` comes before.
fn distance(from: u16, to: u16) -> u16 {
    to.wrapping_sub(from) & NUMBER_MASK
}

/// True if a message comes before another.
fn is_before(a: u16, b: u16) -> bool {
    distance(b, a) > NUMBER_MASK / 2
}

//! The network interface of brightwell2005 (fig. 1, s5.2): a PowerPC 440 with its memory, a send engine, a
//! receive engine with DMA and two matching units, all on one bus with the host.
//!
//! ```text
//!            host ══╗      ╔══ units (posted, unexpected) ◄── copies of headers, of new receives
//!                   ╠═ bus ╣
//!  processor, caches╝      ╚══ memory, send engine ──► wire, receive engine ◄── wire
//! ```
//!
//! [`Card`] is passive: it is called with the time and with its [`Ports`]. Its processor runs ahead up to the
//! next event.
//!
//! # Time on the bus
//!
//! The bus has one delay, which all that crosses it takes. An access of the processor, and what crosses from
//! the wire or the host to where the processor finds it, takes effect when it is issued; the delay is in the
//! answer. So both come 20 ns late in the same way, and their order is right.

#![forbid(unsafe_code)]

mod around;
mod card;
mod engine;
mod inside;
mod local;
mod params;
mod point;
mod unit;

pub use around::Around;
pub use card::{Card, Counters, Fault};
pub use params::{Image, ImageError, Params, Units};
pub use point::{Moves, Point};
pub use unit::{Chip, Wrong};

use bus::BusError;
use des::Time;

/// Header of a message (`abi::offload::Packet`).
pub type Header = [u8; abi::offload::PACKET_SIZE as usize];

/// Message on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireMessage {
    /// The packet's header.
    pub header: Header,
    /// Bytes behind the header.
    pub payload: Vec<u8>,
}

/// Something that the card has asked to be called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The oldest send that has not left begins to.
    Depart,
    /// Its last byte has left, over a wire.
    Left,
    /// The oldest message on the wire has its header here.
    Header,
    /// The oldest descriptor of the receive DMA engine is done.
    Moved,
    /// The oldest store to a host window is in the host's memory.
    Stored,
}

/// Services that the card needs of its node.
pub trait Ports {
    /// Asks for [`Card::handle`] with `event` at `at`.
    fn schedule(&mut self, at: Time, event: Event);
    /// Time of the first event that was scheduled by these ports. The processor must not access the bus from
    /// then on before the event is handled, which may change what it sees.
    fn due(&self) -> Time;
    /// A message begins to leave at `at` for node `target`.
    fn send(&mut self, at: Time, target: u32, message: WireMessage);
    /// Reads the host's memory.
    fn host_read(&mut self, phys: u64, buf: &mut [u8]) -> Result<(), BusError>;
    /// Writes the host's memory.
    fn host_write(&mut self, at: Time, phys: u64, data: &[u8]) -> Result<(), BusError>;
}

//! The SeaStar network interface: SRAM, local bus, mailboxes, DMA engines, demultiplexing,
//! interrupt line.
//!
//! A passive device: the bench calls a [`SeaStar`] with the time and a [`Ports`] through which it
//! acts. It is an own chip apart from any bus, host, processor or network. Layouts and addresses
//! are `abi::seastar`.
//!
//! ```text
//!                     +--------------------- local bus (plb) ---------------------+
//!   processor ------->|  sram          registers         windows                  |<------ RAS
//!                     +-----^-------------^---------------^-----------------------+
//!                           | headers     |               | posted writes, reads, interrupt
//!   HyperTransport <========|=============|===============+
//!     ToHost      <=========|===== rx (CAM, streams) <====|=============== packets   (network)
//!     ToNic       =========================> tx ==========|==============> inject
//! ```

#![forbid(unsafe_code)]

mod counters;
mod crc;
mod depth;
mod earliest_output;
mod express;
mod fabric;
mod fifo;
mod local;
mod params;
mod plb;
mod polling;
mod registers;
mod rx;
mod seastar;
mod steady_state;
mod stream;
mod twin;
mod tx;
mod windows;

pub use counters::Counters;
pub use depth::Depths;
pub use earliest_output::Around;
pub use params::Params;
pub use rx::Routing;
pub use seastar::{Event, SeaStar};
pub use steady_state::{Flow, Skipped};
pub use tx::UnderWay;

use abi::packet::Packet;
use abi::MessageId;
use bus::{BusError, HyperTransport};
use des::Time;

/// Position of a message, as seen by the NIC: the points between which the latency breakdown measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TracePoint {
    /// TX: the engine has taken the command for the header.
    HeaderFetched,
    /// TX: the first packet enters the network.
    Injected,
    /// TX: the last packet has left, and the completion is visible to the firmware.
    Departed,
    /// RX: the first packet is in front of the receive engine.
    Arrived,
    /// RX: the firmware can see the notification of the new message.
    Announced,
    /// RX: the engine has taken the first command for the message.
    Commanded,
    /// RX: the last byte of the payload is in host memory.
    Deposited,
    /// RX: the firmware can see the completion.
    Completed,
}

/// Services that the NIC needs of the node around it.
pub trait Ports {
    /// Calls [`SeaStar::handle`] with `event` at `at`.
    fn schedule(&mut self, at: Time, event: Event);
    /// Reads host memory, now and without time passing.
    fn host_read(&mut self, phys: u64, buf: &mut [u8]) -> Result<(), BusError>;
    /// The embedded processor reads host memory: as [`Ports::host_read`], which is the transmit engine's.
    fn host_load(&mut self, phys: u64, buf: &mut [u8]) -> Result<(), BusError> {
        self.host_read(phys, buf)
    }
    /// Reads host memory for an observer.
    fn host_peek(&mut self, phys: u64, buf: &mut [u8]) -> Result<(), BusError> {
        self.host_read(phys, buf)
    }
    /// True if a read of host memory at `phys` would be answered; nothing is read.
    fn host_answers(&mut self, phys: u64) -> bool {
        self.host_read(phys, &mut [0]).is_ok()
    }
    /// Writes host memory, now and without time passing.
    fn host_write(&mut self, phys: u64, data: &[u8]) -> Result<(), BusError>;
    /// The receive engine writes payload to host memory: as [`Ports::host_write`], which is the processor's.
    fn host_deposit(&mut self, phys: u64, data: &[u8]) -> Result<(), BusError> {
        self.host_write(phys, data)
    }
    /// The link to the host.
    fn link(&mut self) -> &mut HyperTransport;
    /// Gives a packet to the network, its head at `at`, which is now. Returns when the port can
    /// take the next one; `Time::NEVER` if that is not known yet, then [`SeaStar::injection_free`]
    /// must be called.
    fn inject(&mut self, at: Time, packet: Packet) -> Time;
    /// The receive engine is done with `packets` packets and has room for as many others; it begins
    /// with room for [`Params::rx_buffers`].
    fn room(&mut self, now: Time, packets: u32);
    /// The same for packets of the control class.
    fn control_room(&mut self, now: Time, packets: u32) {
        let _ = (now, packets);
    }
    /// The host's interrupt line: an interrupt message has arrived at the host.
    fn interrupt(&mut self, now: Time);
    /// The firmware stops the node (`abi::seastar::panic_reason`).
    fn panic(&mut self, now: Time, reason: u8, detail: u32);
    /// Firmware or host did something that the hardware cannot do.
    fn fault(&mut self, now: Time, error: BusError);
    /// Reports that others than the embedded processor have written `len` bytes of local memory at `addr`.
    fn sram_written(&mut self, addr: u64, len: usize) {
        let _ = (addr, len);
    }
    /// The host has read `data` from local memory at `addr`.
    fn sram_read(&mut self, addr: u64, data: &[u8]) {
        let _ = (addr, data);
    }
    /// A message reached a point of its way. `at` is never before now, but may be later.
    fn mark(&mut self, at: Time, message: MessageId, mark: TracePoint);
}

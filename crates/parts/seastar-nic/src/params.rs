//! Costs of the SeaStar's parts.

use des::Duration;

/// Times and sizes that no published layout fixes; the machine file gives each with its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// The transmit engine takes headers from local memory, too: the firmware sends by itself.
    pub local_headers: bool,
    /// The firmware recovers from exhaustion: the control class, and what the engines tell for it.
    pub recovers: bool,
    /// Time from a request on the local bus to its grant: arbitration and address phase.
    pub plb_request: Duration,
    /// The local bus's bandwidth, reads and writes together; each way has its own data path of half
    /// of it.
    pub plb_bytes_per_second: u64,
    /// Time from the grant to the first beat of data from SRAM.
    pub sram_read: Duration,
    /// Time from the grant until SRAM has taken a write, its data beats apart.
    pub sram_write: Duration,
    /// Time from the grant to the data from a device register.
    pub register_read: Duration,
    /// Time from the grant until a device register has taken a write.
    pub register_write: Duration,
    /// Time from the grant until the HyperTransport interface has made a packet of an access to a host
    /// window, and from a response to its data on the local bus.
    pub window_access: Duration,
    /// Time from a read request at the host to its data leaving host memory.
    pub host_memory_read: Duration,
    /// Bytes per second that an engine moves over HyperTransport at most, headers apart: the transmit
    /// engine's reads, and the receive engine's writes.
    pub ht_dma_rate: u64,
    /// HyperTransport bytes of a read request.
    pub ht_request_bytes: u64,
    /// HyperTransport bytes of a read response beside its data.
    pub ht_response_bytes: u64,
    /// HyperTransport bytes of a posted write beside its data.
    pub ht_write_bytes: u64,
    /// HyperTransport bytes of the mask of a posted write that is not of whole doublewords.
    pub ht_mask_bytes: u64,
    /// HyperTransport bytes of an interrupt message.
    pub ht_interrupt_bytes: u64,
    /// Time from a transmit command in an idle engine's FIFO until the engine has taken it.
    pub tx_start: Duration,
    /// Time from taking a transmit command to taking the next.
    pub tx_command: Duration,
    /// Line buffers of the transmit engine: reads of at most 64 bytes under way and packets waiting
    /// to leave.
    pub tx_buffers: usize,
    /// Time that the transmit engine spends on a packet or on a piece of one.
    pub tx_packet: Duration,
    /// Time from the tail of a message's last packet leaving until the firmware can see the completion.
    pub tx_complete: Duration,
    /// Packets that the receive engine holds: those before it, and payload that waits for commands
    /// or for the way to the host. The network keeps the others.
    pub rx_buffers: u32,
    /// Time that the receive engine spends on finding a packet's stream and storing it.
    pub rx_packet: Duration,
    /// Time from a header in SRAM, or from a finished message, until the firmware can see the
    /// notification.
    pub rx_notify: Duration,
    /// Time from a receive command in an idle engine's FIFO until the engine has taken it.
    pub rx_start: Duration,
    /// Time from taking a receive command to taking the next.
    pub rx_command: Duration,
    /// Bytes of a stream that all queues between two transmit and receive engines hold at most; for
    /// skipping spans of it ([`SeaStar::state`](crate::SeaStar::state)).
    pub in_flight: u64,
}

impl Params {
    /// Time that `bytes` of an engine keep its next ones off HyperTransport.
    pub(crate) fn dma_time(&self, bytes: u64) -> Duration {
        Duration::of_transfer(bytes, self.ht_dma_rate)
    }
}

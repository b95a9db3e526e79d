//! Counters of a NIC.

/// Counts since power-on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Messages sent.
    pub tx_messages: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Bytes sent, headers included.
    pub tx_bytes: u64,
    /// Messages sent with an error (an address that nothing answers).
    pub tx_errors: u64,
    /// Messages whose header arrived and found a stream.
    pub rx_messages: u64,
    /// Packets that arrived.
    pub rx_packets: u64,
    /// Bytes that arrived, headers included.
    pub rx_bytes: u64,
    /// Bytes deposited in host memory.
    pub rx_deposited_bytes: u64,
    /// Bytes dropped by DISCARD commands.
    pub rx_discarded_bytes: u64,
    /// Messages completed.
    pub rx_completed: u64,
    /// Messages whose CRC was wrong.
    pub rx_crc_errors: u64,
    /// Messages dropped because no stream was free.
    pub cam_overflows: u64,
    /// Times that a message waited at the engine because every stream was in use.
    pub rx_stalls: u64,
    /// Packets dropped: of messages without a stream.
    pub rx_dropped_packets: u64,
    /// Streams in use.
    pub cam_in_use: u64,
    /// Most streams in use at once.
    pub cam_in_use_max: u64,
    /// Most packets that waited for the receive engine at once.
    pub rx_queue_max: u64,
    /// Most packets that the receive engine held at once.
    pub rx_held_max: u64,
    /// Times that the network did not take a packet at once.
    pub tx_blocked: u64,
    /// Most payload bytes that waited for receive commands at once.
    pub rx_buffered_bytes_max: u64,
    /// Transactions of the processor with SRAM.
    pub sram_accesses: u64,
    /// Transactions of the processor with device registers.
    pub register_accesses: u64,
    /// Reads of host memory by the processor.
    pub window_reads: u64,
    /// Writes to host memory by the processor.
    pub window_writes: u64,
    /// Reads by the host.
    pub mmio_reads: u64,
    /// Writes by the host.
    pub mmio_writes: u64,
    /// Interrupts raised.
    pub interrupts: u64,
    /// Packets of the control class sent.
    pub control_sent: u64,
    /// Packets of the control class received.
    pub control_received: u64,
}

//! Costs and set-up of the driver.

use des::Duration;

/// Times of the driver's primitives, from a machine file's `[portals.*]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// A wire header put together and stored in its upper pending.
    pub header_build: Duration,
    /// A wire header read from the upper pending that the firmware has just written.
    pub header_read: Duration,
    /// A look at the next slot of the firmware's event queue.
    pub slot_read: Duration,
    /// A firmware event dispatched to its handler and its pending looked up.
    pub dispatch: Duration,
    /// A command for the firmware put together, before its words are written.
    pub command_build: Duration,
    /// The record of a peer found and changed, where the kernel recovers.
    pub peer: Duration,
}

/// Sizes of the pools that the kernel has, or gives the firmware: small ones are faults on request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pools {
    /// Pendings of its own that it uses, for transmits.
    pub transmits: u16,
    /// Pendings that it gives the firmware, for receives.
    pub receives: u16,
    /// Slots of the event ring.
    pub event_slots: u32,
    /// Commands of DMA lists in SRAM that it uses.
    pub list_commands: u32,
    /// Match entries that a process on the network interface can have.
    pub match_entries: u32,
}

impl Pools {
    /// All of them.
    pub const FULL: Pools = Pools {
        transmits: u16::MAX,
        receives: u16::MAX,
        event_slots: super::region::EVENT_SLOTS_MAX,
        list_commands: abi::seastar::DMA_LIST_COUNT,
        match_entries: abi::seastar::ACCELERATED_ENTRIES,
    };
}

impl Default for Pools {
    fn default() -> Pools {
        Pools::FULL
    }
}

/// Configuration of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Costs.
    pub costs: Costs,
    /// Keep copies of the mailbox's indices in host memory (pedretti2005 s5.3). If not, both are read from
    /// the network interface for every command.
    pub shadow_fifos: bool,
    /// Send payloads of up to 12 bytes inside the header packet (pedretti2005 s5.2).
    pub inline_messages: bool,
    /// Pendings of the host's pool, for transmits; the rest of the generic process's is the firmware's.
    pub tx_pendings: u16,
    /// Commands of DMA lists that the kernel keeps in its own memory, for lists without room in SRAM; 0 where
    /// buffers are contiguous.
    pub list_commands: u32,
    /// The kernel recovers from exhaustion in the network interface (brightwell2007: on the Opteron).
    pub recovers: bool,
    /// Accelerated processes that the node may have.
    pub accelerated: u32,
    /// The firmware performs collective operations for them.
    pub collectives: bool,
    /// Pendings of an accelerated process that its library uses, for transmits.
    pub accelerated_tx_pendings: u16,
    /// Sizes of the pools: smaller than usual on request.
    pub pools: Pools,
    /// Runs of the interrupt handler in a row that find no event before the line is given up.
    pub empty_interrupts: u64,
    /// Longest time that the firmware may take to answer an initialisation command.
    pub boot_timeout: Duration,
}

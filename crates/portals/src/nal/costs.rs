//! What the kernel's Portals costs, and how it is set up.

use crate::library::Limits;
use des::Duration;

/// Times of the Portals library's and driver's primitives, from a machine file's `[portals.*]`. Kernel entry,
/// interrupts, uncached accesses and copies are the host's (`host::Costs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// A call's user-level part: arguments put together, bridge selected.
    pub api_call: Duration,
    /// A call's arguments checked and its handles looked up in the kernel.
    pub api_check: Duration,
    /// A match entry, memory descriptor or event queue made, changed or freed.
    pub object: Duration,
    /// A buffer's addresses checked and translated.
    pub translate: Duration,
    /// A match entry looked at.
    pub list_entry: Duration,
    /// A Portals event written to a process's event queue.
    pub event_post: Duration,
    /// A process's look into one of its event queues.
    pub event_get: Duration,
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
}

/// How user-level processes reach the kernel's Portals (brightwell2007). Users in the kernel itself come by
/// kbridge under any system: they call, and nothing is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bridge {
    /// Catamount: a trap, whose service reads the arguments where they stand.
    Qk,
    /// Linux: an ioctl.
    Uk {
        /// From the system call's entry to the bridge's function: file descriptor, virtual file system,
        /// number of the request.
        ioctl: Duration,
        /// Arguments copied from user memory, with the check that they are there.
        copy_in: Duration,
        /// Results copied to user memory.
        copy_out: Duration,
    },
}

/// What the operating system makes different.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct System {
    /// How user-level processes come in.
    pub bridge: Bridge,
    /// A page of a memory descriptor looked up, pinned and, later, released: charged when it is pinned.
    pub pin_page: Duration,
    /// A pinned page of a payload translated, and merged with the one before if they are neighbours.
    pub translate_page: Duration,
    /// Commands of DMA lists that the kernel keeps in its own memory, for lists without room in SRAM.
    pub list_commands: u32,
}

impl System {
    /// Catamount, which has no pages.
    pub const CATAMOUNT: System = System {
        bridge: Bridge::Qk,
        pin_page: Duration::ZERO,
        translate_page: Duration::ZERO,
        list_commands: 0,
    };
}

/// How much the kernel has, or gives the firmware, of what can run out: faults on request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pools {
    /// Of its own pendings, those that it uses.
    pub transmits: u16,
    /// Pendings that it gives the firmware, for receives.
    pub receives: u16,
    /// Slots of the event ring.
    pub event_slots: u32,
    /// Commands of DMA lists in SRAM that it uses.
    pub list_commands: u32,
}

impl Pools {
    /// All of them.
    pub const FULL: Pools = Pools {
        transmits: u16::MAX,
        receives: u16::MAX,
        event_slots: super::region::EVENT_SLOTS_MAX,
        list_commands: abi::seastar::DMA_LIST_COUNT,
    };
}

impl Default for Pools {
    fn default() -> Pools {
        Pools::FULL
    }
}

/// How the kernel's Portals is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Nodes of the machine.
    pub nodes: u32,
    /// What it costs.
    pub costs: Costs,
    /// What the operating system makes different.
    pub system: System,
    /// Keep copies of the mailbox's indices in host memory (pedretti2005 s5.3). If not, both are read from
    /// the network interface for every command.
    pub shadow_fifos: bool,
    /// Send payloads of up to 12 bytes inside the header packet (pedretti2005 s5.2).
    pub inline_messages: bool,
    /// Pendings of the host's pool, for transmits; the rest of the generic process's is the firmware's.
    pub tx_pendings: u16,
    /// What a process's interface can hold.
    pub limits: Limits,
    /// What of all that is withheld, on request.
    pub pools: Pools,
    /// Runs of the interrupt handler in a row that find no event before the line is given up.
    pub empty_interrupts: u64,
    /// How long the firmware may take to answer an initialisation command.
    pub boot_timeout: Duration,
}

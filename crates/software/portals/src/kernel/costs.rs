//! Costs and set-up of the kernel's Portals, whatever network interface it drives.

use crate::library::Limits;
use des::Duration;

/// Times of the Portals library's primitives, from a machine file's `[portals.*]`. Kernel entry,
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
    /// Room for one more event in a queue that grows: memory cleared.
    pub queue_event: Duration,
    /// A process's look into one of its event queues.
    pub event_get: Duration,
}

/// Bridge by which user-level processes reach the kernel's Portals (brightwell2007). Users in the kernel
/// itself come by kbridge under any system: they call, and nothing is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bridge {
    /// Catamount: a trap, whose service reads the arguments in place.
    Qk,
    /// Linux: an ioctl.
    Uk {
        /// Time from the system call's entry to the bridge's function: file descriptor, virtual file system,
        /// number of the request.
        ioctl: Duration,
        /// Arguments copied from user memory, with the check that they are there.
        copy_in: Duration,
        /// Results copied to user memory.
        copy_out: Duration,
    },
}

/// Properties that depend on the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct System {
    /// Bridge of user-level processes.
    pub bridge: Bridge,
    /// A page of a memory descriptor looked up, pinned and, later, released: charged when it is pinned.
    pub pin_page: Duration,
    /// A pinned page of a payload translated, and merged with the one before if they are neighbours.
    pub translate_page: Duration,
}

impl System {
    /// Catamount, which has no pages.
    pub const CATAMOUNT: System =
        System { bridge: Bridge::Qk, pin_page: Duration::ZERO, translate_page: Duration::ZERO };
}

/// Configuration of the kernel's Portals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Nodes of the machine.
    pub nodes: u32,
    /// Costs.
    pub costs: Costs,
    /// Properties of the operating system.
    pub system: System,
    /// Limits of a process's interface.
    pub limits: Limits,
}

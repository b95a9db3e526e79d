//! What the host's primitives cost.

use des::Duration;

/// Times of the host's primitives, from a machine file's `[host.*]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// From the trap instruction in user mode to the first instruction of the kernel's service.
    pub kernel_entry: Duration,
    /// From the last instruction of the kernel's service back to user mode.
    pub kernel_exit: Duration,
    /// From the interrupt line to the first instruction of the handler.
    pub interrupt_entry: Duration,
    /// From the last instruction of the handler to what it interrupted.
    pub interrupt_exit: Duration,
    /// The processor's time to issue one uncached store of up to 8 bytes.
    pub mmio_write: Duration,
    /// Start of a memory copy: call, alignment, first cache misses.
    pub copy_start: Duration,
    /// Rate of a memory copy, bytes a second.
    pub copy_rate: u64,
    /// Period of a loop that looks at a word in memory until it changes.
    pub poll_period: Duration,
    /// To take a lock that this core had last. Hosts of several cores only, as all of locks.
    pub lock_take: Duration,
    /// From another core's release of a lock to having it, for a core that spins; also to take a free lock
    /// that another core had last.
    pub lock_pass: Duration,
}

impl Costs {
    /// Time to copy `bytes` from memory to memory; nothing for no bytes.
    pub fn copy(&self, bytes: u64) -> Duration {
        if bytes == 0 {
            return Duration::ZERO;
        }
        self.copy_start + Duration::of_transfer(bytes, self.copy_rate)
    }
}

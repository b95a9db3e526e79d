//! Costs of the host's primitives.

use des::Duration;

/// Times of the host's primitives, from a machine file's `[host.*]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Time from the trap instruction in user mode to the first instruction of the kernel's service.
    pub kernel_entry: Duration,
    /// Time from the last instruction of the kernel's service back to user mode.
    pub kernel_exit: Duration,
    /// Time from the interrupt line to the first instruction of the handler.
    pub interrupt_entry: Duration,
    /// Time from the last instruction of the handler to the interrupted work.
    pub interrupt_exit: Duration,
    /// Time to issue one uncached store of up to 8 bytes.
    pub mmio_write: Duration,
    /// Time to start a memory copy: call, alignment, first cache misses.
    pub copy_start: Duration,
    /// Rate of a memory copy, bytes a second.
    pub copy_rate: u64,
    /// Period of a loop that polls a word in memory until it changes.
    pub poll_period: Duration,
    /// Most that a program's look for events lets pass, after many that have found nothing; zero: nothing.
    pub poll_most: Duration,
    /// Time to take a lock that this core had last. Only hosts of several cores have costs of locks.
    pub lock_take: Duration,
    /// Time from another core's release of a lock until a spinning core has it; also the time to take a free
    /// lock that another core had last.
    pub lock_pass: Duration,
}

impl Costs {
    /// Of software whose time nobody simulates here: it may run outside of a fibre.
    pub const NOTHING: Costs = Costs {
        kernel_entry: Duration::ZERO,
        kernel_exit: Duration::ZERO,
        interrupt_entry: Duration::ZERO,
        interrupt_exit: Duration::ZERO,
        mmio_write: Duration::ZERO,
        copy_start: Duration::ZERO,
        copy_rate: Costs::AT_ONCE,
        poll_period: Duration::ZERO,
        poll_most: Duration::ZERO,
        lock_take: Duration::ZERO,
        lock_pass: Duration::ZERO,
    };

    /// A rate at which copies take no time at all.
    const AT_ONCE: u64 = u64::MAX;

    /// Time to copy `bytes` from memory to memory; nothing for no bytes.
    pub fn copy(&self, bytes: u64) -> Duration {
        if bytes == 0 || self.copy_rate == Costs::AT_ONCE {
            return Duration::ZERO;
        }
        self.copy_start + Duration::of_transfer(bytes, self.copy_rate)
    }
}

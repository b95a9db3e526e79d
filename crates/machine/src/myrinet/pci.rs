//! The host's bus: 32 bits, one transaction at a time, first come, first served. A store that goes on where
//! the one before ends, while that is still on the bus, goes on with its burst.

use des::{Clock, Duration, Time};

/// Bytes of a cycle.
const WIDTH: u64 = 4;

/// What the bus costs.
#[derive(Clone, Copy, Debug)]
pub(super) struct PciParams {
    pub clock: Clock,
    /// Cycles of a transaction beside those of its data.
    pub setup: u64,
    /// Cycles until a target has the first word of a read.
    pub read: u64,
    /// Bytes after which the bridge ends a burst of stores.
    pub burst: u32,
}

/// The bus of a node.
pub(super) struct Pci {
    params: PciParams,
    /// When it is free again.
    free: Time,
    /// Where the burst of stores goes on that was the last transaction, and what it has left.
    next: u32,
    left: u32,
}

impl Pci {
    pub fn new(params: PciParams) -> Pci {
        Pci { params, free: Time::ZERO, next: 0, left: 0 }
    }

    fn cycles(&self, count: u64) -> Duration {
        self.params.clock.cycles(count)
    }

    /// The least time of a transaction.
    pub fn least(params: &PciParams) -> Duration {
        params.clock.cycles(params.setup + 1)
    }

    fn take(&mut self, now: Time, cycles: u64) -> Time {
        self.free = self.free.max(now) + self.cycles(cycles);
        self.free
    }

    /// The host stores `len` bytes at `addr` of the card: when they are there.
    pub fn store(&mut self, now: Time, addr: u32, len: usize) -> Time {
        let goes_on = addr == self.next && len as u32 <= self.left && now < self.free;
        if !goes_on {
            self.left = self.params.burst;
        }
        let setup = if goes_on { 0 } else { self.params.setup };
        let data = (u64::from(addr) % WIDTH + len as u64).div_ceil(WIDTH);
        (self.next, self.left) = (addr + len as u32, self.left.saturating_sub(len as u32));
        self.take(now, setup + data)
    }

    /// The host loads a word: when it has come.
    pub fn load(&mut self, now: Time) -> Time {
        self.left = 0;
        self.take(now, self.params.setup + self.params.read + 1)
    }

    /// The card moves `len` bytes of the host's memory: when all have been moved.
    pub fn dma(&mut self, now: Time, len: usize, read: bool) -> Time {
        self.left = 0;
        let wait = if read { self.params.read } else { 0 };
        self.take(now, self.params.setup + wait + (len as u64).div_ceil(WIDTH))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_that_follow_one_another_are_one_burst() {
        let clock = Clock::from_hz(100_000_000);
        let mut pci = Pci::new(PciParams { clock, setup: 4, read: 8, burst: 32 });
        let ns = |time: Time| time.0 / 1000;
        let stores: Vec<u64> = (0..5).map(|n| ns(pci.store(Time::ZERO, 64 + 8 * n, 8))).collect();
        // Four make a burst; the fifth begins another.
        assert_eq!(stores, [60, 80, 100, 120, 180]);
        // Somewhere else, and later than the bus has waited.
        assert_eq!(ns(pci.store(Time::ZERO, 8, 4)), 230);
        assert_eq!(ns(pci.store(Time(1_000_000), 12, 4)), 1050);
        assert_eq!(ns(pci.load(Time(1_000_000))), 1180);
        assert_eq!(ns(pci.dma(Time(1_000_000), 64, false)), 1380);
    }
}

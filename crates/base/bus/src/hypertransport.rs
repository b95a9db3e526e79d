//! The HyperTransport link between host and NIC: latency and bandwidth each way, posted writes in order.

use des::{Duration, Time};

/// Direction of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Host to NIC.
    ToNic,
    /// NIC to host.
    ToHost,
}

/// A HyperTransport link. Packets of one direction leave one after the other and arrive in order.
#[derive(Clone, Debug)]
pub struct HyperTransport {
    latency: Duration,
    rate: Rate,
    free: [Time; 2],
}

/// Transfer time of bytes. It is computed for every packet, so a rate at which eight bytes take a whole
/// number of picoseconds, as all of HyperTransport's do, needs no division.
#[derive(Clone, Copy, Debug)]
struct Rate {
    bytes_per_second: u64,
    /// Picoseconds for eight bytes; zero if that is no whole number.
    of_eight: u64,
}

impl Rate {
    fn new(bytes_per_second: u64) -> Rate {
        const PS_FOR_EIGHT: u64 = 8 * 1_000_000_000_000;
        let whole = PS_FOR_EIGHT % bytes_per_second == 0;
        let of_eight = if whole { PS_FOR_EIGHT / bytes_per_second } else { 0 };
        Rate { bytes_per_second, of_eight }
    }
    /// As [`Duration::of_transfer`].
    #[inline(always)]
    fn of(self, bytes: u64) -> Duration {
        if self.of_eight != 0 && bytes < 1 << 20 && self.of_eight < 1 << 40 {
            return Duration((bytes * self.of_eight).div_ceil(8));
        }
        Duration::of_transfer(bytes, self.bytes_per_second)
    }
}

impl HyperTransport {
    /// A link with `latency` each way (last byte sent to last byte usable) and `bytes_per_second` each way.
    pub fn new(latency: Duration, bytes_per_second: u64) -> HyperTransport {
        HyperTransport { latency, rate: Rate::new(bytes_per_second), free: [Time::ZERO; 2] }
    }
    /// Sends a packet of `bytes` (headers included) at `now`; returns when it arrives.
    #[inline]
    pub fn send(&mut self, now: Time, direction: Direction, bytes: u64) -> Time {
        let free = &mut self.free[direction as usize];
        let start = now.max(*free);
        *free = start + self.rate.of(bytes);
        *free + self.latency
    }
    /// The least time of any packet.
    pub fn latency(&self) -> Duration {
        self.latency
    }
    /// Time of a packet that waits for no other.
    pub fn unloaded(&self, bytes: u64) -> Duration {
        self.rate.of(bytes) + self.latency
    }
    /// Puts both directions off by `span`.
    pub fn shift(&mut self, span: Duration) {
        self.free.iter_mut().for_each(|free| *free += span);
    }
    /// Time at which the direction is free for the next packet.
    pub fn free_at(&self, direction: Direction) -> Time {
        self.free[direction as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_take_what_a_division_says() {
        for bytes_per_second in [1, 7, 800_000_000, 3_200_000_000, 3_000_000_000, 12_345_678_901] {
            let rate = Rate::new(bytes_per_second);
            for bytes in (0..300).chain([4096, 1 << 20, 1 << 22]) {
                let exact = Duration::of_transfer(bytes, bytes_per_second);
                assert_eq!(rate.of(bytes), exact, "{bytes} at {bytes_per_second}");
            }
        }
    }
}

//! The HyperTransport link between host and NIC: latency and bandwidth each way, posted writes in order.

use des::{Duration, Time};

/// Which way a packet travels.
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
    bytes_per_second: u64,
    free: [Time; 2],
}

des::checkpointed!(HyperTransport { free } given { latency, bytes_per_second });

impl HyperTransport {
    /// A link with `latency` each way (last byte sent to last byte usable) and `bytes_per_second` each way.
    pub fn new(latency: Duration, bytes_per_second: u64) -> HyperTransport {
        HyperTransport { latency, bytes_per_second, free: [Time::ZERO; 2] }
    }
    /// Sends a packet of `bytes` (headers included) at `now`; returns when it arrives.
    pub fn send(&mut self, now: Time, direction: Direction, bytes: u64) -> Time {
        let free = &mut self.free[direction as usize];
        let start = now.max(*free);
        *free = start + Duration::of_transfer(bytes, self.bytes_per_second);
        *free + self.latency
    }
    /// The least time of any packet.
    pub fn latency(&self) -> Duration {
        self.latency
    }
    /// Time of a packet that waits for no other.
    pub fn unloaded(&self, bytes: u64) -> Duration {
        Duration::of_transfer(bytes, self.bytes_per_second) + self.latency
    }
    /// Puts both directions off by `span`.
    pub fn shift(&mut self, span: Duration) {
        self.free.iter_mut().for_each(|free| *free += span);
    }
    /// When the direction is free for the next packet.
    pub fn free_at(&self, direction: Direction) -> Time {
        self.free[direction as usize]
    }
}

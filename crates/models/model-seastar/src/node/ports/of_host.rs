//! Services of a node for its host.

use super::super::Event;
use super::{local, NodePorts, Step};
use bus::Direction;
use des::{Duration, Time};

impl host::Ports for NodePorts {
    fn schedule(&mut self, at: Time, event: host::Event) {
        self.queue.schedule(at, Event::Host(event));
    }
    fn mmio_write(&mut self, now: Time, addr: u64, data: &[u8]) {
        if !self.observers.replay_log(|| Step::Write { at: now, addr, data: data.to_vec() }) {
            return;
        }
        let bytes = self.ht_overhead[0] + data.len() as u64;
        let arrives = self.link.send(now, Direction::ToNic, bytes);
        self.observers.journal.last_write_arrives.set(arrives);
        let mut padded = [0; 8];
        padded[..data.len()].copy_from_slice(data);
        let event = Event::MmioWrite { addr: local(addr), len: data.len() as u8, data: padded };
        self.queue.schedule(arrives, event);
    }
    fn mmio_read(&mut self, now: Time, addr: u64, len: usize) {
        debug_assert_eq!(len, 4, "drivers of the SeaStar read words");
        if !self.observers.replay_log(|| Step::Read { at: now, addr }) {
            return;
        }
        let arrives = self.link.send(now, Direction::ToNic, self.ht_overhead[1]);
        self.queue.schedule(arrives, Event::MmioRead { addr: local(addr) });
    }
    fn alone_until(&self) -> Time {
        // An observer is told of each event: none is left out.
        if self.observers.any() || !self.firmware.idles() || self.failure.is_some() {
            return Time::ZERO;
        }
        self.horizon.min(self.next_time())
    }
    fn undisturbed_until(&self, disturbs: &dyn Fn(Time, host::Event) -> Time) -> Time {
        let mut until = self.horizon.min(self.datapath.next_time());
        for (at, _, event) in self.queue.iter() {
            if at >= until {
                break;
            }
            until = until.min(match event {
                Event::Host(event) => disturbs(at, *event),
                _ => at,
            });
        }
        until
    }
    fn stirs(&self) -> Option<u64> {
        Some(self.stirs)
    }
    /// To the network interface, and back.
    fn reaction(&self) -> Duration {
        self.link.latency() * 2
    }
}

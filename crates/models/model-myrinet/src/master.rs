//! The card as a master of its host's bus.

use super::nic::{Event, Station};
use super::pins::Pins;
use ::myrinet::Host;
use des::{Duration, Time};
use machine::node::Ports;
use pci::node::{Behind, PciBus};

/// The host, for the card.
pub(super) struct Master<'a> {
    pub bus: &'a mut PciBus<Behind>,
    pub pins: &'a mut Pins,
    /// Time that a wish of the card takes to the bus.
    pub crossing: Duration,
    pub ports: &'a mut Ports<Station>,
    /// Time at which the bus sees the first thing that was asked for.
    pub due: Time,
}

impl Master<'_> {
    /// Time at which the bus sees an act of the card at `now`.
    fn crosses(&mut self, now: Time) -> Time {
        let from = now + self.crossing;
        start(self.bus, from, self.ports);
        self.due = self.due.min(from);
        from
    }
}

impl Host for Master<'_> {
    fn read(&mut self, now: Time, addr: u64, len: usize) {
        let from = self.crosses(now);
        self.pins.read(from, addr, len);
    }
    fn write(&mut self, now: Time, addr: u64, data: &[u8]) {
        let from = self.crosses(now);
        self.pins.write(from, addr, data);
    }
    fn interrupt(&mut self, now: Time, asserted: bool) {
        let from = self.crosses(now);
        self.pins.interrupt(from, asserted);
    }
}

/// Lets the bus's clock run from `from` on.
pub(super) fn start(bus: &mut PciBus<Behind>, from: Time, ports: &mut Ports<Station>) {
    if bus.start(from).is_some() {
        ports.schedule(bus.next(), Event::Edge(0));
    }
}

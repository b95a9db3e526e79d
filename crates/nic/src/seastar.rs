//! The whole chip: who is called for which address and event.

use crate::{Counters, Params, Ports};
use abi::packet::Packet;
use bus::BusError;
use des::Time;

/// What the NIC waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A posted write, or an interrupt, arrives at the host.
    HostWrite,
}

/// A SeaStar.
pub struct SeaStar {
    counters: Counters,
}

impl SeaStar {
    /// The NIC of node `nid`.
    pub fn new(_params: &Params, _nid: u16) -> SeaStar {
        SeaStar { counters: Counters::default() }
    }
    /// The embedded processor reads.
    pub fn plb_read(
        &mut self,
        _now: Time,
        addr: u64,
        buf: &mut [u8],
        _ports: &mut impl Ports,
    ) -> Result<Time, BusError> {
        Err(BusError { addr, len: buf.len(), write: false, why: "no device answers" })
    }
    /// The embedded processor writes.
    pub fn plb_write(
        &mut self,
        _now: Time,
        addr: u64,
        data: &[u8],
        _ports: &mut impl Ports,
    ) -> Result<Time, BusError> {
        Err(BusError { addr, len: data.len(), write: true, why: "no device answers" })
    }
    /// A write of the host arrives.
    pub fn mmio_write(&mut self, _now: Time, _addr: u32, _data: &[u8], _ports: &mut impl Ports) {}
    /// A read of the host arrives.
    pub fn mmio_read(
        &mut self,
        now: Time,
        _addr: u32,
        _buf: &mut [u8],
        _ports: &mut impl Ports,
    ) -> Time {
        now
    }
    /// The RAS system reads anything on the local bus.
    pub fn ras_read(
        &mut self,
        addr: u64,
        buf: &mut [u8],
        _ports: &mut impl Ports,
    ) -> Result<(), BusError> {
        Err(BusError { addr, len: buf.len(), write: false, why: "no device answers" })
    }
    /// The RAS system writes anything on the local bus.
    pub fn ras_write(
        &mut self,
        _now: Time,
        addr: u64,
        data: &[u8],
        _ports: &mut impl Ports,
    ) -> Result<(), BusError> {
        Err(BusError { addr, len: data.len(), write: true, why: "no device answers" })
    }
    /// Carries out what was scheduled.
    pub fn handle(&mut self, _now: Time, _event: Event, _ports: &mut impl Ports) {}
    /// A packet comes from the network.
    pub fn packet(
        &mut self,
        _now: Time,
        _packet: Packet,
        _ports: &mut impl Ports,
    ) -> Result<(), Packet> {
        Ok(())
    }
    /// The network can take packets again, after an injection that returned `Time::NEVER`.
    pub fn injection_free(&mut self, _now: Time, _ports: &mut impl Ports) {}
    /// What happened so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }
}

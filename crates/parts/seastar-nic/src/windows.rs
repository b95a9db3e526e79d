//! The HyperTransport interface: windows into host memory, and everything that travels to the host
//! in order.

use crate::{Counters, Event, Ports};
use abi::seastar::device::HtbMap;
use abi::seastar::WINDOW_COUNT;
use des::{Duration, Time};
use std::collections::VecDeque;

/// Bits of host physical addresses that a window's base leaves to the offset.
const WINDOW_SHIFT: u32 = 28;

/// The mapping registers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Windows([u32; WINDOW_COUNT as usize]);

impl Windows {
    pub(crate) fn register(&mut self, index: usize) -> Option<&mut u32> {
        self.0.get_mut(index)
    }
    /// Host physical address behind `offset` in a window.
    pub(crate) fn translate(&self, window: usize, offset: u64) -> Result<u64, &'static str> {
        let map = HtbMap(self.0[window]);
        if !map.valid() {
            return Err("the host window is not mapped");
        }
        Ok((u64::from(map.frame()) << WINDOW_SHIFT) | offset)
    }
}

/// Longest write of the processor, in bytes: a cache line.
const LINE: usize = 32;

#[derive(Clone, Debug)]
enum Posted {
    /// A write of the processor.
    Small { addr: u64, len: u8, data: [u8; LINE] },
    /// Payload from the receive engine.
    Bulk { stream: u16, addr: u64, data: Vec<u8> },
    /// The interrupt message.
    Interrupt,
}

/// Writes on their way to the host, in order of arrival.
#[derive(Clone, Debug, Default)]
pub(crate) struct PostedWrites {
    queue: VecDeque<Posted>,
    last: Time,
    spare: Vec<Vec<u8>>,
}

impl PostedWrites {
    fn push(&mut self, arrival: Time, posted: Posted, ports: &mut impl Ports) {
        // Gathered writes arrive as one, with their last byte; nothing overtakes
        // anything.
        self.last = self.last.max(arrival);
        let event = match posted {
            Posted::Bulk { .. } => Event::HostPayload,
            Posted::Small { .. } | Posted::Interrupt => Event::HostWrite,
        };
        self.queue.push_back(posted);
        ports.schedule(self.last, event);
    }
    /// A write of the processor that arrives at `arrival`.
    pub(crate) fn write(&mut self, arrival: Time, addr: u64, data: &[u8], ports: &mut impl Ports) {
        for (i, piece) in data.chunks(LINE).enumerate() {
            let mut bytes = [0; LINE];
            bytes[..piece.len()].copy_from_slice(piece);
            let addr = addr + (i * LINE) as u64;
            let posted = Posted::Small { addr, len: piece.len() as u8, data: bytes };
            self.push(arrival, posted, ports);
        }
    }
    /// Payload whose last byte arrives at `arrival`; leaves an empty buffer in `data`.
    pub(crate) fn deposit(
        &mut self,
        arrival: Time,
        stream: u16,
        addr: u64,
        data: &mut Vec<u8>,
        ports: &mut impl Ports,
    ) {
        let data = std::mem::replace(data, self.spare.pop().unwrap_or_default());
        self.push(arrival, Posted::Bulk { stream, addr, data }, ports);
    }
    /// An interrupt message that arrives at `arrival`.
    pub(crate) fn interrupt(&mut self, arrival: Time, ports: &mut impl Ports) {
        self.push(arrival, Posted::Interrupt, ports);
    }
    /// State for `SeaStar::state`: the writes on their way, if they are payload only. `place` tells where a
    /// stream is in host memory.
    pub(crate) fn state(
        &self,
        now: Time,
        place: impl Fn(u16) -> Option<u64>,
        out: &mut Vec<u64>,
    ) -> Option<()> {
        out.extend([self.queue.len() as u64, self.last.since(now).0]);
        for posted in &self.queue {
            let Posted::Bulk { stream, addr, data } = posted else { return None };
            out.extend([data.len() as u64, u64::from(*stream)]);
            out.push(place(*stream)?.wrapping_sub(*addr));
        }
        Some(())
    }
    /// Puts everything off by `span`, except the events, which are the caller's.
    pub(crate) fn shift(&mut self, span: Duration) {
        self.last += span;
    }
    /// Indices of the pending writes that are payload of `stream` for the addresses just before `end`.
    pub(crate) fn bulk_before(&self, stream: u16, mut end: u64) -> Vec<usize> {
        let mut found = Vec::new();
        for (index, posted) in self.queue.iter().enumerate().rev() {
            match posted {
                Posted::Bulk { stream: whose, addr, data }
                    if *whose == stream && addr + data.len() as u64 == end =>
                {
                    end = *addr;
                    found.push(index);
                }
                _ => {}
            }
        }
        found.reverse();
        found
    }
    /// Payload on its way.
    pub(crate) fn bulk(&self, index: usize) -> &[u8] {
        match &self.queue[index] {
            Posted::Bulk { data, .. } => data,
            _ => &[],
        }
    }
    /// Makes it payload of the same length for an address that is `further` on.
    pub(crate) fn replace_bulk(&mut self, index: usize, further: u64, bytes: &[u8]) {
        if let Posted::Bulk { addr, data, .. } = &mut self.queue[index] {
            *addr += further;
            data.copy_from_slice(bytes);
        }
    }
    /// The oldest arrives.
    pub(crate) fn arrive(&mut self, now: Time, counters: &mut Counters, ports: &mut impl Ports) {
        let result = match self.queue.pop_front().expect("an event a posted write") {
            Posted::Small { addr, len, data } => ports.host_write(addr, &data[..usize::from(len)]),
            Posted::Bulk { addr, mut data, .. } => {
                let result = ports.host_deposit(addr, &data);
                data.clear();
                self.spare.push(data);
                result
            }
            Posted::Interrupt => {
                counters.interrupts += 1;
                ports.interrupt(now);
                Ok(())
            }
        };
        // Posted: nobody waits for an answer, so the error goes to the bench.
        if let Err(error) = result {
            ports.fault(now, error);
        }
    }
    /// Puts the writes on their way over bytes read from host memory: a read does not pass earlier
    /// writes.
    pub(crate) fn overlay(&self, addr: u64, buf: &mut [u8]) {
        for posted in &self.queue {
            let (at, data) = match posted {
                Posted::Small { addr, len, data } => (*addr, &data[..usize::from(*len)]),
                Posted::Bulk { addr, data, .. } => (*addr, &data[..]),
                Posted::Interrupt => continue,
            };
            let first = at.max(addr);
            let end = (at + data.len() as u64).min(addr + buf.len() as u64);
            if first < end {
                let len = (end - first) as usize;
                let from = (first - at) as usize;
                let to = (first - addr) as usize;
                buf[to..to + len].copy_from_slice(&data[from..from + len]);
            }
        }
    }
}

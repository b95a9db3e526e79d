//! The queues of a router, and who waits for whom.

use crate::{OutputCounters, CHANNELS, LINKS};
use abi::packet::Packet;
use des::{Duration, Interval, Time};
use std::collections::VecDeque;

/// The input from the NIC, and the output to it, beside those of the links.
pub const PORT: usize = LINKS;

/// The way of a packet through the router.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    pub(crate) output: u8,
    /// Virtual channel behind the output.
    pub(crate) channel: u8,
    /// A faulty link sends it again.
    pub(crate) is_copy: bool,
    pub(crate) flits: u32,
    /// Time at which its tail can be at the output.
    pub(crate) tail: Time,
}

impl Route {
    pub(crate) fn output(&self) -> usize {
        usize::from(self.output)
    }
    pub(crate) fn channel(&self) -> usize {
        usize::from(self.channel)
    }
    /// Room that the packet takes at the other end.
    pub(crate) fn cost(&self) -> u32 {
        if self.output() == PORT {
            1
        } else {
            self.flits
        }
    }
}

/// A packet in the router.
#[derive(Clone, Debug)]
pub(crate) struct Passing {
    pub(crate) route: Route,
    pub(crate) packet: Packet,
}

/// The queue of one virtual channel of an input.
#[derive(Clone, Debug, Default)]
pub(crate) struct Input {
    pub(crate) queue: VecDeque<Passing>,
    /// Flits in the queue.
    pub(crate) taken: u32,
    /// Flits that have left it, of which the sender does not know yet.
    pub(crate) untold: u32,
    /// The NIC waits for room.
    pub(crate) blocked: bool,
    /// The way of the newest packet: packets mostly follow one of the same message.
    pub(crate) way: Option<CachedRoute>,
}

/// Route of packets between two nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CachedRoute {
    /// Destination and source.
    pub(crate) ends: (u16, u16),
    pub(crate) output: u8,
    /// Virtual channel behind the output.
    pub(crate) channel: u8,
}

/// The queue of one virtual channel of an output.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lane {
    /// Packets that the link has not been granted to.
    pub(crate) queue: VecDeque<Passing>,
    pub(crate) flits: u32,
    /// Room at the other end: flits of the neighbour's queue, packets of the NIC's.
    pub(crate) credits: u32,
    /// Inputs whose oldest packet waits for room here, a bit each ([`input_number`]).
    pub(crate) wanting: u32,
    /// The input that was served last.
    pub(crate) last: u32,
}

impl Lane {
    /// The next input to be served: they take turns.
    pub(crate) fn next_input(&mut self) -> Option<usize> {
        if self.wanting == 0 {
            return None;
        }
        // Those above the last one come first.
        let above = self.wanting & !(u32::MAX >> (31 - self.last));
        let next = if above != 0 { above } else { self.wanting }.trailing_zeros();
        self.wanting &= !(1 << next);
        self.last = next;
        Some(next as usize)
    }
}

/// Number of the queue of virtual channel `channel` of `input`.
pub(crate) fn input_number(input: usize, channel: usize) -> usize {
    input * CHANNELS + channel
}

/// An output: a link, or the port to the NIC.
#[derive(Clone, Debug, Default)]
pub(crate) struct Output {
    /// Time at which the tail of the last packet has left.
    pub(crate) free: Time,
    pub(crate) lanes: [Lane; CHANNELS],
    /// Packets in all lanes.
    pub(crate) waiting: usize,
    /// The channel that was served last.
    pub(crate) last: usize,
    /// A grant is scheduled.
    pub(crate) due: bool,
    pub(crate) counters: OutputCounters,
}

impl Output {
    /// The next channel to be served, of those whose oldest packet has room at the other end: they
    /// take turns.
    #[inline]
    pub(crate) fn next_channel(&self) -> Option<usize> {
        let mut turn = (1..=CHANNELS).map(|i| (self.last + i) % CHANNELS);
        turn.find(|&channel| {
            let lane = &self.lanes[channel];
            let front = lane.queue.front();
            front.is_some_and(|p| p.route.cost() <= lane.credits)
        })
    }
    /// Gives the link to a packet whose head can be there at `ready`; returns when head and tail
    /// leave.
    #[inline]
    pub(crate) fn take(
        &mut self,
        ready: Time,
        route: Route,
        packet: &Packet,
        flit: Duration,
    ) -> Interval {
        let flits = u64::from(route.flits);
        let start = ready.max(self.free);
        let end = (start + flit * flits).max(route.tail);
        self.free = end;
        self.last = route.channel();
        self.counters.packets += 1;
        self.counters.bytes += u64::from(packet.size);
        self.counters.flits += flits;
        self.counters.busy += end.since(start);
        Interval { start, end }
    }
}

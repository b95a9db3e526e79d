//! Spans of time in which a router does the same again and again, packet after packet of a
//! stream (`des::LogicalProcess::sample`): its state relative to the time, what adds up meanwhile,
//! and the jump to its later state.

use crate::queues::{Input, Output, Passing, Route};
use crate::{LinkMessage, Router};
use abi::packet::Packet;
use des::{Duration, Time};

/// Distance of `at` in the future; 0 for all of the past.
fn ahead(at: Time, now: Time) -> u64 {
    at.since(now).0
}

fn packet(packet: &Packet, out: &mut Vec<u64>) {
    out.extend([packet.dest, packet.source, packet.message].map(u64::from));
    out.extend([packet.flags, packet.size].map(u64::from));
}

impl LinkMessage {
    /// Everything that its receiver's behaviour depends on; the payload is not.
    pub fn state(&self, out: &mut Vec<u64>) {
        match self {
            LinkMessage::Packet { link, channel, packet: carried } => {
                out.extend([0, u64::from(*link), u64::from(*channel)]);
                packet(carried, out);
            }
            LinkMessage::Credit { link, channel, flits } => {
                out.extend([1, u64::from(*link), u64::from(*channel), u64::from(*flits)]);
            }
        }
    }
}

impl Passing {
    fn state(&self, now: Time, out: &mut Vec<u64>) {
        packet(&self.packet, out);
        let Route { output, channel, tail, .. } = self.route;
        out.extend([u64::from(output), u64::from(channel), ahead(tail, now)]);
    }
}

impl Input {
    fn state(&self, now: Time, out: &mut Vec<u64>) {
        out.extend([self.taken, self.untold, u32::from(self.blocked)].map(u64::from));
        out.push(self.queue.len() as u64);
        self.queue.iter().for_each(|passing| passing.state(now, out));
    }
}

impl Output {
    fn state(&self, now: Time, out: &mut Vec<u64>) {
        out.extend([ahead(self.free, now), self.waiting as u64, self.last as u64]);
        out.extend([u64::from(self.due), self.counters.queue_max as u64]);
        for lane in &self.lanes {
            out.extend([lane.flits, lane.credits, lane.wanting, lane.last].map(u64::from));
            out.push(lane.queue.len() as u64);
            lane.queue.iter().for_each(|passing| passing.state(now, out));
        }
    }
}

impl Router {
    /// Everything that what the router does from `now` on depends on. `None` if its links fail:
    /// faults strike by the number of a packet.
    pub fn state(&self, now: Time, out: &mut Vec<u64>) -> Option<()> {
        if self.fails() {
            return None;
        }
        self.inputs.iter().for_each(|input| input.state(now, out));
        self.outputs.iter().for_each(|output| output.state(now, out));
        out.push(self.ejecting.len() as u64);
        self.ejecting.iter().for_each(|ejected| packet(ejected, out));
        out.extend([ahead(self.injection_free, now), u64::from(self.input_max)]);
        out.push(self.books.unreachable.packets);
        Some(())
    }
    /// Shows everything that adds up while packets pass.
    pub fn tallies(&mut self, each: &mut dyn FnMut(&mut u64)) {
        for output in &mut self.outputs {
            let c = &mut output.counters;
            let tallies = [&mut c.packets, &mut c.bytes, &mut c.flits, &mut c.busy.0];
            tallies.into_iter().for_each(&mut *each);
            each(&mut c.starved);
        }
        let books = &mut self.books;
        for volume in [&mut books.injected, &mut books.ejected] {
            each(&mut volume.packets);
            each(&mut volume.bytes);
        }
        let channels = [&mut books.sent, &mut books.repaid, &mut books.received, &mut books.told];
        channels.into_iter().flatten().for_each(&mut *each);
        each(&mut self.injection_stalls);
    }
    /// Puts everything that is due off by `span`.
    pub fn shift(&mut self, span: Duration) {
        for output in &mut self.outputs {
            output.free += span;
            let lanes = output.lanes.iter_mut().flat_map(|lane| &mut lane.queue);
            lanes.for_each(|passing| passing.route.tail += span);
        }
        let inputs = self.inputs.iter_mut().flat_map(|input| &mut input.queue);
        inputs.for_each(|passing| passing.route.tail += span);
        self.injection_free += span;
    }
}

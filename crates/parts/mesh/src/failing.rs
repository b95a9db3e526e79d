//! Handling of failing links in a router.

use crate::faults::Fate;
use crate::queues::{input_number, Passing, Route};
use crate::{Event, LinkMessage, Ports, Router};
use abi::packet::Packet;
use des::{Interval, Time};

impl Router {
    /// Sends a packet over a link that may fail, which it has for an interval.
    #[cold]
    pub(crate) fn pass_struck(
        &mut self,
        now: Time,
        route: Route,
        Interval { start, end }: Interval,
        mut packet: Packet,
        ports: &mut impl Ports,
    ) {
        let (index, lane) = (route.output(), route.channel());
        let neighbour = self.neighbours[index].expect("routes follow links");
        let output = &mut self.outputs[index];
        let faults = self.faults.as_mut().expect("links may fail");
        let mut arrival = start + self.params.link_latency;
        let mut copy = None;
        match faults.strike(index, start, &mut packet) {
            Fate::Unharmed => {}
            Fate::Damaged => output.counters.damaged += 1,
            Fate::Delayed(by) => {
                // As a retry of the link would: what follows waits, so that order is kept.
                output.counters.delayed += 1;
                output.free = end + by;
                arrival += by;
            }
            Fate::Overtaken(by) => {
                output.counters.overtaken += 1;
                arrival += by;
            }
            Fate::Doubled => copy = Some(packet),
            Fate::Lost => {
                output.counters.lost += 1;
                self.books.lost.count(&packet);
                return self.lose(end, index, lane, route.flits, ports);
            }
        }
        self.books.sent[input_number(index, lane)] += u64::from(route.flits);
        let (link, channel) = (route.output, route.channel);
        ports.send(arrival, neighbour, LinkMessage::Packet { link, channel, packet });
        if let Some(copy) = copy {
            self.repeat(now, index, lane, copy, ports);
        }
    }
    /// A link sends a packet again that has arrived already: the copy is the next on its channel.
    pub(crate) fn repeat(
        &mut self,
        now: Time,
        index: usize,
        channel: usize,
        packet: Packet,
        ports: &mut impl Ports,
    ) {
        self.books.doubled.count(&packet);
        let output = &mut self.outputs[index];
        output.counters.doubled += 1;
        output.waiting += 1;
        let (tail, flits) = (output.free, packet.flits());
        let route =
            Route { output: index as u8, channel: channel as u8, is_copy: true, flits, tail };
        let lane = &mut output.lanes[channel];
        lane.flits += flits;
        lane.queue.push_front(Passing { route, packet });
        self.queued += 1;
        self.serve(now, index, ports);
    }
    /// A packet is lost behind an output: the other end throws it away and tells so.
    pub(crate) fn lose(
        &mut self,
        end: Time,
        index: usize,
        channel: usize,
        flits: u32,
        ports: &mut impl Ports,
    ) {
        self.books.recovering[input_number(index, channel)] += u64::from(flits);
        let at = end + self.params.link_latency * 2;
        let event =
            Event::Recovered { link: index as u8, channel: channel as u8, flits: flits as u16 };
        ports.schedule(at, event);
    }
    /// True if any of its links may fail.
    pub(crate) fn fails(&self) -> bool {
        self.faults.is_some()
    }
    pub(crate) fn is_dead(&self, index: usize, at: Time) -> bool {
        let faults = self.faults.as_ref();
        faults.and_then(|faults| faults.dead_from(index)).is_some_and(|from| from <= at)
    }
}

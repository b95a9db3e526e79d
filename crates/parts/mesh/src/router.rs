//! One node's router.
//!
//! Trace vocabulary (events): Grant gives an output to the next packet that waits for it; Eject: a
//! packet's tail has left to the NIC; InjectionFree: the NIC can inject again; Recovered: what a
//! lost packet held is free.
//!
//! A packet that finds its way free passes at once. Others wait in the input queue of their virtual
//! channel, whose oldest moves into the queue of its output when that has room: inputs take turns, a packet
//! each. An output serves the channels that have credits in turn, a packet each. It is granted
//! [`Params::route`] ahead, while the packet is on its way through the router, so that it is never idle when
//! packets wait; a packet counts against the output queue until then.
//!
//! Routes are dimension-ordered, so that channels cannot wait for one another in a circle; around a
//! ring of a torus a packet that crosses the edge goes on in the second channel of its class, which
//! no packet reaches twice.

use crate::faults::{Faults, LinkFaults};
use crate::queues::{input_number, CachedRoute, Input, Output, Passing, Route, PORT};
use crate::topology::{Link, Topology, LINKS};
use crate::{Class, Event, LinkMessage, Params, Ports, CHANNELS, PACKET_FLITS};
use abi::packet::Packet;
use des::{Duration, Time};
use std::collections::VecDeque;

/// Counters of an output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputCounters {
    /// Packets sent.
    pub packets: u64,
    /// Payload bytes sent.
    pub bytes: u64,
    /// Flits sent.
    pub flits: u64,
    /// Time in which flits were on the output.
    pub busy: Duration,
    /// Most packets in the output's queue at once.
    pub queue_max: usize,
    /// Times that a packet could have had the output if there had been room at the other end.
    pub starved: u64,
    /// Packets lost on the link on request.
    pub lost: u64,
    /// Packets damaged on the link on request.
    pub damaged: u64,
    /// Packets delayed on the link on request.
    pub delayed: u64,
    /// Packets that came twice on request.
    pub doubled: u64,
    /// Packets delayed on request that others may pass.
    pub overtaken: u64,
}

/// Counters of a router.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets from the NIC.
    pub injected: u64,
    /// Packets to the NIC.
    pub ejected: u64,
    /// Packets with a destination that does not exist.
    pub unreachable: u64,
    /// Times that the NIC had to wait at the injection port.
    pub injection_stalls: u64,
    /// Most flits in an input queue at once.
    pub input_max: u32,
    /// Outputs to neighbours, by [`Link::index`].
    pub links: [OutputCounters; LINKS],
    /// Output to the NIC.
    pub port: OutputCounters,
}

/// A router: up to six links and a port to its node's NIC.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Router {
    /// Packets in the queues of inputs and outputs: the node reads this in each of its turns.
    pub(crate) queued: u32,
    pub(crate) params: Params,
    pub(crate) topology: Topology,
    pub(crate) at: [u32; 3],
    pub(crate) neighbours: [Option<u32>; LINKS],
    /// Inputs from the neighbours by [`Link::index`] as the sender names it, and, as number [`PORT`], from
    /// the NIC; a queue a channel.
    pub(crate) inputs: [Input; (LINKS + 1) * CHANNELS],
    /// Outputs to the neighbours and, as number [`PORT`], to the NIC.
    pub(crate) outputs: [Output; LINKS + 1],
    pub(crate) ejecting: VecDeque<Packet>,
    pub(crate) faults: Option<Box<LinkFaults>>,
    pub(crate) books: crate::conservation::Books,
    pub(crate) injection_free: Time,
    pub(crate) injection_stalls: u64,
    pub(crate) input_max: u32,
}

impl Router {
    /// The router of `node`.
    ///
    /// # Panics
    /// If the topology has no such node.
    pub fn new(params: &Params, topology: &Topology, node: u32) -> Router {
        assert!(node < topology.nodes(), "node {node} stands in {topology}");
        let mut outputs: [Output; LINKS + 1] = Default::default();
        for (index, output) in outputs.iter_mut().enumerate() {
            let room = if index == PORT { params.node_room } else { params.input_queue };
            output.lanes.iter_mut().for_each(|lane| lane.credits = room);
        }
        Router {
            params: *params,
            topology: *topology,
            at: topology.coordinates(node),
            neighbours: std::array::from_fn(|i| topology.neighbour(node, Link::from_index(i))),
            inputs: Default::default(),
            outputs,
            ejecting: VecDeque::new(),
            faults: None,
            books: Default::default(),
            queued: 0,
            injection_free: Time::ZERO,
            injection_stalls: 0,
            input_max: 0,
        }
    }
    /// Lets this router's links fail as asked.
    pub fn set_faults(&mut self, faults: &Faults, node: u32) {
        self.faults = LinkFaults::new(faults, node, &self.neighbours).map(Box::new);
    }
    /// Least time from a call to an arrival at a neighbour.
    pub fn lookahead(&self) -> Duration {
        self.params.lookahead()
    }
    /// The same from a call of any router to an arrival at any other.
    pub fn longest_way(&self) -> Duration {
        self.lookahead() * u64::from(self.topology.longest_way())
    }
    /// Takes a packet from the NIC, whose head is at the input at `now`. Returns when the port
    /// can take the next one, or `Time::NEVER` if that is not known yet; then
    /// [`Event::InjectionFree`] will tell.
    pub fn inject(
        &mut self,
        now: Time,
        class: Class,
        packet: Packet,
        ports: &mut impl Ports,
    ) -> Time {
        let through = now + self.params.port_flit * u64::from(packet.flits());
        self.books.injected.count(&packet);
        if u32::from(packet.dest) >= self.topology.nodes() {
            self.books.unreachable.count(&packet);
            ports.unreachable(now, &packet);
            return through;
        }
        self.injection_free = through;
        let number = input_number(PORT, class.channel());
        self.enter(now, number, self.params.port_flit, &packet, ports);
        let input = &mut self.inputs[number];
        if input.taken + PACKET_FLITS <= self.params.input_queue {
            return through;
        }
        input.blocked = true;
        self.injection_stalls += 1;
        Time::NEVER
    }
    /// Takes what a neighbour sent.
    pub fn receive(&mut self, now: Time, message: LinkMessage, ports: &mut impl Ports) {
        match message {
            LinkMessage::Packet { link, channel, packet } => {
                self.receive_packet(now, link, channel, &packet, ports);
            }
            LinkMessage::Credit { link, channel, flits } => {
                let (link, channel) = (usize::from(link), usize::from(channel));
                self.books.repaid[input_number(link, channel)] += u64::from(flits);
                self.credit(now, link, channel, flits.into(), ports);
            }
        }
    }
    /// Takes a packet that a neighbour sent.
    pub fn receive_packet(
        &mut self,
        now: Time,
        link: u8,
        channel: u8,
        packet: &Packet,
        ports: &mut impl Ports,
    ) {
        let number = input_number(usize::from(link), usize::from(channel));
        self.books.received[number] += u64::from(packet.flits());
        self.enter(now, number, self.params.flit, packet, ports);
    }
    /// Carries out what was scheduled for the router.
    pub fn handle(&mut self, now: Time, event: Event, ports: &mut impl Ports) {
        match event {
            Event::Grant { output } => {
                let index = usize::from(output);
                self.outputs[index].due = false;
                self.grant(now, index, ports);
            }
            Event::Recovered { link, channel, flits } => {
                let (link, channel) = (usize::from(link), usize::from(channel));
                self.books.recovering[input_number(link, channel)] -= u64::from(flits);
                self.credit(now, link, channel, flits.into(), ports);
            }
            Event::Eject | Event::InjectionFree { .. } => {
                unreachable!("{event:?} is for the node")
            }
        }
    }
    /// The packet of an [`Event::Eject`].
    pub fn ejected(&mut self) -> Packet {
        let packet = self.ejecting.pop_front().expect("an event a packet");
        self.books.ejected.count(&packet);
        packet
    }
    /// The NIC has freed room for `packets` packets of a class.
    pub fn room(&mut self, now: Time, class: Class, packets: u32, ports: &mut impl Ports) {
        self.credit(now, PORT, class.channel(), packets, ports);
    }
    /// True if no packet waits but in the queue for the NIC: then room there and credits move nothing that
    /// other routers could see.
    pub fn is_clear(&self) -> bool {
        self.queued == 0 || self.queued as usize == self.outputs[PORT].waiting
    }
    /// Packets that wait for each output.
    pub fn waiting(&self) -> [usize; LINKS + 1] {
        std::array::from_fn(|index| self.outputs[index].waiting)
    }
    /// The nodes behind the links.
    pub fn neighbours(&self) -> [Option<u32>; LINKS] {
        self.neighbours
    }
    /// Counters so far.
    pub fn counters(&self) -> Counters {
        Counters {
            injected: self.books.injected.packets,
            ejected: self.books.ejected.packets,
            unreachable: self.books.unreachable.packets,
            injection_stalls: self.injection_stalls,
            input_max: self.input_max,
            links: std::array::from_fn(|i| self.outputs[i].counters),
            port: self.outputs[PORT].counters,
        }
    }
    /// Counters of each link that was used, with the neighbour behind it.
    pub fn loads(&self) -> impl Iterator<Item = (u32, OutputCounters)> + '_ {
        (0..LINKS).filter_map(|index| {
            let counters = self.outputs[index].counters;
            Some((self.neighbours[index]?, counters)).filter(|_| counters.packets > 0)
        })
    }
    /// Packets that wait for a dead link, by the neighbour behind it.
    pub fn waiting_for_dead(&self) -> impl Iterator<Item = (u32, usize)> + '_ {
        (0..LINKS).filter_map(|index| {
            let dead = self.faults.as_ref()?.dead_from(index)?;
            let waiting = self.outputs[index].waiting;
            let neighbour = self.neighbours[index]?;
            (waiting > 0 && dead < Time::NEVER).then_some((neighbour, waiting))
        })
    }

    /// The same as [`Router::route`], which is asked only where the packet before went elsewhere.
    #[inline]
    fn way(&mut self, number: usize, packet: &Packet) -> (usize, usize) {
        let ends = (packet.dest, packet.source);
        if let Some(way) = self.inputs[number].way.filter(|way| way.ends == ends) {
            return (usize::from(way.output), usize::from(way.channel));
        }
        let (output, channel) = self.route(number, packet);
        let way = CachedRoute { ends, output: output as u8, channel: channel as u8 };
        self.inputs[number].way = Some(way);
        (output, channel)
    }
    /// Route of a packet in this router: the output, and the channel behind it.
    fn route(&self, number: usize, packet: &Packet) -> (usize, usize) {
        let class = (number % CHANNELS) & !1;
        let dest = self.topology.coordinates(u32::from(packet.dest));
        let Some(link) = self.topology.next_link(self.at, dest) else { return (PORT, class) };
        if !self.topology.is_torus() {
            return (link.index(), class);
        }
        let source = self.topology.coordinates(u32::from(packet.source));
        let behind = self.topology.behind_dateline(source, self.at, link);
        (link.index(), class + usize::from(behind))
    }
    /// A packet comes in at `now` at one flit every `flit_in`.
    fn enter(
        &mut self,
        now: Time,
        number: usize,
        flit_in: Duration,
        packet: &Packet,
        ports: &mut impl Ports,
    ) {
        let (output, channel) = self.way(number, packet);
        let ready = now + self.params.route;
        let flits = packet.flits();
        let tail = ready + flit_in * u64::from(flits);
        let (output, channel) = (output as u8, channel as u8);
        let route = Route { output, channel, is_copy: false, flits, tail };
        let input = &mut self.inputs[number];
        input.taken += flits;
        self.input_max = self.input_max.max(input.taken);
        assert!(input.taken <= self.params.input_queue, "credits keep queues from running over");
        let alone = input.queue.is_empty();
        if alone && self.is_free(ready, route) {
            self.leave_input(now, number, route, ports);
            return self.pass(now, route, packet, ports);
        }
        self.queued += 1;
        let passing = Passing { route, packet: *packet };
        if !alone || !self.has_room(number, route) {
            return self.inputs[number].queue.push_back(passing);
        }
        self.advance(now, number, passing, ports);
        self.serve(now, route.output(), ports);
    }
    /// True if a packet can go to its output at once, overtaking none.
    #[inline]
    fn is_free(&self, ready: Time, route: Route) -> bool {
        let output = &self.outputs[route.output()];
        output.waiting == 0
            && output.free <= ready
            && route.cost() <= output.lanes[route.channel()].credits
            && !self.is_dead(route.output(), ready)
    }
    /// True if the queue of its output has room for the oldest packet of an input; else it waits there.
    fn has_room(&mut self, number: usize, route: Route) -> bool {
        let capacity = self.capacity(route.output());
        let lane = &mut self.outputs[route.output()].lanes[route.channel()];
        let room = lane.flits + route.flits <= capacity;
        if !room {
            lane.wanting |= 1 << number;
        }
        room
    }
    /// Moves packets from the front of an input's queue to the queues of their outputs, as far as
    /// those have room; the first that finds none waits for it.
    fn drain(&mut self, now: Time, number: usize, ports: &mut impl Ports) {
        while let Some(front) = self.inputs[number].queue.front() {
            let route = front.route;
            if !self.has_room(number, route) {
                return;
            }
            self.advance_oldest(now, number, ports);
            self.serve(now, route.output(), ports);
        }
    }
    /// Moves the oldest packet of an input to the queue of its output, which has room.
    fn advance_oldest(&mut self, now: Time, number: usize, ports: &mut impl Ports) {
        let passing = self.inputs[number].queue.pop_front().expect("a packet moves");
        self.advance(now, number, passing, ports);
    }
    /// Moves a packet of an input to the queue of its output, which has room.
    fn advance(&mut self, now: Time, number: usize, passing: Passing, ports: &mut impl Ports) {
        let route = passing.route;
        self.leave_input(now, number, route, ports);
        let output = &mut self.outputs[route.output()];
        output.waiting += 1;
        output.counters.queue_max = output.counters.queue_max.max(output.waiting);
        let lane = &mut output.lanes[route.channel()];
        lane.flits += route.flits;
        lane.queue.push_back(passing);
    }
    fn capacity(&self, index: usize) -> u32 {
        if index == PORT {
            self.params.node_queue
        } else {
            self.params.output_queue
        }
    }
    /// A packet leaves its input queue.
    #[inline(always)]
    fn leave_input(&mut self, now: Time, number: usize, route: Route, ports: &mut impl Ports) {
        let flits = route.flits;
        let free = self.outputs[route.output()].free;
        let input = &mut self.inputs[number];
        input.taken -= flits;
        if number >= input_number(PORT, 0) {
            if input.blocked && input.taken + PACKET_FLITS <= self.params.input_queue {
                input.blocked = false;
                let control = number - input_number(PORT, 0) == Class::Control.channel();
                let event = Event::InjectionFree { control };
                ports.schedule(now.max(self.injection_free), event);
            }
            return;
        }
        input.untold += flits;
        // Its tail comes in, passes the router, and finds room in the output queue, which the
        // packet before it leaves at the rate of the link.
        let crossing = now + self.params.route + self.params.port_flit * u64::from(flits);
        let beside = u64::from(self.capacity(route.output()) - flits);
        let room = Time(free.0.saturating_sub((self.params.flit * beside).0));
        let left = route.tail.max(crossing).max(room);
        self.tell(left + self.params.link_latency, number, ports);
    }
    /// The neighbour that sends to an input.
    pub(crate) fn sender(&self, link: usize) -> u32 {
        // A packet on the neighbour's link up came from below.
        self.neighbours[link ^ 1].expect("packets come from neighbours")
    }
    /// Tells the neighbour of freed room, if it is enough for a message.
    fn tell(&mut self, at: Time, number: usize, ports: &mut impl Ports) {
        let input = &mut self.inputs[number];
        if input.untold < self.params.credit_batch {
            return;
        }
        let flits = std::mem::take(&mut input.untold) as u16;
        self.books.told[number] += u64::from(flits);
        let (link, channel) = (number / CHANNELS, number % CHANNELS);
        let sender = self.sender(link);
        let message = LinkMessage::Credit { link: link as u8, channel: channel as u8, flits };
        ports.send(at, sender, message);
    }
    /// The other end of an output has room.
    fn credit(
        &mut self,
        now: Time,
        index: usize,
        channel: usize,
        amount: u32,
        ports: &mut impl Ports,
    ) {
        let output = &mut self.outputs[index];
        output.lanes[channel].credits += amount;
        if output.waiting > 0 {
            self.serve(now, index, ports);
        }
    }
    /// Something has reached an output at which packets wait: it is granted now, or when the link is
    /// free.
    pub(crate) fn serve(&mut self, now: Time, index: usize, ports: &mut impl Ports) {
        if self.outputs[index].due {
            return;
        }
        let at = Time(self.outputs[index].free.0.saturating_sub(self.params.route.0));
        if at <= now {
            return self.grant(now, index, ports);
        }
        self.outputs[index].due = true;
        ports.schedule(at, Event::Grant { output: index as u8 });
    }
    /// Sends the next packet, if there is one with room at the other end.
    fn grant(&mut self, now: Time, index: usize, ports: &mut impl Ports) {
        if self.is_dead(index, now + self.params.route) {
            return;
        }
        let output = &mut self.outputs[index];
        let Some(channel) = output.next_channel() else {
            output.counters.starved += u64::from(output.waiting > 0);
            return;
        };
        let lane = &mut output.lanes[channel];
        let passing = lane.queue.pop_front().expect("a channel with a packet was chosen");
        lane.flits -= passing.route.flits;
        output.waiting -= 1;
        self.queued -= 1;
        self.pass(now, passing.route, &passing.packet, ports);
        self.refill(now, index, channel, ports);
        if self.outputs[index].waiting > 0 {
            self.serve(now, index, ports);
        }
    }
    /// Takes packets that wait for room in an output's queue.
    fn refill(&mut self, now: Time, index: usize, channel: usize, ports: &mut impl Ports) {
        let capacity = self.capacity(index);
        loop {
            let lane = &mut self.outputs[index].lanes[channel];
            let Some(number) = lane.next_input() else { return };
            let front = self.inputs[number].queue.front().expect("a packet waits");
            if lane.flits + front.route.flits > capacity {
                // It keeps its turn.
                lane.wanting |= 1 << number;
                lane.last = (number as u32).checked_sub(1).unwrap_or(u32::BITS - 1);
                return;
            }
            self.advance_oldest(now, number, ports);
            self.drain(now, number, ports);
        }
    }
    /// Sends a packet through an output that is free when the packet reaches it.
    #[inline(always)]
    fn pass(&mut self, now: Time, route: Route, packet: &Packet, ports: &mut impl Ports) {
        let ready = now + self.params.route;
        let (index, lane) = (route.output(), route.channel());
        let flit = if index == PORT { self.params.port_flit } else { self.params.flit };
        let output = &mut self.outputs[index];
        let interval = output.take(ready, route, packet, flit);
        ports.passed(index, interval, packet);
        output.lanes[lane].credits -= route.cost();
        if index == PORT {
            self.ejecting.push_back(*packet);
            return ports.schedule(interval.end, Event::Eject);
        }
        let neighbour = self.neighbours[index].expect("routes follow links");
        let arrival = interval.start + self.params.link_latency;
        let (link, channel) = (route.output, route.channel);
        if self.faults.is_some() && !route.is_copy {
            return self.pass_struck(now, route, interval, *packet, ports);
        }
        self.books.sent[input_number(index, lane)] += u64::from(route.flits);
        ports.send(arrival, neighbour, LinkMessage::Packet { link, channel, packet: *packet });
    }
}

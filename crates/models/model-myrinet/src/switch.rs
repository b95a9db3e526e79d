//! A switch as a process of its own.

use super::fabric::Socket;
use super::nic::CableMessage;
use crate::faults::StuckOutput;
use ::myrinet::{Signal, Switch, SwitchCounters, SwitchParams, Wires};
use des::{Duration, Envelope, EventQueue, Outbox, Time, TraceHash};
use machine::node::{self, Crossing};
use machine::remains::Remains;
use machine::report::SwitchReport;

/// A switch with its cables.
pub(super) struct Crossbar {
    number: u32,
    switch: Switch,
    sockets: Vec<Option<Socket>>,
    cable: Duration,
    coming: EventQueue<CableMessage>,
    sent: Vec<(usize, Time, Signal)>,
    /// Time at which the cable of each port is cut; and those to be told to the switch, the last first.
    cut: Vec<Time>,
    cuts: Vec<(Time, usize)>,
    /// Bytes that cut cables have lost, and ports that have none.
    lost: u64,
    /// Outputs that may be stuck, by port; none if there is no such fault.
    stuck: Vec<Option<StuckOutput>>,
    hash: TraceHash,
    now: Time,
}

/// State that a switch leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Left {
    pub counters: SwitchCounters,
    /// Bytes that stand in it.
    pub held: u64,
    /// Bytes that cut cables have lost, and ports that have none.
    pub lost: u64,
    /// Times that outputs were stuck.
    pub stuck: u64,
    /// Whole packets that stand in it, if an output of it is stuck for ever.
    pub blocked: Option<u64>,
}

impl Left {
    /// Report on switch `number`.
    pub fn report(&self, number: u32) -> SwitchReport {
        let c = self.counters;
        let counters = [
            ("bytes_dropped", c.bytes_dropped),
            ("bytes_held", self.held),
            ("bytes_in", c.bytes_in),
            ("bytes_lost", self.lost),
            ("bytes_out", c.bytes_out),
            ("dropped", c.dropped),
            ("packets_in", c.packets_in),
            ("packets_out", c.packets_out),
            ("route_bytes", c.route_bytes),
            ("silences", c.silences),
            ("stuck", self.stuck),
        ];
        let counters = counters.into_iter().map(|(name, count)| (name.to_string(), count));
        SwitchReport { number, counters: counters.collect() }
    }
}

struct Sent<'a>(&'a mut Vec<(usize, Time, Signal)>, &'a mut [Option<StuckOutput>]);

impl Wires for Sent<'_> {
    fn put(&mut self, port: usize, at: Time, signal: Signal) {
        self.0.push((port, at, signal));
    }
    fn granted(&mut self, port: usize, now: Time) -> Time {
        let output = self.1.get_mut(port).and_then(Option::as_mut);
        output.map_or(now, |output| output.packet(now))
    }
}

impl Crossbar {
    /// Switch `number` of the machine, which is process `process` of the run; `cut` says when the cable of
    /// each port is cut.
    pub fn new(
        number: u32,
        process: u32,
        params: SwitchParams,
        sockets: Vec<Option<Socket>>,
        cut: Vec<Time>,
    ) -> Crossbar {
        let cuts = cut.iter().zip(0..).filter(|(at, _)| **at < Time::NEVER);
        let mut cuts: Vec<(Time, usize)> = cuts.map(|(at, port)| (*at, port)).collect();
        cuts.sort_unstable_by(|a, b| b.cmp(a));
        Crossbar {
            number,
            switch: Switch::new(params),
            sockets,
            cable: params.link.delay,
            coming: EventQueue::new(process),
            sent: Vec::new(),
            cut,
            cuts,
            lost: 0,
            stuck: Vec::new(),
            hash: TraceHash::default(),
            now: Time::ZERO,
        }
    }

    /// Gives outputs faults, by port.
    pub fn set_stuck(&mut self, outputs: Vec<Option<StuckOutput>>) {
        self.stuck = outputs;
    }

    /// Outputs that are stuck for ever, by port.
    fn blocked(&self) -> impl Iterator<Item = usize> + '_ {
        let blocked = |output: &StuckOutput| output.works == Time::NEVER;
        let outputs = self.stuck.iter().enumerate();
        outputs.filter(move |(_, one)| one.as_ref().is_some_and(blocked)).map(|(port, _)| port)
    }

    /// Time of its next action.
    fn due(&self) -> Time {
        self.switch.next().max(self.now).min(self.next_cut())
    }

    fn next_cut(&self) -> Time {
        self.cuts.last().map_or(Time::NEVER, |(at, _)| *at)
    }
}

impl node::Switch for Crossbar {
    type Message = CableMessage;
    type Left = Left;

    fn advance_to(&mut self, horizon: Time, outbox: &mut Outbox<Crossing<CableMessage>>) {
        loop {
            let (due, comes) = (self.due(), self.coming.next_time());
            if due.min(comes) >= horizon {
                return;
            }
            self.now = due.min(comes);
            if comes <= due {
                let (_, message) = self.coming.pop_before(horizon).expect("it comes");
                self.hash.event(self.now, word(&message));
                let port = usize::from(message.port);
                if self.now >= self.cut[port] {
                    self.lost += message.signal.bytes();
                } else {
                    let wires = &mut Sent(&mut self.sent, &mut self.stuck);
                    self.switch.arrive(self.now, port, message.signal, wires);
                }
            } else if self.next_cut() <= self.now {
                let (_, port) = self.cuts.pop().expect("it is the next");
                self.switch.cut(self.now, port);
            } else {
                self.switch.advance(self.now, &mut Sent(&mut self.sent, &mut self.stuck));
            }
            for (port, at, signal) in self.sent.drain(..) {
                if at >= self.cut[port] {
                    self.lost += signal.bytes();
                    continue;
                }
                // A damaged route may lead to a port without a cable.
                let Some(socket) = self.sockets[port] else {
                    self.lost += signal.bytes();
                    continue;
                };
                let message = CableMessage { port: socket.port, signal };
                outbox.send(socket.process, at + self.cable, Crossing::Message(message));
            }
        }
    }

    fn next_event(&self) -> Time {
        self.due().min(self.coming.next_time())
    }

    fn finish(self, end: Time) -> Remains<Option<Left>> {
        let held = self.switch.held();
        let sentence = || format!("{held} bytes stand in switch {}", self.number);
        let counters = self.switch.counters();
        let whole = counters.packets_in - counters.packets_out - counters.dropped;
        let left = Left {
            counters,
            held,
            lost: self.lost,
            stuck: self.stuck.iter().flatten().map(|output| output.times).sum(),
            blocked: self.blocked().next().map(|_| whole),
        };
        let blocked = self
            .blocked()
            .map(|port| format!("the output at port {port} of switch {} is stuck", self.number));
        let silent = (0..self.sockets.len()).filter_map(|port| {
            let at = self.switch.silent(port)?;
            let number = self.number;
            Some(format!("switch {number} has found the cable at port {port} silent at {at}"))
        });
        let waiting = (held > 0).then(sentence).into_iter().chain(blocked).chain(silent).collect();
        Remains { waiting, ..Remains::of_switch(end, self.hash.value(), Some(left)) }
    }

    fn receive(&mut self, e: Envelope<CableMessage>) {
        self.coming.schedule_from(e.at, e.source, e.sequence, e.message);
    }

    fn last(&self) -> Time {
        self.now
    }
}

fn word(message: &CableMessage) -> u64 {
    let port = u64::from(message.port);
    match message.signal {
        Signal::Slot(slot) => {
            let bytes = slot.bytes().iter().fold(1, |word, byte| word << 8 | u64::from(*byte));
            bytes.rotate_left(9) ^ port << 1 ^ u64::from(slot.ends)
        }
        Signal::Stop => port << 8 | 1,
        Signal::Go => port << 8 | 2,
        Signal::Beat => port << 8 | 3,
    }
}

//! The crossbar as a process of its own, with a lane each way to each node.

use super::chip::{Crossbar, Designs};
use super::console::{self, Console};
use super::settings::Settings;
use crossbar::{Counters, PORTS_MAX};
use des::{Duration, Envelope, EventQueue, Outbox, Time, TraceHash};
use machine::node::{self, Crossing};
use machine::remains::Remains;
use pci::node::Domain;
use serial::{Elastic, Symbol, Symbols};

/// Edges without a word anywhere, after which the clock may stand still.
const STILL_EDGES: u32 = 8;

#[derive(Clone, Copy, Debug)]
enum Event {
    Edge(u32),
    Arrives { port: u8, symbol: Symbol },
}

/// The crossbar.
pub(super) struct Switch {
    switch: Crossbar,
    clock: Domain,
    receivers: Vec<Elastic>,
    /// Idle symbols sent on each lane.
    idle_runs: [u32; PORTS_MAX],
    idle_run_max: u32,
    still: u32,
    latency: Duration,
    queue: EventQueue<Event>,
    hash: TraceHash,
    last: Time,
    console: Option<Box<Console>>,
}

/// State that the switch leaves.
pub(super) struct Left {
    pub counters: Counters,
    pub bond_errors: u64,
    pub elastic_errors: u64,
    /// Output of its console.
    pub console: Option<String>,
}

impl Switch {
    /// As process `number`, behind the nodes; with a console, if one is to be seen.
    pub fn new(
        s: &Settings,
        designs: &Designs,
        params: crossbar::Params,
        number: u32,
        console: Option<&console::Params>,
    ) -> Switch {
        let receiver = |port: u32| {
            let mut receiver = Elastic::new(s.lane(port + 1, 0), 0);
            receiver.rest();
            receiver
        };
        Switch {
            switch: designs.crossbar(params),
            clock: Domain::new(s.lanes_clock(number)),
            receivers: (0..params.ports as u32).map(receiver).collect(),
            idle_runs: [0; PORTS_MAX],
            idle_run_max: s.idle_run(),
            still: 0,
            latency: s.latency(),
            queue: EventQueue::new(number),
            hash: TraceHash::default(),
            last: Time::ZERO,
            console: console.map(|params| Box::new(Console::new(params))),
        }
    }

    /// The console comes up to `now`, before anything changes there.
    fn run_console(&mut self, now: Time) {
        if let (Some(console), Some(crossbar)) = (&mut self.console, self.switch.model()) {
            console.run(now, crossbar, self.clock.next);
        }
    }

    fn arrive(&mut self, now: Time, port: u8, symbol: Symbol) {
        if !self.clock.runs && symbol.is_idle() {
            return; // The receivers know: they rest.
        }
        self.receivers[usize::from(port)].arrive(symbol);
        if !self.clock.runs {
            self.clock.start(now);
            self.still = 0;
            self.queue.schedule(self.clock.time(), Event::Edge(0));
        }
    }

    fn edge(&mut self, now: Time, outbox: &mut Outbox<Crossing<Symbols>>) {
        self.run_console(now);
        let mut arrived = [Symbol::default(); PORTS_MAX];
        let mut busy = false;
        for (symbol, receiver) in arrived.iter_mut().zip(&mut self.receivers) {
            busy |= !receiver.is_idle();
            *symbol = receiver.receive();
        }
        let sent = self.switch.clock(&arrived[..self.receivers.len()]);
        self.clock.next += 1;
        let (mut digest, mut told) = (0_u32, true);
        for (port, symbol) in sent.iter().enumerate().take(self.receivers.len()) {
            digest = digest.rotate_left(5).wrapping_mul(0x9E37_79B9) ^ symbol.bytes;
            let run = &mut self.idle_runs[port];
            *run = if symbol.is_idle() { run.saturating_add(1) } else { 0 };
            busy |= *run == 0;
            if *run <= self.idle_run_max {
                let symbols = [*symbol, Symbol::default()];
                outbox.send(port as u32, now + self.latency, Crossing::Message(symbols));
            }
            told &= *run >= self.idle_run_max;
        }
        self.still = if busy { 0 } else { self.still + 1 };
        if told && self.still >= STILL_EDGES && self.switch.rests() {
            self.clock.runs = false;
            self.receivers.iter_mut().for_each(Elastic::rest);
        } else {
            self.queue.schedule(self.clock.time(), Event::Edge(digest));
        }
    }
}

impl node::Switch for Switch {
    type Message = Symbols;
    type Left = Left;

    fn next_event(&self) -> Time {
        self.queue.next_time()
    }
    fn advance_to(&mut self, horizon: Time, outbox: &mut Outbox<Crossing<Symbols>>) {
        while let Some((now, event)) = self.queue.pop_before(horizon) {
            self.last = now;
            match event {
                Event::Edge(digest) => {
                    self.hash.event(now, digest.into());
                    self.edge(now, outbox);
                }
                Event::Arrives { port, symbol } => self.arrive(now, port, symbol),
            }
        }
    }
    fn receive(&mut self, e: Envelope<Symbols>) {
        let event = Event::Arrives { port: e.source as u8, symbol: e.message[0] };
        self.queue.schedule_from(e.at, e.source, e.sequence, event);
    }
    fn last(&self) -> Time {
        self.last
    }
    fn finish(mut self, end: Time) -> Remains<Option<Left>> {
        self.run_console(end);
        let left = Left {
            counters: self.switch.counters(),
            bond_errors: self.switch.bond_errors(),
            elastic_errors: self.receivers.iter().map(Elastic::errors).sum(),
            console: self.console.as_ref().map(|console| console.text(end)),
        };
        Remains::of_switch(end, self.hash.value(), Some(left))
    }
}

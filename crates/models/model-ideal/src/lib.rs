//! The model `ideal`: a network interface of constants, as LogGP has it (latency, overhead, gap, gap per
//! byte), between any two nodes. It has no processor and no firmware, nobody else is on the network, and
//! matching is free: what other simulators assume.
//!
//! A message of k bytes that the driver hands over at t leaves from s = max(t, end of the gap behind the last
//! one) on, byte by byte; its last byte arrives at s + latency + (k - 1) gap per byte. At the receiver, too,
//! messages follow one another with the gap between them.

#![forbid(unsafe_code)]

use abi::MessageId;
use des::{Duration, Links, Time};
use machine::bench::{Bench, Plan};
use machine::instruments::message_trace::{
    cause, portals as steps, step, Layer, MessagePath, Part, PathStep, Waypoint,
};
use machine::models::Model;
use machine::node::{Nic, Node, Ports};
use machine::parameters::hosts;
use machine::{Options, Outcome, UsageError};
use portals::messages::{Driver, Incoming, Outgoing, Port};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::atomic::Ordering;

/// The row of this model.
pub static MODEL: Model = Model {
    messages: Some(&MESSAGE_PATH),
    processes: true,
    hosts: hosts::WITH_PORTALS,
    ..Model::new(
        "ideal",
        "a network interface of constants (LogGP): no firmware, no network, matching free",
        Constants::ROWS,
        run,
    )
};

/// The way of its messages: no interrupt, and one step on either side of the network.
static MESSAGE_PATH: MessagePath = MessagePath { legs: 3, commands: true, steps: &STEPS };

const STEPS: [PathStep; 12] = [
    steps::PROVIDER_SENDS,
    steps::LIBRARY_SENDS,
    steps::KERNEL_ENTRY,
    steps::KERNEL_SENDS,
    step(
        Waypoint::INJECTED,
        "TX DMA",
        Layer::DMA,
        Part::Nic,
        cause(
            "the message waits for the gap behind the one before",
            &[Constants::gap, Constants::gap_per_byte],
        ),
    ),
    step(
        Waypoint::ARRIVED,
        "wire",
        Layer::NETWORK,
        Part::Network,
        cause(
            "the latency, and the gap per byte until the last byte has come",
            &[Constants::latency, Constants::gap_per_byte],
        ),
    ),
    steps::KERNEL_MATCHES,
    steps::KERNEL_RECEIVES,
    steps::PROCESS_LATE,
    steps::RETURN,
    steps::RECEIVE_LATE,
    steps::LIBRARY_RECEIVES,
];

machine::parameters! {
    /// Its parameters, in the order in which they are printed: constants of LogGP.
    pub(crate) struct Constants in "ideal" {
        latency: time("1 ns", "1 ms"),
        overhead: time("0 ns", "1 ms"),
        gap: time("0 ns", "1 ms"),
        gap_per_byte: time("0 ps", "1 us"),
    }
}

impl Constants {
    /// Time from the first byte of a message to its last one.
    fn length(&self, bytes: u64) -> Duration {
        self.gap_per_byte * bytes.saturating_sub(1)
    }
}

/// The network interface of one node.
struct Ideal {
    constants: Constants,
    port: Rc<Port>,
    /// Times at which the next message can leave, and the next can arrive.
    leaves: Time,
    comes: Time,
    waiting: VecDeque<Outgoing>,
    leaving: VecDeque<Outgoing>,
    arriving: VecDeque<Incoming>,
    sent: [u64; 2],
    received: [u64; 2],
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// The first byte of the oldest waiting message leaves.
    Inject,
    /// The last byte of the oldest leaving one has.
    Left,
    /// The last byte of the oldest arriving one is here.
    Arrived,
}

impl Ideal {
    fn new(constants: Constants, port: Rc<Port>) -> Ideal {
        Ideal {
            constants,
            port,
            leaves: Time::ZERO,
            comes: Time::ZERO,
            waiting: VecDeque::new(),
            leaving: VecDeque::new(),
            arriving: VecDeque::new(),
            sent: [0; 2],
            received: [0; 2],
        }
    }

    fn inject(&mut self, now: Time, ports: &mut Ports<Ideal>) {
        let message = self.waiting.pop_front().expect("a message waits");
        let (header, bytes) = (*message.header(), message.bytes());
        match message.payload(|phys, buf| ports.read(phys, buf)) {
            Ok(data) => {
                ports.injected(now, &header);
                let target = header.target_nid.into();
                ports.send(target, now + self.constants.latency, Incoming { header, data });
            }
            Err(error) => ports.fail(now, format_args!("the network interface's DMA: {error}")),
        }
        self.sent[0] += 1;
        self.sent[1] += bytes;
        ports.schedule(now + self.constants.length(bytes), Event::Left);
        self.leaving.push_back(message);
    }
}

impl Nic for Ideal {
    type Event = Event;
    type Message = Incoming;
    type Left = ();

    fn handle(&mut self, now: Time, event: Event, ports: &mut Ports<Ideal>) {
        match event {
            Event::Inject => return self.inject(now, ports),
            Event::Left => {
                self.port.sent(self.leaving.pop_front().expect("a message leaves"));
            }
            Event::Arrived => {
                let message = self.arriving.pop_front().expect("a message arrives");
                let id = MessageId::from(&message.header);
                ports.mark(now, id, Waypoint::ARRIVED);
                self.received[0] += 1;
                self.received[1] += message.data.len() as u64;
                self.port.arrived(message);
            }
        }
        ports.interrupt(now);
    }

    fn receive(&mut self, now: Time, message: Incoming, ports: &mut Ports<Ideal>) {
        let last = now.max(self.comes) + self.constants.length(message.data.len() as u64);
        self.comes = last + self.constants.gap;
        self.arriving.push_back(message);
        ports.schedule(last, Event::Arrived);
    }

    fn store(&mut self, now: Time, _addr: u64, _data: &[u8], ports: &mut Ports<Ideal>) {
        while let Some(message) = self.port.next_send() {
            let start = now.max(self.leaves);
            self.leaves = start + self.constants.length(message.bytes()) + self.constants.gap;
            self.waiting.push_back(message);
            ports.schedule(start, Event::Inject);
        }
        while let Some(mut deposit) = self.port.next_deposit() {
            if deposit.write(|phys, data| ports.write(phys, data)).is_err() {
                deposit.lost();
            }
            self.port.deposited(deposit);
            ports.interrupt(now);
        }
    }

    fn word(event: &Event) -> u64 {
        *event as u64
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("tx.messages", self.sent[0]),
            ("tx.bytes", self.sent[1]),
            ("rx.messages", self.received[0]),
            ("rx.bytes", self.received[1]),
        ]
    }
}

struct Machine<'a> {
    bench: &'a Bench<'a>,
    constants: Constants,
}

impl Plan for Machine<'_> {
    type Process = Node<Ideal>;
    type Left = ();

    fn links(&self) -> Links {
        Links::between_all(self.constants.latency, self.bench.nodes)
    }

    fn notice(&self) -> Duration {
        self.constants.latency * 4
    }

    fn process(&self, nid: u32) -> Node<Ideal> {
        let port = Rc::new(Port::default());
        let nic = Ideal::new(self.constants, port.clone());
        let overhead = self.constants.overhead;
        let nal = Rc::new(move |_: &host::Cpu| {
            Rc::new(Driver::new(port.clone(), overhead)) as Rc<dyn portals::Nal>
        });
        self.bench.node_with_portals(nid, nic, nal)
    }
}

/// Runs a program.
pub(crate) fn run(options: &Options) -> Result<Outcome, UsageError> {
    let bench = Bench::of_hosts(options)?;
    let constants = Constants::of(&options.parameters);
    let machine = Machine { bench: &bench, constants };
    let ended = bench.simulate(&machine);
    options.writing.store(true, Ordering::Relaxed);
    let (report, _) = bench.conclude(ended, None);
    Ok(Outcome { report, ..Outcome::default() })
}

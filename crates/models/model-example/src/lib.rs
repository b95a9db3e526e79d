//! The model `example`: the network interface of docs/adding-a-nic.md, written to be copied. It has a command
//! queue, one DMA engine that both directions share, a link of its own to every node, and an interrupt.
//!
//! ```text
//! driver ── Port, doorbell ──► fetch ──► DMA engine reads ──► link ──► other node
//! driver ◄── Port, interrupt ── DMA engine writes ◄── packets of a message, until it is whole ◄── link
//! ```

#![forbid(unsafe_code)]

mod faults;

use abi::seastar::PortalsHeader;
use abi::MessageId;
use des::{Duration, Links, Time};
use faults::Lateness;
use machine::bench::{Bench, Plan};
use machine::instruments::message_trace::{
    cause, portals as steps, step, Layer, MessagePath, Part, PathStep, Waypoint,
};
use machine::models::Model;
use machine::node::{Nic, Node, Ports};
use machine::parameters::hosts;
use machine::{Options, Outcome, UsageError};
use portals::messages::{Deposit, Driver, Incoming, Outgoing, Port};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::atomic::Ordering;

/// The row of this model.
pub static MODEL: Model = Model {
    messages: Some(&MESSAGE_PATH),
    faults: faults::KINDS,
    processes: true,
    hosts: hosts::WITH_PORTALS,
    ..Model::new(
        "example",
        "docs/adding-a-nic.md's example: a command queue, a DMA engine, a link, an interrupt",
        Params::ROWS,
        run,
    )
};

/// The way of its messages: the steps of Portals in the hosts, and its own between them.
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
            "the interface fetches the command, and its DMA engine reads the message",
            &[Params::fetch, Params::dma_start, Params::dma_rate],
        ),
    ),
    step(
        Waypoint::ARRIVED,
        "wire",
        Layer::NETWORK,
        Part::Network,
        cause(
            "the packets cross the link, until the last has come",
            &[Params::link_rate, Params::link_latency],
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
    /// Its parameters, in the order in which they are printed.
    pub(crate) struct Params in "example" {
        /// Time from the doorbell to the command in the interface.
        fetch: time("1 ns", "1 ms"),
        dma_rate: rate("1 MB/s", "1000 GB/s"),
        dma_start: time("0 ns", "1 ms"),
        /// Payload of a packet at most.
        packet: bytes("64 B", "1 MiB") as usize,
        link_rate: rate("1 MB/s", "1000 GB/s"),
        link_latency: time("1 ns", "1 ms"),
    }
}

/// Packet on the link: a part of a message; the first one has its header.
struct Packet {
    source: u32,
    header: Option<Box<PortalsHeader>>,
    data: Vec<u8>,
    last: bool,
}

/// Event that the interface has scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// The oldest command is here.
    Fetched,
    /// The DMA engine has done the oldest of its jobs.
    Moved,
    /// The link is free for the next packet.
    LinkFree,
}

/// Job of the DMA engine.
enum Job {
    Read(Outgoing),
    Write(Deposit),
}

/// The network interface of one node.
struct Example {
    params: Params,
    port: Rc<Port>,
    /// Commands on their way from the host.
    fetching: VecDeque<Outgoing>,
    /// Jobs of the DMA engine, which does the first.
    jobs: VecDeque<Job>,
    /// Packets that wait for the link, which carries the first.
    packets: VecDeque<(u32, Packet)>,
    link_busy: bool,
    /// Messages that have begun to come, by their source: links keep the order.
    partial: BTreeMap<u32, Incoming>,
    counts: [u64; 4],
    lateness: Lateness,
}

impl Example {
    fn new(params: Params, port: Rc<Port>, lateness: Lateness) -> Example {
        Example {
            params,
            port,
            fetching: VecDeque::new(),
            jobs: VecDeque::new(),
            packets: VecDeque::new(),
            link_busy: false,
            partial: BTreeMap::new(),
            counts: [0; 4],
            lateness,
        }
    }

    fn add_job(&mut self, now: Time, job: Job, ports: &mut Ports<Example>) {
        self.jobs.push_back(job);
        if self.jobs.len() == 1 {
            self.start_job(now, ports);
        }
    }

    fn start_job(&mut self, now: Time, ports: &mut Ports<Example>) {
        let bytes = match self.jobs.front() {
            Some(Job::Read(message)) => message.bytes(),
            Some(Job::Write(deposit)) => deposit.bytes(),
            None => return,
        };
        let Params { dma_start, dma_rate, .. } = self.params;
        let moved = now + dma_start + Duration::of_transfer(bytes, dma_rate);
        ports.schedule(moved + self.lateness.next(now), Event::Moved);
    }

    /// The DMA engine's first job is done.
    fn moved(&mut self, now: Time, ports: &mut Ports<Example>) {
        match self.jobs.pop_front().expect("the engine has a job") {
            Job::Read(message) => {
                match message.payload(|phys, buf| ports.read(phys, buf)) {
                    Ok(data) => self.cut(now, message.header(), &data, ports),
                    Err(error) => return ports.fail(now, format_args!("the DMA engine: {error}")),
                }
                self.port.sent(message);
            }
            Job::Write(mut deposit) => {
                if deposit.write(|phys, data| ports.write(phys, data)).is_err() {
                    deposit.lost();
                }
                self.port.deposited(deposit);
            }
        }
        ports.interrupt(now);
        self.start_job(now, ports);
    }

    /// A message becomes packets.
    fn cut(&mut self, now: Time, header: &PortalsHeader, data: &[u8], ports: &mut Ports<Example>) {
        ports.injected(now, header);
        let target = header.target_nid.into();
        let mut header = Some(Box::new(*header));
        let mut rest = data;
        loop {
            let (part, behind) = rest.split_at(rest.len().min(self.params.packet));
            rest = behind;
            let (source, last) = (ports.nid(), rest.is_empty());
            let packet = Packet { source, header: header.take(), data: part.to_vec(), last };
            self.packets.push_back((target, packet));
            if last {
                break;
            }
        }
        self.counts[0] += 1;
        self.counts[1] += data.len() as u64;
        if !self.link_busy {
            self.transmit(now, ports);
        }
    }

    /// The next packet takes the link.
    fn transmit(&mut self, now: Time, ports: &mut Ports<Example>) {
        let next = self.packets.pop_front();
        self.link_busy = next.is_some();
        let Some((target, packet)) = next else { return };
        let header = packet.header.as_ref().map_or(0, |_| PortalsHeader::SIZE);
        let bytes = (header + packet.data.len()) as u64;
        let gone = now + Duration::of_transfer(bytes, self.params.link_rate);
        ports.schedule(gone, Event::LinkFree);
        ports.send(target, gone + self.params.link_latency, packet);
    }
}

impl Nic for Example {
    type Event = Event;
    type Message = Packet;
    type Left = ();

    fn handle(&mut self, now: Time, event: Event, ports: &mut Ports<Example>) {
        match event {
            Event::Fetched => {
                let command = self.fetching.pop_front().expect("a command is fetched");
                self.add_job(now, Job::Read(command), ports);
            }
            Event::Moved => self.moved(now, ports),
            Event::LinkFree => self.transmit(now, ports),
        }
    }

    fn receive(&mut self, now: Time, packet: Packet, ports: &mut Ports<Example>) {
        let Packet { source, header, mut data, last } = packet;
        if let Some(header) = header {
            self.partial.insert(source, Incoming { header: *header, data: Vec::new() });
        }
        let message = self.partial.get_mut(&source).expect("the first packet comes first");
        message.data.append(&mut data);
        if last {
            let message = self.partial.remove(&source).expect("it is there");
            let id = MessageId::from(&message.header);
            ports.mark(now, id, Waypoint::ARRIVED);
            self.counts[2] += 1;
            self.counts[3] += message.data.len() as u64;
            self.port.arrived(message);
            ports.interrupt(now);
        }
    }

    /// The doorbell.
    fn store(&mut self, now: Time, _addr: u64, _data: &[u8], ports: &mut Ports<Example>) {
        while let Some(command) = self.port.next_send() {
            self.fetching.push_back(command);
            ports.schedule(now + self.params.fetch, Event::Fetched);
        }
        while let Some(deposit) = self.port.next_deposit() {
            self.add_job(now, Job::Write(deposit), ports);
        }
    }

    fn word(event: &Event) -> u64 {
        *event as u64
    }

    /// A command that comes now leaves when the DMA engine has read it.
    fn earliest_output(&self, at: Time, event: &Event) -> Time {
        match event {
            Event::Fetched => at + self.params.dma_start,
            Event::Moved | Event::LinkFree => at,
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let names = ["tx.messages", "tx.bytes", "rx.messages", "rx.bytes"];
        names.into_iter().zip(self.counts).chain(self.lateness.counter()).collect()
    }

    fn waiting(&self) -> Vec<String> {
        let sources = self.partial.keys();
        sources.map(|source| format!("a message from node {source} is not whole")).collect()
    }
}

struct Machine<'a> {
    bench: &'a Bench<'a>,
    params: Params,
}

impl Plan for Machine<'_> {
    type Process = Node<Example>;
    type Left = ();

    /// Nothing that a node sends arrives earlier than this.
    fn links(&self) -> Links {
        Links::between_all(self.params.link_latency, self.bench.nodes)
    }

    fn notice(&self) -> Duration {
        self.params.link_latency * 4
    }

    fn process(&self, nid: u32) -> Node<Example> {
        let port = Rc::new(Port::default());
        let lateness = Lateness::of(&self.bench.faults, nid);
        let nic = Example::new(self.params, port.clone(), lateness);
        let nal = Rc::new(move |_: &host::Cpu| {
            Rc::new(Driver::new(port.clone(), Duration::ZERO)) as Rc<dyn portals::Nal>
        });
        self.bench.node_with_portals(nid, nic, nal)
    }
}

/// Runs a program.
pub(crate) fn run(options: &Options) -> Result<Outcome, UsageError> {
    let bench = Bench::of_hosts(options)?;
    let params = Params::of(&options.parameters);
    let ended = bench.simulate(&Machine { bench: &bench, params });
    options.writing.store(true, Ordering::Relaxed);
    let (report, _) = bench.conclude(ended, None);
    Ok(Outcome { report, ..Outcome::default() })
}

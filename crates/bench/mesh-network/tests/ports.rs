//! Ports on a network without nodes: times of messages from the parameters, order, flow control, crowded
//! links.

#![allow(clippy::unwrap_used)] // A test may panic anywhere.

use abi::MessageId;
use des::{Duration, EventQueue, Random, Time};
use mesh::{LinkMessage, Params, Topology};
use mesh_network::{Event, Message, Network, Outgoing, Port, Ports, Told};
use std::fmt;

const ROUTE: Duration = Duration::from_ns(11);
const LINK: Duration = Duration::from_ns(47);
const FLIT: Duration = Duration::from_ns(4);
const PORT_FLIT: Duration = Duration::from_ns(3);
/// Bytes a second of the engines at both ends: 2 a nanosecond.
const RATE: u64 = 2_000_000_000;
/// Packets before the receive engine.
const ROOM: u32 = 8;

fn network(topology: &str) -> Network {
    let routers = Params {
        route: ROUTE,
        link_latency: LINK,
        flit: FLIT,
        port_flit: PORT_FLIT,
        input_queue: 96,
        output_queue: 16,
        node_queue: 64,
        node_room: ROOM,
        credit_batch: 24,
    };
    Network { topology: topology.parse::<Topology>().unwrap(), routers }
}

/// Something that is due at a node.
#[derive(Clone, Copy)]
enum Due {
    Event(u32, Event),
    Message(u32, LinkMessage),
}

/// The ports of all nodes, in one order of time.
struct Nodes {
    ports: Vec<Port>,
    queue: EventQueue<Due>,
    waiting: Vec<Vec<Outgoing>>,
    /// Messages that have left a node, and that have come to one.
    left: Vec<(Time, u32)>,
    come: Vec<(Time, u32, Message)>,
}

/// A node, for its port.
struct Node<'a> {
    nid: u32,
    queue: &'a mut EventQueue<Due>,
}

impl Ports for Node<'_> {
    fn schedule(&mut self, at: Time, event: Event) {
        self.queue.schedule(at, Due::Event(self.nid, event));
    }
    fn send(&mut self, at: Time, neighbour: u32, message: LinkMessage) {
        self.queue.schedule(at, Due::Message(neighbour, message));
    }
    fn fail(&mut self, now: Time, what: fmt::Arguments<'_>) {
        panic!("node {} at {now}: {what}", self.nid);
    }
}

fn outgoing(target: u32, serial: u32, bytes: &[u8]) -> Outgoing {
    Outgoing { target, id: MessageId { source_nid: 0, serial }, bytes: bytes.to_vec() }
}

impl Nodes {
    fn new(topology: &str, rates: impl Fn(u32) -> u64) -> Nodes {
        let network = network(topology);
        let nodes = 0..network.topology.nodes();
        Nodes {
            ports: nodes.clone().map(|nid| Port::new(&network, nid, rates(nid))).collect(),
            queue: EventQueue::new(0),
            waiting: nodes.map(|_| Vec::new()).collect(),
            left: Vec::new(),
            come: Vec::new(),
        }
    }

    /// Sends these messages, those of a source one after another, and returns when nothing moves any more.
    fn run(&mut self, messages: Vec<(u32, Outgoing)>) {
        for (source, message) in messages.into_iter().rev() {
            self.waiting[source as usize].push(message);
        }
        for nid in 0..self.ports.len() as u32 {
            self.send_next(Time::ZERO, nid);
        }
        while let Some((now, due)) = self.queue.pop_before(Time::NEVER) {
            let (Due::Event(nid, _) | Due::Message(nid, _)) = due;
            let node = &mut Node { nid, queue: &mut self.queue };
            let port = &mut self.ports[nid as usize];
            let told = match due {
                Due::Event(_, event) => port.handle(now, event, node),
                Due::Message(_, message) => {
                    port.receive(now, message, node);
                    None
                }
            };
            match told {
                None | Some(Told::Began(_)) => {}
                Some(Told::Left) => {
                    self.left.push((now, nid));
                    self.send_next(now, nid);
                }
                Some(Told::Came(message) | Told::Ended(message)) => {
                    self.come.push((now, nid, message))
                }
            }
        }
        assert!(self.ports.iter().all(|port| port.waiting().is_empty()));
        assert_eq!(self.count("net.injected"), self.count("net.ejected"));
    }

    fn send_next(&mut self, now: Time, nid: u32) {
        let Some(message) = self.waiting[nid as usize].pop() else { return };
        let node = &mut Node { nid, queue: &mut self.queue };
        self.ports[nid as usize].send(now, message, node);
    }

    fn counter(&self, nid: u32, name: &str) -> u64 {
        let counters = self.ports[nid as usize].counters();
        counters.iter().find(|(own, _)| *own == name).unwrap().1
    }

    fn count(&self, name: &str) -> u64 {
        (0..self.ports.len() as u32).map(|nid| self.counter(nid, name)).sum()
    }

    /// Time at which the last message came.
    fn end(&self) -> Time {
        self.come.last().unwrap().0
    }
}

/// Time in which an engine makes or takes so many bytes.
fn engine(bytes: usize) -> Duration {
    Duration::of_transfer(bytes as u64, RATE)
}

/// A packet: the engine makes it, each router on its way chooses an output for its head, a link carries that,
/// the tail follows at the pace of the slowest; and the engine takes it. On its own node it passes one
/// router.
#[test]
fn a_packet_takes_the_sum_of_its_parameters() {
    for (hops, bytes, flits) in
        [(0, 32, 6), (1, 0, 2), (1, 32, 6), (1, 64, 10), (2, 33, 7), (7, 32, 6)]
    {
        let mut nodes = Nodes::new("8", |_| RATE);
        nodes.run(vec![(0, outgoing(hops, 5, &vec![7; bytes]))]);
        let tail = if hops == 0 { PORT_FLIT } else { FLIT } * flits;
        let all = engine(bytes) * 2 + ROUTE + (LINK + ROUTE) * u64::from(hops) + tail;
        let (at, nid, message) = &nodes.come[0];
        assert_eq!((*at, *nid), (Time::ZERO + all, hops), "{bytes} bytes over {hops} hops");
        assert_eq!((message.id.serial, message.bytes.len()), (5, bytes));
    }
}

/// Full packets follow one another at the pace of the links, which is the slowest here: each has 9 flits, the
/// last one of the message 10.
#[test]
fn a_long_message_takes_a_packet_time_more_for_each_packet() {
    let packets = 100;
    let mut nodes = Nodes::new("3", |_| RATE);
    nodes.run(vec![(0, outgoing(2, 5, &vec![7; 64 * packets]))]);
    let flits = 9 * packets as u64 + 1;
    let all = engine(64) * 2 + ROUTE + (LINK + ROUTE) * 2 + FLIT * flits;
    assert_eq!(nodes.end(), Time::ZERO + all);
    // It has left before, but for what the queues on its way hold.
    assert!(nodes.left[0].0 < nodes.end());
}

#[test]
fn messages_of_a_pair_keep_their_order_and_all_come_whole() {
    for topology in ["3x2x2", "torus 4x3", "5"] {
        let mut random = Random::new(7);
        let mut below = |bound: u64| random.below(bound);
        let mut nodes = Nodes::new(topology, |nid| RATE / u64::from(1 + nid % 3));
        let count = nodes.ports.len() as u64;
        let message = |serial| {
            let (source, target) = (below(count) as u32, below(count) as u32);
            let bytes: Vec<u8> = (0..below(700)).map(|at| (at ^ u64::from(serial)) as u8).collect();
            (source, outgoing(target, serial, &bytes))
        };
        let sent: Vec<_> = (0..400).map(message).collect();
        nodes.run(sent.clone());
        assert_eq!(nodes.come.len(), sent.len());
        for source in 0..count as u32 {
            for target in 0..count as u32 {
                let sent = sent.iter().filter(|(from, to)| (*from, to.target) == (source, target));
                let sent: Vec<_> = sent.map(|(_, message)| (message.id, &message.bytes)).collect();
                let come = nodes.come.iter().filter(|(_, nid, _)| *nid == target);
                let come = come.map(|(_, _, message)| message);
                let come = come.filter(|message| message.source == source);
                let come: Vec<_> = come.map(|message| (message.id, &message.bytes)).collect();
                assert_eq!(sent, come, "{topology}: {source} to {target}");
            }
        }
    }
}

/// Packets that a slow engine has no room for stay in the network, up to the sender.
#[test]
fn a_slow_receiver_holds_the_sender_back() {
    let bytes = vec![7; 64 * 200];
    let sent = |rate| {
        let mut nodes = Nodes::new("2", |nid| if nid == 1 { rate } else { RATE });
        nodes.run(vec![(0, outgoing(1, 5, &bytes))]);
        (nodes.left[0].0, nodes.counter(1, "rx.held_max"), nodes.counter(0, "net.injection_stalls"))
    };
    let (fast, held, _) = sent(RATE);
    assert!(held < u64::from(ROOM), "{held}");
    let (slow, held, stalls) = sent(RATE / 10);
    assert_eq!(held, u64::from(ROOM));
    assert!(stalls > 0 && slow.0 > fast.0 * 4, "{fast} {slow}");
}

/// Two streams over one link take twice as long as one, and as long as one if they share none.
#[test]
fn streams_share_links() {
    let bytes = vec![7; 64 * 300];
    let time = |pairs: &[(u32, u32)]| {
        let mut nodes = Nodes::new("4", |_| RATE);
        nodes.run(pairs.iter().map(|(from, to)| (*from, outgoing(*to, 5, &bytes))).collect());
        nodes.end().since(Time::ZERO).as_ns()
    };
    let alone = time(&[(1, 2)]);
    assert!((time(&[(0, 1), (3, 2)]) / alone - 1.0).abs() < 0.05, "each has a link");
    assert!((time(&[(0, 2), (1, 3)]) / alone - 2.0).abs() < 0.05, "the link from 1 to 2");
    assert!((time(&[(1, 2), (2, 1)]) / alone - 1.0).abs() < 0.05, "both ways of a link");
}

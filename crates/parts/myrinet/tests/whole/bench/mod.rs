//! A bench of cards, switches, senders and sinks, joined by cables; and hosts that a test plays.

pub mod cards;
pub mod ends;

use des::{Duration, Time};
use myrinet::{Card, Params, Signal, Switch, Wires};
use std::collections::{BTreeMap, VecDeque};

pub use cards::PlayedHost;
pub use ends::{Sender, Sink};

/// Node at an end of cables.
pub enum Node {
    Card(Box<Card>, PlayedHost),
    Switch(Switch),
    Sender(Sender),
    Sink(Sink),
}

/// A node with a port.
pub type End = (usize, usize);

pub struct Bench {
    pub nodes: Vec<Node>,
    cables: BTreeMap<End, End>,
    /// Signals on their way to each node.
    coming: Vec<BTreeMap<(Time, u64), (usize, Signal)>>,
    sequence: u64,
    delay: Duration,
    pub now: Time,
}

/// Signals that a node sends on its cables.
struct Out(VecDeque<(usize, Time, Signal)>);

impl Wires for Out {
    fn put(&mut self, port: usize, at: Time, signal: Signal) {
        self.0.push_back((port, at, signal));
    }
}

impl Bench {
    pub fn new(params: &Params) -> Bench {
        Bench {
            nodes: Vec::new(),
            cables: BTreeMap::new(),
            coming: Vec::new(),
            sequence: 0,
            delay: params.delay,
            now: Time::ZERO,
        }
    }

    pub fn add(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.coming.push(BTreeMap::new());
        self.nodes.len() - 1
    }

    pub fn connect(&mut self, a: End, b: End) {
        self.cables.insert(a, b);
        self.cables.insert(b, a);
    }

    /// Cuts the cable of an end: signals on it are lost, and nothing crosses it any more.
    pub fn cut(&mut self, end: End) {
        let other = self.cables.remove(&end).expect("there is a cable");
        self.cables.remove(&other);
        for (node, port) in [end, other] {
            self.coming[node].retain(|_, (on, _)| *on != port);
            match &mut self.nodes[node] {
                Node::Card(card, _) => card.cut(self.now),
                Node::Switch(switch) => switch.cut(self.now, port),
                Node::Sender(_) | Node::Sink(_) => panic!("node {node} has no heartbeat"),
            }
        }
    }

    /// Lets everything happen before `until`, in windows of a cable's delay.
    pub fn run(&mut self, until: Time) {
        while self.now < until {
            let end = until.min(self.now + self.delay);
            for node in 0..self.nodes.len() {
                self.run_node(node, end);
            }
            self.now = end;
        }
    }

    pub fn pass(&mut self, span: Duration) {
        self.run(self.now + span);
    }

    fn run_node(&mut self, node: usize, end: Time) {
        let mut from = self.now;
        loop {
            let first = self.coming[node].first_key_value().map(|((at, _), _)| *at);
            let answer = self.answer(node);
            let at = first.unwrap_or(Time::NEVER).min(answer).min(end);
            self.advance(node, from, at);
            from = at;
            if at == answer && at < end {
                if let Node::Card(card, host) = &mut self.nodes[node] {
                    host.give(card);
                }
                continue;
            }
            if at == end {
                return;
            }
            let (_, (port, signal)) = self.coming[node].pop_first().expect("it comes");
            let mut out = Out(VecDeque::new());
            match &mut self.nodes[node] {
                Node::Card(card, _) => card.arrive(at, signal, &mut out),
                Node::Switch(switch) => switch.arrive(at, port, signal, &mut out),
                Node::Sender(sender) => sender.arrive(signal),
                Node::Sink(sink) => sink.arrive(at, signal),
            }
            self.carry(node, out);
        }
    }

    /// Time at which the host of a card answers it.
    fn answer(&self, node: usize) -> Time {
        match &self.nodes[node] {
            Node::Card(_, host) => host.next(),
            _ => Time::NEVER,
        }
    }

    fn advance(&mut self, node: usize, from: Time, until: Time) {
        let mut out = Out(VecDeque::new());
        match &mut self.nodes[node] {
            Node::Card(card, host) => card.advance(until, &mut out, host),
            Node::Switch(switch) => {
                let mut now = from;
                let mut idle = 0;
                while switch.next().max(now) < until {
                    now = switch.next().max(now);
                    let before = out.0.len();
                    switch.advance(now, &mut out);
                    idle = if out.0.len() == before { idle + 1 } else { 0 };
                    assert!(idle < 1000, "a switch has nothing to do and says that it has");
                }
            }
            Node::Sender(sender) => sender.advance(until, &mut out),
            Node::Sink(sink) => sink.advance(until, &mut out),
        }
        self.carry(node, out);
    }

    fn carry(&mut self, node: usize, out: Out) {
        for (port, at, signal) in out.0 {
            let Some(&(to, port)) = self.cables.get(&(node, port)) else {
                continue;
            };
            self.sequence += 1;
            self.coming[to].insert((at + self.delay, self.sequence), (port, signal));
        }
    }

    pub fn card(&mut self, node: usize) -> &mut Card {
        match &mut self.nodes[node] {
            Node::Card(card, _) => card,
            _ => panic!("node {node} is no card"),
        }
    }

    pub fn host(&mut self, node: usize) -> &mut PlayedHost {
        match &mut self.nodes[node] {
            Node::Card(_, host) => host,
            _ => panic!("node {node} is no card"),
        }
    }

    pub fn switch(&self, node: usize) -> &Switch {
        match &self.nodes[node] {
            Node::Switch(switch) => switch,
            _ => panic!("node {node} is no switch"),
        }
    }

    pub fn sink(&self, node: usize) -> &Sink {
        match &self.nodes[node] {
            Node::Sink(sink) => sink,
            _ => panic!("node {node} is no sink"),
        }
    }

    pub fn sender(&mut self, node: usize) -> &mut Sender {
        match &mut self.nodes[node] {
            Node::Sender(sender) => sender,
            _ => panic!("node {node} is no sender"),
        }
    }
}

//! A process of a run: a node, or a part of the network without a host.

use super::{Crossing, Nic, Node};
use crate::remains::Remains;
use des::{Announced, Duration, Envelope, LogicalProcess, Lookahead, Outbox, Status, Time};

/// A part of the network that has neither host nor network interface.
pub trait Switch {
    /// Message between it and the nodes.
    type Message: Send;
    /// Results of such a part that only this model has.
    type Left: Send;

    /// Time of its next action; `Time::NEVER` if only a message can cause one.
    fn next_event(&self) -> Time;
    /// Does everything that is due before `horizon`.
    fn advance_to(&mut self, horizon: Time, outbox: &mut Outbox<Crossing<Self::Message>>);
    /// A message has come; it is due at its time.
    fn receive(&mut self, envelope: Envelope<Self::Message>);
    /// Time of the last event.
    fn last(&self) -> Time;
    /// Ends it, at a time after its last event.
    fn finish(self, end: Time) -> Remains<Option<Self::Left>>;
}

/// A process of a run with switches.
pub enum Process<N: Nic, S> {
    /// A node.
    Node(Box<Node<N>>),
    /// A part of the network without a host.
    Switch(Box<S>),
}

impl<N: Nic<Left = ()>, S: Switch<Message = N::Message>> LogicalProcess for Process<N, S> {
    type Message = Crossing<N::Message>;
    type Report = Remains<Option<S::Left>>;

    fn next_event(&self) -> Time {
        match self {
            Process::Node(node) => node.next_event(),
            Process::Switch(switch) => switch.next_event(),
        }
    }
    fn earliest_output(&self) -> Time {
        match self {
            Process::Node(node) => node.earliest_output(),
            Process::Switch(switch) => switch.next_event(),
        }
    }
    fn lookahead(&self, told: &mut Vec<Announced>) -> Lookahead {
        match self {
            Process::Node(node) => node.lookahead(told),
            Process::Switch(switch) => {
                let (earliest_output, reaction_time) = (switch.next_event(), Duration::ZERO);
                Lookahead { earliest_output, reaction_time }
            }
        }
    }
    fn advance_to(&mut self, horizon: Time, outbox: &mut Outbox<Crossing<N::Message>>) {
        match self {
            Process::Node(node) => node.advance_to(horizon, outbox),
            Process::Switch(switch) => switch.advance_to(horizon, outbox),
        }
    }
    fn receive(&mut self, envelope: Envelope<Crossing<N::Message>>) {
        let Envelope { at, source, sequence, target, .. } = envelope;
        match (self, envelope.message) {
            (Process::Node(node), message) => {
                node.receive(Envelope { at, source, sequence, target, message });
            }
            (Process::Switch(switch), Crossing::Message(message)) => {
                switch.receive(Envelope { at, source, sequence, target, message });
            }
            (Process::Switch(_), Crossing::Flight(_)) => {
                unreachable!("messages go from node to node")
            }
        }
    }
    fn status(&self) -> Status {
        match self {
            Process::Node(node) => node.status(),
            Process::Switch(switch) if switch.next_event() < Time::NEVER => Status::Busy,
            Process::Switch(_) => Status::Done,
        }
    }
    fn quiesce_time(&self) -> Time {
        match self {
            Process::Node(node) => node.quiesce_time(),
            Process::Switch(switch) => switch.last(),
        }
    }
    fn finish(self, end: Time) -> Self::Report {
        match self {
            Process::Node(node) => node.finish(end).with(None),
            Process::Switch(switch) => switch.finish(end),
        }
    }
}

//! A port on a node of the bench.

use crate::port::{Event, Ports};
use abi::packet::Packet;
use des::{Interval, Time};
use machine::node::{self, Nic};
use mesh::LinkMessage;
use std::fmt;

/// A node, for the port of its network interface.
pub struct OfNode<'a, N: Nic> {
    /// The bench's services for the network interface.
    pub ports: &'a mut node::Ports<N>,
}

impl<N: Nic> Ports for OfNode<'_, N>
where
    N::Event: From<Event>,
    N::Message: From<LinkMessage>,
{
    fn schedule(&mut self, at: Time, event: Event) {
        self.ports.schedule(at, event.into());
    }
    fn send(&mut self, at: Time, neighbour: u32, message: LinkMessage) {
        self.ports.send(neighbour, at, message.into());
    }
    fn passed(&mut self, output: usize, interval: Interval, packet: &Packet) {
        self.ports.journal().watch(|watch| watch.passed(output, interval, packet));
    }
    fn fail(&mut self, now: Time, what: fmt::Arguments<'_>) {
        self.ports.fail(now, what);
    }
}

//! What lies between the cards.

use des::Time;
use serial::{Channel, ChannelParams, Fault, Symbol};

/// Takes and gives symbols at the edges of the cards' clocks.
pub trait Fabric {
    /// A card's transmitters.
    fn send(&mut self, node: usize, now: Time, symbols: [Symbol; 2]);
    /// A card's receivers.
    fn receive(&mut self, node: usize, now: Time) -> [Symbol; 2];
    /// Its own next edge.
    fn next_edge(&self) -> Time {
        Time::NEVER
    }
    /// The edge.
    fn edge(&mut self) {}
    /// Nothing is on the way.
    fn is_quiet(&self) -> bool {
        true
    }
}

/// Two cards, back to back.
pub struct Cable {
    /// By receiver, then lane.
    channels: [[Channel; 2]; 2],
}

impl Cable {
    /// Lanes of the same settings, with words late by `shifts` bytes.
    pub fn new(params: ChannelParams, shifts: [u8; 4]) -> Cable {
        let channel = |to: u8, lane: u8| {
            let shift = shifts[usize::from(2 * to + lane)];
            Channel::new(ChannelParams { shift, ..params }, lane)
        };
        let to = |to| [channel(to, 0), channel(to, 1)];
        Cable { channels: [to(0), to(1)] }
    }
    /// Turns bits on the lane to a node.
    pub fn plant(&mut self, to: usize, lane: usize, fault: Fault) {
        self.channels[to][lane].plant(fault);
    }
    /// Symbols lost or made up.
    pub fn errors(&self) -> u64 {
        self.channels.iter().flatten().map(Channel::errors).sum()
    }
}

impl Fabric for Cable {
    fn send(&mut self, node: usize, now: Time, symbols: [Symbol; 2]) {
        for (channel, symbol) in self.channels[1 - node].iter_mut().zip(symbols) {
            channel.send(now, symbol);
        }
    }
    fn receive(&mut self, node: usize, now: Time) -> [Symbol; 2] {
        let [even, odd] = &mut self.channels[node];
        [even.receive(now), odd.receive(now)]
    }
}

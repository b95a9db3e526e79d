//! Connection between the cards.

use des::Time;
use serial::{lane, set_lane, Channel, ChannelParams, Fault, Symbols};

/// Takes and gives symbols at the edges of the cards' clocks.
pub trait Fabric {
    /// A card's transmitters.
    fn send(&mut self, node: usize, now: Time, symbols: Symbols);
    /// A card's receivers.
    fn receive(&mut self, node: usize, now: Time) -> Symbols;
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
    lanes: u8,
    /// By receiver, then lane.
    channels: [Vec<Channel>; 2],
}

impl Cable {
    /// Lanes of the same settings, with words late by `shifts` bytes; the second of each has the bug that is
    /// planted. A link of one lane has a second that nobody listens to.
    pub fn new(params: ChannelParams, shifts: [u8; 4]) -> Cable {
        let lanes = params.lanes.max(2);
        let params = ChannelParams { lanes, ..params };
        let channel = |to: u8, lane: u8| {
            let shift = shifts[usize::from(lanes * to + lane) % 4];
            let bug = params.bug.filter(|_| lane == 1);
            Channel::new(ChannelParams { shift, bug, ..params }, lane)
        };
        let to = |to| (0..lanes).map(|lane| channel(to, lane)).collect();
        Cable { lanes, channels: [to(0), to(1)] }
    }
    /// Turns bits on the lane to a node.
    pub fn inject(&mut self, to: usize, lane: usize, fault: Fault) {
        self.channels[to][lane].inject(fault);
    }
    /// Symbols lost or made up.
    pub fn errors(&self) -> u64 {
        self.channels.iter().flatten().map(Channel::errors).sum()
    }
}

impl Fabric for Cable {
    fn send(&mut self, node: usize, now: Time, symbols: Symbols) {
        for (n, channel) in (0..).zip(&mut self.channels[1 - node]) {
            channel.send(now, lane(&symbols, self.lanes, n));
        }
    }
    fn receive(&mut self, node: usize, now: Time) -> Symbols {
        let mut symbols = Symbols::default();
        for (n, channel) in (0..).zip(&mut self.channels[node]) {
            set_lane(&mut symbols, self.lanes, n, channel.receive(now));
        }
        symbols
    }
}

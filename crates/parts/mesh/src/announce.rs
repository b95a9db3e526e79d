//! Announcement of a packet's effects before it moves: its next routers, and the credits that come back for
//! it. None of them is earlier than announced here, whatever else moves in the network, since packets only
//! ever wait for one another. The announcement ends with the packet's destination; credits move nothing
//! where no packet waits.

use crate::router::Router;
use abi::packet::Packet;
use des::{Announced, Duration, Time};

impl Router {
    /// Announces the effects on other routers of a packet that arrives through an input's link at `at`, if
    /// no packet waits here then except for the NIC. Credits may be too few for a message: those of other
    /// routers are not known.
    pub fn announce(&self, at: Time, link: u8, packet: &Packet, told: &mut Vec<Announced>) {
        let target = self.sender(usize::from(link));
        told.push(Announced { target, at: at + self.credit_after(packet), ends: false });
        self.announce_injected(at, packet, told);
    }
    /// The same for one that the NIC injects.
    pub fn announce_injected(&self, at: Time, packet: &Packet, told: &mut Vec<Announced>) {
        if u32::from(packet.dest) >= self.topology.nodes() {
            return;
        }
        let (hop, credit) = (self.params.hop(), self.credit_after(packet));
        let dest = self.topology.coordinates(u32::from(packet.dest));
        let (mut here, mut at) = (self.at, at);
        while let Some(link) = self.topology.next_link(here, dest) {
            let from = self.topology.node_at(here);
            let target = self.topology.neighbour(from, link).expect("routes follow links");
            here = self.topology.coordinates(target);
            at += hop;
            told.push(Announced { target, at, ends: here == dest });
            told.push(Announced { target: from, at: at + credit, ends: false });
        }
    }
    /// Least time from a packet's arrival at a router until credits for it reach the one before: they leave
    /// once its tail has left the input.
    fn credit_after(&self, packet: &Packet) -> Duration {
        self.params.hop() + self.params.port_flit * u64::from(packet.flits())
    }
}

//! Packets, bytes and credits are neither lost nor made: what every router wrote down is compared,
//! link by link, at the end of a run.

use crate::queues::{input_number, PORT};
use crate::{Class, Router, CHANNELS, LINKS};
use abi::packet::Packet;
use std::fmt;

/// Packets and their payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    /// Number of packets.
    pub packets: u64,
    /// Payload bytes in them.
    pub bytes: u64,
}

impl Volume {
    pub(crate) fn count(&mut self, packet: &Packet) {
        self.packets += 1;
        self.bytes += u64::from(packet.size);
    }
    fn add(&mut self, other: Volume) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }
}

const CLASSES: [Class; 2] = [Class::Data, Class::Control];

type Channels = [u64; LINKS * CHANNELS];

/// Counts of a router: packets by their outcome; flits by channel, of outputs (sent, repaid, recovering)
/// and inputs (received, told).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Books {
    pub(crate) injected: Volume,
    pub(crate) ejected: Volume,
    pub(crate) unreachable: Volume,
    pub(crate) lost: Volume,
    /// Copies that a link made.
    pub(crate) doubled: Volume,
    /// Given to the link for the other end.
    pub(crate) sent: Channels,
    /// Credits that came back.
    pub(crate) repaid: Channels,
    /// Flits of lost packets, whose room comes back later.
    pub(crate) recovering: Channels,
    /// Come in.
    pub(crate) received: Channels,
    /// Credits sent to the neighbour.
    pub(crate) told: Channels,
}

/// Balance of a router's counts at the end of a run.
#[derive(Clone, Debug)]
pub struct Ledger {
    books: Books,
    /// Packets in the router.
    pub inside: Volume,
    neighbours: [Option<u32>; LINKS],
    credits: Channels,
    taken: Channels,
    untold: Channels,
    input_queue: u64,
    /// Room at the NIC that the router knows of, of both classes, and packets on the way to it.
    port: u64,
    node_room: u64,
    /// Packets from the network that the NIC holds; for the bench to fill in.
    pub held: u64,
    /// Packets that the NIC sent; for the bench to fill in.
    pub sent_by_nic: u64,
    /// Packets that the NIC received; for the bench to fill in.
    pub received_by_nic: u64,
}

impl Router {
    /// Closes the books.
    pub fn ledger(&self) -> Ledger {
        let mut inside = Volume::default();
        let inputs = self.inputs.iter().flat_map(|input| &input.queue).map(|p| &p.packet);
        let lanes = self.outputs.iter().flat_map(|output| &output.lanes);
        let outputs = lanes.flat_map(|lane| &lane.queue).map(|p| &p.packet);
        inputs.chain(outputs).chain(&self.ejecting).for_each(|packet| inside.count(packet));
        let each = |f: &dyn Fn(usize) -> u32| std::array::from_fn(|i| u64::from(f(i)));
        let room = |class: Class| u64::from(self.outputs[PORT].lanes[class.channel()].credits);
        let credits = |i: usize| self.outputs[i / CHANNELS].lanes[i % CHANNELS].credits;
        Ledger {
            books: self.books,
            inside,
            neighbours: self.neighbours,
            credits: each(&credits),
            taken: each(&|i| self.inputs[i].taken),
            untold: each(&|i| self.inputs[i].untold),
            input_queue: self.params.input_queue.into(),
            port: CLASSES.map(room).iter().sum::<u64>() + self.ejecting.len() as u64,
            node_room: u64::from(self.params.node_room) * CLASSES.len() as u64,
            held: 0,
            sent_by_nic: self.books.injected.packets,
            received_by_nic: self.books.ejected.packets,
        }
    }
}

/// Something was lost or made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum Imbalance {
    /// More or fewer packets or bytes came into the network than left it or are in it.
    #[error("packets: {came:?} came into the network, {went:?} left it or stand in it")]
    Packets { came: Volume, went: Volume },
    /// A network interface and its router have counted differently.
    #[error("node {node}, {what}: {nic} at the network interface, {router} at the router")]
    Interface { node: usize, what: &'static str, nic: u64, router: u64 },
    /// More has come to an end of a link than has left the other.
    #[error(
        "{at}: {sent} flits sent, {received} received; {told} credits sent, {repaid} received"
    )]
    Made { at: ChannelAt, sent: u64, received: u64, told: u64, repaid: u64 },
    /// Less has come than has left.
    #[error("{at}: {flits} flits and {credits} credits were lost")]
    Lost { at: ChannelAt, flits: u64, credits: u64 },
    /// The room of an input queue has become another.
    #[error(
        "{at}: credits, flits on the way, taken, kept back, credits on the way, recovering: \
         {parts:?} do not make {queue}"
    )]
    Room { at: ChannelAt, parts: [u64; 6], queue: u64 },
}

/// A virtual channel of a link, at its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelAt {
    /// The node that sends.
    pub node: usize,
    /// [`crate::Link::index`] of the link.
    pub link: usize,
    /// The channel.
    pub channel: usize,
}

impl fmt::Display for ChannelAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ChannelAt { node, link, channel } = self;
        write!(f, "node {node}, link {link}, channel {channel}")
    }
}

/// Compares the ledgers of all routers, in order of their nodes. `settled`: nothing was on its way
/// between routers when the run ended.
pub fn check(ledgers: &[Ledger], settled: bool) -> Result<(), Imbalance> {
    let (mut came, mut went, mut on_links) = (Volume::default(), Volume::default(), 0);
    for (node, ledger) in ledgers.iter().enumerate() {
        let books = &ledger.books;
        came.add(books.injected);
        came.add(books.doubled);
        for volume in [books.ejected, books.unreachable, books.lost, ledger.inside] {
            went.add(volume);
        }
        nic(node, ledger)?;
        for link in 0..LINKS {
            let Some(neighbour) = ledger.neighbours[link] else { continue };
            let other = &ledgers[neighbour as usize];
            for channel in 0..CHANNELS {
                let at = ChannelAt { node, link, channel };
                on_links += self::link(at, ledger, other, settled)?;
            }
        }
    }
    let missing = came.packets.checked_sub(went.packets);
    let bytes = came.bytes.checked_sub(went.bytes);
    let balanced = match (missing, bytes) {
        (Some(packets), Some(_)) if !settled => packets <= on_links,
        (Some(0), Some(0)) => true,
        _ => false,
    };
    if balanced {
        return Ok(());
    }
    Err(Imbalance::Packets { came, went })
}

/// The NIC of a node and its router agree.
fn nic(node: usize, ledger: &Ledger) -> Result<(), Imbalance> {
    let books = &ledger.books;
    let pairs = [
        ("packets sent", ledger.sent_by_nic, books.injected.packets),
        ("packets received", ledger.received_by_nic, books.ejected.packets),
        ("packets held or room for them", ledger.port + ledger.held, ledger.node_room),
    ];
    match pairs.into_iter().find(|(_, nic, router)| nic != router) {
        None => Ok(()),
        Some((what, nic, router)) => Err(Imbalance::Interface { node, what, nic, router }),
    }
}

/// Both ends of a link agree about a channel. Returns the flits on their way.
fn link(
    at: ChannelAt,
    sender: &Ledger,
    receiver: &Ledger,
    settled: bool,
) -> Result<u64, Imbalance> {
    let i = input_number(at.link, at.channel);
    let (sent, received) = (sender.books.sent[i], receiver.books.received[i]);
    let (told, repaid) = (receiver.books.told[i], sender.books.repaid[i]);
    let (Some(flying), Some(returning)) = (sent.checked_sub(received), told.checked_sub(repaid))
    else {
        return Err(Imbalance::Made { at, sent, received, told, repaid });
    };
    if settled && flying + returning > 0 {
        return Err(Imbalance::Lost { at, flits: flying, credits: returning });
    }
    let parts = [
        sender.credits[i],
        flying,
        receiver.taken[i],
        receiver.untold[i],
        returning,
        sender.books.recovering[i],
    ];
    if parts.iter().sum::<u64>() != sender.input_queue {
        return Err(Imbalance::Room { at, parts, queue: sender.input_queue });
    }
    Ok(flying)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_imbalance_is_a_sentence() {
        let at = ChannelAt { node: 3, link: 1, channel: 2 };
        let volume = |packets| Volume { packets, bytes: 64 * packets };
        let cases = [
            (
                Imbalance::Packets { came: volume(2), went: volume(1) },
                "packets: Volume { packets: 2, bytes: 128 } came into the network, \
                 Volume { packets: 1, bytes: 64 } left it or stand in it",
            ),
            (
                Imbalance::Interface { node: 3, what: "packets sent", nic: 5, router: 4 },
                "node 3, packets sent: 5 at the network interface, 4 at the router",
            ),
            (
                Imbalance::Made { at, sent: 1, received: 2, told: 3, repaid: 4 },
                "node 3, link 1, channel 2: 1 flits sent, 2 received; 3 credits sent, 4 received",
            ),
            (
                Imbalance::Lost { at, flits: 5, credits: 6 },
                "node 3, link 1, channel 2: 5 flits and 6 credits were lost",
            ),
            (
                Imbalance::Room { at, parts: [1, 2, 3, 4, 5, 6], queue: 20 },
                "node 3, link 1, channel 2: credits, flits on the way, taken, kept back, credits \
                 on the way, recovering: [1, 2, 3, 4, 5, 6] do not make 20",
            ),
        ];
        for (imbalance, sentence) in cases {
            assert_eq!(imbalance.to_string(), sentence);
        }
    }
}

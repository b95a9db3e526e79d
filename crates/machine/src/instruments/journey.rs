//! Where the time of a message went: the instants that every room leaves behind under a message's id.

use abi::MessageId;
use des::Time;
use mpi::Rendezvous;

mod breakdown;

pub use breakdown::{break_down, Breakdown, Mean, Segment};

/// Instants in the life of a put, in the order in which a message passes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Waypoint {
    /// The program's call reached the MPI library.
    CallEntered,
    /// The MPI library called `PtlPut`.
    PutEntered,
    /// The kernel had the call.
    KernelEntered,
    /// The kernel wrote the tail index of the mailbox.
    CommandWritten,
    /// That write reached the NIC's SRAM.
    CommandArrived,
    /// The TX engine took the firmware's command for the header.
    HeaderCommanded,
    /// The first packet entered the network.
    Injected,
    /// The first packet reached the target's RX engine.
    Arrived,
    /// The firmware could see the notification.
    Announced,
    /// The firmware wrote the interrupt register.
    InterruptWritten,
    /// The interrupt reached the host.
    InterruptArrived,
    /// The interrupt handler's first instruction.
    HandlerEntered,
    /// The handler had read the event.
    EventDrained,
    /// Of messages that do not travel in their header, from here to `CompletionDrained`: the kernel had found
    /// the receive and wrote the tail index of the mailbox.
    ReceiveWritten,
    /// That write reached the NIC's SRAM.
    ReceiveArrived,
    /// The RX engine took the firmware's command for the payload.
    ReceiveCommanded,
    /// The payload stood in host memory.
    Deposited,
    /// The firmware could see the completion.
    Completed,
    /// The firmware wrote the interrupt register for it.
    CompletionWritten,
    /// That interrupt reached the host.
    CompletionArrived,
    /// The first instruction of its handler.
    CompletionEntered,
    /// The handler had read the event.
    CompletionDrained,
    /// The Portals event stood in the process's event queue.
    EventPosted,
    /// The MPI library had it.
    EventReturned,
    /// The program's call returned.
    CallReturned,
}

/// The stretch that ends at each waypoint after the first, and where it is spent.
const STRETCHES: [(Waypoint, &str, Place); 24] = [
    (Waypoint::PutEntered, "MPI library, send", Place::Host),
    (Waypoint::KernelEntered, "kernel entry", Place::Host),
    (Waypoint::CommandWritten, "kernel Portals, send", Place::Host),
    (Waypoint::CommandArrived, "HyperTransport to the NIC", Place::HyperTransport),
    (Waypoint::HeaderCommanded, "firmware TX", Place::Firmware),
    (Waypoint::Injected, "TX DMA", Place::Dma),
    (Waypoint::Arrived, "wire", Place::Network),
    (Waypoint::Announced, "RX DMA", Place::Dma),
    (Waypoint::InterruptWritten, "firmware RX", Place::Firmware),
    (Waypoint::InterruptArrived, "HyperTransport to the host", Place::HyperTransport),
    (Waypoint::HandlerEntered, "interrupt", Place::Host),
    (Waypoint::EventDrained, "event queue", Place::Host),
    (Waypoint::ReceiveWritten, "kernel Portals, match", Place::Host),
    (Waypoint::ReceiveArrived, "receive command to the NIC", Place::HyperTransport),
    (Waypoint::ReceiveCommanded, "firmware RX, command", Place::Firmware),
    (Waypoint::Deposited, "payload by DMA", Place::Dma),
    (Waypoint::Completed, "RX DMA, completion", Place::Dma),
    (Waypoint::CompletionWritten, "firmware RX, completion", Place::Firmware),
    (Waypoint::CompletionArrived, "completion to the host", Place::HyperTransport),
    (Waypoint::CompletionEntered, "second interrupt", Place::Host),
    (Waypoint::CompletionDrained, "event queue, completion", Place::Host),
    (Waypoint::EventPosted, "kernel Portals, receive", Place::Host),
    (Waypoint::EventReturned, "return to the process", Place::Host),
    (Waypoint::CallReturned, "MPI library, receive", Place::Host),
];

/// Who is at work in a stretch of a message's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// The host's processor.
    Host,
    /// The link between host and NIC.
    HyperTransport,
    /// The NIC's processor.
    Firmware,
    /// The NIC's DMA engines, with all that a payload passes while it streams.
    Dma,
    /// Routers and links.
    Network,
}

/// One mark of one message on one node.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    /// When.
    pub at: Time,
    /// Which message.
    pub message: MessageId,
    /// Which waypoint.
    pub waypoint: Waypoint,
    /// Payload bytes of the message, where the marker knows them.
    pub length: Option<u64>,
}

/// A part of a rendezvous, so that the messages which carry it are found together.
#[derive(Clone, Copy, Debug)]
pub struct Tie {
    /// When its message entered the network.
    pub at: Time,
    /// Which message.
    pub message: MessageId,
    /// Node and process of MPI's sender.
    pub sender: (u16, u16),
    /// Its part.
    pub part: Rendezvous,
}

/// Marks of one node. Only the first ones of a run are kept: enough for a steady state, bounded in memory.
#[derive(Debug)]
pub struct Log {
    /// In pieces, so that none of them is ever moved.
    marks: Vec<Vec<Mark>>,
    ties: Vec<Tie>,
    /// Marks that there is room for.
    room: usize,
    /// Ties that are kept.
    capacity: usize,
}

/// Marks of a piece: few, as many nodes have few messages.
const PIECE: usize = 1 << 6;

/// What a log held.
#[derive(Debug)]
pub struct Taken {
    /// Marks in the order in which they were made, in pieces.
    pub marks: Vec<Vec<Mark>>,
    /// Parts of rendezvous.
    pub ties: Vec<Tie>,
}

/// Marks that all nodes keep at most, and those that each node may keep whatever their number.
const CAPACITY: usize = 1 << 18;
const CAPACITY_OF_NODE: std::ops::RangeInclusive<usize> = 1 << 9..=1 << 16;

impl Log {
    /// The log of one of `nodes` nodes.
    pub fn new(nodes: u32) -> Log {
        let (least, most) = CAPACITY_OF_NODE.into_inner();
        let capacity = (CAPACITY / nodes.max(1) as usize).clamp(least, most);
        Log { marks: Vec::new(), ties: Vec::new(), room: capacity, capacity }
    }
    /// Records a mark.
    pub fn push(&mut self, mark: Mark) {
        if self.room == 0 {
            return;
        }
        self.room -= 1;
        match self.marks.last_mut() {
            Some(piece) if piece.len() < PIECE => piece.push(mark),
            _ => {
                let mut piece = Vec::with_capacity(PIECE);
                piece.push(mark);
                self.marks.push(piece);
            }
        }
    }
    /// Records a part of a rendezvous.
    pub fn tie(&mut self, tie: Tie) {
        if self.ties.len() < self.capacity {
            self.ties.push(tie);
        }
    }
    /// Takes marks and ties out.
    pub fn take(&mut self) -> Taken {
        Taken { marks: std::mem::take(&mut self.marks), ties: std::mem::take(&mut self.ties) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_step_in_its_order() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/breakdown.md");
        let page = std::fs::read_to_string(page).unwrap();
        let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
        let steps: Vec<&str> = rows.skip(1).collect();
        assert_eq!(steps, STRETCHES.map(|(_, name, _)| name));
    }
}

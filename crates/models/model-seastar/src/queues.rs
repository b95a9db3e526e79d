//! Queues of a node, whose depths it reports.

use abi::seastar::{CAM_ENTRIES, DMA_FIFO_DEPTH, DONE_FIFO_DEPTH};
use machine::instruments::timeline::{Gauge, Queue, Room};

const FIFO: Room = Room::Entries(DMA_FIFO_DEPTH as u64);
const DONE: Room = Room::Entries(DONE_FIFO_DEPTH as u64);

/// The queues, as a page lists them. In a trace they stand around the engines that they feed.
pub(crate) static QUEUES: &[Queue] = &[
    Queue {
        name: "mailbox",
        title: "mailbox: commands from the host",
        id: "mailbox",
        unit: "commands",
        order: Some(1),
        room: Room::Untold,
    },
    Queue {
        name: "TX FIFO",
        title: "TX FIFO: commands for the transmit engine",
        id: "transmit",
        unit: "commands",
        order: Some(3),
        room: FIFO,
    },
    Queue {
        name: "TX completions",
        title: "completions of the transmit engine",
        id: "sent",
        unit: "completions",
        order: Some(5),
        room: DONE,
    },
    Queue {
        name: "RX FIFO",
        title: "RX FIFO: commands for the receive engine",
        id: "receive",
        unit: "commands",
        order: Some(10),
        room: FIFO,
    },
    Queue {
        name: "RX notifications",
        title: "notifications of the receive engine",
        id: "notices",
        unit: "notifications",
        order: Some(9),
        room: DONE,
    },
    Queue {
        name: "RX streams",
        title: "RX CAM: messages being received",
        id: "cam",
        unit: "streams",
        order: Some(8),
        room: Room::Entries(CAM_ENTRIES as u64),
    },
    Queue {
        name: "RX packets",
        title: "packets in the receive engine",
        id: "packets",
        unit: "packets",
        order: Some(7),
        room: Room::Parameter(mesh_network::Room::rx_buffers),
    },
    Queue {
        name: "event queue",
        title: "event queue: events for the kernel",
        id: "events",
        unit: "events",
        order: Some(11),
        room: Room::Untold,
    },
];

pub(crate) const MAILBOX: Gauge = Gauge::Own(0);
pub(crate) const TRANSMIT_COMMANDS: Gauge = Gauge::Own(1);
pub(crate) const TRANSMIT_COMPLETIONS: Gauge = Gauge::Own(2);
pub(crate) const RECEIVE_COMMANDS: Gauge = Gauge::Own(3);
pub(crate) const NOTIFICATIONS: Gauge = Gauge::Own(4);
pub(crate) const STREAMS: Gauge = Gauge::Own(5);
pub(crate) const PACKETS: Gauge = Gauge::Own(6);
pub(crate) const EVENTS: Gauge = Gauge::Own(7);

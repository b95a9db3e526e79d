//! Queues of a node, whose depths it reports.

use abi::seastar::{CAM_ENTRIES, DMA_FIFO_DEPTH, DONE_FIFO_DEPTH};
use machine::instruments::timeline::{Gauge, Queue, Room};

const fn queue(
    (name, id): (&'static str, &'static str),
    title: &'static str,
    unit: &'static str,
    (order, room): (u8, Room),
) -> Queue {
    Queue { name, title, id, unit, order: Some(order), room }
}

const FIFO: Room = Room::Entries(DMA_FIFO_DEPTH as u64);
const DONE: Room = Room::Entries(DONE_FIFO_DEPTH as u64);

/// The queues, as a page lists them. In a trace they stand around the engines that they feed.
pub(crate) static QUEUES: &[Queue] = &[
    queue(("mailbox", "mailbox"), "mailbox: commands from the host", "commands", (1, Room::Untold)),
    queue(
        ("TX FIFO", "transmit"),
        "TX FIFO: commands for the transmit engine",
        "commands",
        (3, FIFO),
    ),
    queue(
        ("TX completions", "sent"),
        "completions of the transmit engine",
        "completions",
        (5, DONE),
    ),
    queue(
        ("RX FIFO", "receive"),
        "RX FIFO: commands for the receive engine",
        "commands",
        (10, FIFO),
    ),
    queue(
        ("RX notifications", "notices"),
        "notifications of the receive engine",
        "notifications",
        (9, DONE),
    ),
    queue(
        ("RX streams", "cam"),
        "RX CAM: messages being received",
        "streams",
        (8, Room::Entries(CAM_ENTRIES as u64)),
    ),
    queue(
        ("RX packets", "packets"),
        "packets in the receive engine",
        "packets",
        (7, Room::Parameter(mesh_network::Room::rx_buffers)),
    ),
    queue(
        ("event queue", "events"),
        "event queue: events for the kernel",
        "events",
        (11, Room::Untold),
    ),
];

pub(crate) const MAILBOX: Gauge = Gauge::Own(0);
pub(crate) const TRANSMIT_COMMANDS: Gauge = Gauge::Own(1);
pub(crate) const TRANSMIT_COMPLETIONS: Gauge = Gauge::Own(2);
pub(crate) const RECEIVE_COMMANDS: Gauge = Gauge::Own(3);
pub(crate) const NOTIFICATIONS: Gauge = Gauge::Own(4);
pub(crate) const STREAMS: Gauge = Gauge::Own(5);
pub(crate) const PACKETS: Gauge = Gauge::Own(6);
pub(crate) const EVENTS: Gauge = Gauge::Own(7);

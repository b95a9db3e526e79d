//! The way of a message through rings, window and link, in this card's words; and its queues.

use crate::settings::Params;
use abi::MessageId;
use machine::instruments::message_trace::{
    cause, portals as steps, step, Layer, MessagePath, Part, PathStep, Waypoint,
};
use machine::instruments::timeline::{Queue, Room};
use machine::models::Depth;

/// The card had the submission.
pub(crate) const FETCHED: Waypoint = Waypoint::own(0);
/// It began to read the payload: the window had room.
pub(crate) const ADMITTED: Waypoint = Waypoint::own(1);
/// A segment had come that was lost before.
pub(crate) const RECOVERED: Waypoint = Waypoint::own(2);
/// The completion that tells of the message was in host memory.
pub(crate) const ANNOUNCED: Waypoint = Waypoint::own(3);
/// The card had the submission with the payload's place.
pub(crate) const PLACE_FETCHED: Waypoint = Waypoint::own(4);
/// The payload was there.
pub(crate) const PLACED: Waypoint = Waypoint::own(5);
/// The completion that says so was in host memory.
pub(crate) const PLACE_TOLD: Waypoint = Waypoint::own(6);

/// A message passes a waypoint.
#[derive(Clone, Copy)]
pub(crate) struct Passes {
    pub message: MessageId,
    pub waypoint: Waypoint,
}

pub(crate) static MESSAGE_PATH: MessagePath =
    MessagePath { legs: 3, commands: false, steps: &STEPS };

const DOORBELL: &[&str] = &[Params::register, Params::dma_start, Params::dma_rate];
const ENGINE: &[&str] = &[Params::dma_start, Params::dma_rate];
const LINK: &[&str] = &[Params::link_rate, Params::link_latency, Params::window];

const STEPS: [PathStep; 18] = [
    steps::PROVIDER_SENDS,
    steps::LIBRARY_SENDS,
    steps::KERNEL_ENTRY,
    steps::KERNEL_SENDS,
    step(
        FETCHED,
        "doorbell, submission",
        Layer::BUS,
        Part::Nic,
        cause("the doorbell reaches the card, which reads the submission from the ring", DOORBELL),
    ),
    step(
        ADMITTED,
        "window",
        Layer::DMA,
        Part::Nic,
        cause("it waits behind other messages, and for acknowledgements of its receiver", LINK),
    ),
    step(
        Waypoint::INJECTED,
        "first segment read",
        Layer::DMA,
        Part::Nic,
        cause(
            "the engine reads the first segment from host memory",
            &[Params::segment, Params::dma_start, Params::dma_rate],
        ),
    ),
    step(
        RECOVERED,
        "lost segments",
        Layer::NETWORK,
        Part::Network,
        cause(
            "a segment was lost, and sent again when no acknowledgement came",
            &[Params::timeout],
        ),
    ),
    step(
        Waypoint::ARRIVED,
        "segments",
        Layer::NETWORK,
        Part::Network,
        cause("the segments cross the link, until the last has come", LINK),
    ),
    step(
        ANNOUNCED,
        "completion written",
        Layer::BUS,
        Part::Nic,
        cause(
            "the card writes header and operand into the completion ring, once there is room",
            &[Params::dma_start, Params::dma_rate, Params::completions],
        ),
    ),
    steps::KERNEL_MATCHES,
    step(
        PLACE_FETCHED,
        "place, submission",
        Layer::BUS,
        Part::Nic,
        cause("the driver posts the payload's place, and the card reads it", DOORBELL),
    ),
    step(
        PLACED,
        "payload to memory",
        Layer::DMA,
        Part::Nic,
        cause("the engine writes the payload into host memory", ENGINE),
    ),
    step(
        PLACE_TOLD,
        "place, completion",
        Layer::BUS,
        Part::Nic,
        cause("the card writes the completion that ends the placement", ENGINE),
    ),
    steps::KERNEL_RECEIVES,
    steps::PROCESS_LATE,
    steps::RETURN,
    steps::LIBRARY_RECEIVES,
];

/// Queues of a card, by their number.
pub(crate) static QUEUES: &[Queue] = &[
    queue("submissions that the card has not read", Room::Parameter(Params::submissions)),
    Queue::named("messages before the window"),
    Queue::named("segments without acknowledgement"),
    Queue::named("messages on the card without a place"),
    queue("completions that the driver has not read", Room::Parameter(Params::completions)),
];

const fn queue(name: &'static str, room: Room) -> Queue {
    Queue { room, ..Queue::named(name) }
}

/// Counters of their greatest depths, in the same order.
pub(crate) static DEPTHS: &[Depth] = &[
    depth("submissions_max", 0),
    depth("window_waits_max", 1),
    depth("unacknowledged_max", 2),
    depth("held_max", 3),
    depth("completions_max", 4),
];

const fn depth(counter: &'static str, queue: usize) -> Depth {
    let Queue { name, room, .. } = QUEUES[queue];
    Depth { counter, name, room }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(file: &str) -> String {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        std::fs::read_to_string(root.join(file)).expect("it is there")
    }

    #[test]
    fn the_page_has_every_step_in_its_order() {
        let page = text("docs/reference/breakdown.md");
        let (_, section) = page.split_once("\n## Rings in host memory\n").expect("the section");
        let rows = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
        let own = STEPS.iter().map(|step| step.name).skip(4).take(10);
        assert!(rows.skip(1).eq(own));
    }

    /// Parameters that explain a step are there.
    #[test]
    fn causes_name_parameters_of_the_machine() {
        let machine = text("machines/queuepair.toml");
        let own = STEPS.iter().flat_map(|step| step.cause.parameters);
        for key in own.filter(|key| key.starts_with("queuepair.")) {
            assert!(machine.contains(&format!("[{key}]")), "no {key}");
        }
    }
}

//! The way of a remote write, from the call that asks for it to the process that finds it in its memory.
//!
//! What a card does is seen at its pins ([`super::trail`]), so that model and RTL tell the same.

use crate::rows::{Bus, Card, Crossbar, Disk, Lanes, Layers, Library};
use machine::instruments::message_trace::{
    cause, step, Layer, MessagePath, Part, PathStep, Waypoint,
};
use machine::instruments::timeline::Queue;
use machine::parameters::hosts::{Host, Linux};

// Waypoints of its own.

/// The card had taken the descriptor from its request queue.
pub(crate) const HEADER_COMMANDED: Waypoint = Waypoint::own(0);
/// The packet had left the receiving FIFO.
pub(crate) const ANNOUNCED: Waypoint = Waypoint::own(1);
/// The payload was in host memory.
pub(crate) const DEPOSITED: Waypoint = Waypoint::own(2);

/// The steps. What is written into memory alone ends there; what is waited for ends with the call that does.
/// A request of the block layer has two legs: its command, and the completion that answers.
pub(crate) static MESSAGE_PATH: MessagePath =
    MessagePath { legs: 2, commands: false, steps: &STEPS };

/// Queues of a card, by their number.
pub(crate) static QUEUES: &[Queue] = &[
    Queue::named("request queue: descriptors"),
    Queue::named("reads of host memory under way"),
    Queue::named("packets that wait for lanes or credits"),
    Queue::named("packets come and not in memory"),
];

const STEPS: [PathStep; 14] = [
    step(
        Waypoint::KERNEL_ENTERED,
        "block layer",
        Layer::HOST,
        Part::Kernel,
        cause(
            "the block layer makes a request, behind others of its call, and posts data before it",
            &[Layers::submit, Layers::serve, Layers::request],
        ),
    ),
    step(
        Waypoint::COMMAND_WRITTEN,
        "library, descriptor",
        Layer::HOST,
        Part::Library,
        cause(
            "the library makes the descriptor, behind those before it, and stores it",
            &[Library::post, Library::handles, Host::mmio_write],
        ),
    ),
    step(
        Waypoint::COMMAND_ARRIVED,
        "descriptor over the bus",
        Layer::BUS,
        Part::Nic,
        cause(
            "the descriptor crosses the bus, behind other transfers",
            &[Bus::combining, Bus::target_overhead, Bus::clock, Card::queue],
        ),
    ),
    step(
        HEADER_COMMANDED,
        "request queue",
        Layer::DMA,
        Part::Nic,
        cause(
            "the DMA engine takes descriptors in order, and wants room in the FIFO for each",
            &[Card::reads, Card::tx_fifo],
        ),
    ),
    step(
        Waypoint::INJECTED,
        "payload over the bus",
        Layer::BUS,
        Part::Nic,
        cause(
            "the bridge reads the payload, all of it before the packet starts, which also wants \
             credits",
            &[Bus::split_word, Bus::split_page, Bus::width, Card::estimate],
        ),
    ),
    step(
        Waypoint::ARRIVED,
        "lanes",
        Layer::NETWORK,
        Part::Network,
        cause(
            "the packet's beginning passes transceivers and cable, and the crossbar",
            &[Lanes::delay, Lanes::clock, Crossbar::point],
        ),
    ),
    step(
        ANNOUNCED,
        "receiving FIFO",
        Layer::DMA,
        Part::Nic,
        cause(
            "the DMA engine wants the bus, and words up to the border of a block",
            &[Bus::arbitration, Card::rx_fifo],
        ),
    ),
    step(
        DEPOSITED,
        "payload to memory",
        Layer::BUS,
        Part::Nic,
        cause(
            "the payload streams through lanes and bus into memory, to its last word",
            &[Lanes::clock, Bus::width],
        ),
    ),
    step(
        Waypoint::COMPLETION_ENTERED,
        "interrupt",
        Layer::HOST,
        Part::Kernel,
        cause(
            "the interrupt: entering the handler, or waiting for the one before",
            &[Linux::interrupt_entry],
        ),
    ),
    step(
        Waypoint::COMPLETION_DRAINED,
        "doorbells",
        Layer::HOST,
        Part::Kernel,
        cause(
            "the handler disables the card's interrupt and looks at every doorbell",
            &[Library::doorbell, Host::mmio_write],
        ),
    ),
    step(
        Waypoint::PROCESS_LOOKED,
        "waiting for the process",
        Layer::HOST,
        Part::Library,
        cause("a late receiver: the process was elsewhere, and looked later", &[]),
    ),
    step(
        Waypoint::EVENT_RETURNED,
        "return to the process",
        Layer::HOST,
        Part::Library,
        cause(
            "the process polls the word, or is woken by the handler",
            &[Host::poll_period, Linux::interrupt_exit],
        ),
    ),
    step(
        Waypoint::CLAIMED,
        "disk",
        Layer::DISK,
        Part::Disk,
        cause(
            "the disk seeks, waits for its sectors, and gives or takes them, behind other requests",
            &[Disk::kind, Disk::rpm, Disk::seek_average, Disk::cache],
        ),
    ),
    step(
        Waypoint::CALL_RETURNED,
        "library, receive",
        Layer::HOST,
        Part::Library,
        cause("the call returns; a block layer ends the request", &[Layers::complete]),
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_step_in_its_order() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/reference/breakdown.md");
        let page = std::fs::read_to_string(page).unwrap();
        let (_, section) = page.split_once("\n## Remote writes\n").unwrap();
        let section = section.split("\n## ").next().unwrap();
        let rows = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
        assert!(rows.skip(1).eq(MESSAGE_PATH.steps.iter().map(|step| step.name)));
    }

    /// Parameters that explain a step are there.
    #[test]
    fn causes_name_parameters_of_the_machines() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        let texts = ["redstorm", "forth", "forth-switch"].map(|name| {
            std::fs::read_to_string(root.join(format!("machines/{name}.toml"))).unwrap()
        });
        for key in MESSAGE_PATH.steps.iter().flat_map(|step| step.cause.parameters) {
            let known = texts.iter().any(|text| text.contains(&format!("[{key}]")));
            assert!(known, "no {key}");
        }
    }
}

//! The way of a remote write, from the call that asks for it to the process that finds it in its memory.
//!
//! What a card does is seen at its pins ([`super::trail`]), so that model and RTL tell the same.

use machine::instruments::journey::{cause, stretch, Part, Place, Stretch, Way, Waypoint};

/// The steps. What is written into memory alone ends there; what is waited for ends with the call that does.
pub(crate) static WAY: Way = Way { legs: 1, commands: false, stretches: &STRETCHES };

/// Queues of a card, by their number.
pub(crate) static QUEUES: &[&str] = &[
    "request queue: descriptors",
    "reads of host memory under way",
    "packets that wait for lanes or credits",
    "packets come and not in memory",
];

const STRETCHES: [Stretch; 12] = [
    stretch(
        Waypoint::CommandWritten,
        ("library, descriptor", Place::Host, Part::Library),
        cause(
            "the library makes the descriptor, behind those before it, and stores it",
            &["rdma.post", "rdma.handles", "host.mmio_write"],
        ),
    ),
    stretch(
        Waypoint::CommandArrived,
        ("descriptor over the bus", Place::Bus, Part::Nic),
        cause(
            "the descriptor crosses the bus, behind other transfers",
            &["pcix.combining", "pcix.target_overhead", "pcix.clock", "nic.queue"],
        ),
    ),
    stretch(
        Waypoint::HeaderCommanded,
        ("request queue", Place::Dma, Part::Nic),
        cause(
            "the DMA engine takes descriptors in order, and wants room in the FIFO for each",
            &["nic.reads", "nic.tx_fifo"],
        ),
    ),
    stretch(
        Waypoint::Injected,
        ("payload over the bus", Place::Bus, Part::Nic),
        cause(
            "the bridge reads the payload, all of it before the packet starts, which also wants \
             credits",
            &["pcix.split_word", "pcix.split_page", "pcix.width", "nic.estimate"],
        ),
    ),
    stretch(
        Waypoint::Arrived,
        ("lanes", Place::Network, Part::Network),
        cause(
            "the packet's beginning passes transceivers and cable, and the crossbar",
            &["lanes.delay", "lanes.clock", "crossbar.point"],
        ),
    ),
    stretch(
        Waypoint::Announced,
        ("receiving FIFO", Place::Dma, Part::Nic),
        cause(
            "the DMA engine wants the bus, and words up to the border of a block",
            &["pcix.arbitration", "nic.rx_fifo"],
        ),
    ),
    stretch(
        Waypoint::Deposited,
        ("payload to memory", Place::Bus, Part::Nic),
        cause(
            "the payload streams through lanes and bus into memory, to its last word",
            &["lanes.clock", "pcix.width", "nic.credit"],
        ),
    ),
    stretch(
        Waypoint::CompletionEntered,
        ("interrupt", Place::Host, Part::Kernel),
        cause(
            "the interrupt: entering the handler, or waiting for the one before",
            &["host.interrupt_entry"],
        ),
    ),
    stretch(
        Waypoint::CompletionDrained,
        ("doorbells", Place::Host, Part::Kernel),
        cause(
            "the handler disables the card's interrupt and looks at every doorbell",
            &["rdma.doorbell", "host.mmio_write"],
        ),
    ),
    stretch(
        Waypoint::ProcessLooked,
        ("waiting for the process", Place::Host, Part::Library),
        cause("a late receiver: the process was elsewhere, and looked later", &[]),
    ),
    stretch(
        Waypoint::EventReturned,
        ("return to the process", Place::Host, Part::Library),
        cause(
            "the process polls the word, or is woken by the handler",
            &["host.poll_period", "host.interrupt_exit"],
        ),
    ),
    stretch(
        Waypoint::CallReturned,
        ("library, receive", Place::Host, Part::Library),
        cause("the call returns", &[]),
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_step_in_its_order() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/breakdown.md");
        let page = std::fs::read_to_string(page).unwrap();
        let (_, section) = page.split_once("\n## Remote writes\n").unwrap();
        let section = section.split("\n## ").next().unwrap();
        let rows = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
        assert!(rows.skip(1).eq(WAY.stretches.iter().map(|stretch| stretch.name)));
        let ends: Vec<Waypoint> = WAY.stretches.iter().map(|stretch| stretch.ends).collect();
        assert!(ends.is_sorted());
    }

    /// Parameters that explain a step are there.
    #[test]
    fn causes_name_parameters_of_the_machines() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let texts = ["redstorm", "forth", "forth-switch"].map(|name| {
            std::fs::read_to_string(root.join(format!("machines/{name}.toml"))).unwrap()
        });
        for key in WAY.stretches.iter().flat_map(|stretch| stretch.cause.parameters) {
            let known = texts.iter().any(|text| text.contains(&format!("[{key}]")));
            assert!(known, "no {key}");
        }
    }
}

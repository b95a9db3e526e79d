//! The way of a packet, from the call that sends it to the process that has it.

use crate::settings::Own;
use machine::instruments::message_trace::{
    cause, firmware, step, Layer, MessagePath, Part, PathStep, Waypoint,
};
use machine::instruments::timeline::Queue;
use machine::parameters::hosts::{Catamount, Clocks, GuestNode, Host, Linux};

// Waypoints of its own.

/// The DMA engine had the control program's command for the message.
pub(crate) const FETCH_COMMANDED: Waypoint = Waypoint::own(0);
/// The message was in the card's memory.
pub(crate) const FETCHED: Waypoint = Waypoint::own(1);
/// The send interface had the control program's command.
pub(crate) const HEADER_COMMANDED: Waypoint = Waypoint::own(2);
/// The packet was in the receive buffer.
pub(crate) const ANNOUNCED: Waypoint = Waypoint::own(3);
/// The DMA engine had the command for the message that came.
pub(crate) const RECEIVE_COMMANDED: Waypoint = Waypoint::own(4);
/// The payload was in host memory.
pub(crate) const DEPOSITED: Waypoint = Waypoint::own(5);
/// The control program had seen that the DMA was over.
pub(crate) const COMPLETED: Waypoint = Waypoint::own(6);

/// The steps.
pub(crate) static MESSAGE_PATH: MessagePath =
    MessagePath { legs: 1, commands: false, steps: &STEPS };

/// The same of Linux guests, whose driver is a module.
pub(crate) static GUEST_PATH: MessagePath =
    MessagePath { legs: 1, commands: false, steps: &GUEST_STEPS };

/// The same of processes in Linux guests that write to the card themselves (bypass library).
pub(crate) static BYPASS_PATH: MessagePath =
    MessagePath { legs: 1, commands: false, steps: &BYPASS_STEPS };

/// Queues of a node, by their number.
pub(crate) static QUEUES: &[Queue] = &[
    Queue::named("slack buffer: bytes before the card"),
    Queue::named("stores and loads that wait for the bus"),
];

const COMMAND_OVER_PCI: PathStep = step(
    Waypoint::COMMAND_ARRIVED,
    "PCI to the card",
    Layer::BUS,
    Part::Nic,
    cause("the stores cross the bus in order, the command last", &[Own::pci_clock, Own::pci_burst]),
);
const PROGRAM_SENDS: PathStep = step(
    HEADER_COMMANDED,
    "control program, send",
    Layer::FIRMWARE,
    Part::Nic,
    firmware(
        "the control program sees the command when it polls, looks for the route and gives \
         route and packet to the send interface",
        "send_step",
    ),
);
const SEND_INTERFACE: PathStep = step(
    Waypoint::INJECTED,
    "send interface",
    Layer::DMA,
    Part::Nic,
    cause("the interface fills a slot, and goes on as the link lets it", &[Own::rate]),
);
const WIRE: PathStep = step(
    Waypoint::ARRIVED,
    "cables and switches",
    Layer::NETWORK,
    Part::Network,
    cause(
        "the packet's head passes cables and switches, and waits where others have the output",
        &[Own::cable, Own::route],
    ),
);
const RECEIVE_INTERFACE: PathStep = step(
    ANNOUNCED,
    "receive interface",
    Layer::DMA,
    Part::Nic,
    cause(
        "the packet streams into the receive buffer, once the one before has left that",
        &[Own::rate],
    ),
);
const PROGRAM_RECEIVES: PathStep = step(
    Waypoint::INTERRUPT_WRITTEN,
    "control program, receive",
    Layer::FIRMWARE,
    Part::Nic,
    firmware(
        "the control program sees the packet when it polls, looks at it and signals the host",
        "receive_step",
    ),
);
const INTERRUPT_LINE: PathStep = step(
    Waypoint::INTERRUPT_ARRIVED,
    "interrupt to the host",
    Layer::BUS,
    Part::Nic,
    cause("the interrupt line rises, and the processor learns of it", &[Own::interrupt]),
);
const DMA_START: PathStep = step(
    Waypoint::RECEIVE_ARRIVED,
    "start of the DMA over PCI",
    Layer::BUS,
    Part::Nic,
    cause("those stores cross the bus", &[Own::pci_clock]),
);
const DMA: PathStep = step(
    DEPOSITED,
    "packet by DMA",
    Layer::DMA,
    Part::Nic,
    cause(
        "the card's DMA brings the packet over the bus into memory",
        &[Own::pci_clock, Own::dma_burst, Own::pci_arbitration],
    ),
);
const PROGRAM_COMPLETES: PathStep = step(
    COMPLETED,
    "control program, completion",
    Layer::FIRMWARE,
    Part::Nic,
    firmware("the control program sees that the DMA is over when it polls", "receive_step"),
);

const PROCESS_LATE: PathStep = step(
    Waypoint::PROCESS_LOOKED,
    "waiting for the process",
    Layer::HOST,
    Part::Library,
    cause("a late receiver: the process was elsewhere, and asked for a packet later", &[]),
);

const STEPS: [PathStep; 19] = [
    step(
        Waypoint::KERNEL_ENTERED,
        "kernel entry",
        Layer::HOST,
        Part::Kernel,
        cause("the process enters the kernel", &[Catamount::kernel_entry, Linux::kernel_entry]),
    ),
    step(
        Waypoint::COMMAND_WRITTEN,
        "driver, send",
        Layer::HOST,
        Part::Kernel,
        cause(
            "the driver copies the packet into the card by stores, and writes the command",
            &[Own::driver, Host::mmio_write],
        ),
    ),
    COMMAND_OVER_PCI,
    PROGRAM_SENDS,
    SEND_INTERFACE,
    WIRE,
    RECEIVE_INTERFACE,
    PROGRAM_RECEIVES,
    INTERRUPT_LINE,
    step(
        Waypoint::HANDLER_ENTERED,
        "interrupt",
        Layer::HOST,
        Part::Kernel,
        cause(
            "the interrupt: entering the handler, or waiting for the one before",
            &[Catamount::interrupt_entry, Linux::interrupt_entry],
        ),
    ),
    step(
        Waypoint::EVENT_DRAINED,
        "driver, look at the card",
        Layer::HOST,
        Part::Kernel,
        cause(
            "the driver reads the card's words over the bus, and waits for each",
            &[Own::driver, Own::pci_clock],
        ),
    ),
    step(
        Waypoint::RECEIVE_WRITTEN,
        "driver, DMA block",
        Layer::HOST,
        Part::Kernel,
        cause("the driver writes where the packet goes, and starts the DMA", &[Host::mmio_write]),
    ),
    DMA_START,
    DMA,
    PROGRAM_COMPLETES,
    step(
        Waypoint::COMPLETION_DRAINED,
        "driver polls the card",
        Layer::HOST,
        Part::Kernel,
        cause(
            "the driver looks at the card again and again, each time over the bus",
            &[Host::poll_period, Own::pci_clock],
        ),
    ),
    PROCESS_LATE,
    step(
        Waypoint::EVENT_RETURNED,
        "return to the process",
        Layer::HOST,
        Part::Library,
        cause(
            "the handler returns, and the process finds the packet",
            &[Catamount::interrupt_exit, Linux::interrupt_exit, Host::poll_period],
        ),
    ),
    step(
        Waypoint::CALL_RETURNED,
        "copy to the process",
        Layer::HOST,
        Part::Library,
        cause("the packet is copied to the process", &[Host::copy_rate]),
    ),
];

/// Of a packet of Directed Point, or of a network device, between guests; what its kernel computes beside the
/// primitives for which it charges is in `linux.interrupt_entry`.
const GUEST_STEPS: [PathStep; 18] = [
    step(
        Waypoint::KERNEL_ENTERED,
        "system call, send",
        Layer::HOST,
        Part::Kernel,
        cause(
            "the process enters the kernel, which copies the packet from it",
            &[Linux::kernel_entry, Linux::kernel_exit, Host::copy_rate],
        ),
    ),
    step(
        Waypoint::COMMAND_WRITTEN,
        "module, send",
        Layer::HOST,
        Part::Kernel,
        cause(
            "the module looks whether the card is free, copies the packet into it by stores, and \
             writes the command",
            &[Host::mmio_write, Own::pci_clock],
        ),
    ),
    COMMAND_OVER_PCI,
    PROGRAM_SENDS,
    SEND_INTERFACE,
    WIRE,
    RECEIVE_INTERFACE,
    PROGRAM_RECEIVES,
    INTERRUPT_LINE,
    step(
        Waypoint::HANDLER_ENTERED,
        "interrupt, up to the module",
        Layer::HOST,
        Part::Kernel,
        cause(
            "the kernel lets the interrupt in, and comes to the module's handler",
            &[Linux::interrupt_entry, Linux::interrupt_exit],
        ),
    ),
    step(
        Waypoint::EVENT_DRAINED,
        "module, look at the card",
        Layer::HOST,
        Part::Kernel,
        cause(
            "the module reads the card's words over the bus, and waits for each",
            &[Own::pci_clock],
        ),
    ),
    step(
        Waypoint::RECEIVE_WRITTEN,
        "module, DMA block",
        Layer::HOST,
        Part::Kernel,
        cause("the module writes where the packet goes, and starts the DMA", &[Host::mmio_write]),
    ),
    DMA_START,
    DMA,
    PROGRAM_COMPLETES,
    step(
        Waypoint::COMPLETION_DRAINED,
        "module polls the card",
        Layer::HOST,
        Part::Kernel,
        cause(
            "the module looks at the card again and again, each time over the bus",
            &[Own::pci_clock],
        ),
    ),
    step(
        Waypoint::PROCESS_LOOKED,
        "service layer, until a process reads",
        Layer::HOST,
        Part::Kernel,
        cause("the channel has the packet, and its reader is elsewhere", &[]),
    ),
    step(
        Waypoint::EVENT_RETURNED,
        "system call, return",
        Layer::HOST,
        Part::Kernel,
        cause(
            "the kernel changes to the process that waits, and copies the packet to it",
            &[GuestNode::context_switch, Host::copy_rate],
        ),
    ),
];

/// Of a message of the bypass library. Functions are those of its control program.
const BYPASS_STEPS: [PathStep; 15] = [
    step(
        Waypoint::COMMAND_WRITTEN,
        "library, send",
        Layer::HOST,
        Part::Library,
        cause(
            "the process writes the message into its ring in the card by two stores",
            &[Host::mmio_write],
        ),
    ),
    COMMAND_OVER_PCI,
    step(
        FETCH_COMMANDED,
        "control program, ring",
        Layer::FIRMWARE,
        Part::Nic,
        firmware(
            "the control program sees the message in its ring when it polls, behind those before \
             it and with a free buffer, and starts the DMA",
            "send_next",
        ),
    ),
    step(
        FETCHED,
        "message by DMA to the card",
        Layer::DMA,
        Part::Nic,
        cause(
            "the card's DMA reads the message over the bus from memory",
            &[Own::pci_clock, Own::dma_burst, Own::pci_memory],
        ),
    ),
    step(
        HEADER_COMMANDED,
        "control program, header",
        Layer::FIRMWARE,
        Part::Nic,
        firmware(
            "the control program sees the end of the DMA when it polls, waits for the packet \
             before, puts the route in front and gives all to the send interface",
            "wire_step",
        ),
    ),
    step(
        Waypoint::RESENT,
        "lost, until it was sent again",
        Layer::NETWORK,
        Part::Network,
        cause(
            "the cable has lost it; what is not answered is sent again when the control program \
             looks at the time",
            &[],
        ),
    ),
    SEND_INTERFACE,
    WIRE,
    step(
        Waypoint::REPEATED,
        "not taken, until it came again",
        Layer::NETWORK,
        Part::Refused,
        cause(
            "it came damaged, before its turn or without a place; what is not answered is sent \
             again when the control program looks at the time",
            &[],
        ),
    ),
    RECEIVE_INTERFACE,
    step(
        RECEIVE_COMMANDED,
        "control program, delivery",
        Layer::FIRMWARE,
        Part::Nic,
        firmware(
            "the control program sees the packet when it polls, waits until the one before is in \
             memory, takes a place and starts the DMA",
            "receive_step",
        ),
    ),
    step(
        DEPOSITED,
        "message by DMA",
        Layer::DMA,
        Part::Nic,
        cause(
            "the card's DMA brings the message over the bus to its place",
            &[Own::pci_clock, Own::dma_burst, Own::pci_arbitration],
        ),
    ),
    step(
        Waypoint::EVENT_POSTED,
        "event by DMA",
        Layer::DMA,
        Part::Nic,
        cause(
            "the event of 32 bytes follows in a burst of its own",
            &[Own::pci_clock, Own::pci_arbitration],
        ),
    ),
    PROCESS_LATE,
    step(
        Waypoint::EVENT_RETURNED,
        "process sees the event",
        Layer::HOST,
        Part::Library,
        cause(
            "the process looks at the event's number, and reads the clock from one look to the \
             next",
            &[Clocks::clock_read],
        ),
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn text(file: &str) -> String {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        std::fs::read_to_string(root.join(file)).unwrap()
    }

    /// Steps of guests that are not in the page by their names are in its rows of several steps.
    #[test]
    fn the_page_has_every_step_in_its_order() {
        let page = text("docs/reference/breakdown.md");
        let (_, section) = page.split_once("\n## Packets of Myrinet\n").unwrap();
        let section = section.split("\n## ").next().unwrap();
        let (own, guests) = section.split_once("\n### Of Linux guests\n").unwrap();
        let (guests, bypass) = guests.split_once("\n### Of the bypass library\n").unwrap();
        let rows = |text| -> Vec<&str> {
            let lines =
                str::lines(text).filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
            lines.skip(1).filter(|row| !row.starts_with("from ")).collect()
        };
        let names =
            |path: &MessagePath| -> Vec<&str> { path.steps.iter().map(|step| step.name).collect() };
        assert_eq!(rows(own), names(&MESSAGE_PATH));
        let shared = names(&MESSAGE_PATH);
        let guest_only = names(&GUEST_PATH).into_iter().filter(|name| !shared.contains(name));
        assert_eq!(rows(guests), guest_only.collect::<Vec<_>>());
        let together = ["send interface", "cables and switches"];
        let alone = names(&BYPASS_PATH).into_iter().filter(|name| !together.contains(name));
        assert_eq!(rows(bypass), alone.collect::<Vec<_>>());
    }

    #[test]
    fn causes_name_parameters_of_the_machine() {
        let texts = ["redstorm", "amata"].map(|name| text(&format!("machines/{name}.toml")));
        let steps = MESSAGE_PATH.steps.iter().chain(GUEST_PATH.steps).chain(BYPASS_PATH.steps);
        for key in steps.flat_map(|step| step.cause.parameters) {
            assert!(texts.iter().any(|text| text.contains(&format!("[{key}]"))), "no {key}");
        }
    }
}

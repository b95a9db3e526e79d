//! The way of a packet, from the call that sends it to the process that has it.

use machine::instruments::message_trace::{
    cause, firmware, step, Layer, MessagePath, Part, PathStep, Waypoint,
};

/// The steps.
pub(crate) static MESSAGE_PATH: MessagePath =
    MessagePath { legs: 1, commands: false, steps: &STEPS };

/// Queues of a node, by their number.
pub(crate) static QUEUES: &[&str] =
    &["slack buffer: bytes before the card", "stores and loads that wait for the bus"];

const STEPS: [PathStep; 19] = [
    step(
        Waypoint::KernelEntered,
        ("kernel entry", Layer::Host, Part::Kernel),
        cause("the process enters the kernel", &["host.kernel_entry"]),
    ),
    step(
        Waypoint::CommandWritten,
        ("driver, send", Layer::Host, Part::Kernel),
        cause(
            "the driver copies the packet into the card by stores, and writes the command",
            &["myrinet.driver", "host.mmio_write"],
        ),
    ),
    step(
        Waypoint::CommandArrived,
        ("PCI to the card", Layer::Bus, Part::Nic),
        cause(
            "the stores cross the bus in order, the command last",
            &["myrinet.pci_clock", "myrinet.pci_burst"],
        ),
    ),
    step(
        Waypoint::HeaderCommanded,
        ("control program, send", Layer::Firmware, Part::Nic),
        firmware(
            "the control program sees the command when it polls, looks for the route and gives \
             route and packet to the send interface",
            "send_step",
        ),
    ),
    step(
        Waypoint::Injected,
        ("send interface", Layer::Dma, Part::Nic),
        cause("the interface fills a slot, and goes on as the link lets it", &["myrinet.rate"]),
    ),
    step(
        Waypoint::Arrived,
        ("cables and switches", Layer::Network, Part::Network),
        cause(
            "the packet's head passes cables and switches, and waits where others have the output",
            &["myrinet.cable", "myrinet.route"],
        ),
    ),
    step(
        Waypoint::Announced,
        ("receive interface", Layer::Dma, Part::Nic),
        cause(
            "the packet streams into the receive buffer, once the one before has left that",
            &["myrinet.rate"],
        ),
    ),
    step(
        Waypoint::InterruptWritten,
        ("control program, receive", Layer::Firmware, Part::Nic),
        firmware(
            "the control program sees the packet when it polls, looks at it and signals the host",
            "receive_step",
        ),
    ),
    step(
        Waypoint::InterruptArrived,
        ("interrupt to the host", Layer::Bus, Part::Nic),
        cause("the interrupt line rises, and the processor learns of it", &["myrinet.interrupt"]),
    ),
    step(
        Waypoint::HandlerEntered,
        ("interrupt", Layer::Host, Part::Kernel),
        cause(
            "the interrupt: entering the handler, or waiting for the one before",
            &["host.interrupt_entry"],
        ),
    ),
    step(
        Waypoint::EventDrained,
        ("driver, look at the card", Layer::Host, Part::Kernel),
        cause(
            "the driver reads the card's words over the bus, and waits for each",
            &["myrinet.driver", "myrinet.pci_clock"],
        ),
    ),
    step(
        Waypoint::ReceiveWritten,
        ("driver, DMA block", Layer::Host, Part::Kernel),
        cause("the driver writes where the packet goes, and starts the DMA", &["host.mmio_write"]),
    ),
    step(
        Waypoint::ReceiveArrived,
        ("start of the DMA over PCI", Layer::Bus, Part::Nic),
        cause("those stores cross the bus", &["myrinet.pci_clock"]),
    ),
    step(
        Waypoint::Deposited,
        ("packet by DMA", Layer::Dma, Part::Nic),
        cause(
            "the card's DMA brings the packet over the bus into memory",
            &["myrinet.pci_clock", "myrinet.dma_burst", "myrinet.pci_arbitration"],
        ),
    ),
    step(
        Waypoint::Completed,
        ("control program, completion", Layer::Firmware, Part::Nic),
        firmware("the control program sees that the DMA is over when it polls", "receive_step"),
    ),
    step(
        Waypoint::CompletionDrained,
        ("driver polls the card", Layer::Host, Part::Kernel),
        cause(
            "the driver looks at the card again and again, each time over the bus",
            &["host.poll_period", "myrinet.pci_clock"],
        ),
    ),
    step(
        Waypoint::ProcessLooked,
        ("waiting for the process", Layer::Host, Part::Library),
        cause("a late receiver: the process was elsewhere, and asked for a packet later", &[]),
    ),
    step(
        Waypoint::EventReturned,
        ("return to the process", Layer::Host, Part::Library),
        cause(
            "the handler returns, and the process finds the packet",
            &["host.interrupt_exit", "host.poll_period"],
        ),
    ),
    step(
        Waypoint::CallReturned,
        ("copy to the process", Layer::Host, Part::Library),
        cause("the packet is copied to the process", &["host.copy_rate"]),
    ),
];

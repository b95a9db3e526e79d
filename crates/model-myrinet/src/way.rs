//! The way of a packet, from the call that sends it to the process that has it.

use machine::instruments::journey::{
    cause, firmware, stretch, Part, Place, Stretch, Way, Waypoint,
};

/// The steps.
pub(crate) static WAY: Way = Way { legs: 1, commands: false, stretches: &STRETCHES };

/// Queues of a node, by their number.
pub(crate) static QUEUES: &[&str] =
    &["slack buffer: bytes before the card", "stores and loads that wait for the bus"];

const STRETCHES: [Stretch; 19] = [
    stretch(
        Waypoint::KernelEntered,
        ("kernel entry", Place::Host, Part::Kernel),
        cause("the process enters the kernel", &["host.kernel_entry"]),
    ),
    stretch(
        Waypoint::CommandWritten,
        ("driver, send", Place::Host, Part::Kernel),
        cause(
            "the driver copies the packet into the card by stores, and writes the command",
            &["myrinet.driver", "host.mmio_write"],
        ),
    ),
    stretch(
        Waypoint::CommandArrived,
        ("PCI to the card", Place::Bus, Part::Nic),
        cause(
            "the stores cross the bus in order, the command last",
            &["myrinet.pci_clock", "myrinet.pci_burst"],
        ),
    ),
    stretch(
        Waypoint::HeaderCommanded,
        ("control program, send", Place::Firmware, Part::Nic),
        firmware(
            "the control program sees the command when it polls, looks for the route and gives \
             route and packet to the send interface",
            "send_step",
        ),
    ),
    stretch(
        Waypoint::Injected,
        ("send interface", Place::Dma, Part::Nic),
        cause("the interface fills a slot, and goes on as the link lets it", &["myrinet.rate"]),
    ),
    stretch(
        Waypoint::Arrived,
        ("cables and switches", Place::Network, Part::Network),
        cause(
            "the packet's head passes cables and switches, and waits where others have the output",
            &["myrinet.cable", "myrinet.route"],
        ),
    ),
    stretch(
        Waypoint::Announced,
        ("receive interface", Place::Dma, Part::Nic),
        cause(
            "the packet streams into the receive buffer, once the one before has left that",
            &["myrinet.rate"],
        ),
    ),
    stretch(
        Waypoint::InterruptWritten,
        ("control program, receive", Place::Firmware, Part::Nic),
        firmware(
            "the control program sees the packet when it polls, looks at it and signals the host",
            "receive_step",
        ),
    ),
    stretch(
        Waypoint::InterruptArrived,
        ("interrupt to the host", Place::Bus, Part::Nic),
        cause("the interrupt line rises, and the processor learns of it", &["myrinet.interrupt"]),
    ),
    stretch(
        Waypoint::HandlerEntered,
        ("interrupt", Place::Host, Part::Kernel),
        cause(
            "the interrupt: entering the handler, or waiting for the one before",
            &["host.interrupt_entry"],
        ),
    ),
    stretch(
        Waypoint::EventDrained,
        ("driver, look at the card", Place::Host, Part::Kernel),
        cause(
            "the driver reads the card's words over the bus, and waits for each",
            &["myrinet.driver", "myrinet.pci_clock"],
        ),
    ),
    stretch(
        Waypoint::ReceiveWritten,
        ("driver, DMA block", Place::Host, Part::Kernel),
        cause("the driver writes where the packet goes, and starts the DMA", &["host.mmio_write"]),
    ),
    stretch(
        Waypoint::ReceiveArrived,
        ("start of the DMA over PCI", Place::Bus, Part::Nic),
        cause("those stores cross the bus", &["myrinet.pci_clock"]),
    ),
    stretch(
        Waypoint::Deposited,
        ("packet by DMA", Place::Dma, Part::Nic),
        cause(
            "the card's DMA brings the packet over the bus into memory",
            &["myrinet.pci_clock", "myrinet.dma_burst", "myrinet.pci_arbitration"],
        ),
    ),
    stretch(
        Waypoint::Completed,
        ("control program, completion", Place::Firmware, Part::Nic),
        firmware("the control program sees that the DMA is over when it polls", "receive_step"),
    ),
    stretch(
        Waypoint::CompletionDrained,
        ("driver polls the card", Place::Host, Part::Kernel),
        cause(
            "the driver looks at the card again and again, each time over the bus",
            &["host.poll_period", "myrinet.pci_clock"],
        ),
    ),
    stretch(
        Waypoint::ProcessLooked,
        ("waiting for the process", Place::Host, Part::Library),
        cause("a late receiver: the process was elsewhere, and asked for a packet later", &[]),
    ),
    stretch(
        Waypoint::EventReturned,
        ("return to the process", Place::Host, Part::Library),
        cause(
            "the handler returns, and the process finds the packet",
            &["host.interrupt_exit", "host.poll_period"],
        ),
    ),
    stretch(
        Waypoint::CallReturned,
        ("copy to the process", Place::Host, Part::Library),
        cause("the packet is copied to the process", &["host.copy_rate"]),
    ),
];

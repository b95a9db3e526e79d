//! The way of messages over Portals, on any network interface.

use super::{cause, firmware, Cause, Part, Place, Stretch, Way, Waypoint};

/// The way of a message over Portals: of a rendezvous announcement, fetch and data have one each.
pub static PORTALS: Way = Way { legs: 3, commands: true, stretches: &STRETCHES };

const fn stretch(ends: Waypoint, name: &'static str, place: Place, cause: Cause) -> Stretch {
    let part = match (ends, place) {
        (
            Waypoint::PutEntered
            | Waypoint::ProcessLooked
            | Waypoint::EventReturned
            | Waypoint::Claimed
            | Waypoint::CallReturned,
            _,
        ) => Part::Library,
        (_, Place::Host) => Part::Kernel,
        (_, Place::Network) => Part::Network,
        _ => Part::Nic,
    };
    Stretch { ends, name, place, part, cause }
}

const STRETCHES: [Stretch; 27] = [
    stretch(
        Waypoint::PutEntered,
        "MPI library, send",
        Place::Host,
        cause(
            "the library makes the request, and copies what is short",
            &["mpi.call", "mpi.request", "host.copy_rate"],
        ),
    ),
    stretch(
        Waypoint::KernelEntered,
        "kernel entry",
        Place::Host,
        cause("the process enters the kernel", &["host.kernel_entry", "portals.api_call"]),
    ),
    stretch(
        Waypoint::CommandWritten,
        "kernel Portals, send",
        Place::Host,
        cause(
            "the kernel checks the call and writes header and command",
            &["portals.api_check", "portals.translate", "host.mmio_write"],
        ),
    ),
    stretch(
        Waypoint::CommandArrived,
        "HyperTransport to the NIC",
        Place::HyperTransport,
        cause("the command crosses the host's link", &["ht.latency"]),
    ),
    stretch(
        Waypoint::HeaderCommanded,
        "firmware TX",
        Place::Firmware,
        firmware(
            "the firmware sees the command when it polls, and commands the transmit engine",
            "tx_command",
        ),
    ),
    stretch(
        Waypoint::Injected,
        "TX DMA",
        Place::Dma,
        cause(
            "the engine reads header and payload from host memory",
            &["nic.host_memory_read", "nic.tx_packet"],
        ),
    ),
    stretch(
        Waypoint::Arrived,
        "wire",
        Place::Network,
        cause(
            "the first packet passes links and routers, and waits for others there",
            &["net.link_latency", "net.route", "ideal.latency"],
        ),
    ),
    stretch(
        Waypoint::Announced,
        "RX DMA",
        Place::Dma,
        cause("the receive engine takes it in", &["nic.rx_packet", "nic.rx_notify"]),
    ),
    stretch(
        Waypoint::InterruptWritten,
        "firmware RX",
        Place::Firmware,
        firmware(
            "the firmware sees the notification when it polls, finds the source and tells the host",
            "rx_message",
        ),
    ),
    stretch(
        Waypoint::InterruptArrived,
        "HyperTransport to the host",
        Place::HyperTransport,
        cause("the interrupt crosses the host's link", &["ht.latency"]),
    ),
    stretch(
        Waypoint::HandlerEntered,
        "interrupt",
        Place::Host,
        cause(
            "the interrupt: entering the handler, or waiting for the one before",
            &["host.interrupt_entry"],
        ),
    ),
    stretch(
        Waypoint::EventDrained,
        "event queue",
        Place::Host,
        cause(
            "the handler reads the event, behind those that came before",
            &["portals.slot_read", "portals.dispatch"],
        ),
    ),
    stretch(
        Waypoint::Matched,
        "kernel Portals, match",
        Place::Host,
        Cause {
            sentence: "the kernel finds the receive in the match list",
            parameters: &["portals.header_read", "portals.list_entry"],
            function: "",
            walks: true,
        },
    ),
    stretch(
        Waypoint::ReceiveWritten,
        "kernel Portals, command",
        Place::Host,
        cause(
            "the kernel translates the buffer and writes the command",
            &["portals.translate", "portals.command_build", "host.mmio_write"],
        ),
    ),
    stretch(
        Waypoint::ReceiveArrived,
        "receive command to the NIC",
        Place::HyperTransport,
        cause("the command crosses the host's link", &["ht.latency"]),
    ),
    stretch(
        Waypoint::ReceiveCommanded,
        "firmware RX, command",
        Place::Firmware,
        firmware(
            "the firmware sees the command when it polls, and commands the receive engine",
            "rx_command",
        ),
    ),
    stretch(
        Waypoint::Deposited,
        "payload by DMA",
        Place::Dma,
        cause(
            "the payload streams through network and engines into host memory",
            &["nic.rx_packet", "net.link_latency"],
        ),
    ),
    stretch(
        Waypoint::Completed,
        "RX DMA, completion",
        Place::Dma,
        cause("the engine tells the firmware that all came", &["nic.rx_notify"]),
    ),
    stretch(
        Waypoint::CompletionWritten,
        "firmware RX, completion",
        Place::Firmware,
        firmware(
            "the firmware sees the completion when it polls, and tells the host",
            "rx_complete",
        ),
    ),
    stretch(
        Waypoint::CompletionArrived,
        "completion to the host",
        Place::HyperTransport,
        cause("that interrupt crosses the host's link", &["ht.latency"]),
    ),
    stretch(
        Waypoint::CompletionEntered,
        "second interrupt",
        Place::Host,
        cause(
            "the second interrupt: a payload costs one more than a header",
            &["host.interrupt_entry"],
        ),
    ),
    stretch(
        Waypoint::CompletionDrained,
        "event queue, completion",
        Place::Host,
        cause(
            "the handler reads the event, behind those before",
            &["portals.slot_read", "portals.dispatch"],
        ),
    ),
    stretch(
        Waypoint::EventPosted,
        "kernel Portals, receive",
        Place::Host,
        cause(
            "the kernel posts the event to the process",
            &["portals.event_post", "host.copy_rate"],
        ),
    ),
    stretch(
        Waypoint::ProcessLooked,
        "waiting for the process",
        Place::Host,
        cause("a late receiver: the process was elsewhere, and looked at its queue later", &[]),
    ),
    stretch(
        Waypoint::EventReturned,
        "return to the process",
        Place::Host,
        cause(
            "the handler returns, behind others that came, and the process finds the event",
            &["host.interrupt_exit", "host.poll_period", "portals.event_get"],
        ),
    ),
    stretch(
        Waypoint::Claimed,
        "waiting for the receive",
        Place::Host,
        cause("a late receiver: the message was unexpected, and its receive was called later", &[]),
    ),
    stretch(
        Waypoint::CallReturned,
        "MPI library, receive",
        Place::Host,
        cause(
            "the library completes the request",
            &["mpi.event", "mpi.unexpected_entry", "host.copy_rate"],
        ),
    ),
];

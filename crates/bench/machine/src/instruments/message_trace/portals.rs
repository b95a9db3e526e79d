//! The way of messages over Portals, on any network interface.

use super::{cause, firmware, walk, Cause, Layer, MessagePath, Part, PathStep, Waypoint};

/// The way of a message over Portals: of a rendezvous announcement, fetch and data have one each.
pub static PORTALS: MessagePath = MessagePath { legs: 3, commands: true, steps: &STEPS };

const fn step(ends: Waypoint, name: &'static str, place: Layer, cause: Cause) -> PathStep {
    let part = match (ends, place) {
        (
            Waypoint::PutEntered
            | Waypoint::ProcessLooked
            | Waypoint::EventReturned
            | Waypoint::Claimed
            | Waypoint::CallReturned,
            _,
        ) => Part::Library,
        (Waypoint::Repeated, _) => Part::Refused,
        (_, Layer::Host) => Part::Kernel,
        (_, Layer::Network) => Part::Network,
        _ => Part::Nic,
    };
    PathStep { ends, name, place, part, cause }
}

const STEPS: [PathStep; 30] = [
    step(
        Waypoint::PutEntered,
        "MPI library, send",
        Layer::Host,
        cause(
            "the library makes the request, and copies what is short",
            &["mpi.call", "mpi.request", "host.copy_rate"],
        ),
    ),
    step(
        Waypoint::KernelEntered,
        "kernel entry",
        Layer::Host,
        cause("the process enters the kernel", &["host.kernel_entry", "portals.api_call"]),
    ),
    step(
        Waypoint::CommandWritten,
        "kernel Portals, send",
        Layer::Host,
        cause(
            "the kernel checks the call and writes header and command",
            &["portals.api_check", "portals.translate", "host.mmio_write"],
        ),
    ),
    step(
        Waypoint::CommandArrived,
        "HyperTransport to the NIC",
        Layer::HyperTransport,
        cause("the command crosses the host's link", &["ht.latency"]),
    ),
    step(
        Waypoint::HeaderCommanded,
        "firmware TX",
        Layer::Firmware,
        firmware(
            "the firmware sees the command when it polls, and commands the transmit engine",
            "tx_command",
        ),
    ),
    step(
        Waypoint::Injected,
        "TX DMA",
        Layer::Dma,
        cause(
            "the engine reads header and payload from host memory",
            &["nic.host_memory_read", "nic.tx_packet"],
        ),
    ),
    step(
        Waypoint::Arrived,
        "wire",
        Layer::Network,
        cause(
            "the first packet passes links and routers, and waits for others there",
            &["net.link_latency", "net.route", "ideal.latency"],
        ),
    ),
    step(
        Waypoint::Repeated,
        "refused, until it came again",
        Layer::Firmware,
        cause(
            "the target had no room: the message waited at its sender until it was called",
            &["firmware.overflow", "firmware.sources", "portals.tx_pendings"],
        ),
    ),
    step(
        Waypoint::Announced,
        "RX DMA",
        Layer::Dma,
        cause("the receive engine takes it in", &["nic.rx_packet", "nic.rx_notify"]),
    ),
    step(
        Waypoint::HeaderRead,
        "firmware RX, header",
        Layer::Firmware,
        firmware(
            "the firmware sees the notification when it polls, finds the source and copies the header",
            "accel_message",
        ),
    ),
    step(
        Waypoint::Searched,
        "firmware RX, match",
        Layer::Firmware,
        walk("the firmware finds the receive in the match list", "match_request"),
    ),
    step(
        Waypoint::InterruptWritten,
        "firmware RX",
        Layer::Firmware,
        firmware(
            "the firmware sees the notification when it polls, finds the source and tells the host",
            "rx_message",
        ),
    ),
    step(
        Waypoint::InterruptArrived,
        "HyperTransport to the host",
        Layer::HyperTransport,
        cause("the interrupt crosses the host's link", &["ht.latency"]),
    ),
    step(
        Waypoint::HandlerEntered,
        "interrupt",
        Layer::Host,
        cause(
            "the interrupt: entering the handler, or waiting for the one before",
            &["host.interrupt_entry"],
        ),
    ),
    step(
        Waypoint::EventDrained,
        "event queue",
        Layer::Host,
        cause(
            "the handler, or the process's library, reads the event, behind those that came before",
            &["portals.slot_read", "portals.dispatch"],
        ),
    ),
    step(
        Waypoint::Matched,
        "kernel Portals, match",
        Layer::Host,
        Cause {
            sentence: "the kernel finds the receive in the match list",
            parameters: &["portals.header_read", "portals.list_entry"],
            function: "",
            walks: true,
        },
    ),
    step(
        Waypoint::ReceiveWritten,
        "kernel Portals, command",
        Layer::Host,
        cause(
            "the kernel translates the buffer and writes the command",
            &["portals.translate", "portals.command_build", "host.mmio_write"],
        ),
    ),
    step(
        Waypoint::ReceiveArrived,
        "receive command to the NIC",
        Layer::HyperTransport,
        cause("the command crosses the host's link", &["ht.latency"]),
    ),
    step(
        Waypoint::ReceiveCommanded,
        "firmware RX, command",
        Layer::Firmware,
        firmware(
            "the firmware sees the command when it polls, and commands the receive engine",
            "rx_command",
        ),
    ),
    step(
        Waypoint::Deposited,
        "payload by DMA",
        Layer::Dma,
        cause(
            "the payload streams through network and engines into host memory",
            &["nic.rx_packet", "net.link_latency"],
        ),
    ),
    step(
        Waypoint::Completed,
        "RX DMA, completion",
        Layer::Dma,
        cause("the engine tells the firmware that all came", &["nic.rx_notify"]),
    ),
    step(
        Waypoint::CompletionWritten,
        "firmware RX, completion",
        Layer::Firmware,
        firmware(
            "the firmware sees the completion when it polls, and tells the host",
            "rx_complete",
        ),
    ),
    step(
        Waypoint::CompletionArrived,
        "completion to the host",
        Layer::HyperTransport,
        cause("that interrupt crosses the host's link", &["ht.latency"]),
    ),
    step(
        Waypoint::CompletionEntered,
        "second interrupt",
        Layer::Host,
        cause(
            "the second interrupt: a payload costs one more than a header",
            &["host.interrupt_entry"],
        ),
    ),
    step(
        Waypoint::CompletionDrained,
        "event queue, completion",
        Layer::Host,
        cause(
            "the handler reads the event, behind those before",
            &["portals.slot_read", "portals.dispatch"],
        ),
    ),
    step(
        Waypoint::EventPosted,
        "kernel Portals, receive",
        Layer::Host,
        cause(
            "the kernel, or the process's library, posts the event",
            &["portals.event_post", "host.copy_rate"],
        ),
    ),
    step(
        Waypoint::ProcessLooked,
        "waiting for the process",
        Layer::Host,
        cause("a late receiver: the process was elsewhere, and looked at its queue later", &[]),
    ),
    step(
        Waypoint::EventReturned,
        "return to the process",
        Layer::Host,
        cause(
            "the handler returns, behind others that came, and the process finds the event",
            &["host.interrupt_exit", "host.poll_period", "portals.event_get"],
        ),
    ),
    step(
        Waypoint::Claimed,
        "waiting for the receive",
        Layer::Host,
        cause("a late receiver: the message was unexpected, and its receive was called later", &[]),
    ),
    step(
        Waypoint::CallReturned,
        "MPI library, receive",
        Layer::Host,
        cause(
            "the library completes the request",
            &["mpi.event", "mpi.unexpected_entry", "host.copy_rate"],
        ),
    ),
];

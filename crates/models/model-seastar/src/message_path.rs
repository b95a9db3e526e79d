//! The way of a message over Portals, from the call that sends it to the process that has it. By rendezvous
//! it goes three legs: the announcement, the fetch, the data.

use crate::rows::{Driver, DriverCosts, Firmware, Link, Memory, Receive, Transmit};
use machine::instruments::message_trace::{
    cause, firmware, portals as steps, step, walk, Cause, Layer, MessagePath, Part, PathStep,
    Waypoint,
};
use machine::parameters::hosts::{Catamount, Host, Linux, Portals};
use mesh_network::Routers;

/// The link between host and NIC.
const HYPERTRANSPORT: Layer = Layer::new("hypertransport", "HyperTransport between host and NIC");

// Waypoints of its own.

/// The TX engine took the firmware's command for the header.
pub(crate) const HEADER_COMMANDED: Waypoint = Waypoint::own(0);
/// The firmware could see the notification.
pub(crate) const ANNOUNCED: Waypoint = Waypoint::own(1);
/// The RX engine took the firmware's command for the payload.
pub(crate) const RECEIVE_COMMANDED: Waypoint = Waypoint::own(2);
/// The payload was in host memory.
pub(crate) const DEPOSITED: Waypoint = Waypoint::own(3);
/// The firmware could see the completion.
pub(crate) const COMPLETED: Waypoint = Waypoint::own(4);

/// The steps.
pub(crate) static MESSAGE_PATH: MessagePath =
    MessagePath { legs: 3, commands: true, steps: &STEPS };

const STEPS: [PathStep; 35] = [
    steps::PROVIDER_SENDS,
    steps::LIBRARY_SENDS,
    steps::USER_SENDS,
    steps::KERNEL_ENTRY,
    steps::KERNEL_SENDS,
    step(
        Waypoint::COMMAND_ARRIVED,
        "HyperTransport to the NIC",
        HYPERTRANSPORT,
        Part::Nic,
        cause("the command crosses the host's link", &[Link::latency]),
    ),
    step(
        HEADER_COMMANDED,
        "firmware TX",
        Layer::FIRMWARE,
        Part::Nic,
        firmware(
            "the firmware sees the command when it polls, and commands the transmit engine",
            "tx_command, of a process on the network interface tx_straight",
        ),
    ),
    step(
        Waypoint::INJECTED,
        "TX DMA",
        Layer::DMA,
        Part::Nic,
        cause(
            "the engine reads the header, where the process's command brought it from SRAM, else \
             as the payload from host memory",
            &[Memory::host_memory_read, Transmit::tx_packet],
        ),
    ),
    step(
        Waypoint::ARRIVED,
        "wire",
        Layer::NETWORK,
        Part::Network,
        cause(
            "the first packet passes links and routers, and waits for others there",
            &[Routers::link_latency, Routers::route],
        ),
    ),
    step(
        Waypoint::REPEATED,
        "refused, until it came again",
        Layer::FIRMWARE,
        Part::Refused,
        cause(
            "the target had no room: the message waited at its sender until it was called",
            &[Firmware::overflow, Firmware::sources, Driver::tx_pendings],
        ),
    ),
    step(
        ANNOUNCED,
        "RX DMA",
        Layer::DMA,
        Part::Nic,
        cause("the receive engine takes it in", &[Receive::rx_packet, Receive::rx_notify]),
    ),
    step(
        Waypoint::HEADER_READ,
        "firmware RX, header",
        Layer::FIRMWARE,
        Part::Nic,
        firmware(
            "the firmware sees the notification when it polls, finds the source and copies the \
             header",
            "accel_message",
        ),
    ),
    step(
        Waypoint::SEARCHED,
        "firmware RX, match",
        Layer::FIRMWARE,
        Part::Nic,
        walk("the firmware finds the receive in the match list", "match_request"),
    ),
    step(
        Waypoint::INTERRUPT_WRITTEN,
        "firmware RX",
        Layer::FIRMWARE,
        Part::Nic,
        firmware(
            "the firmware sees the notification when it polls, finds the source and tells the host",
            "rx_message",
        ),
    ),
    step(
        Waypoint::INTERRUPT_ARRIVED,
        "HyperTransport to the host",
        HYPERTRANSPORT,
        Part::Nic,
        cause("what the firmware tells the host crosses the host's link", &[Link::latency]),
    ),
    step(
        Waypoint::RING_READ,
        "event ring",
        Layer::HOST,
        Part::Library,
        cause(
            "the process's library reads the event, behind those that came before",
            &[DriverCosts::slot_read, DriverCosts::dispatch],
        ),
    ),
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
        "event queue",
        Layer::HOST,
        Part::Kernel,
        cause(
            "the handler reads the event, behind those that came before",
            &[DriverCosts::slot_read, DriverCosts::dispatch],
        ),
    ),
    step(
        Waypoint::MATCHED,
        "kernel Portals, match",
        Layer::HOST,
        Part::Kernel,
        Cause {
            sentence: "the kernel finds the receive in the match list",
            parameters: &[DriverCosts::header_read, Portals::list_entry],
            function: "",
            walks: true,
        },
    ),
    step(
        Waypoint::RECEIVE_WRITTEN,
        "kernel Portals, command",
        Layer::HOST,
        Part::Kernel,
        cause(
            "the kernel translates the buffer and writes the command",
            &[Portals::translate, DriverCosts::command_build, Host::mmio_write],
        ),
    ),
    step(
        Waypoint::RECEIVE_ARRIVED,
        "receive command to the NIC",
        HYPERTRANSPORT,
        Part::Nic,
        cause("the command crosses the host's link", &[Link::latency]),
    ),
    step(
        RECEIVE_COMMANDED,
        "firmware RX, command",
        Layer::FIRMWARE,
        Part::Nic,
        firmware(
            "the firmware sees the command when it polls, and commands the receive engine",
            "rx_command",
        ),
    ),
    step(
        DEPOSITED,
        "payload by DMA",
        Layer::DMA,
        Part::Nic,
        cause(
            "the payload streams through network and engines into host memory",
            &[Receive::rx_packet, Routers::link_latency],
        ),
    ),
    step(
        COMPLETED,
        "RX DMA, completion",
        Layer::DMA,
        Part::Nic,
        cause("the engine tells the firmware that all came", &[Receive::rx_notify]),
    ),
    step(
        Waypoint::COMPLETION_WRITTEN,
        "firmware RX, completion",
        Layer::FIRMWARE,
        Part::Nic,
        firmware(
            "the firmware sees the completion when it polls, and tells the host",
            "rx_complete",
        ),
    ),
    step(
        Waypoint::COMPLETION_ARRIVED,
        "completion to the host",
        HYPERTRANSPORT,
        Part::Nic,
        cause("that crosses the host's link", &[Link::latency]),
    ),
    step(
        Waypoint::RING_COMPLETED,
        "event ring, completion",
        Layer::HOST,
        Part::Library,
        cause(
            "the process's library reads the event, behind those before",
            &[DriverCosts::slot_read, DriverCosts::dispatch],
        ),
    ),
    step(
        Waypoint::COMPLETION_ENTERED,
        "second interrupt",
        Layer::HOST,
        Part::Kernel,
        cause(
            "the second interrupt: a payload costs one more than a header",
            &[Catamount::interrupt_entry, Linux::interrupt_entry],
        ),
    ),
    step(
        Waypoint::COMPLETION_DRAINED,
        "event queue, completion",
        Layer::HOST,
        Part::Kernel,
        cause(
            "the handler reads the event, behind those before",
            &[DriverCosts::slot_read, DriverCosts::dispatch],
        ),
    ),
    steps::KERNEL_RECEIVES,
    steps::USER_RECEIVES,
    steps::PROCESS_LATE,
    steps::RETURN,
    steps::RECEIVE_LATE,
    steps::LIBRARY_RECEIVES,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_step_in_its_order() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/reference/breakdown.md");
        let page = std::fs::read_to_string(page).unwrap();
        let (page, _) = page.split_once("\n## ").unwrap();
        let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
        let steps: Vec<&str> = rows.skip(1).collect();
        assert!(steps.into_iter().eq(MESSAGE_PATH.steps.iter().map(|step| step.name)));
    }
}

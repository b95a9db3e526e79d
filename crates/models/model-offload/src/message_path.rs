//! The way of a message over network interfaces that keep MPI's queues, from the call that sends it to the
//! process that has it. By rendezvous it goes three legs: the request, the receiver's answer, the bytes.

use crate::settings::{Card, Completion, Unit, Wire};
use machine::instruments::message_trace::{
    cause, firmware, step, walk, Cause, Layer, MessagePath, Part, PathStep, Waypoint,
};
use machine::instruments::timeline::Queue;
use machine::parameters::hosts::{Host, Mpi};
use mesh_network::Routers;

// Waypoints of its own.

/// The TX engine took the firmware's command for the header.
pub(crate) const HEADER_COMMANDED: Waypoint = Waypoint::own(0);
/// The firmware could see the notification.
pub(crate) const ANNOUNCED: Waypoint = Waypoint::own(1);
/// The entries that it had to wait for were inserted into the lists of the matching units.
pub(crate) const INSERTED: Waypoint = Waypoint::own(2);
/// A matching unit had answered, and the answer was fetched.
pub(crate) const UNIT_ANSWERED: Waypoint = Waypoint::own(3);
/// The matching unit of kept messages had answered for the receive.
pub(crate) const UNIT_FOUND: Waypoint = Waypoint::own(4);
/// The firmware had found the message among those that it keeps.
pub(crate) const FOUND: Waypoint = Waypoint::own(5);
/// The RX engine took the firmware's command for the payload.
pub(crate) const RECEIVE_COMMANDED: Waypoint = Waypoint::own(6);
/// The payload was in host memory.
pub(crate) const DEPOSITED: Waypoint = Waypoint::own(7);

/// The steps over wires.
pub(crate) static MESSAGE_PATH: MessagePath =
    MessagePath { legs: 3, commands: false, steps: &ON_WIRES };

/// The steps over a mesh.
pub(crate) static MESH_PATH: MessagePath =
    MessagePath { legs: 3, commands: false, steps: &ON_MESH };

/// The host of these steps: no kernel is entered, and there is no Portals.
pub(crate) const HOST_CAPTION: (&str, &str) = ("host", "host processor: the program and its MPI");

/// Queues of a node, by their number.
pub(crate) static QUEUES: &[Queue] = &[
    Queue::named("command FIFOs: commands that the firmware has not fetched"),
    Queue::named("header FIFO: headers that the firmware has not fetched"),
    Queue::named("send engine: messages that have not left"),
    Queue::named("receive DMA engine: descriptors that are not done"),
    Queue::named("unit for posted receives: entries"),
    Queue::named("unit for posted receives: headers without a result"),
    Queue::named("unit for unexpected messages: entries"),
    Queue::named("unit for unexpected messages: receives without a result"),
];

static ON_WIRES: [PathStep; 22] = steps(Crossing {
    name: "wire",
    crosses: cause("the message's beginning crosses the wire", &[Wire::wire]),
    arrives: cause(
        "the header comes, behind the message before it, and wants a place in the FIFO and in \
         that of the unit",
        &[Wire::wire_rate],
    ),
    moves: cause(
        "the engine moves the payload to its buffer, behind those before it",
        &[Card::dma_rate, Wire::wire_rate, Card::bus],
    ),
});

static ON_MESH: [PathStep; 22] = steps(Crossing {
    name: "network",
    crosses: cause(
        "the message's first packet crosses routers and links, behind those of others, and is \
         taken from its buffer",
        &[Routers::route, Routers::link_latency, Routers::flit, Routers::port_flit, Card::dma_rate],
    ),
    arrives: cause("the header wants a place in the FIFO and in that of the unit", &[]),
    moves: cause(
        "the other packets come, and the engine moves the payload to its buffer, behind those \
         before it",
        &[Card::dma_rate, Routers::flit, Card::bus],
    ),
});

/// Steps that depend on what joins the cards.
struct Crossing {
    /// Name of the way between them.
    name: &'static str,
    /// Causes of that step, of the arrival of a header, and of the payload's way to its buffer.
    crosses: Cause,
    arrives: Cause,
    moves: Cause,
}

const fn steps(crossing: Crossing) -> [PathStep; 22] {
    [
    step(
        Waypoint::PUT_ENTERED,
        "MPI library, send",
        Layer::HOST,
        Part::Library,
        cause("the MPI library's own work", &[Mpi::call, Mpi::request]),
    ),
    step(
        Waypoint::COMMAND_WRITTEN,
        "command by stores",
        Layer::HOST,
        Part::Library,
        cause(
            "the library stores the command word by word, and rings the doorbell",
            &[Host::mmio_write],
        ),
    ),
    step(
        Waypoint::COMMAND_ARRIVED,
        "firmware sees the command",
        Layer::FIRMWARE,
        Part::Nic,
        firmware(
            "the firmware is elsewhere in its loop, then polls and fetches the command's lines",
            "take_commands",
        ),
    ),
    step(
        HEADER_COMMANDED,
        "firmware, send",
        Layer::FIRMWARE,
        Part::Nic,
        firmware("the firmware gives the send engine header and payload", "send_command"),
    ),
    step(
        Waypoint::INJECTED,
        "send engine",
        Layer::DMA,
        Part::Nic,
        cause(
            "the engine reads the payload from the host's memory, behind the sends before it",
            &[Card::bus, Card::host_memory, Card::dma_rate],
        ),
    ),
    step(
        Waypoint::ARRIVED,
        crossing.name,
        Layer::NETWORK,
        Part::Network,
        crossing.crosses,
    ),
    step(
        ANNOUNCED,
        "receive engine",
        Layer::DMA,
        Part::Nic,
        crossing.arrives,
    ),
    step(
        INSERTED,
        "inserts into a unit",
        Layer::FIRMWARE,
        Part::Nic,
        firmware("the firmware gives a unit entries of its list meanwhile", "refill"),
    ),
    step(
        Waypoint::EVENT_DRAINED,
        "firmware sees the header",
        Layer::FIRMWARE,
        Part::Nic,
        firmware(
            "the firmware is elsewhere in its loop, then polls and fetches the header's line",
            "take_headers",
        ),
    ),
    step(
        UNIT_ANSWERED,
        "match in the unit",
        Layer::UNIT,
        Part::Nic,
        cause(
            "the unit compares all entries that it holds, and the firmware fetches the result over \
             the bus",
            &[Unit::clock, Card::bus],
        ),
    ),
    step(
        Waypoint::MATCHED,
        "match in software",
        Layer::FIRMWARE,
        Part::Nic,
        walk("the firmware walks the list of posted receives", "search_posted"),
    ),
    step(
        Waypoint::RECEIVE_WRITTEN,
        "waiting for the receive",
        Layer::HOST,
        Part::Library,
        cause("a late receiver: the message was kept until the receive was called", &[]),
    ),
    step(
        Waypoint::RECEIVE_ARRIVED,
        "firmware sees the receive",
        Layer::FIRMWARE,
        Part::Nic,
        firmware(
            "the firmware is elsewhere in its loop, then polls and fetches the command's lines",
            "take_commands",
        ),
    ),
    step(
        UNIT_FOUND,
        "unexpected: match in the unit",
        Layer::UNIT,
        Part::Nic,
        cause(
            "the unit compares all messages that it holds, and the firmware fetches the result \
             over the bus",
            &[Unit::clock, Card::bus],
        ),
    ),
    step(
        FOUND,
        "unexpected: match in software",
        Layer::FIRMWARE,
        Part::Nic,
        firmware("the firmware walks the list of unexpected messages", "search_unexpected"),
    ),
    step(
        RECEIVE_COMMANDED,
        "firmware, receive",
        Layer::FIRMWARE,
        Part::Nic,
        firmware("the firmware gives the receive DMA engine a descriptor", "receive_advance"),
    ),
    step(
        DEPOSITED,
        "payload by DMA",
        Layer::DMA,
        Part::Nic,
        crossing.moves,
    ),
    step(
        Waypoint::COMPLETION_WRITTEN,
        "firmware, completion",
        Layer::FIRMWARE,
        Part::Nic,
        firmware("the firmware sees that, and stores the completion", "complete"),
    ),
    step(
        Waypoint::EVENT_POSTED,
        "completion over the bus",
        Layer::BUS,
        Part::Nic,
        cause("the completion's stores cross the bus", &[Card::bus]),
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
        "MPI library sees the completion",
        Layer::HOST,
        Part::Library,
        cause(
            "the library polls the ring, and reads the completion",
            &[Host::poll_period, Completion::completion_read],
        ),
    ),
    step(
        Waypoint::CALL_RETURNED,
        "MPI library, receive",
        Layer::HOST,
        Part::Library,
        cause("the library's own work, and the call returns", &[Mpi::event]),
    ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn text(name: &str) -> String {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(name);
        std::fs::read_to_string(file).unwrap()
    }

    #[test]
    fn the_page_has_every_step_in_its_order() {
        let page = text("docs/reference/breakdown.md");
        let (_, section) = page.split_once("\n## Queues on the network interface\n").unwrap();
        let section = section.split("\n## ").next().unwrap();
        let rows = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
        assert!(rows.clone().skip(1).eq(MESSAGE_PATH.steps.iter().map(|step| step.name)));
        let on_mesh = |name| if name == "wire" { "network" } else { name };
        assert!(rows.skip(1).map(on_mesh).eq(MESH_PATH.steps.iter().map(|step| step.name)));
    }

    /// Parameters and functions that explain a step are there.
    #[test]
    fn causes_name_what_there_is() {
        let machine =
            ["redstorm", "alpu"].map(|name| text(&format!("machines/{name}.toml"))).concat();
        let files = ["command", "send", "receive", "unit", "search", "complete"];
        let core: String =
            files.map(|file| text(&format!("firmware/offload/core/{file}.c"))).concat();
        let steps = MESSAGE_PATH.steps.iter().chain(MESH_PATH.steps);
        for PathStep { name, place, cause, .. } in steps {
            for key in cause.parameters {
                assert!(machine.contains(&format!("[{key}]")), "{name}: no {key}");
            }
            let is = core.contains(&format!("{}(", cause.function));
            assert!(is && cause.function.is_empty() == (*place != Layer::FIRMWARE), "{name}");
        }
    }
}

//! The model of the SeaStar: its node, its firmware, and how both become a run (pedretti2005).
//!
//! ```text
//! configure ─► assembly ─► node (host, NIC with its processor, router)
//!                │           ├─ node ports: what host, NIC, processor and router ask of one another
//!                │           └─ warm: one boot for all nodes
//!                ├─ boot: who begins with that boot
//!                └─ firmware: its image, its trace
//!   meter: what the processor model costs the machine that simulates
//! ```

pub(crate) mod assembly;
mod boot;
pub(crate) mod configure;
mod faults;
pub mod firmware;
mod message_path;
pub mod meter;
pub(crate) mod node;
pub mod probe;
mod queues;
pub mod rows;
pub(crate) mod run;
#[cfg(test)]
mod tests;

pub use ppc440_debug::debugger;

use abi::seastar::{CAM_ENTRIES, INLINE_MAX};
use machine::instruments::timeline::Room;
use machine::models::{Depth, Firmware, Model, Processor};
use machine::parameters::hosts;

pub(crate) use rows::ROWS;

/// The row of this model.
pub static MODEL: Model = Model {
    firmware: Some(&FIRMWARE),
    messages: Some(&message_path::MESSAGE_PATH),
    queues: queues::QUEUES,
    depths: DEPTHS,
    captions: &[("latency-small", INLINE), ("host", "host processor: program and system software")],
    packets: true,
    faults: faults::KINDS,
    exhausted: &["no receive pending is free"],
    link_type: Some(147),
    processes: true,
    hosts: hosts::WITH_PORTALS,
    accelerated: |machine| rows::Firmware::of(machine).accelerates(),
    idle: |machine, key| {
        let returns = [hosts::Catamount::interrupt_exit, hosts::Linux::interrupt_exit];
        returns.contains(&key) && rows::Firmware::of(machine).accelerates()
    },
    collectives: true,
    nodes: run::nodes,
    check: run::check,
    ..Model::new(
        "seastar",
        "Cray SeaStar: firmware on a PowerPC 440, DMA engines, a mesh or torus (pedretti2005)",
        ROWS,
        run::run,
    )
};

/// Queues whose greatest depth its nodes count.
const DEPTHS: &[Depth] = &[
    depth("kernel.tx_pendings_max", "transmit pendings in use", Room::Untold),
    depth("kernel.rx_pendings_max", "receive pendings in use", Room::Untold),
    depth(
        "rx.cam_in_use_max",
        "messages being received (CAM entries)",
        Room::Entries(CAM_ENTRIES as u64),
    ),
    depth(
        "rx.held_max",
        "packets that the receive engine holds",
        Room::Parameter(mesh_network::Room::rx_buffers),
    ),
    depth(
        "rx.buffered_bytes_max",
        "bytes that wait in the receive engine for a command",
        Room::Untold,
    ),
    depth("net.input_flits_max", "flits in an input queue of the router", Room::Untold),
];

const fn depth(counter: &'static str, name: &'static str, room: Room) -> Depth {
    Depth { counter, name, room }
}

/// About small messages.
const INLINE: &str = "With inline messages, up to 12 bytes travel in the header packet, which \
                      saves an interrupt.";
const _: () = assert!(INLINE_MAX == 12);

/// Firmware of the SeaStar's processor.
pub(crate) static FIRMWARE: Firmware = Firmware {
    sources: "firmware/seastar",
    shared: &[],
    built: None,
    elf: "seastar.elf",
    images: &["seastar.elf", "seastar.img", "shim.img"],
    processor: Processor::PowerPc,
    clock: ppc440_debug::clock,
    ring: true,
    listing: firmware::image::listing,
};

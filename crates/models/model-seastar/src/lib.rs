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
mod rows;
pub(crate) mod run;
#[cfg(test)]
mod tests;

pub use ppc440_debug::debugger;

use machine::models::{Firmware, Model, Processor};

pub(crate) use rows::ROWS;

/// The row of this model.
pub static MODEL: Model = Model {
    firmware: Some(&FIRMWARE),
    messages: Some(&message_path::MESSAGE_PATH),
    packets: true,
    faults: faults::KINDS,
    exhausted: &["no receive pending is free"],
    link_type: Some(147),
    processes: true,
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

/// Firmware of the SeaStar's processor.
pub(crate) static FIRMWARE: Firmware = Firmware {
    sources: "firmware/seastar",
    shared: &[],
    built: None,
    elf: "seastar.elf",
    images: &["seastar.elf", "seastar.img", "shim.img"],
    processor: Processor::PowerPc,
    ring: true,
    listing: firmware::image::listing,
};

//! Options of the firmware that is built for a machine.

use crate::rows::{Firmware, Overflow};
use machine::parameters::hosts::Collectives;
use machine::parameters::Parameters;

/// Options for which there is no firmware.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// The kernel recovers, and accelerated processes do without it.
    #[error(
        "firmware.overflow=host: the kernel recovers for its own Portals, and accelerated \
         processes do without it; set firmware.overflow=nic, or firmware.accelerated=0"
    )]
    HostRecovery,
    /// Collective operations without what they need.
    #[error(
        "mpi.barrier=nic and mpi.allreduce=nic: the firmware performs collective operations for \
         accelerated processes, by the control class of its recovery; take machine \
         redstorm-accelerated, or set firmware.accelerated=1 and firmware.overflow=nic"
    )]
    Collectives,
    /// The place of the trace ring is taken.
    #[error(
        "firmware.trace=on: firmware.overflow=nic keeps in the trace ring's place whom it has \
         refused; set firmware.overflow=panic to trace"
    )]
    Trace,
}

/// True if the firmware performs collective operations.
pub fn collectives(parameters: &Parameters) -> bool {
    let Collectives { barrier, allreduce, .. } = Collectives::of(parameters);
    [barrier, allreduce].contains(&"nic")
}

/// Checks that there is firmware with these options.
pub fn can_build(parameters: &Parameters) -> Result<(), OptionsError> {
    let firmware = Firmware::of(parameters);
    let recovers = firmware.overflow == Overflow::Nic;
    if firmware.overflow == Overflow::Host && firmware.accelerates() {
        return Err(OptionsError::HostRecovery);
    }
    if collectives(parameters) && !(firmware.accelerates() && recovers) {
        return Err(OptionsError::Collectives);
    }
    if firmware.trace && recovers {
        return Err(OptionsError::Trace);
    }
    Ok(())
}

/// Folder, below that of all firmware builds, of the build with a machine's options.
pub fn variant(parameters: &Parameters) -> String {
    let firmware = Firmware::of(parameters);
    let switch = |on| if on { "on" } else { "off" };
    let sources = match firmware.sources {
        abi::seastar::SOURCES => String::new(),
        few => format!("_sources-{few}"),
    };
    let accelerated = if firmware.accelerates() { "_accelerated-on" } else { "" };
    let overflow = match firmware.overflow {
        Overflow::Panic => "",
        Overflow::Host => "_overflow-host",
        Overflow::Nic => "_overflow-nic",
    };
    let collectives = if collectives(parameters) { "_collectives-on" } else { "" };
    format!(
        "cache-{}_inline-{}_shadow-{}_trace-{}_pinned-{}{sources}{accelerated}{overflow}\
         {collectives}",
        firmware.cache,
        switch(firmware.inline),
        switch(firmware.shadow_fifos),
        switch(firmware.trace),
        switch(firmware.pinned_regs),
    )
}

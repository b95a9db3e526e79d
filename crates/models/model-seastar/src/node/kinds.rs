//! Kinds of events: whom they concern.

use super::*;

/// Observer of the processor's state, or of its memory, in an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visible {
    /// The firmware may see something of it, so it must have been run up to this time before.
    Firmware,
    /// The processor is looked at.
    Bench,
    /// Neither: what follows from it for the firmware comes by other events.
    Nobody,
}

pub(crate) fn is_visible(nic: &seastar_nic::SeaStar, event: &Event) -> Visible {
    match event {
        Event::Nic(event) if nic.is_visible(event) => Visible::Firmware,
        Event::MmioWrite { .. } | Event::MmioRead { .. } => Visible::Firmware,
        Event::PollReady | Event::Observe | Event::Launch => Visible::Bench,
        Event::Nic(_) | Event::Host(_) => Visible::Nobody,
        Event::MmioReply { .. } | Event::Interrupt => Visible::Nobody,
    }
}

/// True for events in which software of the host runs, which may fail.
pub(super) fn is_for_host(event: &Event) -> bool {
    matches!(
        event,
        Event::Host(_)
            | Event::MmioReply { .. }
            | Event::Interrupt
            | Event::PollReady
            | Event::Launch
    )
}

/// A number for each kind of event, for the trace hash; 3 to 5 are [`DatapathEvent`]s.
pub(super) fn kind(event: &Event) -> u64 {
    match event {
        Event::Nic(_) => 1,
        Event::Host(event) => 2 | (event.core() as u64) << 8,
        Event::MmioWrite { addr, data, .. } => {
            6 ^ u64::from(*addr) << 8 ^ u64::from_le_bytes(*data).rotate_left(17)
        }
        Event::MmioRead { addr } => 7 | u64::from(*addr) << 8,
        Event::MmioReply { value } => 8 | u64::from(*value) << 8,
        Event::Interrupt => 9,
        Event::PollReady | Event::Observe => 10,
        Event::Launch => 11,
    }
}

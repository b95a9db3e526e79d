//! Kinds of events: whom they concern.

/// Event of a node, except those of the datapath.
pub(crate) type Event = machine::node::Event<seastar_nic::Event>;

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

#[inline(always)]
pub(crate) fn is_visible(nic: &seastar_nic::SeaStar, event: &Event) -> Visible {
    match event {
        Event::Nic(event) if nic.is_visible(event) => Visible::Firmware,
        Event::Store { .. } | Event::StoreLine { .. } | Event::Load { .. } => Visible::Firmware,
        Event::Look | Event::Observe | Event::Launch => Visible::Bench,
        Event::Nic(_) | Event::Host(_) | Event::Message { .. } => Visible::Nobody,
        Event::Answer { .. } | Event::AnswerLine { .. } => Visible::Nobody,
        Event::Interrupt { .. } | Event::Attend => Visible::Nobody,
    }
}

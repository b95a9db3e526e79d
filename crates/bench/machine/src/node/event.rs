//! Events on a node.

use super::Nic;

/// Event on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<E> {
    /// Event of the interface ([`super::Ports::schedule`]).
    Nic(E),
    /// Event of the host.
    Host(host::Event),
    /// Message from another node. It is kept outside of the event, so that events are small.
    Message {
        /// Its place.
        slot: u32,
    },
    /// A store of the host arrives at the interface.
    Store {
        /// Its address there.
        addr: u64,
        /// Number of its bytes.
        len: u8,
        /// The bytes.
        data: [u8; 8],
    },
    /// A store of more bytes, which are kept outside of the event.
    StoreLine {
        /// Their place.
        slot: u32,
        /// Its address at the interface.
        addr: u64,
    },
    /// A load of the host arrives at the interface.
    Load {
        /// Its address there.
        addr: u64,
        /// Number of its bytes.
        len: u8,
    },
    /// The answer to a load arrives at the host.
    Answer {
        /// Number of its bytes.
        len: u8,
        /// The bytes.
        data: [u8; 8],
    },
    /// An answer of more bytes, which are kept outside of the event.
    AnswerLine {
        /// Their place.
        slot: u32,
    },
    /// The host is interrupted.
    Interrupt {
        /// By this vector.
        vector: u8,
    },
    /// Runs the fibres that the interface has woken.
    Attend,
    /// Look whether the interface is ready for the host's kernel ([`Nic::look_again`]).
    Look,
    /// The interface's processor is observed from now on ([`Nic::observe`]).
    Observe,
    /// The launcher starts the program.
    Launch,
}

impl<E> Event<E> {
    /// True for events in which software of the host runs, which may fail.
    #[inline(always)]
    pub(super) fn is_for_host(&self) -> bool {
        !matches!(
            self,
            Event::Nic(_)
                | Event::Message { .. }
                | Event::Store { .. }
                | Event::StoreLine { .. }
                | Event::Load { .. }
        )
    }
}

// Queues sort events by the thousand: longer data stand in a slab of the node.
const _: () = assert!(size_of::<Event<()>>() <= 24);

/// A number for each kind of event, for the trace hash.
#[inline(always)]
pub fn word<N: Nic>(event: &Event<N::Event>) -> u64 {
    match event {
        Event::Nic(event) => 1 | N::word(event) << 8,
        Event::Host(event) => 2 | (event.core() as u64) << 8,
        Event::Message { .. } => 4,
        Event::Store { addr, data, .. } => {
            6 ^ addr << 8 ^ u64::from_le_bytes(*data).rotate_left(17)
        }
        Event::StoreLine { addr, .. } => 12 ^ addr << 8,
        Event::Load { addr, len } => (7 | addr << 8) ^ u64::from(len ^ 4) << 56,
        Event::Answer { len, data } => {
            (8 ^ u64::from_le_bytes(*data).rotate_left(8)) ^ u64::from(len ^ 4) << 56
        }
        Event::AnswerLine { .. } => 13,
        Event::Interrupt { vector } => 9 | u64::from(*vector) << 8,
        Event::Attend | Event::Look | Event::Observe => 10,
        Event::Launch => 11,
    }
}

//! The bus as pins: agents that see nothing of each other but lines, with tristate and turn-around cycles.
//!
//! The transaction level ([`crate::Bus`]) decides; agents at the pins carry out what it has decided
//! ([`Transfer`]: whose, where, how many data phases, how the target answers), each with memory or
//! registers of its own, so that bytes move over AD or not at all. The levels on the lines become
//! [`crate::Cycle`]s again ([`Analyser`]) for the one [`crate::Monitor`].
//!
//! ```text
//!  Bus ── Cycle ──► transfers ──► Agent ═╗
//!                                Agent ═╬═ Lines ──► Analyser ── Cycle ──► Monitor
//!                                Agent ═╝    └────► Waves (VCD)
//! ```
//!
//! Restrictions of these agents: targets are all as wide as the bus (ACK64# answers each REQ64#),
//! there are no wait states after the first data phase, FRAME# is high in the last data phase also in PCI-X
//! (whose masters release it a cycle before), a split completion carries the read's address and its
//! requester as [`crate::Phase`] tells them, and an idle AD floats instead of being parked.

mod agent;
mod analyser;
mod board;
mod lines;
mod master;
mod mutant;
mod target;
mod transfer;
mod waves;

pub use agent::{Agent, Received};
pub use analyser::Analyser;
pub use board::Board;
pub use lines::{Control, Drive, Lines, CONTROLS};
pub use mutant::Mutant;
pub use transfer::{transfers, Answer, Transfer};
pub use waves::Waves;

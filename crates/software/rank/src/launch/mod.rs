//! The launcher of a run's ranks: with [`Launcher::Pmi1`] it serves them as that of a real cluster does, at
//! an address of the administration network, in the protocol PMI-1.
//!
//! Here stands what it knows and answers; `sockets::desk` says when.

mod group;
mod server;
#[cfg(test)]
mod tests;
mod wire;

pub(crate) use group::Group;
pub(crate) use server::{Barrier, Event, Server};
pub(crate) use wire::{abort_code, Inbox};

/// Way in which ranks learn who they are, and meet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Launcher {
    /// By the simulator's own MPI, and by variables of all launchers.
    #[default]
    Own,
    /// By a PMI-1 server, as MPICH and Intel MPI do: each rank has its address and a number.
    Pmi1,
}

/// The launcher's place in the network: 10.255.255.254, as the first node is 10.0.0.1. No machine has so many
/// nodes.
pub(crate) const NODE: u32 = 0x00FF_FFFD;
/// Its port.
pub(crate) const PORT: u16 = 7000;
/// The same as a variable tells it.
pub(crate) const ADDRESS: &str = "10.255.255.254:7000";

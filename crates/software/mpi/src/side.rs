//! State that the library keeps for the program: objects that only calls know, and its phase.

pub(crate) mod buffered;
pub(crate) mod errhandlers;
pub(crate) mod handles;
pub(crate) mod infos;
pub(crate) mod keyvals;
pub(crate) mod messages;
pub(crate) mod persistent;

use crate::comm::CommId;
use crate::constant;
use buffered::Attached;
use errhandlers::Errhandlers;
use handles::Handles;
use infos::Infos;
use keyvals::Keyvals;
use messages::Messages;
use persistent::Persistents;

/// Phase of the program: before, between or after MPI_Init and MPI_Finalize.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Before,
    Running,
    After,
}

/// The program's side of a process.
pub(crate) struct Side {
    pub handles: Handles,
    pub persistent: Persistents,
    pub messages: Messages,
    pub errhandlers: Errhandlers,
    pub keyvals: Keyvals,
    pub attached: Attached,
    pub infos: Infos,
    pub phase: Phase,
    pub thread_level: i32,
    /// The communicator whose error handler hears of an error in the present call.
    pub blame: CommId,
}

impl Default for Side {
    fn default() -> Side {
        Side {
            handles: Handles::default(),
            persistent: Persistents::default(),
            messages: Messages::default(),
            errhandlers: Errhandlers::default(),
            keyvals: Keyvals::default(),
            attached: Attached::default(),
            infos: Infos::default(),
            phase: Phase::Before,
            thread_level: constant::THREAD_SINGLE,
            blame: CommId::SELF,
        }
    }
}

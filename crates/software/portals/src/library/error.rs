//! Errors of a Portals call: the standard's return codes.

use std::fmt;

/// Return code of a Portals call other than `PTL_OK`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The access control index is out of range.
    AcIndexInvalid,
    /// No event is in the queue.
    EqEmpty,
    /// The handle names no event queue.
    EqInvalid,
    /// The memory descriptor is not allowed: unknown options, a bad region, or more than fits a message.
    MdIllegal,
    /// The handle names no memory descriptor, or one that is inactive.
    MdInvalid,
    /// The memory descriptor has pending operations.
    MdInUse,
    /// The event queue is not empty, so the memory descriptor was not updated.
    MdNoUpdate,
    /// The handle names no match entry.
    MeInvalid,
    /// The match entry has a memory descriptor, or one with pending operations.
    MeInUse,
    /// The match list is full.
    MeListTooLong,
    /// No more objects of this kind.
    NoSpace,
    /// The process id is taken or reserved.
    PidInvalid,
    /// The process id is not one that can be addressed.
    ProcessInvalid,
    /// No portal is free.
    PtFull,
    /// The portal index is out of range.
    PtIndexInvalid,
    /// The buffer is not the process's own memory.
    Segv,
}

impl Error {
    /// The standard's name.
    pub fn name(self) -> &'static str {
        match self {
            Error::AcIndexInvalid => "PTL_AC_INDEX_INVALID",
            Error::EqEmpty => "PTL_EQ_EMPTY",
            Error::EqInvalid => "PTL_EQ_INVALID",
            Error::MdIllegal => "PTL_MD_ILLEGAL",
            Error::MdInvalid => "PTL_MD_INVALID",
            Error::MdInUse => "PTL_MD_IN_USE",
            Error::MdNoUpdate => "PTL_MD_NO_UPDATE",
            Error::MeInvalid => "PTL_ME_INVALID",
            Error::MeInUse => "PTL_ME_IN_USE",
            Error::MeListTooLong => "PTL_ME_LIST_TOO_LONG",
            Error::NoSpace => "PTL_NO_SPACE",
            Error::PidInvalid => "PTL_PID_INVALID",
            Error::ProcessInvalid => "PTL_PROCESS_INVALID",
            Error::PtFull => "PTL_PT_FULL",
            Error::PtIndexInvalid => "PTL_PT_INDEX_INVALID",
            Error::Segv => "PTL_SEGV",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
impl std::error::Error for Error {}

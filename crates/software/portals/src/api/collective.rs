//! Collective operations that the network interface performs: no part of Portals 3.3, which has only a
//! barrier of the processes of an interface (PtlNIBarrier in Cray's).

use super::Ni;
use crate::library::ProcessId;

/// A step of a process in the operations of a group: it tells another process, then awaits a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupStep {
    /// The process that is told.
    pub tells: Option<ProcessId>,
    /// True if it waits until somebody has told this process; entries of a reduction are combined with its
    /// own.
    pub awaits: bool,
    /// True if entries take the place of its own.
    pub replaces: bool,
}

/// Entries of a process for a reduction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reduced {
    /// Operation and type: `abi::seastar::reduce_op`, and `reduce_type` from bit 4 on.
    pub kind: u8,
    /// Entries, those of 32 bits in the lower half.
    pub entries: Vec<u64>,
}

impl Ni {
    /// Gives the network interface this process's steps in a group whose number no other of its open groups
    /// has; `reduces` if operations may be reductions. False if the process's Portals is not on the network
    /// interface, or that has no room. Who tells this process must do so after it has returned.
    pub fn open_group(&self, group: u16, steps: &[GroupStep], reduces: bool) -> bool {
        let Some(user) = &self.on_nic else { return false };
        user.open_group(&self.kernel, &self.cpu, group, steps, reduces)
    }

    /// Takes an open group back; no operation may be under way in it.
    pub fn close_group(&self, group: u16) {
        if let Some(user) = &self.on_nic {
            user.close_group(&self.cpu, group);
        }
    }

    /// Enters the next operation of an open group; the one before it must be over. Its end is told by
    /// [`Ni::next_collected`], for which polls return `MdNoUpdate`.
    pub fn collect(&self, group: u16, reduced: Option<Reduced>) {
        if let Some(user) = &self.on_nic {
            user.collect(&self.cpu, group, reduced);
        }
    }

    pub(super) fn has_collected(&self) -> bool {
        self.on_nic.as_ref().is_some_and(|user| user.has_collected())
    }

    /// The group of an operation that is over, if there is one of which this has not told.
    pub fn next_collected(&self) -> Option<u16> {
        self.on_nic.as_ref()?.next_collected()
    }

    /// The first `count` entries of the result of the reduction that has ended last.
    pub fn reduced(&self, count: u32) -> Vec<u64> {
        self.on_nic.as_ref().map_or_else(Vec::new, |user| user.reduced(&self.cpu, count))
    }
}

//! Room on the network interface: match entries and memory descriptors. It has few where it keeps match lists
//! itself, and a program may begin more than it has room for.
//!
//! Receives leave a quarter of the entries to sends whose buffers are exposed: those end only when another
//! process receives, while a kept receive finds its message without an entry. Both leave descriptors to what
//! ends without anybody's help: sends of a few bytes, and fetches.

use crate::params::PortalsParams;
use portals::Limits;

/// Blocks for unexpected messages, beside the first, that are attached at a time where there is little room.
pub(super) const MOST_ADDED_BLOCKS: u32 = 4;

/// Descriptors that receives and exposed buffers leave to other operations, at most.
const DESCRIPTORS_LEFT: u32 = 32;

/// Entries and descriptors that an operation has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Holding {
    pub entries: u32,
    pub descriptors: u32,
}

impl Holding {
    /// Those of a posted receive, and of an exposed buffer.
    pub const LISTED: Holding = Holding { entries: 1, descriptors: 1 };
    /// Those of bytes that only leave, or only come.
    pub const BOUND: Holding = Holding { entries: 0, descriptors: 1 };
}

/// Entries and descriptors of a process that its operations may have.
#[derive(Debug)]
pub(super) struct Room {
    most: Holding,
    used: Holding,
    /// Entries of posted receives.
    posted: u32,
}

impl Room {
    /// The room of an interface, less what the library has for itself.
    pub fn new(limits: Limits, params: &PortalsParams) -> Room {
        // The entry that catches, that of credits; and each has a descriptor.
        let own = params.unexpected_blocks + MOST_ADDED_BLOCKS + 2;
        let entries = limits.max_mes.min(limits.max_me_list).saturating_sub(own).max(2);
        // The empty descriptor, too.
        let own = own + params.copy_buffers + 1;
        let descriptors = limits.max_mds.saturating_sub(own).max(4);
        Room { most: Holding { entries, descriptors }, used: Holding::default(), posted: 0 }
    }

    /// True if something that ends by itself may begin.
    pub fn has_descriptor(&self) -> bool {
        self.used.descriptors < self.most.descriptors
    }

    /// True if a buffer may be exposed.
    pub fn has_entry(&self) -> bool {
        let left = DESCRIPTORS_LEFT.min(self.most.descriptors / 2);
        self.used.entries < self.most.entries
            && self.used.descriptors + left < self.most.descriptors
    }

    /// An operation takes room; `receives` if that is a posted receive's.
    pub fn take(&mut self, holding: Holding, receives: bool) {
        self.used.entries += holding.entries;
        self.used.descriptors += holding.descriptors;
        self.posted += u32::from(receives);
    }

    /// It gives back what it has.
    pub fn give(&mut self, holding: Holding, receives: bool) {
        self.used.entries -= holding.entries;
        self.used.descriptors -= holding.descriptors;
        self.posted -= u32::from(receives);
    }

    /// True if a receive may be posted.
    pub fn admits_receive(&self) -> bool {
        let receives = self.most.entries - (self.most.entries / 4).max(1);
        self.posted < receives && self.has_entry()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use des::Duration;

    fn room(max_mes: u32, max_mds: u32) -> Room {
        let params = PortalsParams {
            unexpected_entry: Duration::ZERO,
            eager_limit: 4096,
            copy_limit: 256,
            copy_buffers: 256,
            unexpected_blocks: 3,
            unexpected_block_size: 16 << 10,
            unexpected_events: 0,
            unexpected_queue: 1024,
            unexpected_growth: 64,
            send_credits: 0,
            events: 1024,
        };
        Room::new(Limits { max_mes, max_mds, max_me_list: max_mes, ..Limits::DEFAULT }, &params)
    }

    /// However small the table, each kind of operation can begin when no other is under way.
    #[test]
    fn every_table_has_room_for_one_of_each() {
        for entries in 1..64 {
            for descriptors in [1, 16, 64, 512] {
                let room = room(entries, descriptors);
                assert!(room.has_descriptor() && room.has_entry(), "{entries} {descriptors}");
                assert!(room.admits_receive(), "{entries} {descriptors}");
            }
        }
    }

    #[test]
    fn receives_leave_entries_to_exposed_buffers_and_both_leave_descriptors() {
        let mut room = room(320, 1024);
        while room.admits_receive() {
            room.take(Holding::LISTED, true);
        }
        assert!(room.has_entry(), "{room:?}");
        while room.has_entry() {
            room.take(Holding::LISTED, false);
        }
        assert!(room.has_descriptor(), "{room:?}");
        assert!(room.used.entries <= room.most.entries && room.posted > 200, "{room:?}");
    }
}

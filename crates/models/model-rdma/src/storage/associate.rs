//! Association of initiator and target over the administration network (marazakis2006 s2.5 has TCP): they
//! agree on sizes, and tell each other where their buffers are.

use super::errors::AssociationError;
use super::{Disks, Storage, BYTES_MAX, DEPTH, SLOTS};
use crate::library::Buffer;
use crate::memory::PAGE;
use block::{Association, DiskKind, ASSOCIATION_BYTES, DISKS, PIECE, SECTOR};
use rank::{Connection, NodeRank};

/// Port at which a target listens (assumed).
const PORT: u16 = 3260;

impl<'a> Storage<'a> {
    /// Bytes of the disks.
    fn capacity(&self) -> u64 {
        match self.disks.kind {
            DiskKind::Memory => BYTES_MAX,
            DiskKind::Drives(drive) => drive.sectors * DISKS * SECTOR,
        }
    }

    /// Bytes of a request at most: a page; neighbouring pages where drives have something to gain by it.
    fn request_most(&self) -> u64 {
        let Disks { request, merge, kind, .. } = self.disks;
        let drives = self.rank == 0 || matches!(kind, DiskKind::Drives(_));
        if drives {
            request.max(merge)
        } else {
            request
        }
    }

    fn own(&self, size: u64) -> Association {
        Association {
            size,
            request: self.request_most(),
            sector: SECTOR,
            read_ahead: self.disks.read_ahead,
            depth: DEPTH,
            slots: SLOTS,
            queue: self.queue.page,
            pool: self.pool.page,
        }
    }

    /// Buffers of the other side, as it has told: its queue and its pool.
    fn bind(&self, theirs: &Association) -> [Buffer; 2] {
        let at = |page| Buffer { nid: self.peer(), page, offset: 0, binding: None };
        let bind = |page, bytes| self.library.bind(at(page), bytes);
        [bind(theirs.queue, PAGE), bind(theirs.pool, SLOTS * PIECE)]
    }

    /// Associates.
    pub(super) fn associate(&self) -> Result<(), AssociationError> {
        let (cpu, network) = (self.library.cpu(), &*self.library.module().network);
        let own = NodeRank { rank: self.rank, node: self.rank };
        let (link, agreed, theirs) = if self.rank == 0 {
            let link = Connection::connect(cpu, network, own, self.peer(), PORT)?;
            let wanted = self.own(self.sectors * SECTOR);
            link.send(&wanted.emit())?;
            let granted = receive(&link)?;
            if granted.size < wanted.size {
                let (granted, wanted) = (granted.size, wanted.size);
                return Err(AssociationError::Size { granted, wanted });
            }
            (link, granted, granted)
        } else {
            let link = Connection::accept(cpu, network, own, PORT)?;
            let wanted = receive(&link)?;
            let granted = self.own(self.capacity()).grant(&wanted)?;
            link.send(&granted.emit())?;
            (link, granted, wanted)
        };
        let peers = self.bind(&theirs);
        let _ = self.link.set(link);
        self.agreed.set((agreed, peers)).map_err(|_| AssociationError::Twice)
    }
}

fn receive(link: &Connection) -> Result<Association, AssociationError> {
    let bytes = link.receive(ASSOCIATION_BYTES)?;
    Association::parse(&bytes).ok_or(AssociationError::Unread)
}

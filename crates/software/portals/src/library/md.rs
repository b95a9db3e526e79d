//! Memory descriptors: what they accept, and when they are used up (Portals 3.3 s3.10).

use super::error::Error;
use super::handle::MeHandle;
use super::span::{Buffer, IoVec, Span};
use super::types::{option, Md, RequestKind, Unlink, THRESH_INF};
use crate::mutant::{is_mutant, Mutant};
use std::rc::Rc;

/// One memory descriptor and what has happened to it.
pub(crate) struct MemoryDescriptor {
    pub(crate) user: Md,
    /// Bytes in all.
    pub(crate) bytes: u64,
    /// Its regions, with `option::IOVEC`.
    regions: Option<Rc<[IoVec]>>,
    pub(crate) unlink: Unlink,
    /// The match entry that it hangs on; None if it is free floating.
    pub(crate) me: Option<MeHandle>,
    /// Bytes accepted so far: the offset of the next operation unless the initiator manages it.
    pub(crate) local_offset: u64,
    /// Less than `max_size` bytes were left after some operation.
    full: bool,
    /// Operations that have begun and not ended.
    pub(crate) pending: u32,
    /// An UNLINK event was counted among the promised ones of its event queue.
    pub(crate) unlink_promised: bool,
}

/// Part of a memory descriptor that an operation may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accepted {
    pub(crate) offset: u64,
    pub(crate) mlength: u64,
}

impl MemoryDescriptor {
    pub(crate) fn new(buffer: Buffer, unlink: Unlink, me: Option<MeHandle>) -> Self {
        let mut md = MemoryDescriptor {
            user: buffer.md,
            bytes: 0,
            regions: None,
            unlink,
            me,
            local_offset: 0,
            full: false,
            pending: 0,
            unlink_promised: false,
        };
        md.set(buffer);
        md
    }

    /// Puts another description in place of the present one (PtlMDUpdate).
    pub(crate) fn set(&mut self, buffer: Buffer) {
        self.user = buffer.md;
        let listed = self.has(option::IOVEC);
        self.regions = listed.then(|| buffer.regions.into());
        let sum = || buffer.regions.iter().map(|region| region.length).sum();
        self.bytes = if listed { sum() } else { buffer.md.length };
        if self.has(option::MANAGE_REMOTE) {
            self.user.options &= !option::MAX_SIZE;
        }
        self.local_offset = 0;
        self.full = false;
    }

    /// Checks what needs no knowledge of the process's memory; a list may have up to `regions_max` regions.
    pub(crate) fn check(buffer: &Buffer, regions_max: u32) -> Result<(), Error> {
        let Buffer { md: user, regions } = buffer;
        let sum = || {
            let mut lengths = regions.iter().map(|region| region.length);
            lengths.try_fold(0u64, |sum, length| sum.checked_add(length))
        };
        let region = |start: u64, length| start.checked_add(length).is_some();
        let sound = if user.options & option::IOVEC != 0 {
            user.length <= u64::from(regions_max)
                && regions.len() as u64 == user.length
                && regions.iter().all(|listed| region(listed.start, listed.length))
                && sum().is_some()
        } else {
            region(user.start, user.length)
        };
        if sound && user.options & !option::ALL == 0 && user.threshold >= THRESH_INF {
            Ok(())
        } else {
            Err(Error::MdIllegal)
        }
    }

    pub(crate) fn has(&self, bits: u32) -> bool {
        self.user.options & bits == bits
    }

    /// `length` bytes from `offset` on.
    pub(crate) fn span(&self, offset: u64, length: u64) -> Span {
        match &self.regions {
            Some(regions) => Span::scattered(regions.clone(), offset, length),
            None => Span::contiguous(self.user.start + offset, length),
        }
    }

    /// Takes part in operations.
    pub(crate) fn active(&self) -> bool {
        self.user.threshold != 0 && !self.full
    }

    /// Has an event queue and does not refuse both START and END, so ACK and UNLINK events are posted.
    pub(crate) fn eventful(&self) -> bool {
        let none = option::EVENT_START_DISABLE | option::EVENT_END_DISABLE;
        self.user.eq.is_some() && !self.has(none)
    }

    /// Counts an operation against the threshold.
    pub(crate) fn count(&mut self) {
        let spared = is_mutant(Mutant::CountsTooLate) && self.pending == 0;
        if self.user.threshold > 0 && !spared {
            self.user.threshold -= 1;
        }
    }

    /// Destination of a request of `rlength` bytes, if it is accepted. Changes nothing.
    pub(crate) fn accept(
        &self,
        kind: RequestKind,
        rlength: u64,
        request_offset: u64,
    ) -> Option<Accepted> {
        let enabled = match kind {
            RequestKind::Put => self.has(option::OP_PUT),
            RequestKind::Get => self.has(option::OP_GET),
            RequestKind::Atomic(_) => self.has(option::OP_PUT | option::OP_GET),
        };
        let whole = matches!(kind, RequestKind::Atomic(atomic) if atomic.is_numeric());
        if !enabled || !self.active() {
            return None;
        }
        let remote = self.has(option::MANAGE_REMOTE);
        let offset = if remote { request_offset } else { self.local_offset };
        let left = self.bytes.checked_sub(offset)?;
        if rlength <= left {
            Some(Accepted { offset, mlength: rlength })
        } else if self.has(option::TRUNCATE) && !whole && !is_mutant(Mutant::NeverTruncates) {
            Some(Accepted { offset, mlength: left })
        } else {
            None
        }
    }

    /// Takes note that a request was accepted.
    pub(crate) fn consume(&mut self, accepted: Accepted) {
        self.count();
        self.pending += 1;
        // The local offset moves also when the initiator manages offsets: PtlMDUpdate may end that.
        if !is_mutant(Mutant::OffsetStays) {
            self.local_offset = self.local_offset.saturating_add(accepted.mlength);
        }
        let left = self.bytes.saturating_sub(self.local_offset);
        if self.has(option::MAX_SIZE) && left < self.user.max_size {
            self.full = true;
        }
    }
}

//! Parameters of block layers and disks.

use crate::rows::{Disk, Kind, Layers, Protocol};
use block::{DiskKind, SECTOR};
use des::Duration;
use machine::parameters::Parameters;

/// Block layers of both sides, and the target's disks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Disks {
    /// Bytes of a request of the block layer at most.
    pub request: u64,
    /// Bytes of neighbouring pages that are one request to a drive at most.
    pub merge: u64,
    /// Bytes that the initiator reads ahead of a client that reads in order.
    pub read_ahead: u64,
    /// Time of the block layers: a request made, a request ended; and at the target.
    pub submit: Duration,
    pub complete: Duration,
    pub serve: Duration,
    /// A process that sleeps for a message looks again after that time, whatever interrupts have told.
    pub timeout: Duration,
    /// After such a silence the initiator finds out what was lost, and so often it is sent again.
    pub resend: Duration,
    pub retries: u64,
    /// Cards stop at the first error of their lanes.
    pub stop: bool,
    /// Data have sums, and bytes a second of such a sum.
    pub sums: Option<u64>,
    /// Messages have pending flags.
    pub flags: bool,
    pub kind: DiskKind,
    /// Time from the launch until power of the drives goes; none: it stays.
    pub power_cut: Duration,
}

impl Disks {
    pub fn of(p: &Parameters) -> Disks {
        let (own, disk) = (Layers::of(p), Disk::of(p));
        Disks {
            request: own.request,
            merge: own.merge,
            read_ahead: own.read_ahead,
            submit: own.submit,
            complete: own.complete,
            serve: own.serve,
            timeout: own.timeout,
            resend: own.resend,
            retries: own.retries,
            stop: own.stop,
            sums: own.sums.then_some(own.sum_rate),
            flags: own.protocol == Protocol::Flags,
            kind: match disk.kind {
                Kind::Drives => DiskKind::Drives(disk.drive()),
                Kind::Memory => DiskKind::Memory,
            },
            power_cut: disk.power_cut,
        }
    }

    /// Finds out whether the parameters fit together.
    pub fn fit(&self) -> Result<(), UnfitDisks> {
        let bytes = [self.request, self.merge, self.read_ahead];
        if bytes.iter().any(|bytes| bytes % SECTOR != 0) {
            return Err(UnfitDisks::Sectors);
        }
        let DiskKind::Drives(drive) = self.kind else {
            let cut = self.power_cut > Duration::ZERO;
            return if cut { Err(UnfitDisks::PowerCut) } else { Ok(()) };
        };
        let [track, average, full] = drive.seek;
        let [outer, inner] = drive.track_sectors;
        if track <= average && average <= full && inner <= outer {
            Ok(())
        } else {
            Err(UnfitDisks::Tracks)
        }
    }
}

/// Parameters of disks that do not fit together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnfitDisks {
    #[error("block.request, block.merge and block.read_ahead are whole sectors of {SECTOR} bytes")]
    Sectors,
    #[error("disk.power_cut is of drives: memory keeps everything; set disk.kind=drives")]
    PowerCut,
    #[error(
        "a seek over more tracks takes longer (disk.seek_*), and inner tracks are shorter \
         (disk.inner, disk.outer)"
    )]
    Tracks,
}

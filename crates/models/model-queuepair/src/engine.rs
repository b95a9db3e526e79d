//! The engine: it reads and writes host memory, a job after the other.

use crate::entries::{Completion, Submission, COMPLETION, PIECE, SHORT, SUBMISSION};
use crate::message_path::Passes;
use crate::settings::Params;
use bus::BusError;
use des::Duration;
use host::Extent;
use machine::node::{Nic, Ports};
use std::collections::VecDeque;

pub(crate) enum Job {
    /// Read the next submission.
    Fetch,
    /// Read the list of its pieces.
    List(Submission),
    /// Read so many bytes of the oldest message.
    Segment(u64),
    Place {
        submission: Submission,
        extents: Vec<Extent>,
        data: Vec<u8>,
    },
    /// Write a completion, with which a message passes a waypoint.
    Complete {
        index: u32,
        completion: Completion,
        passes: Option<Passes>,
    },
}

/// Jobs, of which the first is under way.
#[derive(Default)]
pub(crate) struct Engine {
    jobs: VecDeque<Job>,
    busy: bool,
}

impl Engine {
    pub fn add(&mut self, job: Job) {
        self.jobs.push_back(job);
    }

    /// Starts the next job, if there is one and none is under way; the time that it takes.
    pub fn start(&mut self, params: &Params) -> Option<Duration> {
        let job = self.jobs.front().filter(|_| !self.busy)?;
        self.busy = true;
        Some(params.dma_start + Duration::of_transfer(job.bytes(), params.dma_rate))
    }

    pub fn end(&mut self) -> Job {
        self.busy = false;
        self.jobs.pop_front().expect("a job is under way")
    }
}

impl Job {
    fn bytes(&self) -> u64 {
        match self {
            Job::Fetch => SUBMISSION as u64,
            Job::List(submission) => u64::from(submission.pieces) * PIECE,
            Job::Segment(bytes) => *bytes,
            Job::Place { submission, .. } => submission.bytes,
            Job::Complete { completion: Completion::Ended { .. }, .. } => SHORT as u64,
            Job::Complete { .. } => COMPLETION as u64,
        }
    }
}

/// Mistake of the driver, which the card cannot go on with: the end of a sentence.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Wrong {
    #[error(transparent)]
    Memory(#[from] BusError),
    #[error("there is no such command")]
    NoCommand,
    #[error("it has no message for this place")]
    NoMessage,
    #[error("it has no such message to forget")]
    NothingToForget,
}

/// Reads bytes of a payload in pieces, from `at` on.
pub(crate) fn gather<N: Nic>(
    ports: &mut Ports<N>,
    extents: &[Extent],
    mut at: u64,
    mut rest: &mut [u8],
) -> Result<(), BusError> {
    for extent in extents {
        let here = extent.len.saturating_sub(at).min(rest.len() as u64);
        let (piece, behind) = rest.split_at_mut(here as usize);
        if here > 0 {
            ports.read(extent.phys + at, piece)?;
        }
        (at, rest) = (at.saturating_sub(extent.len), behind);
    }
    Ok(())
}

/// Writes a payload into its pieces; false if one of them is not there.
pub(crate) fn scatter<N: Nic>(ports: &mut Ports<N>, extents: &[Extent], mut rest: &[u8]) -> bool {
    let mut there = true;
    for extent in extents {
        let (piece, behind) = rest.split_at(rest.len().min(extent.len as usize));
        there &= piece.is_empty() || ports.write(extent.phys, piece).is_ok();
        rest = behind;
    }
    there
}

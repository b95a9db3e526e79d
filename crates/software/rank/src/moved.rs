//! Many small runs of the program's memory: the process moves them itself while it waits
//! (`lib/mpi/move.c`), as the kernel looks for each page of another process's anew.

use crate::channel::{Channel, Turn};
use crate::memory::ProcessMemory;
use crate::process::LOOK_AGAIN;
use crate::stuck;
use abi::rank::{self as layout, channel as at, state, way};
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Fewer runs are not worth waking the process.
const RUNS_MIN: usize = 64;
/// Runs that are longer than this on average are no cheaper when the process moves them.
const AVERAGE_MAX: usize = 512;
const RUNS_MAX: usize = layout::RUNS_MAX as usize;
const BYTES_MAX: usize = layout::PACKED_MAX as usize;
const RUN_SIZE: usize = 16;
const _: () = assert!(layout::RUNS as usize + RUN_SIZE * RUNS_MAX == layout::PACKED as usize);

/// Number of these runs, from the first on, that the process had better move itself, and their bytes. None:
/// it is not worth it.
pub(crate) fn worthwhile(pieces: &[(u64, usize)]) -> Option<(usize, usize)> {
    let (mut runs, mut bytes) = (0, 0);
    for &(_, len) in pieces.iter().take(RUNS_MAX) {
        if len > BYTES_MAX - bytes {
            break;
        }
        (runs, bytes) = (runs + 1, bytes + len);
    }
    (runs >= RUNS_MIN && bytes <= AVERAGE_MAX * runs).then_some((runs, bytes))
}

impl Channel {
    /// Writes down which runs the process is to move when it has the turn.
    fn name_runs(&self, runs: &[(u64, usize)], way: u32) {
        for (&(va, len), place) in runs.iter().zip((layout::RUNS as usize..).step_by(RUN_SIZE)) {
            self.long(place).store(va, Ordering::Relaxed);
            self.long(place + 8).store(len as u64, Ordering::Relaxed);
        }
        self.word(at::RUNS).store(runs.len() as u32, Ordering::Relaxed);
        self.word(at::WAY).store(way, Ordering::Relaxed);
        self.long(at::MOVED).store(0, Ordering::Relaxed);
    }
}

impl ProcessMemory {
    /// Has the waiting process gather the runs, `buf` together. False if it does not wait or could not: the
    /// runs must be looked at one by one.
    pub(crate) fn gather(&self, runs: &[(u64, usize)], buf: &mut [u8]) -> bool {
        let gathered = self.moved(runs, way::GATHER, buf.len());
        if gathered {
            self.life.channel.copy_out(layout::PACKED as usize, buf);
        }
        gathered
    }

    /// Has it scatter `data` over the runs, likewise. Where it fails some may have been written.
    pub(crate) fn scatter(&self, runs: &[(u64, usize)], data: &[u8]) -> bool {
        let channel = &self.life.channel;
        if channel.turn() != Turn::Simulator {
            return false;
        }
        channel.copy_in(layout::PACKED as usize, data);
        self.moved(runs, way::SCATTER, data.len())
    }

    /// An access has failed. Has the process open pages there if its library may have closed them, to see
    /// looks at them (`lib/mpi/guard.c`); then the access is to be tried once more.
    pub(crate) fn open(&self, va: u64, len: usize) -> bool {
        let fault = std::io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT);
        if !fault || self.life.channel.state() & state::VERBS == 0 {
            return false;
        }
        // If none was closed the second access fails, too, and has the error that is told.
        let _opened = self.moved(&[(va, len)], way::OPEN, len);
        true
    }

    /// Nothing may be left to be stored: it would come too late.
    fn moved(&self, runs: &[(u64, usize)], way: u32, bytes: usize) -> bool {
        let channel = &self.life.channel;
        if channel.turn() != Turn::Simulator {
            return false;
        }
        channel.name_runs(runs, way);
        channel.give_turn();
        let back = self.wait_until_moved();
        channel.word(at::WAY).store(way::NONE, Ordering::Relaxed);
        back && channel.long(at::MOVED).load(Ordering::Relaxed) == bytes as u64
    }

    /// False if the process will not hand over again, or has overwritten its channel.
    fn wait_until_moved(&self) -> bool {
        let channel = &self.life.channel;
        let mut began = None;
        loop {
            match channel.turn() {
                Turn::Simulator => return true,
                Turn::Dead | Turn::Overwritten => return false,
                Turn::Process => {}
            }
            channel.wait_for_turn(LOOK_AGAIN);
            // Mostly there is no second time, and no clock is looked at.
            if channel.turn() == Turn::Process
                && began.get_or_insert_with(Instant::now).elapsed() >= LOOK_AGAIN
                && stuck::waits_for_simulator(self.life.rank_pid())
                && channel.turn() == Turn::Process
            {
                channel.robbed.store(true, Ordering::Relaxed);
                return false;
            }
        }
    }
}

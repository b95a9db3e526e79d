//! The simulator's side of the memory that it shares with a rank's process. Layout: `abi/rank/channel.toml`.

use crate::memory_file;
use crate::spawn::SpawnOptions;
use abi::mpi::{ARGUMENTS_MAX, FINGERPRINT};
use abi::rank::{self as layout, channel as at, record, turn};
use mpi::CALLBACK_ARGUMENTS;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicU8, Ordering};
use std::time::Duration;

pub(crate) const SIZE: usize = layout::CHANNEL_SIZE as usize;
/// Arguments that fit in a record.
pub(crate) const RECORD_ARGUMENTS: usize = (layout::Record::SIZE - record::ARGUMENTS) / 8;
const _: () = assert!(ARGUMENTS_MAX <= RECORD_ARGUMENTS, "a call fits in a record");

/// The mapped channel of one rank.
#[derive(Debug)]
pub(crate) struct Channel {
    base: *mut u8,
    /// Bytes of the log that the library shall find when the process goes on.
    pub(crate) logged: AtomicU32,
}

// SAFETY: all accesses go through atomics or, for records, are ordered by the atomics of the ring.
unsafe impl Send for Channel {}
// SAFETY: as above.
unsafe impl Sync for Channel {}

/// A record as it stood in the ring.
pub(crate) struct Record {
    pub kind: u16,
    pub function: u16,
    pub arguments: [u64; RECORD_ARGUMENTS],
}

impl Channel {
    /// The channel of that number in a memory file, for a process of these options.
    pub fn in_file(file: &OwnedFd, number: u32, options: &SpawnOptions) -> io::Result<Channel> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let (file, at) = (file.as_raw_fd(), memory_file::at(number));
        // SAFETY: a fresh shared mapping of our own file, at an address that the kernel chooses.
        let base = unsafe {
            libc::mmap(std::ptr::null_mut(), SIZE, protection, libc::MAP_SHARED, file, at)
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let channel = Channel { base: base.cast(), logged: AtomicU32::new(0) };
        channel.word(at::FINGERPRINT).store(FINGERPRINT, Ordering::Relaxed);
        channel.word(at::RANK).store(options.rank, Ordering::Relaxed);
        channel.word(at::SIZE).store(options.size, Ordering::Relaxed);
        channel.long(at::COMPUTE).store(options.compute.millionths(), Ordering::Relaxed);
        Ok(channel)
    }

    /// Its process shall be a template. To be called before there is one.
    pub fn make_template(&self) {
        self.word(at::TEMPLATE).store(1, Ordering::Relaxed);
    }

    pub(crate) fn word(&self, offset: usize) -> &AtomicU32 {
        assert!(offset % 4 == 0 && offset + 4 <= SIZE);
        // SAFETY: aligned and inside of the mapping, which lives as long as `self`; the other side also
        // accesses it atomically or while it alone has the turn.
        unsafe { AtomicU32::from_ptr(self.base.add(offset).cast()) }
    }

    pub(crate) fn long(&self, offset: usize) -> &AtomicU64 {
        assert!(offset % 8 == 0 && offset + 8 <= SIZE);
        // SAFETY: as in `word`.
        unsafe { AtomicU64::from_ptr(self.base.add(offset).cast()) }
    }

    pub(crate) fn byte(&self, offset: usize) -> &AtomicU8 {
        assert!(offset < SIZE);
        // SAFETY: as in `word`.
        unsafe { AtomicU8::from_ptr(self.base.add(offset)) }
    }

    /// Who may go on: a value of `abi::rank::turn`.
    pub fn turn(&self) -> u32 {
        self.word(at::TURN).load(Ordering::Acquire)
    }

    /// The rank's `abi::rank::state` bits.
    pub fn state(&self) -> u32 {
        self.word(at::STATE).load(Ordering::Acquire)
    }

    /// Why the library has ended the process, if it has.
    pub fn fault(&self) -> Option<String> {
        if self.state() & layout::state::FAULTED == 0 {
            return None;
        }
        let words = (at::FAULT..at::FAULT + at::FAULT_SIZE).step_by(4);
        let bytes = words.flat_map(|at| self.word(at).load(Ordering::Relaxed).to_le_bytes());
        let text: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    /// Sleeps while the process has the turn; may return early. False if `patience` ran out.
    pub fn wait_for_turn(&self, patience: Option<Duration>) -> bool {
        let limit = patience.map(|patience| libc::timespec {
            tv_sec: patience.as_secs() as libc::time_t,
            tv_nsec: patience.subsec_nanos().into(),
        });
        let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let word = self.word(at::TURN);
        let (from, to) = (turn::PROCESS, turn::AWAITED);
        // It may be awaited already, by one whose patience ran out.
        if !matches!(
            word.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed),
            Ok(_) | Err(turn::AWAITED)
        ) {
            return true;
        }
        // SAFETY: the word outlives the call, and so does the time limit.
        let result =
            unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, to, limit) };
        result == 0 || io::Error::last_os_error().raw_os_error() != Some(libc::ETIMEDOUT)
    }

    /// Takes the oldest record out of the ring, if there is one. Only while the simulator has the turn.
    pub fn take(&self) -> Option<Record> {
        let tail = self.word(at::TAIL).load(Ordering::Relaxed);
        if tail == self.word(at::HEAD).load(Ordering::Acquire) {
            return None;
        }
        let slot = (tail % layout::RECORD_COUNT) as usize;
        let base = layout::RECORDS as usize + slot * layout::Record::SIZE;
        let first = self.word(base).load(Ordering::Relaxed);
        let mut arguments = [0; RECORD_ARGUMENTS];
        for (i, argument) in arguments.iter_mut().enumerate() {
            *argument = self.long(base + record::ARGUMENTS + 8 * i).load(Ordering::Relaxed);
        }
        self.word(at::TAIL).store(tail.wrapping_add(1), Ordering::Release);
        Some(Record { kind: (first >> 16) as u16, function: first as u16, arguments })
    }

    /// Writes the simulated time that comes with the next answer, in picoseconds.
    pub fn set_time(&self, time: u64) {
        self.long(at::TIME).store(time, Ordering::Relaxed);
    }

    /// Answers RETURN and gives the turn to the process.
    pub fn answer(&self, code: i32) {
        self.word(at::ANSWER).store(layout::answer::RETURN, Ordering::Relaxed);
        self.word(at::CODE).store(code as u32, Ordering::Relaxed);
        self.yield_turn();
    }

    /// Answers CALLBACK and gives the turn to the process.
    pub fn answer_callback(
        &self,
        function: u64,
        arguments: &[u64; CALLBACK_ARGUMENTS],
        indirect: u32,
    ) {
        self.word(at::ANSWER).store(layout::answer::CALLBACK, Ordering::Relaxed);
        self.word(at::INDIRECT).store(indirect, Ordering::Relaxed);
        self.long(at::FUNCTION).store(function, Ordering::Relaxed);
        for (i, argument) in arguments.iter().enumerate() {
            self.long(at::ARGUMENTS + 8 * i).store(*argument, Ordering::Relaxed);
        }
        self.yield_turn();
    }

    /// Gives the turn to the process, unless that is dead.
    pub fn yield_turn(&self) {
        let logged = self.logged.swap(0, Ordering::Relaxed);
        self.word(at::LOG_BYTES).store(logged, Ordering::Relaxed);
        let word = self.word(at::TURN);
        let (from, to) = (turn::SIMULATOR, turn::PROCESS);
        if word.compare_exchange(from, to, Ordering::Release, Ordering::Relaxed).is_ok() {
            self.wake();
        }
    }

    /// The process has ended: whoever waits for it goes on.
    pub fn declare_dead(&self) {
        self.word(at::TURN).store(turn::DEAD, Ordering::Release);
        self.wake();
    }

    fn wake(&self) {
        let word = self.word(at::TURN).as_ptr();
        // SAFETY: the word outlives the call.
        unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAKE, 1) };
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        // SAFETY: our own mapping; every reference into it is bounded by `self`.
        unsafe { libc::munmap(self.base.cast(), SIZE) };
    }
}

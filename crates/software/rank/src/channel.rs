//! The simulator's side of the memory that it shares with a rank's process. Layout: `abi/rank/channel.toml`.

use crate::lease::{Deeds, Lease};
use crate::spawn::SpawnOptions;
use crate::{memory_file, surroundings};
use abi::mpi::{ARGUMENTS_MAX, FINGERPRINT};
use abi::rank::{self as layout, channel as at, record, state, turn};
use mpi::CALLBACK_ARGUMENTS;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicU8, Ordering};
use std::time::Duration;

/// Bytes of the memory file, from one channel to the next.
pub(crate) const SIZE: usize = layout::CHANNEL_STRIDE as usize;
/// Arguments that fit in a record.
pub(crate) const RECORD_ARGUMENTS: usize = (layout::Record::SIZE - record::ARGUMENTS) / 8;
/// Words of payload that a record can bring.
const PAYLOAD_WORDS: usize = (layout::Channel::SIZE - at::PAYLOAD) / 8;
/// Said of a program that has written where only its library and the simulator write.
pub(crate) const OVERWRITTEN: &str = "the program has overwritten its MPI library's memory";
const _: () = assert!(ARGUMENTS_MAX <= RECORD_ARGUMENTS, "a call fits in a record");

/// The mapped channel of one rank. The program can write all of it at any time: its contents are read
/// once, checked, and then used, and what the simulator must be sure of it keeps here.
#[derive(Debug)]
pub(crate) struct Channel {
    base: *mut u8,
    /// Bytes of the log that the library shall find when the process goes on.
    pub(crate) logged: AtomicU32,
    /// Records ever taken out of the ring.
    taken: AtomicU32,
    /// The same when the process was given the turn.
    taken_before: AtomicU32,
    /// The process has ended.
    dead: AtomicBool,
    /// The turn was taken from the simulator while it had it.
    pub(crate) robbed: AtomicBool,
}

/// Side that may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The program runs.
    Process,
    /// The program waits.
    Simulator,
    /// Neither: the process has ended.
    Dead,
    /// No library says such a thing: the program has overwritten the channel.
    Overwritten,
}

/// Result of taking a record out of the ring.
pub(crate) enum Taken {
    /// The oldest record.
    Record(Record),
    /// Nothing: it was full, and is empty now.
    Emptied,
    /// More than it holds, or nothing at all, though the process handed over: the program has overwritten the
    /// channel.
    Overwritten,
}

// SAFETY: all accesses go through atomics or, for records, are ordered by the atomics of the ring.
unsafe impl Send for Channel {}
// SAFETY: as above.
unsafe impl Sync for Channel {}

/// A record as it was in the ring.
pub(crate) struct Record {
    pub kind: u16,
    pub function: u16,
    /// Within a call of libfabric.
    pub inside: bool,
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
        let (logged, taken, taken_before, dead, robbed) = Default::default();
        let channel = Channel { base: base.cast(), logged, taken, taken_before, dead, robbed };
        channel.word(at::FINGERPRINT).store(FINGERPRINT, Ordering::Relaxed);
        channel.word(at::RANK).store(options.rank, Ordering::Relaxed);
        channel.word(at::SIZE).store(options.size, Ordering::Relaxed);
        channel.long(at::COMPUTE).store(options.compute.millionths(), Ordering::Relaxed);
        channel.long(at::DATE).store(options.surroundings.date, Ordering::Relaxed);
        channel.long(at::SEED).store(options.surroundings.seed, Ordering::Relaxed);
        channel.long(at::CLOCK_COST).store(options.clock_read.0, Ordering::Relaxed);
        channel.word(at::NODE).store(options.place.node, Ordering::Relaxed);
        channel.long(at::FREQUENCY).store(options.frequency, Ordering::Relaxed);
        channel.word(at::CORES).store(options.place.locals, Ordering::Relaxed);
        channel.word(at::RUN).store(std::process::id(), Ordering::Relaxed);
        let asks = u32::from(options.surroundings.mpi.is_foreign());
        channel.word(at::ASKS_CLOCK).store(asks, Ordering::Relaxed);
        if options.surroundings.errors == mpi::InitialErrors::Return {
            channel.word(at::STATE).store(state::ERRORS_RETURN, Ordering::Relaxed);
        }
        channel.set_time(options.now.0);
        Ok(channel)
    }

    /// Its process shall be a template. To be called before there is one.
    pub fn make_template(&self) {
        self.word(at::TEMPLATE).store(1, Ordering::Relaxed);
    }

    /// Environment variables that the rank which a template forks has of its own. To be called before it is
    /// forked.
    pub fn set_variables(&self, options: &SpawnOptions) {
        let variables = surroundings::variables(options);
        let entries = variables.iter().map(|(name, value)| format!("{name}={value}\0"));
        let text = entries.collect::<String>();
        self.copy_in(layout::PACKED as usize, text.as_bytes());
        self.word(at::VARIABLES).store(text.len() as u32, Ordering::Relaxed);
    }

    /// The process that is the rank, as its library says; 0: none yet.
    pub fn owner(&self) -> u32 {
        self.word(at::OWNER).load(Ordering::Relaxed)
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

    /// Side that may run.
    pub fn turn(&self) -> Turn {
        if self.dead.load(Ordering::Acquire) {
            return Turn::Dead;
        }
        if self.robbed.load(Ordering::Relaxed) {
            return Turn::Overwritten;
        }
        match self.word(at::TURN).load(Ordering::Acquire) {
            turn::PROCESS | turn::AWAITED => Turn::Process,
            turn::SIMULATOR => Turn::Simulator,
            // It may have ended just now.
            _ if self.dead.load(Ordering::Acquire) => Turn::Dead,
            _ => Turn::Overwritten,
        }
    }

    /// The rank's `abi::rank::state` bits.
    pub fn state(&self) -> u32 {
        self.word(at::STATE).load(Ordering::Acquire)
    }

    /// Fault for which the library has ended the process, if it has.
    pub fn fault(&self) -> Option<String> {
        if self.state() & layout::state::FAULTED == 0 {
            return None;
        }
        let words = (at::FAULT..at::FAULT + at::FAULT_SIZE).step_by(4);
        let bytes = words.flat_map(|at| self.word(at).load(Ordering::Relaxed).to_le_bytes());
        let text: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
        // A line of the library's. Whatever else a program has put there must not steer a terminal.
        let shown = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
        let text: String = String::from_utf8_lossy(&text).chars().map(shown).collect();
        Some(if text.is_empty() { OVERWRITTEN.into() } else { text })
    }

    /// Sleeps while the process has the turn, for so long at most; may return early.
    pub fn wait_for_turn(&self, most: Duration) {
        let limit = libc::timespec {
            tv_sec: most.as_secs() as libc::time_t,
            tv_nsec: most.subsec_nanos().into(),
        };
        let word = self.word(at::TURN);
        let (from, to) = (turn::PROCESS, turn::AWAITED);
        // It may be awaited already, by one whose patience ran out.
        if !matches!(
            word.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed),
            Ok(_) | Err(turn::AWAITED)
        ) {
            return;
        }
        let (word, limit) = (word.as_ptr(), std::ptr::from_ref(&limit));
        // SAFETY: the word outlives the call, and so does the time limit.
        unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAIT, to, limit) };
    }

    /// Takes the oldest record out of the ring, if there is one. Only while the simulator has the turn.
    pub fn take(&self) -> Taken {
        let tail = self.taken.load(Ordering::Relaxed);
        match self.word(at::HEAD).load(Ordering::Acquire).wrapping_sub(tail) {
            0 if tail.wrapping_sub(self.taken_before.load(Ordering::Relaxed))
                == layout::RECORD_COUNT =>
            {
                return Taken::Emptied
            }
            1..=layout::RECORD_COUNT => {}
            _ => return Taken::Overwritten,
        }
        let slot = (tail % layout::RECORD_COUNT) as usize;
        let base = layout::RECORDS as usize + slot * layout::Record::SIZE;
        let first = self.word(base).load(Ordering::Relaxed);
        let inside = self.word(base + record::INSIDE).load(Ordering::Relaxed) != 0;
        let mut arguments = [0; RECORD_ARGUMENTS];
        for (i, argument) in arguments.iter_mut().enumerate() {
            *argument = self.long(base + record::ARGUMENTS + 8 * i).load(Ordering::Relaxed);
        }
        self.settle_payload(base + record::ARGUMENTS, &mut arguments);
        let tail = tail.wrapping_add(1);
        self.taken.store(tail, Ordering::Relaxed);
        self.word(at::TAIL).store(tail, Ordering::Release);
        let (kind, function) = ((first >> 16) as u16, first as u16);
        Taken::Record(Record { kind, function, inside, arguments })
    }

    /// Lets a buffer that is in the record itself, whose arguments are at `place`, be in the channel's place
    /// for payloads. So its address, which hardware is told, does not depend on the records before it: a
    /// traced run has one for each look at a clock, another has not.
    fn settle_payload(&self, place: usize, arguments: &mut [u64; RECORD_ARGUMENTS]) {
        let base = self.long(at::BASE).load(Ordering::Relaxed);
        let behind = arguments[0].wrapping_sub(base.wrapping_add(place as u64)) / 8;
        let payload = usize::try_from(behind).ok().and_then(|behind| arguments.get(behind..));
        let Some(payload) = payload.filter(|payload| payload.len() <= PAYLOAD_WORDS) else {
            return;
        };
        for (i, word) in payload.iter().enumerate() {
            self.long(at::PAYLOAD + 8 * i).store(*word, Ordering::Relaxed);
        }
        arguments[0] = base + at::PAYLOAD as u64;
    }

    /// Writes the simulated time that comes with the next answer, in picoseconds.
    pub fn set_time(&self, time: u64) {
        self.long(at::TIME).store(time, Ordering::Relaxed);
    }

    /// Lets the library answer by itself after the next answer, until that simulated time.
    pub fn set_lease(&self, lease: Lease) {
        self.long(at::LEASE).store(lease.until.0, Ordering::Relaxed);
        self.long(at::REPEAT_COST).store(lease.repeat_cost.0, Ordering::Relaxed);
        self.word(at::EMPTIES).store(lease.empties, Ordering::Relaxed);
    }

    /// Looks at event queues in vain after which one waits; 0: none does.
    pub fn set_looks_max(&self, looks: u32) {
        self.word(at::LOOKS_MAX).store(looks, Ordering::Relaxed);
    }

    /// The request that the call which is repeated looks at.
    pub fn request(&self) -> u64 {
        self.long(at::REQUEST).load(Ordering::Relaxed)
    }

    /// Calls that the library has answered by itself since the process was resumed; take them once, and not
    /// while the process runs.
    pub fn take_deeds(&self) -> Option<Deeds> {
        let rows = self.word(at::DEED_ROWS);
        if rows.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let rows = rows.swap(0, Ordering::Relaxed).min(layout::DEED_ROWS) as usize;
        let row = |at: usize| self.word(at::DEEDS + 4 * at).load(Ordering::Relaxed);
        Some(Deeds(std::array::from_fn(|at| if at < rows { row(at) } else { 0 })))
    }

    /// Answers RETURN and gives the turn to the process.
    pub fn answer(&self, code: i32) {
        self.word(at::ANSWER).store(layout::answer::RETURN, Ordering::Relaxed);
        self.word(at::CODE).store(code as u32, Ordering::Relaxed);
        self.yield_turn();
    }

    /// Answers RETURN with what a call of a socket tells, and gives the turn to the process.
    pub fn answer_words(&self, code: i32, words: &[u64]) {
        for (i, word) in words.iter().enumerate() {
            self.long(at::ARGUMENTS + 8 * i).store(*word, Ordering::Relaxed);
        }
        self.answer(code);
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
        self.taken_before.store(self.taken.load(Ordering::Relaxed), Ordering::Relaxed);
        self.give_turn();
    }

    /// Gives the turn to the process; nothing else is as if it went on.
    pub(crate) fn give_turn(&self) {
        let word = self.word(at::TURN);
        let (from, to) = (turn::SIMULATOR, turn::PROCESS);
        match word.compare_exchange(from, to, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => self.wake(),
            Err(_) => self.robbed.store(true, Ordering::Relaxed),
        }
    }

    /// The process has ended: a thread that waits for it goes on.
    pub fn declare_dead(&self) {
        self.dead.store(true, Ordering::Release);
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

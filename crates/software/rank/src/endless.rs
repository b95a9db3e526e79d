//! Programs in a loop that nothing ends, seen as such (docs/decisions/0071).
//!
//! A program that computes takes no simulated time, so nobody gets ahead of it while it does. One that waits
//! in a loop to be killed, as another rank aborts, computes for ever. Its process is stopped and goes on for
//! some instructions, one at a time. If it comes back to a state that it had, registers and memory, and
//! nothing from outside has gone into that, it does so for ever.

mod traced;

use crate::channel::Turn;
use crate::life::Life;
use std::fs;
use std::time::Duration;
use traced::{State, Traced};

/// Real time of a computation after which it is looked at; later, where its time is measured. After twice as
/// long it is looked at again.
const FIRST: Duration = Duration::from_secs(2);
const FIRST_MEASURED: Duration = Duration::from_secs(10);

/// Instructions of a loop, at most.
const TURN_MAX: usize = 10_000;

/// Instructions after which the search for a state that comes again begins.
const FIRST_STEPS: usize = 100;

/// Bytes of memory of its own that a program has, at most: all are read.
const MEMORY_MAX: u64 = 1 << 30;
const PIECE: usize = 1 << 20;

/// Time after which a process that does nothing looks whether it was woken; any would do.
const REST: des::Duration = des::Duration(1_000_000);

/// Does nothing until the run ends: the node goes on without this fibre.
pub(crate) fn rest(cpu: &host::Cpu) -> ! {
    loop {
        // Whatever still wakes it was to wake a call.
        cpu.wait(REST);
    }
}

/// Looks at a process that has the turn.
pub(crate) struct Looks {
    next: Duration,
}

impl Looks {
    pub fn new(measured: bool) -> Looks {
        Looks { next: if measured { FIRST_MEASURED } else { FIRST } }
    }

    /// True if the process, which has had the turn for so long, computes for ever. It is stopped then.
    pub fn find(&mut self, worked: Duration, life: &Life) -> bool {
        if worked < self.next {
            return false;
        }
        self.next = 2 * worked;
        let endless = is_endless(life.rank_pid()) && life.channel.turn() == Turn::Process;
        if endless {
            life.stop();
        }
        endless
    }
}

/// True if the program of the process is in such a loop: it makes no call any more.
fn is_endless(pid: libc::pid_t) -> bool {
    if !is_alone(pid) {
        return false;
    }
    let Some(mut traced) = Traced::stop(pid) else { return false };
    // A system call leaves a trace of being looked at in a register that nobody reads.
    if (0..FIRST_STEPS).any(|_| traced.step().is_none()) {
        return false;
    }
    let Some(state) = traced.state() else { return false };
    let Some(length) = turn(&mut traced, &state, TURN_MAX) else { return false };
    // It has the registers again that it had. If in one more turn its memory comes back, too, so does all.
    let Some(before) = memory(pid) else { return false };
    turn(&mut traced, &state, length) == Some(length) && memory(pid) == Some(before)
}

/// Instructions until the registers are the same again; `None` if that are more than `most`, or something
/// from outside comes in.
fn turn(traced: &mut Traced, state: &State, most: usize) -> Option<usize> {
    (1..=most).find_map(|length| match traced.step() {
        None => Some(None),
        Some(at) if at == state.place() && traced.state().as_ref() == Some(state) => {
            Some(Some(length))
        }
        Some(_) => None,
    })?
}

/// True if there is nothing that could end a loop: no other thread, no timer whose signal is caught, no
/// memory that others write.
fn is_alone(pid: libc::pid_t) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
    let read = |name| fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
    let timers = [libc::SIGALRM, libc::SIGVTALRM, libc::SIGPROF, libc::SIGIO];
    threads == 1
        && is_running(&read("stat"))
        && timers.iter().all(|signal| !catches(&read("status"), *signal))
        && read("timers").is_empty()
        && mappings(pid).is_some()
}

/// True if a status (proc(5)) is that of a process which uses a processor, or could. Its name, which may hold
/// anything, is in parentheses.
fn is_running(status: &str) -> bool {
    status.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('R'))
}

/// True if it has a handler for the signal (proc(5)); true, too, if that is not told.
fn catches(status: &str, signal: libc::c_int) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.unwrap_or(u64::MAX) >> (signal - 1) & 1 != 0
}

/// Its writable memory; `None` if others can write where it reads.
fn mappings(pid: libc::pid_t) -> Option<Vec<(u64, u64)>> {
    writable(&fs::read_to_string(format!("/proc/{pid}/maps")).ok()?)
}

fn writable(maps: &str) -> Option<Vec<(u64, u64)>> {
    let mut found = Vec::new();
    for line in maps.lines() {
        let mut words = line.split_ascii_whitespace();
        let (from, to) = words.next()?.split_once('-')?;
        let rights = words.next()?;
        let ours = line.contains(crate::memory_file::SHOWN);
        // Only the simulator writes there, when it answers.
        if ours {
            continue;
        }
        if rights.ends_with('s') {
            return None;
        }
        if rights.as_bytes().get(1) == Some(&b'w') {
            let number = |word| u64::from_str_radix(word, 16).ok();
            found.push((number(from)?, number(to)?));
        }
    }
    let bytes: u64 = found.iter().map(|(from, to)| to - from).sum();
    (bytes <= MEMORY_MAX).then_some(found)
}

/// A word that follows from all of its memory that it can write; `None` if that cannot be read.
fn memory(pid: libc::pid_t) -> Option<u64> {
    let mut buffer = vec![0; PIECE / 8];
    let mut sum = 0;
    for (from, to) in mappings(pid)? {
        for at in (from..to).step_by(PIECE) {
            let words = &mut buffer[..((to - at) as usize).min(PIECE) / 8];
            if !traced::read(pid, at, words) {
                return None;
            }
            sum = words.iter().fold(mix(sum, at), |sum, word| mix(sum, *word));
        }
    }
    Some(sum)
}

fn mix(sum: u64, word: u64) -> u64 {
    (sum ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_others_write_is_seen() {
        let own =
            "1000-2000 rw-p 00000000 00:00 0  [heap]\n2000-9000 r-xp 00000000 08:01 7 /bin/x\n";
        assert_eq!(writable(own), Some(vec![(0x1000, 0x2000)]));
        let channel =
            format!("{own}a000-b000 rw-s 0 00:01 9 {} (deleted)\n", crate::memory_file::SHOWN);
        assert_eq!(writable(&channel), writable(own));
        assert_eq!(writable(&format!("{own}a000-b000 r--s 0 00:01 9 /dev/shm/x\n")), None);
        assert_eq!(writable("1000-2000000000 rw-p 0 00:00 0\n"), None, "more than is read");
        assert_eq!(writable("nonsense"), None);
    }

    #[test]
    fn states_of_processes_are_read() {
        assert!(is_running("17 (a) b) R 1 17"));
        assert!(!is_running("17 (R) S 1 17"));
        assert!(catches("SigCgt:\t0000000000002000\n", libc::SIGALRM));
        assert!(!catches("SigCgt:\t0000000000001000\n", libc::SIGALRM));
        assert!(catches("", libc::SIGALRM));
    }
}

//! Processes that wait for the simulator while it waits for them.
//!
//! A program can map other memory where its library has the channel. The library then gives the turn to
//! nobody, and sleeps. The way in which it sleeps shows that it is the library.

use abi::rank::{turn, SLEEP_MARK};

/// True if a thread of the process sleeps in its library until the simulator hands over. False if the system
/// does not tell.
pub(crate) fn waits_for_simulator(pid: libc::pid_t) -> bool {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return false };
    threads.flatten().any(|thread| {
        let read = |name| std::fs::read_to_string(thread.path().join(name)).unwrap_or_default();
        sleeps(&read("stat")) && is_ours(&read("syscall"))
    })
}

/// True if a status (proc(5)) is that of a thread which sleeps: one that is stopped goes on some day. Its
/// name, which may hold anything, is in parentheses.
fn sleeps(status: &str) -> bool {
    status.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('S'))
}

/// True if a system call (its number and its six arguments) is the one with which libraries wait.
fn is_ours(call: &str) -> bool {
    let mut words = call.split(' ').map(|word| {
        let digits = word.strip_prefix("0x");
        digits.map_or_else(|| word.parse().ok(), |digits| u64::from_str_radix(digits, 16).ok())
    });
    let mut next = || words.next().flatten();
    let (number, _address) = (next(), next());
    let (operation, expected, _limit, _second, mark) = (next(), next(), next(), next(), next());
    number == Some(libc::SYS_futex as u64)
        && operation == Some(libc::FUTEX_WAIT_BITSET as u64)
        && expected == Some(u64::from(turn::SIMULATOR))
        && mark == Some(u64::from(SLEEP_MARK))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_sleep_of_the_library_counts() {
        let call = |mark: u32| format!("202 0x7f00 0x9 0x1 0x0 0x0 {mark:#x} 0x7ffc 0x7fab");
        assert!(is_ours(&call(SLEEP_MARK)));
        assert!(!is_ours(&call(u32::MAX)));
        assert!(!is_ours("running"));
        assert!(!is_ours(""));
        assert!(sleeps("17 (a) b) S 1 17"));
        assert!(!sleeps("17 (S) T 1 17"));
        assert!(!sleeps(""));
    }
}

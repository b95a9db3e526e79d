//! System calls that a filter may refuse (seccomp, as containers and services have one): each that there is
//! no way around is tried before a run, so that the refused call is named, and not what fails later because
//! of it.

use std::io;
use std::ptr::null_mut;

/// A system call that runs need.
struct Needed {
    name: &'static str,
    /// Purpose, as the end of "without it ...".
    purpose: &'static str,
    /// Only ranks with processes need it.
    processes: bool,
    /// Calls it so that nothing becomes different. Its result is -1 and the error that of the system; the
    /// call's own errors do not matter.
    attempt: fn() -> i64,
}

/// All of them, in the order in which a run makes them.
const NEEDED: [Needed; 15] = [
    Needed {
        name: "mmap",
        purpose: "there is no memory",
        processes: false,
        attempt: || mapping(libc::PROT_READ, |_| 0),
    },
    Needed {
        name: "munmap",
        purpose: "no memory is given back",
        processes: false,
        attempt: || mapping(libc::PROT_READ, unmap),
    },
    Needed {
        name: "mprotect",
        purpose: "stacks have no guards",
        processes: false,
        attempt: || mapping(libc::PROT_NONE, protect),
    },
    Needed {
        name: "futex",
        purpose: "threads and ranks cannot wait for one another",
        processes: false,
        attempt: || {
            let word = 0u32;
            call(libc::SYS_futex, [address(&raw const word), libc::FUTEX_WAKE as usize, 0, 0, 0])
        },
    },
    Needed {
        name: "pipe2",
        purpose: "signals are not noticed",
        processes: false,
        attempt: || call(libc::SYS_pipe2, [0, 0, 0, 0, 0]),
    },
    Needed {
        name: "clone",
        purpose: "there are no threads and no processes",
        processes: false,
        // Signal handlers are shared only by who shares memory: an invalid wish.
        attempt: || call(libc::SYS_clone, [libc::CLONE_SIGHAND as usize, 0, 0, 0, 0]),
    },
    Needed {
        name: "memfd_create",
        purpose: "simulator and ranks share no memory",
        processes: true,
        attempt: || call(libc::SYS_memfd_create, [0, 0, 0, 0, 0]),
    },
    Needed {
        name: "epoll_create1",
        purpose: "a rank's end is not noticed",
        processes: true,
        attempt: || call(libc::SYS_epoll_create1, [usize::MAX, 0, 0, 0, 0]),
    },
    Needed {
        name: "epoll_ctl",
        purpose: "a rank's end is not noticed",
        processes: true,
        attempt: || call(libc::SYS_epoll_ctl, [usize::MAX, 0, 0, 0, 0]),
    },
    Needed {
        name: "epoll_wait",
        purpose: "a rank's end is not noticed",
        processes: true,
        attempt: || call(libc::SYS_epoll_wait, [usize::MAX, 0, 0, 0, 0]),
    },
    Needed {
        name: "poll",
        purpose: "signals and the ends of ranks are not noticed",
        processes: false,
        attempt: || call(libc::SYS_poll, [0, 0, 0, 0, 0]),
    },
    Needed {
        name: "execve",
        purpose: "no program starts",
        processes: true,
        attempt: || call(libc::SYS_execve, [0, 0, 0, 0, 0]),
    },
    Needed {
        name: "waitid",
        purpose: "nobody knows how a rank has ended",
        processes: true,
        attempt: || call(libc::SYS_waitid, [usize::MAX, 0, 0, libc::WEXITED as usize, 0]),
    },
    Needed {
        name: "process_vm_readv",
        purpose: "the memory of ranks cannot be read",
        processes: true,
        attempt: || call(libc::SYS_process_vm_readv, [us(), 0, 0, 0, 0]),
    },
    Needed {
        name: "process_vm_writev",
        purpose: "the memory of ranks cannot be written",
        processes: true,
        attempt: || call(libc::SYS_process_vm_writev, [us(), 0, 0, 0, 0]),
    },
];

/// A call that the system refuses and a run needs.
#[derive(Debug, thiserror::Error)]
#[error("the system refuses the call {call} ({why}), and without it {purpose}: {}", WHAT_TO_DO)]
pub struct Refused {
    /// Name of the call.
    pub call: &'static str,
    /// Lack without it.
    pub purpose: &'static str,
    /// Answer of the system.
    pub why: io::Error,
}

/// Finds out what the system refuses that a run needs; `processes` if its ranks have any.
pub fn permitted(processes: bool) -> Result<(), Refused> {
    for needed in NEEDED.iter().filter(|needed| processes || !needed.processes) {
        let refused = ((needed.attempt)() < 0).then(io::Error::last_os_error);
        if let Some(why) = refused.filter(is_refusal) {
            let Needed { name: call, purpose, .. } = *needed;
            return Err(Refused { call, purpose, why });
        }
    }
    Ok(())
}

/// Advice to the user.
const WHAT_TO_DO: &str =
    "let the filter of system calls (seccomp) of this container or service allow it";

/// True for the answers of a filter.
pub(crate) fn is_refusal(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS))
}

fn call(number: libc::c_long, arguments: [usize; 5]) -> i64 {
    let [a, b, c, d, e] = arguments;
    // SAFETY: every caller requests what the system cannot do (nothing at address 0, no descriptor of the
    // highest number) or what is nothing (no bytes, nobody to wake).
    unsafe { libc::syscall(number, a, b, c, d, e, 0) }
}

fn us() -> usize {
    std::process::id() as usize
}

fn address(word: *const u32) -> usize {
    word as usize
}

const PAGE: usize = 4096;

/// Does something with a page of its own, which goes afterwards.
fn mapping(protection: libc::c_int, what: fn(*mut libc::c_void) -> i64) -> i64 {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a fresh mapping at an address that the system chooses.
    let page = unsafe { libc::mmap(null_mut(), PAGE, protection, flags, -1, 0) };
    if page == libc::MAP_FAILED {
        return -1;
    }
    let done = what(page);
    let error = io::Error::last_os_error().raw_os_error().unwrap_or(0);
    unmap(page);
    // SAFETY: this thread's own number, which giving the page back may have changed.
    unsafe { *libc::__errno_location() = error };
    done
}

fn protect(page: *mut libc::c_void) -> i64 {
    // SAFETY: an empty page of ours.
    unsafe { libc::mprotect(page, PAGE, libc::PROT_READ | libc::PROT_WRITE) }.into()
}

fn unmap(page: *mut libc::c_void) -> i64 {
    // SAFETY: a page of ours that nobody knows; a second time there is nothing.
    unsafe { libc::munmap(page, PAGE) }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each attempt is answered if nothing is refused, and not with the answer of a filter.
    #[test]
    fn what_is_tried_is_no_refusal_by_itself() {
        for needed in &NEEDED {
            let refused = (needed.attempt)() < 0 && is_refusal(&io::Error::last_os_error());
            assert!(!refused, "{} is refused here", needed.name);
        }
        permitted(true).unwrap();
    }

    #[test]
    fn a_refused_call_is_told_with_what_to_do() {
        let why = io::Error::from_raw_os_error(libc::EPERM);
        let refused = Refused { call: "poll", purpose: "signals are not noticed", why };
        assert_eq!(
            refused.to_string(),
            "the system refuses the call poll (Operation not permitted (os error 1)), and without \
             it signals are not noticed: let the filter of system calls (seccomp) of this \
             container or service allow it"
        );
    }
}

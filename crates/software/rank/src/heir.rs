//! The process that is the rank, if it is not the one that the simulator has started: a launcher (env, a
//! script, a debugger) comes before it, and has started it in turn.

use std::fs;
use std::os::fd::{FromRawFd, OwnedFd};

/// Generations that may lie between the two.
const GENERATIONS_MAX: usize = 64;

/// A descriptor of process `heir`; `None` if it is gone, or does not descend from `root`.
pub(crate) fn descriptor(heir: libc::pid_t, root: libc::pid_t) -> Option<OwnedFd> {
    // SAFETY: opens a descriptor, if there is such a process. No memory is touched.
    let pidfd = unsafe { libc::syscall(libc::SYS_pidfd_open, heir, 0) };
    let pidfd = i32::try_from(pidfd).ok().filter(|pidfd| *pidfd >= 0)?;
    // SAFETY: just opened for us.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    // Only now that its number cannot become another's.
    descends(heir, root).then_some(pidfd)
}

fn descends(mut process: libc::pid_t, root: libc::pid_t) -> bool {
    for _ in 0..GENERATIONS_MAX {
        if process == root {
            return true;
        }
        // One whose parent has ended was adopted by us; who its ancestor was is not known any more.
        match parent(process) {
            Some(parent) if parent == std::process::id() as libc::pid_t => return true,
            Some(parent) if parent > 1 => process = parent,
            _ => return false,
        }
    }
    false
}

/// The parent of a process (proc(5)). Its name, which may hold anything, is in parentheses.
fn parent(process: libc::pid_t) -> Option<libc::pid_t> {
    let status = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    status.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_descendants_are_heirs() {
        let own = std::process::id() as libc::pid_t;
        assert!(descends(own, own));
        let above = parent(own).unwrap();
        assert!(descends(own, above) && !descends(above, own));
        assert!(descriptor(own, own).is_some() && descriptor(above, own).is_none());
        assert!(descriptor(libc::pid_t::MAX, own).is_none());
    }
}

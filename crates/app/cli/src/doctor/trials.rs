//! Abilities of the kernel that something here depends on, each tried.

use std::io;

/// A trial.
pub struct Trial {
    pub name: &'static str,
    /// Consequences of its failure, and what to do.
    pub without: &'static str,
    pub costs: Costs,
    /// Finds something, or a reason.
    pub attempt: fn() -> Result<String, TrialError>,
}

/// Reason for which a trial finds nothing.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The system refuses a call.
    #[error("{0}")]
    Refused(io::Error),
    /// The system ends whoever makes a call.
    #[error("the filter kills who calls it")]
    Killed,
    /// Calls of a run are refused, in the words of `rank`.
    #[error("{0}")]
    OfRun(rank::Refused),
}

/// Extent of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Costs {
    /// Runs.
    Runs,
    /// Some kinds of runs, or some options.
    Some,
}

/// All of them.
pub const TRIALS: [Trial; 9] = [
    Trial {
        name: "system calls of a run",
        without: "no program runs",
        costs: Costs::Runs,
        attempt: || {
            let permitted = rank::permitted(true).map(|()| "ok".into());
            permitted.map_err(TrialError::OfRun)
        },
    },
    Trial {
        name: "process_vm_readv, _writev",
        without: "no program with processes runs: kernel.yama.ptrace_scope must be 0 or 1, and a \
                  container's filter of system calls must allow them",
        costs: Costs::Runs,
        attempt: || of_child(access_memory),
    },
    Trial {
        name: "ptrace of children",
        without: "there are no Linux guests, no sunstar disk --clocked, and a program that polls \
                  without MPI is not told from one that computes: kernel.yama.ptrace_scope must be \
                  0 or 1, and a container's filter of system calls must allow it",
        costs: Costs::Some,
        attempt: || of_child(trace),
    },
    Trial {
        name: "yama's ptrace_scope",
        without: "",
        costs: Costs::Some,
        attempt: || {
            Ok(number("/proc/sys/kernel/yama/ptrace_scope")
                .map_or_else(|| "0 (no yama)".into(), |scope| scope.to_string()))
        },
    },
    Trial {
        name: "fixed addresses",
        without: "there are no Linux guests, and addresses in programs differ from run to run (no \
                  result depends on them): let the filter of system calls (seccomp) of this \
                  container allow personality(ADDR_NO_RANDOMIZE), as docker run --security-opt \
                  seccomp=unconfined does",
        costs: Costs::Some,
        attempt: || in_child(fix_addresses),
    },
    Trial {
        name: "filters of system calls",
        without: "Linux guests are less confined, and there is no sunstar disk --clocked",
        costs: Costs::Some,
        attempt: || in_child(filter),
    },
    Trial {
        name: "/proc/self/mem",
        without:
            "clocks that programs read without a system call (vDSO) are caught in a slower way",
        costs: Costs::Some,
        attempt: || {
            let file = std::fs::File::options().read(true).write(true).open("/proc/self/mem");
            file.map(|_| "ok".into()).map_err(TrialError::Refused)
        },
    },
    Trial {
        name: "/dev/shm",
        without: "Linux guests have their memory in the folder for temporary files: slower",
        costs: Costs::Some,
        attempt: || {
            free(c"/dev/shm").map(|mb| format!("{mb} MB free")).map_err(TrialError::Refused)
        },
    },
    Trial {
        name: "vm.max_map_count",
        without: "",
        costs: Costs::Some,
        attempt: || {
            let Some(most) = number("/proc/sys/vm/max_map_count") else {
                return Ok("unlimited".into());
            };
            // Two stacks a node, and what the simulator has beside them (`rank::allow_mappings`).
            Ok(format!("{most}, enough for {} nodes", most.saturating_sub(1024) / 4))
        },
    },
];

/// Version of the kernel.
pub fn release() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("Linux {}", text.trim())
}

fn number(path: &str) -> Option<u64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Megabytes that are free in the file system of a folder that can be written.
fn free(folder: &std::ffi::CStr) -> io::Result<u64> {
    // SAFETY: all zero is a value of this structure, which the second call fills.
    unsafe {
        let mut facts: libc::statvfs = std::mem::zeroed();
        checked(libc::access(folder.as_ptr(), libc::W_OK).into())?;
        checked(libc::statvfs(folder.as_ptr(), &raw mut facts).into())?;
        Ok((facts.f_bavail * facts.f_frsize) >> 20)
    }
}

/// Result of a system call that is -1 where it fails.
fn checked(result: i64) -> io::Result<()> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Does something in a child, which then ends.
fn in_child(what: fn() -> io::Result<()>) -> Result<String, TrialError> {
    // SAFETY: the child makes system calls only, and ends.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let error = what().err().map_or(0, |why| why.raw_os_error().unwrap_or(255));
        // SAFETY: the call does not come back.
        unsafe { libc::_exit(error) };
    }
    checked(pid.into()).map_err(TrialError::Refused)?;
    let mut status = 0;
    // SAFETY: a child of ours, and a place for its status.
    unsafe { libc::waitpid(pid, &raw mut status, 0) };
    match (libc::WIFEXITED(status), libc::WEXITSTATUS(status)) {
        (true, 0) => Ok("ok".into()),
        (true, error) => Err(TrialError::Refused(io::Error::from_raw_os_error(error))),
        (false, _) => Err(TrialError::Killed),
    }
}

/// Does something to a child that waits, which is then killed.
fn of_child(what: fn(libc::pid_t) -> io::Result<()>) -> Result<String, TrialError> {
    // SAFETY: the child makes system calls only, and never comes back.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        // SAFETY: system calls with numbers; it ends with its parent.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            loop {
                libc::pause();
            }
        }
    }
    checked(pid.into()).map_err(TrialError::Refused)?;
    let done = what(pid);
    // SAFETY: a child of ours that was not waited for.
    unsafe {
        libc::kill(pid, libc::SIGKILL);
        libc::waitpid(pid, std::ptr::null_mut(), 0);
    }
    done.map(|()| "ok".into()).map_err(TrialError::Refused)
}

/// A word that is at the same address in a child.
static WORD: u32 = 0x53_55_4E;

/// Reads a word of the child's memory, and writes one of its stack's: what is there.
fn access_memory(pid: libc::pid_t) -> io::Result<()> {
    let (mut read, size) = (0u32, size_of::<u32>());
    let here = libc::iovec { iov_base: (&raw mut read).cast(), iov_len: size };
    let there = libc::iovec { iov_base: (&raw const WORD).cast_mut().cast(), iov_len: size };
    // SAFETY: a word of ours takes what is read.
    let done = unsafe { libc::process_vm_readv(pid, &raw const here, 1, &raw const there, 1, 0) };
    checked(done as i64)?;
    if read != WORD {
        return Err(io::Error::other("another process was read"));
    }
    // The child's copy of our local word: nobody else reads it.
    let there = here;
    // SAFETY: the child waits for its end, and our word is read.
    let done = unsafe { libc::process_vm_writev(pid, &raw const here, 1, &raw const there, 1, 0) };
    checked(done as i64)
}

fn trace(pid: libc::pid_t) -> io::Result<()> {
    // SAFETY: the call touches no memory of ours.
    checked(unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0) })
}

fn fix_addresses() -> io::Result<()> {
    // SAFETY: a call that takes a number.
    checked(unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) }.into())
}

/// Installs a filter that allows everything.
fn filter() -> io::Result<()> {
    let mut all = libc::sock_filter { code: 6, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW };
    let program = libc::sock_fprog { len: 1, filter: &raw mut all };
    // SAFETY: calls that take numbers, and a program that is alive.
    unsafe {
        checked(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0).into())?;
        checked(
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program).into(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever refuses is told: a filter that lets a call fail makes its trial fail.
    #[test]
    fn a_refused_call_fails_its_trial() {
        fn refused() -> io::Result<()> {
            // Whoever calls personality gets EPERM, in this child alone.
            let number = libc::SYS_personality as u32;
            let refuse = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
            let mut all = [
                libc::sock_filter { code: 0x20, jt: 0, jf: 0, k: 0 },
                libc::sock_filter { code: 0x15, jt: 0, jf: 1, k: number },
                libc::sock_filter { code: 6, jt: 0, jf: 0, k: refuse },
                libc::sock_filter { code: 6, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW },
            ];
            let program = libc::sock_fprog { len: 4, filter: all.as_mut_ptr() };
            // SAFETY: as in `filter`.
            unsafe {
                libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
                libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program);
            }
            fix_addresses()
        }
        assert_eq!(in_child(fix_addresses).unwrap(), "ok");
        let why = in_child(refused).unwrap_err();
        assert_eq!(why.to_string(), "Operation not permitted (os error 1)");
        assert_eq!(in_child(filter).unwrap(), "ok");
    }

    #[test]
    fn who_is_killed_is_told() {
        fn killed() -> io::Result<()> {
            // SAFETY: the child ends here.
            unsafe { libc::raise(libc::SIGKILL) };
            Ok(())
        }
        let why = in_child(killed).unwrap_err();
        assert_eq!(why.to_string(), "the filter kills who calls it");
    }

    #[test]
    fn children_are_read_written_and_traced() {
        assert_eq!(of_child(access_memory).unwrap(), "ok");
        assert_eq!(of_child(trace).unwrap(), "ok");
        assert!(free(c"/nonexistent").is_err());
    }
}

//! Processes that ranks have started themselves, and leave behind when they are killed.
//!
//! They become the simulator's children if a rank ends before them, and so can be found and ended with the
//! run, whatever groups and sessions they have made.

use std::fs;
use std::time::{Duration, Instant};

/// Makes processes whose parent has ended, and that descend from this process, its children from now on.
/// Where the system refuses this they outlive a run.
pub fn adopt_orphans() {
    // SAFETY: sets an attribute of this process; no memory is touched.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
}

/// Kills all children of this process, and what becomes its child by that, until there is none. Only where
/// nothing that the command has started itself is wanted any more; ranks must have been waited for, or be
/// of no concern.
pub fn end_orphans() {
    loop {
        let children = children();
        if children.is_empty() {
            return;
        }
        for child in children {
            // SAFETY: system calls on our own child, for which nobody else waits. It touches no memory.
            unsafe {
                libc::kill(child, libc::SIGKILL);
                libc::waitpid(child, std::ptr::null_mut(), 0);
            }
        }
    }
}

/// Asks all processes that descend from this one to end, and kills those that have not when `patience` has
/// passed. Only where nothing that the command has started itself is wanted any more.
pub fn end_descendants(patience: Duration) {
    let mut all = children();
    let mut at = 0;
    while let Some(process) = all.get(at) {
        all.extend(children_of(&format!("/proc/{process}/task")));
        at += 1;
    }
    for process in all {
        // SAFETY: a system call that takes numbers.
        unsafe { libc::kill(process, libc::SIGTERM) };
    }
    let deadline = Instant::now() + patience;
    while !children().is_empty() && Instant::now() < deadline {
        // SAFETY: a system call on our own children, for which nobody else waits; it touches no memory.
        while unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) } > 0 {}
        std::thread::sleep(LOOK);
    }
    end_orphans();
}

/// Time between two looks at children that end.
const LOOK: Duration = Duration::from_millis(2);

/// The children of all threads; none if the system does not tell.
fn children() -> Vec<libc::pid_t> {
    children_of("/proc/self/task")
}

fn children_of(threads: &str) -> Vec<libc::pid_t> {
    let threads = fs::read_dir(threads).into_iter().flatten().flatten();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().flat_map(str::parse).collect::<Vec<_>>())
        .collect()
}

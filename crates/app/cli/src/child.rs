//! A `sunstar` process as a child, which does not outlive this process.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// Command of this `sunstar`, which is asked to end when the thread that starts it ends in any way.
pub fn command() -> Command {
    // The file may be replaced while we run; this is the one that runs.
    let mut command = Command::new("/proc/self/exe");
    let parent = std::process::id() as libc::pid_t;
    // SAFETY: between fork and exec only system calls are made that are async-signal-safe.
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
            if libc::getppid() != parent {
                libc::_exit(1); // We ended before it asked to end with us.
            }
            Ok(())
        });
    }
    command
}

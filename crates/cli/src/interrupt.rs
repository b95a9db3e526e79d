//! Ctrl-C, termination and hang-up: the run ends at once, its ranks with it, and nothing is left behind.

use crate::mistake::Mistake;
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicI32, Ordering};

/// Write end of the pipe through which the signal handler wakes the watcher.
static WAKE: AtomicI32 = AtomicI32::new(-1);

extern "C" fn on_signal(signal: libc::c_int) {
    let byte = signal as u8;
    // SAFETY: write is async-signal-safe, and `byte` outlives the call. If the pipe is full a signal is
    // already on its way, so the result does not matter.
    unsafe { libc::write(WAKE.load(Ordering::Relaxed), (&raw const byte).cast(), 1) };
}

/// From now on a signal removes `folder` and ends this process and its children with status 128 + signal.
pub fn end_on_signal(folder: PathBuf) -> Result<(), Mistake> {
    let failed =
        |what: &str| Mistake(format!("cannot {what} signals: {}", std::io::Error::last_os_error()));
    let mut ends = [0; 2];
    // SAFETY: pipe2 fills the array of two that it is given.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(failed("make a pipe for"));
    }
    // SAFETY: the descriptor was just made and nothing else owns it.
    let read_end = std::fs::File::from(unsafe { OwnedFd::from_raw_fd(ends[0]) });
    WAKE.store(ends[1], Ordering::Relaxed);
    std::thread::Builder::new()
        .name("interrupt".into())
        .spawn(move || watch(read_end, folder))
        .map_err(|_| failed("watch"))?;
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let handler = on_signal as extern "C" fn(libc::c_int);
        // SAFETY: the handler only stores to a pipe; executed programs get the default action back.
        if unsafe { libc::signal(signal, handler as libc::sighandler_t) } == libc::SIG_ERR {
            return Err(failed("handle"));
        }
    }
    Ok(())
}

fn watch(mut pipe: std::fs::File, folder: PathBuf) {
    let mut signal = [0];
    if std::io::Read::read_exact(&mut pipe, &mut signal).is_err() {
        return;
    }
    // The ranks die with us (they asked the kernel for it), but a child that is just being started has not
    // asked yet.
    for child in children() {
        // SAFETY: kill touches no memory. The process is our child and not waited for once we are here:
        // at worst it has been reaped by the run an instant ago and its number names nothing.
        unsafe { libc::kill(child, libc::SIGKILL) };
    }
    // Nothing can be done about a folder that cannot be removed.
    std::fs::remove_dir_all(folder).ok();
    // SAFETY: _exit ends the process; destructors of other threads must not run under their feet.
    unsafe { libc::_exit(128 + i32::from(signal[0])) }
}

/// Process ids of this process's children.
fn children() -> Vec<libc::pid_t> {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return Vec::new() };
    tasks
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok())
        .flat_map(|list| {
            list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()
        })
        .collect()
}

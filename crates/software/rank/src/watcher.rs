//! Notices the death of ranks at once: one thread sleeps on the process descriptors of all of them.

use crate::life::Life;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

static WATCHER: OnceLock<Watcher> = OnceLock::new();

/// One for the whole simulator.
pub(crate) struct Watcher {
    epoll: OwnedFd,
    watched: Mutex<Registry>,
}

#[derive(Default)]
struct Registry {
    next_id: u64,
    processes: BTreeMap<u64, Arc<Life>>,
}

/// Kills all ranks that live. May be called by any thread at any time, not by a signal handler itself.
pub fn kill_all() {
    let Some(watcher) = WATCHER.get() else { return };
    for process in watcher.lock().processes.values() {
        process.kill();
    }
}

impl Watcher {
    /// The watcher; the first call starts its thread.
    pub fn get() -> io::Result<&'static Watcher> {
        if let Some(watcher) = WATCHER.get() {
            return Ok(watcher);
        }
        // SAFETY: a new descriptor that nobody else owns, if there is one.
        let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if epoll < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just opened.
        let epoll = unsafe { OwnedFd::from_raw_fd(epoll) };
        let mut ours = false;
        let watcher = WATCHER.get_or_init(|| {
            ours = true;
            Watcher { epoll, watched: Mutex::default() }
        });
        if ours {
            std::thread::Builder::new()
                .name("rank-watcher".into())
                .stack_size(64 << 10)
                .spawn(|| watcher.run())
                .map_err(|why| {
                    io::Error::new(why.kind(), format!("no thread watches it: {why}"))
                })?;
        }
        Ok(watcher)
    }

    fn lock(&self) -> MutexGuard<'_, Registry> {
        // The registry is whole between any two statements, so a panic elsewhere has not broken it.
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches the process: its death makes its channel dead. Returns the key for [`Watcher::forget`].
    pub fn watch(&self, process: Arc<Life>) -> io::Result<u64> {
        let mut registry = self.lock();
        let id = registry.next_id;
        registry.next_id += 1;
        let events = (libc::EPOLLIN | libc::EPOLLONESHOT) as u32;
        let mut event = libc::epoll_event { events, u64: id };
        let (epoll, fd) = (self.epoll.as_raw_fd(), process.pidfd.as_raw_fd());
        // SAFETY: both descriptors are open, the event outlives the call.
        if unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &raw mut event) } != 0 {
            return Err(io::Error::last_os_error());
        }
        registry.processes.insert(id, process);
        Ok(id)
    }

    /// Forgets a process; closing its descriptor also takes it out of the poll set.
    pub fn forget(&self, id: u64) {
        self.lock().processes.remove(&id);
    }

    fn run(&self) {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 64];
        loop {
            // SAFETY: room for as many events as said; the descriptor lives as long as the program.
            let count =
                unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), events.as_mut_ptr(), 64, -1) };
            let count = usize::try_from(count).unwrap_or(0); // interrupted: none
            for event in &events[..count] {
                let id = event.u64;
                if let Some(process) = self.lock().processes.get(&id) {
                    process.channel.declare_dead();
                }
            }
        }
    }
}

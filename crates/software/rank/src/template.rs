//! Ranks that are forked from a process which has loaded their program already: to load it takes several
//! times as long (docs/decisions/0040).

use crate::channel::{Channel, Taken, Turn};
use crate::process::Process;
use crate::spawn::{Child, SpawnOptions, Stdin};
use crate::{inspect, memory_file};
use abi::rank::record_kind;
use std::collections::HashMap;
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;
use std::time::Instant;

/// Ranks from which on a template costs less than it saves.
const RANKS_MIN: u32 = 4;
/// Real time that a template gets to load the program.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);
/// Variables that let the loader load more than the program requests.
const LOADERS: [&str; 2] = ["LD_PRELOAD", "LD_AUDIT"];

/// The templates of a run: one for each thread that starts processes, which die with the thread that does.
#[derive(Debug)]
pub struct Templates {
    ranks: u32,
    of_threads: Mutex<HashMap<ThreadId, Option<Template>>>,
}

/// A process that has loaded the program and has not started it.
#[derive(Debug)]
struct Template {
    /// Its channel is the first in its memory file.
    process: Process,
    file: OwnedFd,
    /// Options with which it was loaded, as rank 0 of `options.size`.
    options: SpawnOptions,
    /// Number of the next channel.
    next: u32,
}

impl Templates {
    /// Templates of a run of `program` on `ranks` ranks; `None` if each rank must load it for itself. They
    /// exist only if everything that is loaded before the program begins is known to do nothing that a rank
    /// could tell from the same done once for all: the compiler's own libraries and ours.
    pub fn of(program: &Path, ranks: u32) -> Option<Arc<Templates>> {
        let added = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let plain = !LOADERS.iter().any(|name| added(name)) && inspect::loads_nothing_else(program);
        let templates = || Arc::new(Templates { ranks, of_threads: Mutex::default() });
        (ranks >= RANKS_MIN && plain).then(templates)
    }

    /// Forks a rank and makes its channel. `None` if it must be started as others are.
    pub(crate) fn fork(&self, options: &SpawnOptions) -> Option<(Channel, Child)> {
        // A rank with streams of its own is started otherwise.
        let own = options.stdin != Stdin::Null || !options.surroundings.output.is_shared();
        if own || options.randomize {
            return None;
        }
        let thread = std::thread::current().id();
        let mut of_threads = self.of_threads.lock().unwrap_or_else(PoisonError::into_inner);
        let template =
            of_threads.entry(thread).or_insert_with(|| Template::new(options, self.ranks));
        let forked = template.as_mut().and_then(|template| template.fork(options));
        if forked.is_none() {
            *template = None; // What it cannot do once it does not try again.
        }
        forked
    }
}

impl Template {
    /// One that has loaded the program.
    fn new(options: &SpawnOptions, ranks: u32) -> Option<Template> {
        let options = SpawnOptions { rank: 0, templates: None, ..options.clone() };
        let file = memory_file::new(1 + ranks).ok()?;
        let channel = Channel::in_file(&file, 0, &options).ok()?;
        channel.make_template();
        let process = Process::spawn_with(channel, &file, &options).ok()?;
        let loaded = forked(&process, PATIENCE) == Some(0);
        loaded.then_some(Template { process, file, options, next: 1 })
    }

    fn fork(&mut self, options: &SpawnOptions) -> Option<(Channel, Child)> {
        if !same(&self.options, options) {
            return None;
        }
        let channel = Channel::in_file(&self.file, self.next, options).ok()?;
        channel.set_variables(options);
        self.process.reply(self.next as i32, des::Time::ZERO);
        self.next += 1;
        let pid = forked(&self.process, PATIENCE).filter(|pid| *pid > 0)?;
        let pid = libc::pid_t::try_from(pid).ok()?;
        // SAFETY: the kernel opens a descriptor, if there is such a process: it is our own child, for which
        // nobody has waited, so the number is still its own.
        let pidfd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        let Some(pidfd) = i32::try_from(pidfd).ok().filter(|pidfd| *pidfd >= 0) else {
            // Nobody would notice its end, so it is ended at once. Ranks are started singly then.
            // SAFETY: as above; no memory is touched.
            unsafe {
                libc::kill(pid, libc::SIGKILL);
                libc::waitpid(pid, std::ptr::null_mut(), 0);
            }
            return None;
        };
        // SAFETY: just opened for us.
        let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
        Some((channel, Child { pid, pidfd, processor: self.process.processor() }))
    }
}

/// True if processes of these options differ only in their rank.
fn same(a: &SpawnOptions, b: &SpawnOptions) -> bool {
    (&a.program, &a.library_dir) == (&b.program, &b.library_dir)
        && (&a.args, &a.env) == (&b.args, &b.env)
        && (a.size, a.stdin, a.follow, a.randomize) == (b.size, b.stdin, b.follow, b.randomize)
}

/// Process id (0: none yet) of what a template has forked. `None` if it is no template any more, or is
/// none in so much real time.
fn forked(process: &Process, patience: std::time::Duration) -> Option<i64> {
    let began = Instant::now();
    loop {
        match process.channel.turn() {
            Turn::Dead | Turn::Overwritten => return None,
            Turn::Simulator => {
                let Taken::Record(record) = process.channel.take() else { return None };
                let forked = record.kind == record_kind::FORKED;
                return forked.then_some(record.arguments[0] as i64);
            }
            Turn::Process => {}
        }
        let left = patience.saturating_sub(began.elapsed());
        if left.is_zero() {
            return None;
        }
        process.channel.wait_for_turn(left);
    }
}

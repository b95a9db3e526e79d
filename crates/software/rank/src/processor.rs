//! Placement of simulator and ranks on the workstation's processors: a hand-over is several times as cheap
//! when both are on the same. Nothing simulated depends on it (docs/decisions/0028).

use libc::{c_int, cpu_set_t, pid_t};

/// The processor on which the calling thread runs now.
pub fn processor_now() -> usize {
    now().map_or(0, |processor| processor as usize)
}

/// The same as the system counts; `None` if it has no answer.
pub(crate) fn now() -> Option<c_int> {
    // SAFETY: takes nothing and returns a number, negative if the system has no answer.
    Some(unsafe { libc::sched_getcpu() }).filter(|processor| *processor >= 0)
}

/// Keeps the calling thread on one processor: of those that it may use, counted round from `first`, number
/// `index`. Does nothing if the system refuses.
pub fn keep_thread_on(first: usize, index: usize) {
    // SAFETY: a set of processors is plain data, as large as the system is told.
    unsafe {
        let size = size_of::<cpu_set_t>();
        let mut allowed: cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size, &raw mut allowed) != 0 {
            return;
        }
        let all = libc::CPU_SETSIZE as usize;
        let count = libc::CPU_COUNT(&allowed) as usize;
        let mut usable =
            (0..all).map(|i| (first + i) % all).filter(|i| libc::CPU_ISSET(*i, &allowed));
        if let Some(processor) = usable.nth(index % count.max(1)) {
            keep_on(0, processor as c_int);
        }
    }
}

/// Keeps a process's main thread (0: the calling thread) on a processor; false if the system refuses. Only
/// a system call, no allocation: a child that shares the simulator's memory may call it.
pub(crate) fn keep_on(pid: pid_t, processor: c_int) -> bool {
    if processor >= libc::CPU_SETSIZE {
        return false; // The set has no place for it.
    }
    // SAFETY: a set of processors is plain data, as large as the system is told; the number is within it.
    unsafe {
        let mut one: cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(processor as usize, &mut one);
        libc::sched_setaffinity(pid, size_of::<cpu_set_t>(), &raw const one) == 0
    }
}

/// A thread's turn on a processor, in nanoseconds: the shortest that Linux gives.
const SHORT_TURN: u64 = 100_000;

/// Lets the calling thread, whenever it is woken, take the processor from one that has longer turns: from the
/// simulator, which has woken it and has nothing to do until it hands over. Otherwise the system often lets
/// the simulator go on, which only goes to sleep, in one more system call, and must be woken. Before version
/// 6.12 Linux knows no such thing and does not mind. Only system calls, no allocation: a child that shares
/// the simulator's memory may call it.
pub(crate) fn take_turns_at_once() {
    // SAFETY: attributes are plain data, as large as the system is told.
    unsafe {
        let mut own: libc::sched_attr = std::mem::zeroed();
        let size = size_of::<libc::sched_attr>();
        let told = libc::syscall(libc::SYS_sched_getattr, 0, &raw mut own, size, 0);
        // Real-time threads have no such turns: if the user wants that, it stays.
        if told == 0 && own.sched_policy == libc::SCHED_OTHER as u32 {
            own.sched_runtime = SHORT_TURN;
            libc::syscall(libc::SYS_sched_setattr, 0, &raw const own, 0);
        }
    }
}

/// Lets a process follow the simulator from processor to processor.
#[derive(Debug)]
pub(crate) struct Follower {
    pid: pid_t,
    /// Processor to which it was last sent; `None`: the system chooses.
    sent_to: Option<c_int>,
}

impl Follower {
    /// Follower of a process that was started on `processor`, if it must follow.
    pub fn new(pid: pid_t, processor: Option<c_int>) -> Follower {
        Follower { pid, sent_to: processor }
    }

    /// Processor to which it was last sent.
    pub fn sent_to(&self) -> Option<c_int> {
        self.sent_to
    }

    /// Another process takes the place of the one that follows.
    pub fn replace(&mut self, pid: pid_t) {
        self.pid = pid;
    }

    /// The process was waited for: its number may be somebody else's now.
    pub fn stop(&mut self) {
        self.sent_to = None;
    }

    /// Moves the process to the caller's processor, before it gets the turn for which it sleeps.
    pub fn follow(&mut self) {
        let Some(sent_to) = self.sent_to else { return };
        match now() {
            Some(here) if here != sent_to => {
                // After one refusal (by a control group, for example) it does not ask again.
                self.sent_to = keep_on(self.pid, here).then_some(here);
            }
            _ => {}
        }
    }
}

//! Conservative windows: every logical process runs up to its horizon, then messages are exchanged.
//!
//! A message takes at least the lookahead from one neighbour to the next, and each process reports its
//! earliest output. The horizon of a process is the least of these times plus the distance: events of others
//! before their earliest output cannot affect it before its horizon. While streams move, all have the same
//! horizon, so that between windows all are at the same time. The windows are the same for any number of
//! worker threads, and every queue orders its events by (time, source, sequence), so results do not depend on
//! threads. A logical process is built, runs and ends on one worker thread; only messages cross.

use crate::barrier::{lock, Barrier, PoisonOnPanic};
use crate::horizon::{Announced, Change, Horizons, Links};
use crate::repeat::{fitting, least, Lead, Offers, Repeats, LAGS};
use crate::share::Share;
use crate::{Duration, Time};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};

/// A part of the simulated machine with its own time.
pub trait LogicalProcess {
    /// Message between logical processes: a plain value.
    type Message: Send;
    /// Results of the process after the run.
    type Report: Send;

    /// Earliest time at which it has an event of its own; `Time::NEVER` if only a message can cause one.
    fn next_event(&self) -> Time;
    /// Earliest output: the earliest time at which it may send a message, unless one comes before; not before
    /// `next_event`. It is later than that for a process that needs time to make a message. A message that
    /// comes can only make it earlier, and not earlier than the message's arrival.
    fn earliest_output(&self) -> Time {
        self.next_event()
    }
    /// Earliest output of the process. It may announce messages that are known beforehand, each with its
    /// earliest time, and with what follows from it: these need not count for its earliest output.
    fn lookahead(&self, told: &mut Vec<Announced>) -> Lookahead {
        let _ = told;
        Lookahead { earliest_output: self.earliest_output(), reaction_time: Duration::ZERO }
    }
    /// Does everything due before `horizon`.
    fn advance_to(&mut self, horizon: Time, outbox: &mut Outbox<Self::Message>);
    /// Takes in a message that arrives at `envelope.at`, which is never in its past.
    fn receive(&mut self, envelope: Envelope<Self::Message>);
    /// Status after `advance_to`.
    fn status(&self) -> Status;
    /// Progress of a stream that may repeat itself here, in beats; `None` if there is none. Asked after every
    /// advance. While any process has one, all have the same windows.
    fn progress(&self) -> Option<u64> {
        None
    }
    /// Saves its state at `now`, between two windows, as sample `number`, which is one more than that of the
    /// last sample. No process has an event before `now`. Returns how many times it could repeat what it has
    /// done since earlier samples, which were at `began`; `None` if some of it cannot be repeated.
    fn sample(&mut self, number: u64, now: Time, began: [Time; LAGS]) -> Option<Offers> {
        let _ = (number, now, began);
        None
    }
    /// Applies the effect of repeating `times` times what it did since sample `since`, which took `span`. A
    /// message that it sends is received at once.
    fn repeat(
        &mut self,
        since: u64,
        span: Duration,
        times: u64,
        outbox: &mut Outbox<Self::Message>,
    ) {
        let _ = (since, span, times, outbox);
    }
    /// Quiesce time: the time up to which it advances once nothing moves any more. A run ends at the latest
    /// of these times, which does not depend on the windows, while the last horizon does.
    fn quiesce_time(&self) -> Time {
        Time::ZERO
    }
    /// Ends it at `end`, which is at or after every horizon; nothing moves any more.
    fn finish(self, end: Time) -> Self::Report;
}

/// Bounds on the messages that a logical process sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookahead {
    /// As [`LogicalProcess::earliest_output`], without the announced messages.
    pub earliest_output: Time,
    /// Reaction time: least time from the arrival of an announced message that is meant for this process to a
    /// message sent because of it. If it is zero, the process may send as soon as any announced message has
    /// arrived.
    pub reaction_time: Duration,
}

impl Lookahead {
    /// Of a process that sends nothing.
    pub(crate) const NEVER: Lookahead =
        Lookahead { earliest_output: Time::NEVER, reaction_time: Duration::ZERO };
}

/// Status of a logical process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It has work, or will have without a message.
    Busy,
    /// Nothing will happen here until a message comes (an idle firmware loop may go on turning).
    Quiet,
    /// Quiet, and all its work is done.
    Done,
    /// A fault was recorded at this time: it does nothing more, and the run ends
    /// [`Bounds::notice`] after the first one.
    Failed(Time),
}

/// A message on its way.
#[derive(Clone, Debug)]
pub struct Envelope<M> {
    /// Time of arrival.
    pub at: Time,
    /// Sender.
    pub source: u32,
    /// Number of the message among those of its source.
    pub sequence: u64,
    /// Receiver.
    pub target: u32,
    /// Contents.
    pub message: M,
}

/// Messages that a logical process sends within a window.
pub struct Outbox<M> {
    pub(crate) source: u32,
    pub(crate) sequence: u64,
    pub(crate) sent: Vec<Envelope<M>>,
}

impl<M> Default for Outbox<M> {
    fn default() -> Outbox<M> {
        Outbox { source: 0, sequence: 0, sent: Vec::new() }
    }
}

impl<M> Outbox<M> {
    /// True if nothing has been sent.
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }
    /// Sends `message` to logical process `target`; it arrives at `at`, at or after the target's
    /// horizon.
    pub fn send(&mut self, target: u32, at: Time, message: M) {
        self.sequence += 1;
        let (source, sequence) = (self.source, self.sequence);
        self.sent.push(Envelope { at, source, sequence, target, message });
    }
}

/// Ending of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every logical process is done.
    Done,
    /// Nothing moves any more, but not all are done.
    Deadlock,
    /// At least one failed.
    Failed,
    /// A request from outside ended the run.
    Stopped,
    /// The run has reached its end time; no event at or after it is handled.
    TimeUp,
}

/// Limits of a run that does not end by itself.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Time at which the run ends: no event at or after it is handled.
    pub until: Time,
    /// Time from the first failure to the end of the run. No process gets further ahead of the others than
    /// this, so the end does not depend on the windows. At least the lookahead; a short one makes short
    /// windows.
    pub notice: Duration,
    /// No failure ends the run before this time: processes may begin in the state that they have then.
    pub begins: Time,
}

impl Bounds {
    /// End of the run if the first failure was at `failed` (`Time::NEVER` if there was none).
    fn end(&self, failed: Time) -> Time {
        self.until.min((failed + self.notice).max(self.begins))
    }
}

/// A way to end a run from outside (another thread, a signal).
#[derive(Debug, Default)]
pub struct Stop(AtomicBool);

impl Stop {
    /// A stop that is not requested yet.
    pub const fn new() -> Stop {
        Stop(AtomicBool::new(false))
    }
    /// Ends the run at the next window.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
    /// True once requested.
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Summary that a worker gives the others at the end of a window.
#[derive(Clone, Copy)]
pub(crate) struct Summary {
    /// Latest time up to which a process has advanced.
    pub(crate) last: Time,
    pub(crate) busy: bool,
    /// Time of the first failure.
    pub(crate) failed: Time,
    pub(crate) done: bool,
    pub(crate) stopped: bool,
    pub(crate) lead: Lead,
}

/// Runs the logical processes that `builders` make (number i becomes process i) until all are done, nothing
/// moves, the time after a failure (`bounds.notice`) is over, nothing is left before `bounds.until`, or
/// `stop` is requested. The calling thread is the first of `threads`. Returns the reports in order, the
/// ending, and its time. Except after a stop, exactly the events before the end have been handled.
pub fn run<L, F>(
    builders: Vec<F>,
    links: &Links,
    threads: usize,
    bounds: Bounds,
    stop: &Stop,
) -> (Vec<L::Report>, Ending, Time)
where
    L: LogicalProcess,
    F: FnOnce() -> L + Send,
{
    assert!(bounds.notice >= links.lookahead(), "a window is as long as the lookahead at least");
    let (wanted, processes) = (threads.clamp(1, builders.len().max(1)), builders.len());
    let shared = OnceLock::new();
    let mut endings = Vec::new();
    std::thread::scope(|scope| {
        // The system may grant fewer threads than are wished for: the result is the same.
        let others: Vec<_> = (1..wanted)
            .map_while(|_| {
                let (give, share) = std::sync::mpsc::channel();
                let shared = &shared;
                let worker = std::thread::Builder::new().spawn_scoped(scope, move || {
                    let (id, share) = share.recv().ok()?;
                    let shared: &Shared<L::Message> = shared.get()?;
                    Some(work::<L, F>(shared, id, share, links, bounds, stop))
                });
                Some((give, worker.ok()?))
            })
            .collect();
        let shared = shared.get_or_init(|| Shared::new(1 + others.len(), processes));
        let mut shares: Vec<Vec<(u32, F)>> = (0..=others.len()).map(|_| Vec::new()).collect();
        for (index, builder) in builders.into_iter().enumerate() {
            shares[shared.worker_of(index as u32)].push((index as u32, builder));
        }
        let mut shares = shares.into_iter().enumerate();
        let (_, own) = shares.next().expect("there is at least one worker");
        for ((give, _), share) in others.iter().zip(shares) {
            give.send(share).expect("a worker waits for its share");
        }
        endings.push(work::<L, F>(shared, 0, own, links, bounds, stop));
        for (_, other) in others {
            // A worker's panic is our bug: let it continue in the caller.
            let ended = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            endings.push(ended.expect("a worker got its share"));
        }
    });
    let (ending, horizon) = (endings[0].1, endings[0].2);
    (endings.into_iter().flat_map(|(reports, _, _)| reports).collect(), ending, horizon)
}

/// A worker's loop.
fn work<L, F>(
    shared: &Shared<L::Message>,
    id: usize,
    share: Vec<(u32, F)>,
    links: &Links,
    bounds: Bounds,
    stop: &Stop,
) -> (Vec<L::Report>, Ending, Time)
where
    L: LogicalProcess,
    F: FnOnce() -> L,
{
    let _poison = PoisonOnPanic(&shared.barrier);
    let mut share = Share::new(share, shared);
    let (mut inbox, mut announced) = (Vec::new(), Vec::new());
    let mut horizons = Horizons::new(links);
    let mut repeats = Repeats::default();
    loop {
        let all = shared.exchange(id, share.summary(stop));
        let mut next = shared.learn(&mut horizons, &mut announced);
        let end = bounds.end(all.failed);
        if let Some(ending) = ending_of(&all, next, end) {
            let end = match ending {
                // Where nothing moves the windows still end somewhere.
                Ending::Done | Ending::Deadlock => {
                    shared.latest(share.quiesce_time()).max(all.last)
                }
                Ending::Failed | Ending::TimeUp => end,
                Ending::Stopped => all.last,
            };
            assert!(all.last <= end, "nobody goes beyond the end of the run");
            let processes = share.processes.into_iter();
            return (processes.map(|p| p.finish(end)).collect(), ending, end);
        }
        // Whoever is ahead of the others may have done something later than what comes next.
        let together = all.failed == Time::NEVER && all.last <= next;
        if repeats.progressed(all.lead) && together {
            let earliest_output = horizons.earliest_output(&announced);
            let (number, began) = repeats.sample(next, earliest_output);
            let offers = shared.agree(id, share.sample(number, next, began));
            if let Some(repeat) = repeats.chosen(offers, fitting(bounds.until, next, began)) {
                share.repeat(repeat);
                share.post();
                shared.wait();
                share.take(id, &mut inbox);
                shared.exchange(id, share.summary(stop));
                next = shared.learn(&mut horizons, &mut announced);
            }
        }
        // A failure that is yet to be found is no earlier than what comes next.
        let end = end.min(bounds.end(next));
        if repeats.are_looked_for() {
            let earliest_output = horizons.earliest_output(&announced);
            horizons.together((earliest_output + links.lookahead()).min(end));
        } else {
            let least = next + links.lookahead();
            horizons.apart(&announced, least, end);
        }
        share.advance(&horizons);
        share.post();
        shared.wait();
        share.take(id, &mut inbox);
    }
}

/// Ending of the run now, if it ends; `next` is the next event of all, `end` its latest end.
fn ending_of(all: &Summary, next: Time, end: Time) -> Option<Ending> {
    if all.failed < Time::NEVER && (next >= end || !all.busy) {
        Some(Ending::Failed)
    } else if all.stopped {
        Some(Ending::Stopped)
    } else if all.done && !all.busy {
        Some(Ending::Done)
    } else if !all.busy || next == Time::NEVER {
        Some(Ending::Deadlock)
    } else if next >= end {
        Some(Ending::TimeUp)
    } else {
        None
    }
}

/// State that the workers share. All write it, wait for one another, and read it.
pub(crate) struct Shared<M> {
    inboxes: Vec<Mutex<Vec<Envelope<M>>>>,
    summaries: Vec<Mutex<Option<Summary>>>,
    /// Changes of the states of each worker's processes.
    changes: Vec<Mutex<Vec<Change>>>,
    /// Messages that each worker's processes announce, with the process.
    announced: Vec<Mutex<Vec<(u32, Announced)>>>,
    offers: Vec<Mutex<Option<Offers>>>,
    latest: AtomicU64,
    barrier: Barrier,
    pub(crate) first_of: Vec<u32>,
}

impl<M> Shared<M> {
    fn new(threads: usize, processes: usize) -> Shared<M> {
        Shared {
            inboxes: (0..threads).map(|_| Mutex::new(Vec::new())).collect(),
            summaries: (0..threads).map(|_| Mutex::new(None)).collect(),
            changes: (0..threads).map(|_| Mutex::new(Vec::new())).collect(),
            announced: (0..threads).map(|_| Mutex::new(Vec::new())).collect(),
            offers: (0..threads).map(|_| Mutex::new(None)).collect(),
            latest: AtomicU64::new(0),
            barrier: Barrier::new(threads),
            // Neighbours in number tend to be neighbours in the topology: keep them on one worker.
            first_of: (0..threads).map(|t| (t * processes / threads) as u32).collect(),
        }
    }
    pub(crate) fn worker_of(&self, process: u32) -> usize {
        self.first_of.partition_point(|first| *first <= process) - 1
    }
    pub(crate) fn inbox(&self, worker: usize) -> MutexGuard<'_, Vec<Envelope<M>>> {
        lock(&self.inboxes[worker])
    }
    /// Changes of a worker's processes, cleared to be written anew.
    pub(crate) fn changes_by(&self, worker: usize) -> MutexGuard<'_, Vec<Change>> {
        let mut told = lock(&self.changes[worker]);
        told.clear();
        told
    }
    /// Announcements of a worker's processes, cleared to be written anew.
    pub(crate) fn announced_by(&self, worker: usize) -> MutexGuard<'_, Vec<(u32, Announced)>> {
        let mut told = lock(&self.announced[worker]);
        told.clear();
        told
    }
    /// Takes note of all changes, and collects all announcements, after each summary. Returns the time of the
    /// next event.
    fn learn(&self, horizons: &mut Horizons, announced: &mut Vec<(u32, Announced)>) -> Time {
        for worker in &self.changes {
            lock(worker).iter().for_each(|change| horizons.learn(change));
        }
        announced.clear();
        for worker in &self.announced {
            announced.extend_from_slice(&lock(worker));
        }
        horizons.next()
    }
    /// Publishes a worker's summary, waits for the others, returns the summary of all.
    fn exchange(&self, worker: usize, own: Summary) -> Summary {
        if self.first_of.len() == 1 {
            return own;
        }
        *lock(&self.summaries[worker]) = Some(own);
        self.barrier.wait();
        let mut all = own;
        for summary in &self.summaries {
            let other = lock(summary).expect("every worker has published");
            all.last = all.last.max(other.last);
            all.busy |= other.busy;
            all.failed = all.failed.min(other.failed);
            all.done &= other.done;
            all.stopped |= other.stopped;
            all.lead = match (all.lead, other.lead) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
        all
    }
    /// Publishes a worker's offers, waits for the others, returns the least of each.
    fn agree(&self, worker: usize, own: Option<Offers>) -> Option<Offers> {
        *lock(&self.offers[worker]) = own;
        self.wait();
        let all = self.offers.iter().map(|other| *lock(other)).reduce(|a, b| Some(least(a?, b?)));
        // Nobody offers anew before everybody has read.
        self.wait();
        all.flatten()
    }
    /// Waits for the others, returns the latest of all times. Only once.
    fn latest(&self, own: Time) -> Time {
        self.latest.fetch_max(own.0, Ordering::Relaxed); // the barrier orders it
        self.wait();
        Time(self.latest.load(Ordering::Relaxed))
    }
    fn wait(&self) {
        if self.first_of.len() > 1 {
            self.barrier.wait();
        }
    }
}

#[cfg(test)]
mod tests;

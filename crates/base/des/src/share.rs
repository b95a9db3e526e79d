//! The logical processes of one worker.

use crate::horizon::{Announced, Change, Horizons};
use crate::repeat::{fitting, least, Lead, Repeat};
use crate::window::{Shared, Summary};
use crate::{Envelope, LogicalProcess, Lookahead, Offers, Outbox, Status, Stop, Time, LAGS};

/// Processes of a worker, with their state in the present window.
pub(crate) struct Share<'a, L: LogicalProcess> {
    shared: &'a Shared<L::Message>,
    first: u32,
    pub(crate) processes: Vec<L>,
    /// [`LogicalProcess::next_event`] of each.
    next: Vec<Time>,
    lookahead: Vec<Lookahead>,
    /// Time up to which each has advanced, and the latest of them.
    reached: Vec<Time>,
    last: Time,
    /// Messages that each announces, and the processes that announce any.
    announced: Vec<Vec<Announced>>,
    telling: Vec<u32>,
    tells: Vec<bool>,
    statuses: Vec<Status>,
    /// True for processes that have changed since their state was read.
    changed: Vec<bool>,
    /// Processes whose state may differ from what the others know, and whether each is among them.
    news: Vec<u32>,
    is_news: Vec<bool>,
    /// Number of busy processes, and of quiet ones.
    busy: usize,
    quiet: usize,
    /// Time of the first failure.
    failed: Time,
    /// Messages sent so far, by process.
    sent: Vec<u64>,
    outbox: Outbox<L::Message>,
    /// Messages to other workers in this window, by worker.
    abroad: Vec<Vec<Envelope<L::Message>>>,
    /// [`LogicalProcess::progress`] of each, and the first that has any.
    progress: Vec<Option<u64>>,
    lead: Lead,
    /// First sample after each process moved last, and the last sample of all.
    moved: Vec<u64>,
    sampled: u64,
}

const TOO_EARLY: &str = "a message must take at least the lookahead";

impl<'a, L: LogicalProcess> Share<'a, L> {
    pub(crate) fn new<F: FnOnce() -> L>(
        builders: Vec<(u32, F)>,
        shared: &'a Shared<L::Message>,
    ) -> Share<'a, L> {
        let first = builders.first().map_or(0, |builder| builder.0);
        let processes: Vec<L> = builders.into_iter().map(|(_, build)| build()).collect();
        Share {
            shared,
            first,
            next: vec![Time::NEVER; processes.len()],
            lookahead: vec![Lookahead::NEVER; processes.len()],
            reached: vec![Time::ZERO; processes.len()],
            last: Time::ZERO,
            announced: vec![Vec::new(); processes.len()],
            telling: Vec::new(),
            tells: vec![false; processes.len()],
            statuses: vec![Status::Done; processes.len()],
            changed: vec![true; processes.len()],
            news: (0..processes.len() as u32).collect(),
            is_news: vec![true; processes.len()],
            busy: 0,
            quiet: 0,
            failed: Time::NEVER,
            sent: vec![0; processes.len()],
            outbox: Outbox::default(),
            abroad: (0..shared.first_of.len()).map(|_| Vec::new()).collect(),
            progress: vec![None; processes.len()],
            lead: None,
            moved: vec![0; processes.len()],
            sampled: 0,
            processes,
        }
    }
    /// Summary for the other workers, after all messages have been taken in. Publishes the states that have
    /// changed.
    pub(crate) fn summary(&mut self, stop: &Stop) -> Summary {
        let worker = self.shared.worker_of(self.first);
        let mut changes = self.shared.changes_by(worker);
        for at in 0..self.news.len() {
            let index = self.news[at] as usize;
            self.is_news[index] = false;
            if std::mem::take(&mut self.changed[index]) {
                self.look(index);
            }
            let (next, lookahead) = (self.next[index], self.lookahead[index]);
            changes.push(Change { process: self.first + index as u32, next, lookahead });
        }
        drop(changes);
        self.news.clear();
        let mut all = self.shared.announced_by(worker);
        self.telling.retain(|process| {
            let index = (process - self.first) as usize;
            let announced = &self.announced[index];
            self.tells[index] = !announced.is_empty();
            all.extend(announced.iter().map(|told| (*process, *told)));
            self.tells[index]
        });
        drop(all);
        Summary {
            last: self.last,
            busy: self.busy > 0,
            failed: self.failed,
            done: self.busy + self.quiet == 0 && self.failed == Time::NEVER,
            stopped: stop.requested(),
            lead: self.lead,
        }
    }
    /// The latest [`LogicalProcess::quiesce_time`].
    pub(crate) fn quiesce_time(&self) -> Time {
        self.processes.iter().map(L::quiesce_time).max().unwrap_or(Time::ZERO)
    }
    /// Reads the state of a process after a change.
    fn look(&mut self, index: usize) {
        let process = &self.processes[index];
        let status = process.status();
        self.announced[index].clear();
        (self.next[index], self.lookahead[index]) = match status {
            Status::Failed(at) => {
                self.failed = self.failed.min(at);
                let earliest_output = Time::NEVER;
                (Time::NEVER, Lookahead { earliest_output, ..self.lookahead[index] })
            }
            _ => {
                let lookahead = process.lookahead(&mut self.announced[index]);
                (process.next_event(), lookahead)
            }
        };
        if !self.announced[index].is_empty() && !self.tells[index] {
            self.tells[index] = true;
            self.telling.push(self.first + index as u32);
        }
        if self.statuses[index] != status {
            self.set_status(index, status);
        }
    }
    /// Updates the counts for a process whose status has changed.
    fn set_status(&mut self, index: usize, status: Status) {
        let before = std::mem::replace(&mut self.statuses[index], status);
        self.busy += usize::from(status == Status::Busy);
        self.busy -= usize::from(before == Status::Busy);
        self.quiet += usize::from(status == Status::Quiet);
        self.quiet -= usize::from(before == Status::Quiet);
    }
    /// Delivers a message to its process, one of these, which may still have events before it.
    pub(crate) fn deliver(&mut self, envelope: Envelope<L::Message>) {
        let index = (envelope.target - self.first) as usize;
        assert!(envelope.at >= self.reached[index], "{TOO_EARLY}");
        self.moved[index] = self.sampled + 1;
        self.processes[index].receive(envelope);
        self.changed[index] = true;
        self.tell_of(index);
    }
    /// The state of a process is published at the end of the window.
    #[inline(always)]
    fn tell_of(&mut self, index: usize) {
        if !std::mem::replace(&mut self.is_news[index], true) {
            self.news.push(index as u32);
        }
    }
    /// Advances the processes that have events, and delivers their messages to processes of this worker.
    pub(crate) fn advance(&mut self, horizons: &Horizons) {
        for id in horizons.moving(self.first, self.processes.len()) {
            let index = (id - self.first) as usize;
            let horizon = horizons.of(id).max(self.reached[index]);
            if self.next[index] >= horizon {
                continue;
            }
            self.reached[index] = horizon;
            self.last = self.last.max(horizon);
            self.outbox.source = id;
            self.outbox.sequence = self.sent[index];
            self.processes[index].advance_to(horizon, &mut self.outbox);
            self.sent[index] = self.outbox.sequence;
            self.moved[index] = self.sampled + 1;
            let progress = self.processes[index].progress();
            if progress != self.progress[index] {
                self.follow(index, progress);
            }
            // Now, while it is in the host's caches; what reaches it later changes it again.
            self.look(index);
            self.changed[index] = false;
            self.tell_of(index);
            let on_time = |e: &Envelope<_>| e.at >= horizons.of(e.target);
            assert!(self.outbox.sent.iter().all(on_time), "{TOO_EARLY}");
            self.dispatch();
        }
    }
    /// Updates the progress of a process's stream, and the leader.
    fn follow(&mut self, index: usize, progress: Option<u64>) {
        self.progress[index] = progress;
        let mut streams = (self.first..).zip(&self.progress);
        self.lead = streams.find_map(|(id, progress)| progress.map(|progress| (id, progress)));
    }
    /// Samples the processes that have moved lately, at `now`, the time of the first event of all. `began`
    /// are the times of the earlier samples. `None` if one of them cannot repeat what it has done.
    pub(crate) fn sample(&mut self, number: u64, now: Time, began: [Time; LAGS]) -> Option<Offers> {
        self.sampled = number;
        let mut offers = [u64::MAX; LAGS];
        for index in 0..self.processes.len() {
            if self.moved[index] + LAGS as u64 > number {
                offers = least(offers, self.processes[index].sample(number, now, began)?);
            } else if self.next[index] < Time::NEVER {
                // It has not moved, but will.
                offers = least(offers, fitting(self.next[index], now, began));
            }
        }
        Some(offers)
    }
    /// Repeats a span on all processes that have moved in it.
    pub(crate) fn repeat(&mut self, Repeat { since, span, times }: Repeat) {
        for index in 0..self.processes.len() {
            if self.moved[index] <= since {
                continue;
            }
            self.outbox.source = self.first + index as u32;
            let process = &mut self.processes[index];
            process.repeat(since, span, times, &mut self.outbox);
            self.changed[index] = true;
            self.tell_of(index);
            let progress = self.processes[index].progress();
            self.follow(index, progress);
        }
        // Only now: everybody has to be there.
        self.dispatch();
    }
    fn dispatch(&mut self) {
        if self.outbox.sent.is_empty() {
            return;
        }
        let mut sent = std::mem::take(&mut self.outbox.sent);
        let here = self.first..self.first + self.processes.len() as u32;
        for envelope in sent.drain(..) {
            if here.contains(&envelope.target) {
                self.deliver(envelope);
            } else {
                self.abroad[self.shared.worker_of(envelope.target)].push(envelope);
            }
        }
        self.outbox.sent = sent;
    }
    /// Takes what other workers have sent to this one, worker `id`.
    pub(crate) fn take(&mut self, id: usize, inbox: &mut Vec<Envelope<L::Message>>) {
        if self.abroad.len() > 1 {
            std::mem::swap(&mut *self.shared.inbox(id), inbox);
            inbox.drain(..).for_each(|envelope| self.deliver(envelope));
        }
    }
    /// Passes messages to the other workers.
    pub(crate) fn post(&mut self) {
        for (worker, envelopes) in self.abroad.iter_mut().enumerate() {
            if !envelopes.is_empty() {
                self.shared.inbox(worker).append(envelopes);
            }
        }
    }
}

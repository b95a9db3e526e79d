//! The logical processes of one worker.

use crate::horizon::{Foretold, Horizons};
use crate::repeat::{fitting, least, Lead, Repeat};
use crate::window::{Shared, Summary};
use crate::{
    Duration, Envelope, LogicalProcess, Offers, Outbox, Outlook, Standing, Stop, Time, LAGS,
};

/// Processes of a worker, with their state in the present window.
pub(crate) struct Share<'a, L: LogicalProcess> {
    shared: &'a Shared<L::Message>,
    first: u32,
    pub(crate) processes: Vec<L>,
    /// [`LogicalProcess::next_event`] of each.
    next: Vec<Time>,
    /// [`Outlook::reach`] of each.
    reach: Vec<Time>,
    /// [`Outlook::slack`] of each.
    slack: Vec<Duration>,
    /// Messages that each announces, and the processes that announce any.
    foretold: Vec<Vec<Foretold>>,
    telling: Vec<u32>,
    tells: Vec<bool>,
    standings: Vec<Standing>,
    /// True for processes that have changed since their state was read.
    changed: Vec<bool>,
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
    /// [`LogicalProcess::beats`] of each, and the first that has any.
    beats: Vec<Option<u64>>,
    lead: Lead,
    /// First sample after each process moved last, and the last sample of all.
    moved: Vec<u64>,
    sampled: u64,
}

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
            reach: vec![Time::NEVER; processes.len()],
            slack: vec![Duration::ZERO; processes.len()],
            foretold: vec![Vec::new(); processes.len()],
            telling: Vec::new(),
            tells: vec![false; processes.len()],
            standings: vec![Standing::Done; processes.len()],
            changed: vec![true; processes.len()],
            busy: 0,
            quiet: 0,
            failed: Time::NEVER,
            sent: vec![0; processes.len()],
            outbox: Outbox::default(),
            abroad: (0..shared.first_of.len()).map(|_| Vec::new()).collect(),
            beats: vec![None; processes.len()],
            lead: None,
            moved: vec![0; processes.len()],
            sampled: 0,
            processes,
        }
    }
    /// Summary for the other workers, after all messages have been taken in.
    pub(crate) fn summary(&mut self, stop: &Stop, lookahead: Duration) -> Summary {
        for index in 0..self.processes.len() {
            if std::mem::take(&mut self.changed[index]) {
                self.look(index);
            }
        }
        let mut reach = self.shared.tell(self.first, &self.reach, &self.slack);
        let mut all = self.shared.foretold_by(self.shared.worker_of(self.first));
        self.telling.retain(|process| {
            let index = (process - self.first) as usize;
            let foretold = &self.foretold[index];
            self.tells[index] = !foretold.is_empty();
            for told in foretold {
                reach = reach.min(Time(told.at.0.saturating_sub(lookahead.0)));
                all.push((*process, *told));
            }
            self.tells[index]
        });
        drop(all);
        let next = self.next.iter().fold(Time::NEVER, |a: Time, b| a.min(*b));
        Summary {
            next,
            reach,
            busy: self.busy > 0,
            failed: self.failed,
            done: self.busy + self.quiet == 0 && self.failed == Time::NEVER,
            stopped: stop.requested(),
            lead: self.lead,
        }
    }
    /// The latest [`LogicalProcess::rests`].
    pub(crate) fn rests(&self) -> Time {
        self.processes.iter().map(L::rests).max().unwrap_or(Time::ZERO)
    }
    /// Reads the state of a process after a change.
    fn look(&mut self, index: usize) {
        let process = &self.processes[index];
        let standing = process.standing();
        self.foretold[index].clear();
        (self.next[index], self.reach[index]) = match standing {
            Standing::Failed(at) => {
                self.failed = self.failed.min(at);
                (Time::NEVER, Time::NEVER)
            }
            _ => {
                let Outlook { reach, slack } = process.outlook(&mut self.foretold[index]);
                self.slack[index] = slack;
                (process.next_event(), reach)
            }
        };
        if !self.foretold[index].is_empty() && !self.tells[index] {
            self.tells[index] = true;
            self.telling.push(self.first + index as u32);
        }
        if self.standings[index] != standing {
            self.stand(index, standing);
        }
    }
    /// Updates the counts for a process whose status has changed.
    fn stand(&mut self, index: usize, standing: Standing) {
        let before = std::mem::replace(&mut self.standings[index], standing);
        self.busy += usize::from(standing == Standing::Busy);
        self.busy -= usize::from(before == Standing::Busy);
        self.quiet += usize::from(standing == Standing::Quiet);
        self.quiet -= usize::from(before == Standing::Quiet);
    }
    /// Delivers a message to its process, one of these, which may still have events before it.
    pub(crate) fn deliver(&mut self, envelope: Envelope<L::Message>) {
        let index = (envelope.target - self.first) as usize;
        self.moved[index] = self.sampled + 1;
        self.processes[index].receive(envelope);
        self.changed[index] = true;
    }
    /// Advances the processes that have events, and delivers their messages to processes of this worker.
    pub(crate) fn advance(&mut self, horizons: &Horizons) {
        for index in 0..self.processes.len() {
            let id = self.first + index as u32;
            let horizon = horizons.of(id);
            if self.next[index] >= horizon {
                continue;
            }
            self.outbox.source = id;
            self.outbox.sequence = self.sent[index];
            self.processes[index].advance_to(horizon, &mut self.outbox);
            self.sent[index] = self.outbox.sequence;
            self.moved[index] = self.sampled + 1;
            let beats = self.processes[index].beats();
            if beats != self.beats[index] {
                self.follow(index, beats);
            }
            // Now, while it is in the host's caches; what reaches it later changes it again.
            self.look(index);
            self.changed[index] = false;
            let on_time = |e: &Envelope<_>| e.at >= horizons.of(e.target);
            assert!(
                self.outbox.sent.iter().all(on_time),
                "a message must take at least the lookahead"
            );
            self.dispatch();
        }
    }
    /// Updates the progress of a process's stream, and the leader.
    fn follow(&mut self, index: usize, beats: Option<u64>) {
        self.beats[index] = beats;
        let mut streams = (self.first..).zip(&self.beats);
        self.lead = streams.find_map(|(id, beats)| beats.map(|beats| (id, beats)));
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
    /// Repeats a stretch on all processes that have moved in it.
    pub(crate) fn repeat(&mut self, Repeat { since, span, times }: Repeat) {
        for index in 0..self.processes.len() {
            if self.moved[index] <= since {
                continue;
            }
            self.outbox.source = self.first + index as u32;
            let process = &mut self.processes[index];
            process.repeat(since, span, times, &mut self.outbox);
            self.changed[index] = true;
            let beats = self.processes[index].beats();
            self.follow(index, beats);
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

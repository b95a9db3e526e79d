//! The logical processes of one worker.

use crate::barrier::lock;
use crate::repeat::{fitting, least, Lead, Repeat};
use crate::window::{Shared, Summary};
use crate::{Envelope, LogicalProcess, Offers, Outbox, Standing, Stop, Time, LAGS};

/// A worker's processes, and what it has to know of each in every window.
pub(crate) struct Share<'a, L: LogicalProcess> {
    shared: &'a Shared<L::Message>,
    first: u32,
    pub(crate) processes: Vec<L>,
    /// [`LogicalProcess::next_event`] of each.
    next: Vec<Time>,
    /// [`LogicalProcess::reach`] of each.
    reach: Vec<Time>,
    standings: Vec<Standing>,
    /// Processes that stand so.
    busy: usize,
    quiet: usize,
    failed: usize,
    /// Messages sent so far, by process.
    sent: Vec<u64>,
    outbox: Outbox<L::Message>,
    /// What was sent to other workers in this window, by worker.
    abroad: Vec<Vec<Envelope<L::Message>>>,
    /// When the first of them arrives, and the first of all that was sent.
    next_abroad: Time,
    next_sent: Time,
    /// [`LogicalProcess::beats`] of each, and the first that has any.
    beats: Vec<Option<u64>>,
    lead: Lead,
    /// The sample before which each has moved, and the last sample of all.
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
        let standings: Vec<_> = processes.iter().map(L::standing).collect();
        let count = |standing| standings.iter().filter(|s| **s == standing).count();
        Share {
            shared,
            first,
            next: processes.iter().map(L::next_event).collect(),
            reach: processes.iter().map(L::reach).collect(),
            busy: count(Standing::Busy),
            quiet: count(Standing::Quiet),
            failed: count(Standing::Failed),
            sent: vec![0; processes.len()],
            outbox: Outbox::default(),
            abroad: (0..shared.first_of.len()).map(|_| Vec::new()).collect(),
            next_abroad: Time::NEVER,
            next_sent: Time::NEVER,
            beats: vec![None; processes.len()],
            lead: None,
            moved: vec![0; processes.len()],
            sampled: 0,
            standings,
            processes,
        }
    }
    /// What the others have to know.
    pub(crate) fn summary(&self, stop: &Stop) -> Summary {
        let first = |times: &[Time], least| times.iter().fold(least, |a: Time, b| a.min(*b));
        Summary {
            next: first(&self.next, self.next_abroad),
            // What was sent counts from its arrival on, as if nobody had taken it in, so that the
            // windows are the same for any number of workers.
            reach: first(&self.reach, self.next_sent),
            busy: self.busy > 0 || self.next_abroad < Time::NEVER,
            failed: self.failed > 0,
            done: self.busy + self.quiet + self.failed == 0,
            stopped: stop.requested(),
            lead: self.lead,
        }
    }
    fn stands(&mut self, index: usize, standing: Standing) {
        let before = std::mem::replace(&mut self.standings[index], standing);
        if before == standing {
            return;
        }
        for (which, count) in [
            (Standing::Busy, &mut self.busy),
            (Standing::Quiet, &mut self.quiet),
            (Standing::Failed, &mut self.failed),
        ] {
            *count += usize::from(standing == which);
            *count -= usize::from(before == which);
        }
    }
    /// Gives a message to its process, one of these, which may yet have to advance to before it.
    pub(crate) fn deliver(&mut self, envelope: Envelope<L::Message>) {
        let index = (envelope.target - self.first) as usize;
        self.next[index] = self.next[index].min(envelope.at);
        let process = &mut self.processes[index];
        process.receive(envelope);
        self.reach[index] = process.reach();
        let standing = process.standing();
        self.stands(index, standing);
        self.moved[index] = self.sampled + 1;
    }
    /// Advances those that have something to do; what they send here is delivered.
    pub(crate) fn advance(&mut self, horizon: Time) {
        self.outbox.horizon = horizon;
        self.next_abroad = Time::NEVER;
        self.next_sent = Time::NEVER;
        for index in 0..self.processes.len() {
            if self.next[index] >= horizon {
                continue;
            }
            self.outbox.source = self.first + index as u32;
            self.outbox.sequence = self.sent[index];
            let process = &mut self.processes[index];
            process.advance_to(horizon, &mut self.outbox);
            self.next[index] = process.next_event();
            self.reach[index] = process.reach();
            let standing = process.standing();
            self.stands(index, standing);
            self.sent[index] = self.outbox.sequence;
            self.moved[index] = self.sampled + 1;
            let beats = self.processes[index].beats();
            if beats != self.beats[index] {
                self.follow(index, beats);
            }
            self.dispatch();
        }
    }
    /// A process's beats have changed.
    fn follow(&mut self, index: usize, beats: Option<u64>) {
        self.beats[index] = beats;
        let mut streams = (self.first..).zip(&self.beats);
        self.lead = streams.find_map(|(id, beats)| beats.map(|beats| (id, beats)));
    }
    /// Samples those that have moved lately, at `now`, when the first of all goes on. `began` are the
    /// times of the samples before. `None` if one does what cannot be repeated.
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
    /// Repeats a stretch on all that have moved in it.
    pub(crate) fn repeat(&mut self, Repeat { since, span, times }: Repeat) {
        self.outbox.horizon = Time::ZERO;
        self.next_abroad = Time::NEVER;
        if self.next_sent < Time::NEVER {
            self.next_sent += span * times;
        }
        for index in 0..self.processes.len() {
            if self.moved[index] <= since {
                continue;
            }
            self.outbox.source = self.first + index as u32;
            let process = &mut self.processes[index];
            process.repeat(since, span, times, &mut self.outbox);
            self.next[index] = process.next_event();
            self.reach[index] = process.reach();
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
            self.next_sent = self.next_sent.min(envelope.at);
            if here.contains(&envelope.target) {
                self.deliver(envelope);
            } else {
                self.next_abroad = self.next_abroad.min(envelope.at);
                self.abroad[self.shared.worker_of(envelope.target)].push(envelope);
            }
        }
        self.outbox.sent = sent;
    }
    /// Takes what other workers have sent to this one, worker `id`, for round `round`.
    pub(crate) fn take(&mut self, round: usize, id: usize, inbox: &mut Vec<Envelope<L::Message>>) {
        if self.abroad.len() > 1 {
            self.shared.take_inbox(round, id, inbox);
            inbox.drain(..).for_each(|envelope| self.deliver(envelope));
        }
    }
    /// Gives the other workers what was sent to them, to be taken in round `round`.
    pub(crate) fn post(&mut self, round: usize) {
        if self.abroad.len() == 1 {
            return;
        }
        for (worker, envelopes) in self.abroad.iter_mut().enumerate() {
            if !envelopes.is_empty() {
                lock(&self.shared.inboxes[round % 2][worker]).append(envelopes);
            }
        }
    }
}

//! A node's part in skipping spans of time that repeat themselves (`des::LogicalProcess`): while
//! nothing but streams of packets moves on it.

use super::ports::Arrivals;
use super::*;
use machine::effort::Events;
use std::collections::VecDeque;

/// Record of the last samples of a node. Fields used in each event come first.
#[derive(Default)]
#[repr(C)]
pub(crate) struct SteadyState {
    pub events: Events,
    samples: VecDeque<Sample>,
    /// Spans are skipped.
    pub on: bool,
    /// Events since the oldest sample, for the trace hash: when, and what.
    trail: VecDeque<(Time, u64)>,
    /// Events that were dropped from the front of the trail.
    forgotten: usize,
}

/// The state of a node between two windows.
struct Sample {
    number: u64,
    /// Relative to the time, without payload and sums.
    state: Vec<u64>,
    tallies: Vec<u64>,
    flows: Vec<seastar_nic::Flow>,
    /// Events before it.
    trail: usize,
}

/// A trail as long as this is none of a span that repeats itself soon.
const TRAIL_MAX: usize = 1 << 14;

impl SteadyState {
    fn clear(&mut self) {
        self.samples.clear();
        self.trail.clear();
        self.forgotten = 0;
    }
    /// Something is due. `passing`: whether it can be part of a span.
    #[inline(always)]
    pub fn follow(&mut self, now: Time, kind: u64, passing: impl FnOnce() -> bool) {
        self.events.carried_out += 1;
        if self.samples.is_empty() {
            return;
        }
        if passing() && self.trail.len() < TRAIL_MAX {
            self.trail.push_back((now, kind));
        } else {
            self.clear();
        }
    }
    fn remember(&mut self, sample: Sample) {
        if self.samples.len() > LAGS {
            self.samples.pop_front();
            let oldest = self.samples.front().map_or(self.forgotten, |sample| sample.trail);
            self.trail.drain(..oldest - self.forgotten);
            self.forgotten = oldest;
        }
        self.samples.push_back(sample);
    }
    fn find(&self, number: u64) -> Option<&Sample> {
        self.samples.iter().find(|sample| sample.number == number)
    }
}

/// True for events that only move packets on.
pub(super) fn only_passes(event: &Event, visible: Visible) -> bool {
    visible == Visible::Nobody && is_of_packets(event)
}

/// True for events of the chip: like most [`DatapathEvent`]s those that can come again and again, with
/// packet after packet. All others are due when they are due.
fn is_of_packets(event: &Event) -> bool {
    matches!(event, Event::Nic(_))
}

/// Something that is due.
enum Due<'a> {
    Event(&'a Event),
    DatapathEvent(&'a DatapathEvent),
}

impl Due<'_> {
    fn repeats(&self) -> bool {
        match self {
            Due::Event(event) => is_of_packets(event),
            Due::DatapathEvent(next) => next.repeats(),
        }
    }
    /// Everything that what it does depends on; `None` if it cannot be part of a span.
    fn state(&self, arrivals: &Arrivals, out: &mut Vec<u64>) -> Option<()> {
        let of_nic = match *self {
            Due::Event(Event::Nic(event)) => Some(*event),
            Due::Event(_) => return None,
            Due::DatapathEvent(next) => next.nic(),
        };
        if let Some(event) = of_nic {
            out.extend([2, event.passing()?]);
            return Some(());
        }
        match *self {
            Due::DatapathEvent(&DatapathEvent::Packet { link, channel, place }) => {
                let packet = *arrivals.packet(place);
                mesh::LinkMessage::Packet { link, channel, packet }.state(out);
            }
            Due::DatapathEvent(&DatapathEvent::Credit { link, channel, flits }) => {
                mesh::LinkMessage::Credit { link, channel, flits }.state(out);
            }
            Due::DatapathEvent(DatapathEvent::Grant { output }) => {
                out.extend([3, u64::from(*output)])
            }
            Due::DatapathEvent(DatapathEvent::Eject) => out.push(4),
            Due::DatapathEvent(DatapathEvent::InjectionFree { control: false }) => out.push(5),
            _ => return None,
        }
        Some(())
    }
}

/// Traffic of the node at one time.
struct Moving {
    /// Relative to the time, without payload and sums.
    state: Vec<u64>,
    flows: Vec<seastar_nic::Flow>,
    /// Time of the next other event here.
    until: Time,
}

impl Station {
    /// Traffic here at `now`; `None` if anything happens other than packets on their way.
    fn moving(&self, now: Time, ports: &Ports<Station>) -> Option<Moving> {
        let chipset = &self.chipset;
        if ports.failure().is_some() || !chipset.firmware.idles() {
            return None;
        }
        let (mut state, mut until) = (Vec::with_capacity(512), Time::NEVER);
        let out = &mut state;
        let events =
            ports.queue().keyed().map(|(key, at, source, e)| (key, at, source, Due::Event(e)));
        let datapath = chipset
            .datapath
            .keyed()
            .map(|(key, at, source, m)| (key, at, source, Due::DatapathEvent(m)));
        let mut all: Vec<_> = events.chain(datapath).collect();
        all.sort_unstable_by_key(|(key, ..)| *key);
        for (_, at, source, due) in all {
            if !due.repeats() {
                // The same event in both samples, or it is due too soon.
                out.extend([1, at.0]);
                until = until.min(at);
                continue;
            }
            out.extend([2, at.since(now).0, u64::from(source)]);
            due.state(&chipset.arrivals, out)?;
        }
        for way in [Direction::ToNic, Direction::ToHost] {
            out.push(chipset.link.free_at(way).since(now).0);
        }
        chipset.router.state(now, out)?;
        let flows = self.nic.state(now, out)?;
        Some(Moving { state, flows, until })
    }

    fn tallies(&mut self, each: &mut dyn FnMut(&mut u64)) {
        self.nic.tallies(each);
        self.chipset.router.tallies(each);
    }

    /// Number of times that a span can be repeated that began with `before` and in which the same state
    /// has come to `flows`.
    fn offer(
        &mut self,
        before: usize,
        flows: &[seastar_nic::Flow],
        ports: &mut Ports<Station>,
    ) -> u64 {
        let before = &self.steady.samples[before];
        if before.flows.len() != flows.len() {
            return 0;
        }
        let mut times = u64::MAX;
        let mut datapath = Vec::new();
        for (old, new) in before.flows.iter().zip(flows) {
            if old.key != new.key || old.position > new.position {
                return 0;
            }
            let moved = new.position - old.position;
            if let Some(most) = new.left.checked_div(moved) {
                times = times.min(most);
                datapath.push((new.key, moved));
            }
        }
        if times == 0 || datapath.is_empty() {
            return times;
        }
        // No flow reads what another writes, and everything answers.
        let mut used: Vec<std::ops::Range<u64>> = Vec::new();
        let (nic, mut around) = self.chip(ports);
        for (key, moved) in datapath {
            let Some(memory) = nic.answering(key, moved * times, &mut around) else { return 0 };
            let apart = |other: &std::ops::Range<u64>| {
                other.end <= memory.start || memory.end <= other.start
            };
            if !used.iter().all(apart) {
                return 0;
            }
            used.push(memory);
        }
        times
    }

    pub(super) fn take_sample(
        &mut self,
        number: u64,
        now: Time,
        began: [Time; LAGS],
        ports: &mut Ports<Station>,
    ) -> Option<Offers> {
        let Some(Moving { state, flows, until }) = self.moving(now, ports) else {
            self.steady.clear();
            return None;
        };
        let fits = des::fitting(until, now, began);
        let mut offers = [0; LAGS];
        for (lag, offer) in (0..).zip(&mut offers) {
            let samples = &self.steady.samples;
            let same = |s: &Sample| s.number + lag + 1 == number && s.state == state;
            if let Some(before) = samples.iter().position(same) {
                *offer = self.offer(before, &flows, ports).min(fits[lag as usize]);
            }
        }
        let mut tallies = Vec::new();
        self.tallies(&mut |tally| tallies.push(*tally));
        let trail = self.steady.forgotten + self.steady.trail.len();
        self.steady.remember(Sample { number, state, tallies, flows, trail });
        Some(offers)
    }

    pub(super) fn repeat_since(
        &mut self,
        since: u64,
        span: Duration,
        times: u64,
        ports: &mut Ports<Station>,
    ) {
        let mut steady = std::mem::take(&mut self.steady);
        let sample = steady.find(since).expect("a stretch begins with a sample");
        let sent = sample.flows.iter().find(|flow| flow.is_sent()).map(|flow| flow.position);
        let mut before = sample.tallies.iter();
        self.tallies(&mut |tally| {
            let before = before.next().expect("as many as before");
            *tally += (*tally - before) * times;
        });
        steady.trail.drain(..sample.trail - steady.forgotten);
        steady.events.skipped += times * steady.trail.len() as u64;
        for turn in 1..=times {
            for (at, kind) in &steady.trail {
                ports.trace(*at + span * turn, *kind);
            }
        }
        let all = span * times;
        self.horizon += all;
        let Chipset { datapath, link, router, .. } = &mut self.chipset;
        ports.queue_mut().shift_both(all, is_of_packets, datapath, DatapathEvent::repeats);
        link.shift(all);
        router.shift(all);
        self.nic.shift(all);
        let flow = self.nic.sent().filter(|flow| sent.is_some_and(|sent| sent < flow.position));
        if let (Some(flow), Some(sent)) = (flow, sent) {
            // The position has been put on with the sums.
            let bytes = (flow.position - sent) / (times + 1) * times;
            let (nic, mut around) = self.chip(ports);
            let skipped = Box::new(nic.skip_sent(bytes, &mut around));
            ports.send(u32::from(skipped.dest), Time::NEVER, Message::Skipped(skipped));
        }
        steady.clear();
        self.steady = steady;
    }
}

//! The switch as a process of its own.

use des::{Envelope, EventQueue, Outbox, Time, TraceHash};
use ethernet::{Frame, Switch, SwitchCounters};
use machine::node::{self, Crossing};
use machine::remains::Remains;
use machine::report::SwitchReport;

/// The switch, to which node N is joined at port N.
pub(super) struct Middle {
    switch: Switch,
    /// Frames that have come, with the port.
    coming: EventQueue<(u32, Frame)>,
    hash: TraceHash,
    last: Time,
}

/// State that the switch leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Left(SwitchCounters);

impl Left {
    /// Report on the switch.
    pub fn report(&self) -> SwitchReport {
        let SwitchCounters { frames_in, frames_out, flooded, dropped } = self.0;
        let counters = [
            ("dropped", dropped),
            ("flooded", flooded),
            ("frames_in", frames_in),
            ("frames_out", frames_out),
        ];
        let counters = counters.map(|(name, count)| (name.to_string(), count));
        SwitchReport { number: 0, counters: counters.into() }
    }
}

impl Middle {
    /// Process `number` of the run.
    pub fn new(number: u32, switch: Switch) -> Middle {
        let (coming, hash) = (EventQueue::new(number), TraceHash::default());
        Middle { switch, coming, hash, last: Time::ZERO }
    }
}

impl node::Switch for Middle {
    type Message = Frame;
    type Left = Left;

    fn next_event(&self) -> Time {
        self.coming.next_time()
    }
    fn advance_to(&mut self, horizon: Time, outbox: &mut Outbox<Crossing<Frame>>) {
        while let Some((now, (port, frame))) = self.coming.pop_before(horizon) {
            self.hash.event(now, frame.digest() << 8 | u64::from(port));
            self.last = now;
            self.switch.arrive(now, port as usize, &frame, |to, at, frame| {
                outbox.send(to as u32, at, Crossing::Message(frame));
            });
        }
    }
    fn receive(&mut self, envelope: Envelope<Frame>) {
        let Envelope { at, source, sequence, message, .. } = envelope;
        self.coming.schedule_from(at, source, sequence, (source, message));
    }
    fn last(&self) -> Time {
        self.last
    }
    fn finish(self, end: Time) -> Remains<Option<Left>> {
        Remains::of_switch(end, self.hash.value(), Some(Left(*self.switch.counters())))
    }
}

//! Heartbeat: each end of a cable sends BEAT every so often, whatever else it sends. An end to which nothing
//! has come for several beats knows that its cable is silent.
//!
//! As long as a cable is whole, nothing depends on a single BEAT. So beats are booked: they are not sent, and
//! a link whose ends have nothing to say has no next action. From the moment at which a cable is cut the last
//! beat that came is known, and silence is noticed when it would be. [`Pulse::send_beats`] sends each.

use crate::link::{Params, Signal, Wires};
use crate::mutant::{is_mutant, Mutant};
use des::{Duration, Time};

/// One end's heartbeat, and its ear for the other's.
#[derive(Clone, Debug)]
pub(crate) struct Pulse {
    port: usize,
    beat: Duration,
    patience: Duration,
    delay: Duration,
    /// Time of its next; never while they are booked.
    next: Time,
    /// Time at which something came last; booked beats aside.
    heard: Time,
    /// Beats are awaited: they are not booked, or will come no more.
    awaits: bool,
    silent: Option<Time>,
    /// Times that the cable has fallen silent.
    pub silences: u64,
}

impl Pulse {
    /// Pulse of a port.
    pub fn new(port: usize, params: &Params) -> Pulse {
        Pulse {
            port,
            beat: params.beat,
            patience: params.beat * u64::from(params.beats_missed),
            delay: params.delay,
            next: Time::NEVER,
            heard: Time::ZERO,
            awaits: false,
            silent: None,
            silences: 0,
        }
    }

    /// Sends and awaits each beat from `now` on.
    pub fn send_beats(&mut self, now: Time) {
        let before = now.0.div_ceil(self.beat.0);
        (self.next, self.heard, self.awaits) = (Time(before * self.beat.0), now, true);
    }

    /// Time at which it has something to do.
    pub fn due(&self) -> Time {
        let listens = self.awaits && self.silent.is_none();
        let ends = if listens { self.heard + self.patience } else { Time::NEVER };
        self.next.min(ends)
    }

    /// Handles the events that are due. True if the cable has fallen silent.
    pub fn pass(&mut self, now: Time, wires: &mut impl Wires) -> bool {
        if self.next <= now {
            self.next += self.beat;
            wires.put(self.port, now, Signal::Beat);
        }
        let deaf = is_mutant(Mutant::Deaf);
        let falls = self.due() <= now && !deaf;
        if falls {
            self.silent = Some(now);
            self.silences += 1;
        } else if deaf {
            self.heard = now;
        }
        falls
    }

    /// Something has come.
    pub fn hear(&mut self, now: Time) {
        self.heard = now;
        self.silent = None;
    }

    /// The cable is cut: nothing comes any more. Of booked beats, one has come last.
    pub fn cut(&mut self, now: Time) {
        if let (false, Some(since)) = (self.awaits, now.0.checked_sub(self.delay.0)) {
            let last = Time(since / self.beat.0 * self.beat.0) + self.delay;
            self.heard = self.heard.max(last);
        }
        (self.next, self.awaits) = (Time::NEVER, true);
    }

    /// Time from which nothing has come, as far as it knows.
    pub fn silent(&self) -> Option<Time> {
        self.silent
    }
}

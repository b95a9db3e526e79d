//! A store-and-forward switch, which learns the ports of addresses from the frames that come.

use crate::frame::{Address, Frame, Wire};
use des::{Duration, Time};
use std::collections::BTreeMap;

/// Speed and size of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchParams {
    /// Wire of each output.
    pub wire: Wire,
    /// Time from a frame's last bit at the input to its first bit at the output, if that is free.
    pub forward: Duration,
    /// Bytes that may wait for an output.
    pub buffer: u64,
}

/// Counters of a switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitchCounters {
    /// Frames that have come.
    pub frames_in: u64,
    /// Frames that have left.
    pub frames_out: u64,
    /// Frames sent to all ports, because the port of their target was not known.
    pub flooded: u64,
    /// Frames dropped because the output's buffer was full.
    pub dropped: u64,
}

/// A switch.
#[derive(Clone, Debug)]
pub struct Switch {
    params: SwitchParams,
    /// Time at which each output is free.
    free: Vec<Time>,
    places: BTreeMap<Address, usize>,
    counters: SwitchCounters,
}

impl Switch {
    /// Switch with so many ports.
    pub fn new(params: SwitchParams, ports: usize) -> Switch {
        let free = vec![Time::ZERO; ports];
        Switch { params, free, places: BTreeMap::new(), counters: SwitchCounters::default() }
    }

    /// Counters so far.
    pub fn counters(&self) -> &SwitchCounters {
        &self.counters
    }

    /// Handles a frame that has arrived at `port` completely. `send` gets each port to which it goes, and the
    /// time at which its last bit is at the other end.
    pub fn arrive(
        &mut self,
        now: Time,
        port: usize,
        frame: &Frame,
        mut send: impl FnMut(usize, Time, Frame),
    ) {
        self.counters.frames_in += 1;
        let Some((target, source)) = frame.addresses() else { return };
        self.places.insert(source, port);
        let to = self.places.get(&target).copied().filter(|_| target[0] & 1 == 0);
        self.counters.flooded += u64::from(to.is_none());
        for out in 0..self.free.len() {
            if out != port
                && to.is_none_or(|to| to == out)
                && let Some(end) = self.leave(now, out, frame)
            {
                send(out, end, frame.clone());
            }
        }
    }

    /// Sends the frame: the time at which its last bit is at the other end of the output; none if there is no
    /// room.
    fn leave(&mut self, now: Time, out: usize, frame: &Frame) -> Option<Time> {
        let SwitchParams { wire, forward, buffer } = self.params;
        let waits = self.free[out].since(now.min(self.free[out]));
        if waits > wire.byte * buffer {
            self.counters.dropped += 1;
            return None;
        }
        self.counters.frames_out += 1;
        let end = self.free[out].max(now + forward) + wire.time(frame);
        self.free[out] = wire.free(end);
        Some(end + wire.delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIRE: Wire = Wire { byte: Duration(80_000), delay: Duration(500_000) };

    fn frame(target: u8, source: u8, len: usize) -> Frame {
        let mut bytes = vec![0; len];
        (bytes[5], bytes[11]) = (target, source);
        if target == 0xFF {
            bytes[..6].fill(0xFF);
        }
        Frame(bytes.into())
    }

    #[test]
    fn frames_go_where_their_target_is_and_wait_for_the_wire() {
        let params = SwitchParams { wire: WIRE, forward: Duration(1_000_000), buffer: 3000 };
        let mut switch = Switch::new(params, 3);
        let mut sent = Vec::new();
        let mut arrive = |now, port, frame| {
            let mut out = Vec::new();
            switch.arrive(Time(now), port, &frame, |to, at, _| out.push((to, at.0)));
            sent.push(out);
        };
        // Nobody knows 2 yet: 72 bytes on the wire, 1 us before and 0.5 us behind it.
        arrive(0, 0, frame(2, 1, 60));
        arrive(10_000_000, 1, frame(1, 2, 60));
        // Two of 1,514 bytes for 1, the second behind the first, and one for which there is no room.
        arrive(100_000_000, 1, frame(1, 2, 1514));
        arrive(100_000_000, 2, frame(1, 3, 1514));
        arrive(100_000_000, 2, frame(1, 3, 1514));
        arrive(300_000_000, 2, frame(0xFF, 3, 60));
        let short = 1_000_000 + 72 * 80_000 + 500_000;
        let long = 1526 * 80_000;
        let first = 100_000_000 + 1_000_000 + long + 500_000;
        assert_eq!(
            sent,
            [
                vec![(1, short), (2, short)],
                vec![(0, 10_000_000 + short)],
                vec![(0, first)],
                vec![(0, first + 12 * 80_000 + long)],
                vec![],
                vec![(0, first + 2 * 12 * 80_000 + long + 72 * 80_000), (1, 300_000_000 + short)],
            ]
        );
        let SwitchCounters { frames_in, frames_out, flooded, dropped } = *switch.counters();
        assert_eq!((frames_in, frames_out, flooded, dropped), (6, 7, 2, 1));
    }
}

//! A switch: a crossbar with a slack buffer at each input. The first byte of a packet says how many ports
//! further its output is; it is taken off. The packet then holds the output until its end has passed.

use crate::crc::extend8;
use crate::link::{Outlet, Params, Signal, Slot, Wires};
use crate::mutant::{is_mutant, Mutant};
use crate::pulse::Pulse;
use crate::slack::Slack;
use des::{Duration, Time};

/// Parameters of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchParams {
    /// Ports.
    pub ports: usize,
    /// Time from a packet's first slot in the buffer to its output: assumed.
    pub route: Duration,
    /// Its links.
    pub link: Params,
}

/// Counters of a switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitchCounters {
    /// Packets whose end came in.
    pub packets_in: u64,
    /// Packets whose end went out.
    pub packets_out: u64,
    /// Bytes that came in.
    pub bytes_in: u64,
    /// Bytes that went out.
    pub bytes_out: u64,
    /// Route bytes that were taken off.
    pub route_bytes: u64,
    /// Packets dropped because their first byte is no route byte, or names a port that is not there.
    pub dropped: u64,
    /// Bytes of dropped packets.
    pub bytes_dropped: u64,
    /// Times that a cable fell silent.
    pub silences: u64,
}

/// State of the packet at an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// None has begun.
    Idle,
    /// It wants this output, from this time on.
    Wants(usize, Time),
    /// It goes there.
    Goes(usize),
    /// The packet is dropped.
    Dropped,
}

struct Input {
    slack: Slack,
    state: State,
    /// CRC-8 of what came, and of what was passed on.
    came: u8,
    passed: u8,
    /// The route byte is still to be taken off.
    begins: bool,
}

struct Output {
    wire: Outlet,
    /// The input that has it.
    owner: Option<usize>,
    /// The input that had it last: the next one is the first to be asked.
    last: usize,
    /// Time from which it works for its packet.
    works: Time,
}

impl Output {
    /// Time at which the next slot can leave.
    fn free(&self) -> Time {
        self.wire.free().max(self.works)
    }
}

/// A source-routed cut-through switch.
pub struct Switch {
    params: SwitchParams,
    inputs: Vec<Input>,
    outputs: Vec<Output>,
    pulses: Vec<Pulse>,
    counters: SwitchCounters,
    /// Time of the last call.
    now: Time,
}

impl Switch {
    /// A switch in which nothing is.
    pub fn new(params: SwitchParams) -> Switch {
        let input = |_| Input {
            slack: params.link.buffer(),
            state: State::Idle,
            came: 0,
            passed: 0,
            begins: true,
        };
        let output = |port| Output {
            wire: Outlet::new(&params.link),
            owner: None,
            last: port,
            works: Time::ZERO,
        };
        Switch {
            inputs: (0..params.ports).map(input).collect(),
            outputs: (0..params.ports).map(output).collect(),
            pulses: (0..params.ports).map(|port| Pulse::new(port, &params.link)).collect(),
            counters: SwitchCounters::default(),
            now: Time::ZERO,
            params,
        }
    }

    /// Sends and awaits each beat of a port's cable, which are booked otherwise.
    pub fn send_beats(&mut self, now: Time, port: usize) {
        self.pulses[port].send_beats(now);
    }

    /// The cable of a port is cut: from now on nothing comes, and signals sent are lost.
    pub fn cut(&mut self, now: Time, port: usize) {
        self.pass(now);
        self.pulses[port].cut(now);
    }

    /// Time from which it has known that the cable of a port is silent.
    pub fn silent(&self, port: usize) -> Option<Time> {
        self.pulses[port].silent()
    }

    /// Counters of the switch.
    pub fn counters(&self) -> SwitchCounters {
        let silences = self.pulses.iter().map(|pulse| pulse.silences).sum();
        SwitchCounters { silences, ..self.counters }
    }

    /// Bytes in its buffers.
    pub fn held(&self) -> u64 {
        self.inputs.iter().map(|input| u64::from(input.slack.held())).sum()
    }

    /// Most bytes that were ever in one of its buffers.
    pub fn high(&self) -> u32 {
        self.inputs.iter().map(|input| input.slack.high).max().unwrap_or(0)
    }

    /// Takes a signal at `port`.
    pub fn arrive(&mut self, now: Time, port: usize, signal: Signal, wires: &mut impl Wires) {
        self.pass(now);
        self.pulses[port].hear(now);
        match signal {
            Signal::Beat => {}
            Signal::Stop => self.outputs[port].wire.stop(),
            Signal::Go => self.outputs[port].wire.go(now),
            Signal::Slot(slot) => {
                self.counters.bytes_in += u64::from(slot.len);
                self.counters.packets_in += u64::from(slot.ends);
                if let Some(answer) = self.inputs[port].slack.push(slot) {
                    wires.put(port, now, answer);
                }
                self.look(now, port);
            }
        }
    }

    fn pass(&mut self, now: Time) {
        assert!(now >= self.now, "time goes backwards");
        self.now = now;
    }

    /// Time of its next action; an action that is already due is due at once.
    pub fn next(&self) -> Time {
        let inputs = self.inputs.iter().filter(|input| input.slack.front().is_some());
        let times = inputs.map(|input| match input.state {
            State::Idle => Time::NEVER,
            State::Dropped => Time::ZERO,
            State::Goes(port) => self.outputs[port].free(),
            State::Wants(port, from) => match self.outputs[port].owner {
                Some(_) => Time::NEVER,
                None => from,
            },
        });
        let beats = self.pulses.iter().map(Pulse::due).min().unwrap_or(Time::NEVER);
        times.min().unwrap_or(Time::NEVER).min(beats)
    }

    /// Handles the events that are due at `now`.
    pub fn advance(&mut self, now: Time, wires: &mut impl Wires) {
        self.pass(now);
        for port in 0..self.inputs.len() {
            self.grant(now, port, wires);
        }
        for port in 0..self.inputs.len() {
            self.forward(now, port, wires);
        }
        for pulse in self.pulses.iter_mut().filter(|pulse| pulse.due() <= now) {
            pulse.pass(now, wires);
        }
    }

    /// Looks at the first slot of a packet, once.
    fn look(&mut self, now: Time, port: usize) {
        let ports = self.inputs.len();
        let input = &mut self.inputs[port];
        let (State::Idle, Some(slot)) = (input.state, input.slack.front()) else {
            return;
        };
        let byte = slot.bytes[0];
        // Six bits with a sign.
        let further = ((byte << 2) as i8 >> 2) as isize;
        let target = match is_mutant(Mutant::AbsoluteRoute) {
            true => further,
            false => port as isize + further,
        };
        let valid = byte & 0x80 != 0 && slot.len > 1 && (0..ports as isize).contains(&target);
        input.state = match valid {
            true => State::Wants(target as usize, now + self.params.route),
            false => State::Dropped,
        };
        (input.came, input.passed, input.begins) = (0, 0, true);
    }

    /// Gives an output that is free to the next input in turn that wants it.
    fn grant(&mut self, now: Time, port: usize, wires: &mut impl Wires) {
        let (ports, output) = (self.inputs.len(), &mut self.outputs[port]);
        if output.owner.is_some() {
            return;
        }
        let in_turn = (1..=ports).map(|n| (output.last + n) % ports);
        let wants = |input: &usize| match self.inputs[*input].state {
            State::Wants(to, from) => to == port && from <= now,
            _ => false,
        };
        if let Some(input) = in_turn.into_iter().find(wants) {
            (output.owner, output.last) = (Some(input), input);
            output.works = wires.granted(port, now);
            self.inputs[input].state = State::Goes(port);
        }
    }

    /// Passes the next slot of an input on, if its output is free.
    fn forward(&mut self, now: Time, port: usize, wires: &mut impl Wires) {
        let state = self.inputs[port].state;
        match state {
            State::Idle | State::Wants(..) => {}
            State::Dropped => self.drop_packet(now, port, wires),
            State::Goes(to) => {
                if self.outputs[to].free() > now {
                    return;
                }
                let Some((slot, answer)) = self.inputs[port].slack.pop() else {
                    return;
                };
                if let Some(answer) = answer {
                    wires.put(port, now, answer);
                }
                let slot = self.rewrite(port, slot);
                self.counters.bytes_out += u64::from(slot.len);
                self.counters.packets_out += u64::from(slot.ends);
                self.outputs[to].wire.send(now, to, slot, wires);
                if slot.ends {
                    if !is_mutant(Mutant::KeepsOutput) {
                        self.outputs[to].owner = None;
                    }
                    self.inputs[port].state = State::Idle;
                    self.look(now, port);
                }
            }
        }
    }

    /// Takes the route byte off the first slot, and makes the CRC-8 at the end anew.
    fn rewrite(&mut self, port: usize, mut slot: Slot) -> Slot {
        let input = &mut self.inputs[port];
        let data = usize::from(slot.len) - usize::from(slot.ends);
        input.came = extend8(input.came, &slot.bytes[..data]);
        if std::mem::take(&mut input.begins) && !is_mutant(Mutant::RouteByteStays) {
            slot.bytes.rotate_left(1);
            slot.len -= 1;
            self.counters.route_bytes += 1;
        }
        let data = usize::from(slot.len) - usize::from(slot.ends);
        input.passed = extend8(input.passed, &slot.bytes[..data]);
        if slot.ends {
            let crc = &mut slot.bytes[data];
            // A difference to the right one stays.
            if is_mutant(Mutant::HealsCrc) {
                *crc = input.passed;
            } else if !is_mutant(Mutant::OldCrc) {
                *crc ^= input.came ^ input.passed;
            }
        }
        slot
    }

    fn drop_packet(&mut self, now: Time, port: usize, wires: &mut impl Wires) {
        while let Some((slot, answer)) = self.inputs[port].slack.pop() {
            if let Some(answer) = answer {
                wires.put(port, now, answer);
            }
            self.counters.bytes_dropped += u64::from(slot.len);
            if slot.ends {
                self.counters.dropped += 1;
                self.inputs[port].state = State::Idle;
                self.look(now, port);
                return;
            }
        }
    }

    /// Inputs that wait for an output which another has: input, output, its owner. What a deadlock is made
    /// of.
    pub fn waits(&self) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
        self.inputs.iter().enumerate().filter_map(|(number, input)| match input.state {
            State::Wants(port, _) => Some((number, port, self.outputs[port].owner?)),
            _ => None,
        })
    }
}

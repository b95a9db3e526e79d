//! A matching unit on the bus: brought up to the time at which somebody looks.

use abi::offload::{unit_command, unit_result};
use alpu::{Alpu, Command, Config, Inputs, Request, Response};
use des::{Clock, Time};

/// A unit, and the cycle that it has come to.
pub(crate) struct Unit {
    alpu: Alpu,
    clock: Clock,
    cycle: u64,
    /// Copies are delivered to it.
    pub delivery: bool,
    /// Copies that it has got.
    pub delivered: u64,
    /// Results that were matches.
    pub successes: u64,
}

impl Unit {
    pub fn new(config: Config, clock: Clock) -> Unit {
        let alpu = Alpu::new(config);
        Unit { alpu, clock, cycle: 0, delivery: false, delivered: 0, successes: 0 }
    }

    /// Brings it up to `now`.
    fn advance(&mut self, now: Time) {
        let cycle = self.clock.edge_at_or_after(now);
        if cycle > self.cycle {
            self.alpu.advance(cycle - self.cycle);
            self.cycle = cycle;
        }
    }

    /// Delivers a copy. False if its FIFO is full.
    pub fn deliver(&mut self, now: Time, request: Request) -> bool {
        self.advance(now);
        if !self.alpu.outputs().header_ready {
            return false;
        }
        self.clock_in(&Inputs { header: Some(request), ..Inputs::default() });
        self.delivered += 1;
        true
    }

    /// The register RESULT at `now`.
    pub fn result(&mut self, now: Time) -> u32 {
        self.advance(now);
        let word = |kind: u32, payload: u64| 1 << 31 | kind << 28 | payload as u32 & 0xF_FFFF;
        match self.alpu.outputs().result {
            None => 0,
            Some(Response::StartAcknowledge { free }) => {
                word(unit_result::START_ACKNOWLEDGE, free.into())
            }
            Some(Response::MatchSuccess { tag }) => word(unit_result::MATCH_SUCCESS, tag),
            Some(Response::MatchFailure) => word(unit_result::MATCH_FAILURE, 0),
        }
    }

    /// Takes the oldest result away.
    pub fn pop(&mut self, now: Time) {
        self.advance(now);
        if matches!(self.alpu.outputs().result, Some(Response::MatchSuccess { .. })) {
            self.successes += 1;
        }
        self.clock_in(&Inputs { result_ready: true, ..Inputs::default() });
    }

    /// Gives it a command, for which the bus waits while its FIFO is full. Returns how many cycles that took;
    /// none if it never takes one, as its results are not fetched.
    pub fn command(&mut self, now: Time, command: Command) -> Option<u64> {
        self.advance(now);
        let before = self.cycle;
        while !self.alpu.outputs().command_ready {
            if self.alpu.is_at_rest() {
                return None;
            }
            self.alpu.advance(1);
            self.cycle += 1;
        }
        self.clock_in(&Inputs { command: Some(command), ..Inputs::default() });
        Some(self.cycle - before)
    }

    fn clock_in(&mut self, inputs: &Inputs) {
        self.alpu.clock(inputs);
        self.cycle += 1;
    }
}

/// The command without operands of this number.
pub(crate) fn command_of(word: u32) -> Option<Command> {
    match word {
        unit_command::START_INSERT => Some(Command::StartInsert),
        unit_command::STOP_INSERT => Some(Command::StopInsert),
        unit_command::RESET => Some(Command::Reset),
        _ => None,
    }
}

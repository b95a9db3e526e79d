//! A matching unit on the bus: brought up to date at each look.

use abi::offload::unit_register::Result as ResultWord;
use abi::offload::{unit_command, unit_result};
use abi::MessageId;
use alpu::{Alpu, Command, Config, Inputs, Outputs, Request, Response};
use des::{Clock, Time};

/// A unit that is not the model: its RTL, say. It is advanced only up to each look.
pub trait Chip {
    /// Its outputs in this cycle.
    fn outputs(&self) -> Outputs;
    /// One cycle.
    fn clock(&mut self, inputs: &Inputs);
    /// Passes cycles in which nobody pushes or pops.
    fn advance(&mut self, cycles: u64);
    /// True if nothing will ever happen unless somebody pushes or pops.
    fn is_at_rest(&self) -> bool;
    /// The request of the next cycle is the header of this message.
    fn announce(&mut self, message: MessageId);
    /// First impossible thing that it has done.
    fn wrong(&self) -> Option<&Wrong>;
}

/// Impossible thing that a unit has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Cycle in which it was seen.
    pub cycle: u64,
    /// Description, in words.
    pub what: String,
}

/// Cycles for which a command, or somebody who looks for a result, waits, after which its unit is taken for
/// one that never takes it, or never answers.
const PATIENCE: u64 = 1_000_000;

/// Implementation of the matching.
enum Matcher {
    Model(Box<Alpu>),
    Chip(Box<dyn Chip>),
}

/// The same of both.
macro_rules! either {
    ($matcher:expr, $unit:ident => $what:expr) => {
        match $matcher {
            Matcher::Model($unit) => $what,
            Matcher::Chip($unit) => $what,
        }
    };
}

/// A unit, and its present cycle.
pub(crate) struct Unit {
    matcher: Matcher,
    clock: Clock,
    cycle: u64,
    /// Copies are delivered to it.
    pub delivery: bool,
    /// Copies that it has got.
    pub delivered: u64,
    /// Results that were matches.
    pub successes: u64,
    /// Results that are due, and the cycle in which it last got or gave something.
    due: u64,
    moved: u64,
    /// It has not answered for too long.
    silent: Option<Wrong>,
}

impl Unit {
    /// The model, or a chip in its place.
    pub fn new(config: Config, chip: Option<Box<dyn Chip>>, clock: Clock) -> Unit {
        let matcher =
            chip.map_or_else(|| Matcher::Model(Box::new(Alpu::new(config))), Matcher::Chip);
        Unit {
            matcher,
            clock,
            cycle: 0,
            delivery: false,
            delivered: 0,
            successes: 0,
            due: 0,
            moved: 0,
            silent: None,
        }
    }

    /// Brings it up to `now`.
    fn advance(&mut self, now: Time) {
        let cycle = self.clock.edge_at_or_after(now);
        if cycle > self.cycle {
            either!(&mut self.matcher, unit => unit.advance(cycle - self.cycle));
            self.cycle = cycle;
        }
    }

    /// The same if it is a chip, of which it is then known whether it has done wrong so far.
    pub fn catch_up(&mut self, now: Time) {
        if let Matcher::Chip(_) = self.matcher {
            self.advance(now);
        }
    }

    fn outputs(&self) -> Outputs {
        either!(&self.matcher, unit => unit.outputs())
    }

    /// Time and description of the first impossible thing that it has done.
    #[inline]
    pub fn wrong(&self) -> Option<(Time, &Wrong)> {
        let Matcher::Chip(chip) = &self.matcher else { return None };
        let wrong = chip.wrong().or(self.silent.as_ref());
        wrong.map(|wrong| (self.clock.edge(wrong.cycle), wrong))
    }

    /// Delivers a copy, of the header of `message` if it is one. False if its FIFO is full.
    pub fn deliver(&mut self, now: Time, request: Request, message: Option<MessageId>) -> bool {
        self.advance(now);
        if !self.outputs().header_ready {
            return false;
        }
        if let (Matcher::Chip(chip), Some(message)) = (&mut self.matcher, message) {
            chip.announce(message);
        }
        self.clock_in(&Inputs { header: Some(request), ..Inputs::default() });
        self.delivered += 1;
        self.due += 1;
        true
    }

    /// The register RESULT at `now`.
    pub fn result(&mut self, now: Time) -> u32 {
        self.advance(now);
        let word = |kind: u32, payload: u64| {
            let word = ResultWord(0).with_valid(true).with_kind(kind as u8);
            word.with_payload(payload as u32).0
        };
        match self.outputs().result {
            None => {
                self.awaits();
                0
            }
            Some(Response::StartAcknowledge { free }) => {
                word(unit_result::START_ACKNOWLEDGE, free.into())
            }
            Some(Response::MatchSuccess { tag }) => word(unit_result::MATCH_SUCCESS, tag),
            Some(Response::MatchFailure) => word(unit_result::MATCH_FAILURE, 0),
        }
    }

    /// Somebody waits for a result. A chip that owes one, and has done nothing for long, will never have it.
    fn awaits(&mut self) {
        let late = self.due > 0 && self.cycle - self.moved > PATIENCE;
        if late && self.silent.is_none() && matches!(self.matcher, Matcher::Chip(_)) {
            let (cycle, due) = (self.cycle, self.due);
            let what = format!("it owes {due} results, and has given none for {PATIENCE} cycles");
            self.silent = Some(Wrong { cycle, what });
        }
    }

    /// Takes the oldest result away.
    pub fn pop(&mut self, now: Time) {
        self.advance(now);
        let result = self.outputs().result;
        if matches!(result, Some(Response::MatchSuccess { .. })) {
            self.successes += 1;
        }
        self.due = self.due.saturating_sub(result.is_some().into());
        self.clock_in(&Inputs { result_ready: true, ..Inputs::default() });
    }

    /// Gives it a command, for which the bus waits while its FIFO is full. Returns how many cycles that took;
    /// none if it never takes one, as its results are not fetched.
    pub fn command(&mut self, now: Time, command: Command) -> Option<u64> {
        self.advance(now);
        let before = self.cycle;
        while !self.outputs().command_ready {
            let rests = either!(&self.matcher, unit => unit.is_at_rest());
            if rests || self.wrong().is_some() || self.cycle - before > PATIENCE {
                return None;
            }
            either!(&mut self.matcher, unit => unit.advance(1));
            self.cycle += 1;
        }
        self.clock_in(&Inputs { command: Some(command), ..Inputs::default() });
        match command {
            Command::StartInsert => self.due += 1,
            Command::Reset => self.due = 0,
            Command::Insert(_) | Command::StopInsert => {}
        }
        Some(self.cycle - before)
    }

    fn clock_in(&mut self, inputs: &Inputs) {
        match &mut self.matcher {
            Matcher::Model(unit) => {
                unit.clock(inputs);
            }
            Matcher::Chip(chip) => chip.clock(inputs),
        }
        self.cycle += 1;
        self.moved = self.cycle;
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

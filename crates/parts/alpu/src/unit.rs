//! The unit cycle by cycle, as `rtl/alpu/PORTS.md` describes it.

use crate::fifo::Fifo;
use crate::store::Store;
use crate::{Command, Config, QueueKind, Request, Response};

/// Inputs of the unit in a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    /// `!rst_ni`: synchronous reset.
    pub reset: bool,
    /// `hdr_valid_i` with `hdr_match_i` and `hdr_mask_i`.
    pub header: Option<Request>,
    /// `cmd_valid_i` with `cmd_op_i`, `cmd_match_i`, `cmd_mask_i` and `cmd_tag_i`.
    pub command: Option<Command>,
    /// `rsp_ready_i`.
    pub result_ready: bool,
}

/// Outputs of the unit in a cycle. They depend on the cycles before, never on this one's inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outputs {
    /// `hdr_ready_o`.
    pub header_ready: bool,
    /// `cmd_ready_o`.
    pub command_ready: bool,
    /// `rsp_valid_o` with `rsp_kind_o` and `rsp_payload_o`.
    pub result: Option<Response>,
}

/// Words in the FIFOs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Headers that have no answer yet.
    pub headers: usize,
    /// Commands that have not been taken yet.
    pub commands: usize,
    /// Results that nobody has fetched yet.
    pub results: usize,
}

/// The controlling state machine (brightwell2005 fig 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Match,
    Read,
    Insert,
}

/// Step of a match: idle, then one number for each cycle up to `Alpu::fanout` and the delete after it.
const IDLE: u32 = 0;
const COMPARE: u32 = 1;

/// A unit. `clock` is one cycle; the other calls are the same as many of it, only faster.
#[derive(Clone, Debug)]
pub struct Alpu {
    config: Config,
    headers: Fifo<Request>,
    commands: Fifo<Command>,
    results: Fifo<Response>,
    state: State,
    step: u32,
    /// The step in which the result is pushed; the entry is deleted in the next.
    fanout: u32,
    /// True if a header failed in this insert mode: no match starts before STOP INSERT.
    held: bool,
    /// Empty cells.
    free: usize,
    /// True if the blocks compact in this cycle.
    shift: bool,
    /// True if an entry came into cell 0 in the cycle before. It leaves in this one, and only then can the
    /// next come: every other cycle. The places of the older ones cannot be seen at the ports; `cells` shows
    /// why.
    fresh: bool,
    store: Store,
    width: u64,
    /// Bits of a mask that an entry stores.
    mask_width: u64,
}

impl Alpu {
    /// An empty unit after reset. Panics if `config.check()` has an objection.
    pub fn new(config: Config) -> Alpu {
        if let Err(rule) = config.check() {
            panic!("{rule}: {config:?}");
        }
        Alpu {
            config,
            headers: Fifo::new(config.header_depth, Request::default()),
            commands: Fifo::new(config.command_depth, Command::Reset),
            results: Fifo::new(config.result_depth, Response::MatchFailure),
            state: State::Match,
            step: IDLE,
            fanout: 3 + config.resolve_cycles,
            held: false,
            free: config.cells,
            shift: false,
            fresh: false,
            store: Store::new(config.cells, config.match_width),
            width: config.match_bits(),
            mask_width: if config.kind == QueueKind::Posted { config.match_bits() } else { 0 },
        }
    }

    /// The parameters.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Outputs in this cycle.
    #[inline]
    pub fn outputs(&self) -> Outputs {
        Outputs {
            header_ready: !self.headers.is_full(),
            command_ready: !self.commands.is_full(),
            result: self.results.head().copied(),
        }
    }

    /// Advances one cycle and returns its outputs; the cycle ends with the rising edge of the clock.
    #[inline(always)]
    pub fn clock(&mut self, inputs: &Inputs) -> Outputs {
        let outputs = self.outputs();
        if inputs.reset {
            self.reset();
            return outputs;
        }
        self.inside();
        if inputs.result_ready && outputs.result.is_some() {
            self.results.pop();
        }
        if let (Some(header), true) = (inputs.header, outputs.header_ready) {
            self.headers.push(header);
        }
        if let (Some(command), true) = (inputs.command, outputs.command_ready) {
            self.commands.push(command);
        }
        outputs
    }

    /// Numbers of words in the FIFOs in this cycle.
    pub fn waiting(&self) -> Waiting {
        Waiting {
            headers: self.headers.len(),
            commands: self.commands.len(),
            results: self.results.len(),
        }
    }

    /// Advances so many cycles in which nobody pushes or pops.
    pub fn advance(&mut self, cycles: u64) {
        let mut left = cycles;
        while left > 0 {
            left -= self.leap(left);
        }
    }

    /// Advances cycles in which nobody pushes or pops, until a result is at the port or `max` cycles have
    /// passed. Returns the number of cycles.
    pub fn advance_until_output(&mut self, max: u64) -> u64 {
        let mut passed = 0;
        while passed < max && self.results.is_empty() {
            passed += self.leap(max - passed);
        }
        passed
    }

    /// True if nothing will happen until somebody pushes or pops.
    pub fn is_at_rest(&self) -> bool {
        let waits = self.headers.is_empty() || self.results.is_full();
        let none = self.commands.is_empty();
        self.step == IDLE
            && match self.state {
                State::Match => none && waits && !self.shift,
                State::Insert => none && (waits || self.held) && self.shift && !self.fresh,
                State::Read => {
                    let starts = self.commands.head() == Some(&Command::StartInsert);
                    starts && self.results.is_full() && !self.shift
                }
            }
    }

    /// Advances at least one and at most `max` cycles without handshakes; many at once where only time
    /// passes.
    #[inline]
    fn leap(&mut self, max: u64) -> u64 {
        if self.step != IDLE && self.step < self.fanout {
            let steps = u64::from(self.fanout - self.step).min(max);
            self.step += steps as u32;
            return steps;
        }
        if self.step == IDLE && self.commands.is_empty() {
            let whole = u64::from(self.fanout) + 1;
            let starts = !self.headers.is_empty() && !self.results.is_full() && !self.shift;
            if starts && self.state == State::Match && whole <= max {
                // A match from its start to its result.
                self.finish();
                self.step = self.fanout + 1;
                return whole;
            }
            if self.is_at_rest() {
                return max;
            }
        }
        self.inside();
        1
    }

    #[cold]
    fn reset(&mut self) {
        self.headers.clear();
        self.commands.clear();
        self.results.clear();
        (self.state, self.step) = (State::Match, IDLE);
        (self.held, self.shift, self.fresh) = (false, false, false);
        self.empty();
    }

    /// Empties the unit. The registered RESET takes one cycle more in hardware, but nothing can see the cells
    /// before.
    fn empty(&mut self) {
        self.free = self.config.cells;
        self.store.clear();
    }

    /// Advances everything behind the FIFOs by a cycle.
    #[inline(always)]
    fn inside(&mut self) {
        if self.step == IDLE {
            self.idle();
        } else if self.step < self.fanout {
            self.step += 1;
        } else if self.step == self.fanout {
            self.finish();
            self.step += 1;
        } else {
            self.delete();
        }
    }

    /// Advances a cycle in which no match is in flight.
    #[inline(always)]
    fn idle(&mut self) {
        let inserting = self.state == State::Insert;
        let mut load = false;
        match self.state {
            State::Match if !self.commands.is_empty() => self.state = State::Read,
            State::Match => self.start_if_possible(),
            State::Read => self.read(),
            State::Insert => load = self.insert(),
        }
        // A match that starts in this cycle compares in the next, and the cells must rest by then.
        self.shift = inserting && self.step == IDLE;
        self.fresh = load;
    }

    fn read(&mut self) {
        match self.commands.head() {
            None => self.state = State::Match,
            Some(Command::StartInsert) => {
                if !self.results.is_full() {
                    self.commands.pop();
                    self.results.push(Response::StartAcknowledge { free: self.free as u32 });
                    self.state = State::Insert;
                }
            }
            Some(Command::Reset) => {
                self.commands.pop();
                self.empty();
                self.state = State::Match;
            }
            Some(Command::Insert(_) | Command::StopInsert) => self.commands.pop(),
        }
    }

    /// Returns whether an entry comes into cell 0.
    #[inline(always)]
    fn insert(&mut self) -> bool {
        match self.commands.head() {
            None => {
                if !self.held {
                    self.start_if_possible();
                }
            }
            // The processor was told how much is free; waiting would stop all matching for ever.
            Some(Command::Insert(_)) if self.free == 0 => self.commands.pop(),
            Some(Command::Insert(entry)) => {
                if !self.shift || self.fresh {
                    return false;
                }
                let mut entry = *entry;
                self.commands.pop();
                entry.bits &= self.width;
                entry.tag &= self.config.tag_bits();
                entry.mask &= self.mask_width;
                self.store.push(entry);
                self.free -= 1;
                return true;
            }
            Some(Command::StopInsert) => {
                self.commands.pop();
                self.held = false;
                self.state = State::Match;
            }
            Some(Command::StartInsert | Command::Reset) => self.commands.pop(),
        }
        false
    }

    #[inline]
    fn start_if_possible(&mut self) {
        if !self.headers.is_empty() && !self.results.is_full() {
            self.step = COMPARE;
        }
    }

    /// Pushes the result. The entries have not moved since the match started, so they are only compared now.
    #[inline]
    fn finish(&mut self) {
        let header = self.headers.head().expect("a match runs only with a header at the head");
        let found = match self.config.kind {
            QueueKind::Posted => self.store.find(header.bits & self.width),
            QueueKind::Unexpected => {
                self.store.find_masked(header.bits & self.width, header.mask & self.width)
            }
        };
        if let Some(slot) = found {
            let tag = self.store.remove(slot);
            self.results.push(Response::MatchSuccess { tag });
            self.headers.pop();
            self.free += 1;
        } else if self.state == State::Insert {
            self.held = true;
        } else {
            self.results.push(Response::MatchFailure);
            self.headers.pop();
        }
    }

    #[inline]
    /// Ends a match in its last cycle: younger cells move up. With overlap the next match starts in it.
    fn delete(&mut self) {
        self.step = IDLE;
        if !self.commands.is_empty() {
            if self.state == State::Match {
                self.state = State::Read;
            }
        } else if self.config.overlap && !(self.state == State::Insert && self.held) {
            self.start_if_possible();
        }
    }
}

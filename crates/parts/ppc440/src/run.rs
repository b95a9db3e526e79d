//! The main loop: executes what the core's place in the program says, until something is up.

use crate::code::{Line, Text, WORDS};
use crate::core::{Core, Flow, State, Stop};
use crate::decode::Op;
use crate::instructions::execute;
use crate::outside::probe::{Off, Probe};
use crate::timing::IssueSlot;
use crate::translate::{Ran, Translator};
use bus::Bus;
use des::Time;

impl Core {
    /// Executes until `now() >= until`, the bus's horizon, or a fault. A call that could not go on
    /// because of the horizon leaves the core as it was before that instruction.
    pub fn run<B: Bus>(&mut self, bus: &mut B, until: Time) -> Stop {
        self.run_observed(bus, until, &mut Off)
    }

    /// The same, and tells `probe` of everything that happens. A probe that is not told from the
    /// release of reset on, or not in every run, misses what happened without it.
    pub fn run_observed<B: Bus, P: Probe>(
        &mut self,
        bus: &mut B,
        until: Time,
        probe: &mut P,
    ) -> Stop {
        match self.state {
            State::Reset => return Stop::Until,
            State::Stopped => {
                self.write_last(bus);
                return Stop::Fault;
            }
            State::Running if self.blocked >= until => return Stop::Until,
            State::Running => {}
        }
        self.blocked = Time::ZERO;
        self.until = self.cycle_at(until);
        self.refresh_limit();
        if P::ON {
            self.resume_account();
        }
        // The code is kept beside the core, which changes.
        let Some(text) = self.icache.text.take() else { unreachable!("only one call at a time") };
        let watched = P::ON || P::STEPS;
        let mut translator =
            if watched { None } else { Translator::take(&mut self.blocks(), &text) };
        let gone_on = translator.as_deref_mut().and_then(|own| self.go_on(bus, own, &text, probe));
        let stop = match gone_on {
            Some(stop) => stop,
            None => {
                self.pipeline.settle();
                self.execute_until(bus, &text, translator.as_deref_mut(), probe)
            }
        };
        if let Some(translator) = translator {
            translator.give_back();
        }
        self.icache.text = Some(text);
        if stop == Stop::Fault {
            self.write_last(bus);
        }
        // Whatever happens before the next call may disturb an iteration.
        self.idle_loop.forget_record();
        stop
    }

    /// Goes on in translated code, if the run before ended there. Says if there is nothing more to do;
    /// if not, or if something is up, `execute_until` does it.
    #[inline]
    fn go_on<B: Bus, P: Probe>(
        &mut self,
        bus: &mut B,
        own: &mut Translator,
        text: &Text,
        probe: &mut P,
    ) -> Option<Stop> {
        let up = self.is_looked_for_loop_head()
            || self.pipeline.next() >= self.limit
            || self.idle_loop.recording()
            || self.fetched(text).is_none();
        let code = if up { None } else { own.goes_on(&self.blocks()) };
        match own.go_through(&mut self.blocks(), bus, text, code?) {
            Ran::With(_, Flow::Retry) => Some(Stop::Until),
            Ran::With(op, flow) => {
                // SAFETY: it lies in the text, which is held here.
                let op = unsafe { &*op };
                let place = self.pipeline.place(op, self.pipeline.next());
                self.leave(self.registers.pc, op, place, flow, probe)
            }
            // That is all if the end of the run is what came first.
            _ => {
                let cycle = self.pipeline.cycle();
                (cycle >= self.until && self.unit.gather.due >= self.until).then_some(Stop::Until)
            }
        }
    }

    fn execute_until<B: Bus, P: Probe>(
        &mut self,
        bus: &mut B,
        text: &Text,
        mut translator: Option<&mut Translator>,
        probe: &mut P,
    ) -> Stop {
        loop {
            if self.look_for_loop_head(bus, text, probe) {
                return Stop::Until;
            }
            if self.pipeline.next() >= self.limit
                && let Some(stop) = self.attend(bus, probe)
            {
                return stop;
            }
            if P::STEPS && self.halts_before_fetch(text, probe) {
                return Stop::Halted;
            }
            let pc = self.registers.pc;
            let own;
            let mut at_hand = None;
            let line = match self.fetched(text) {
                Some(line) => {
                    at_hand = translator.as_deref_mut();
                    line
                }
                None => match self.fetch(bus, text) {
                    Ok(line) => {
                        self.expect_known(text);
                        own = line;
                        &own
                    }
                    Err(Flow::Retry) => return Stop::Until,
                    Err(Flow::Fault) => return Stop::Fault,
                    Err(_) => {
                        self.pipeline.stall(self.pipeline.cycle() + self.synchronise);
                        if P::ON {
                            self.tell_exception(probe, pc);
                        }
                        continue;
                    }
                },
            };
            if P::ON {
                self.tell_fetch(probe);
            }
            if self.pipeline.next() >= self.limit {
                continue;
            }
            if P::STEPS && self.halts(line.op(pc), probe) {
                return Stop::Halted;
            }
            let stop = if self.idle_loop.recording() {
                self.run_lines_recorded(bus, text, line, probe)
            } else {
                self.run_quickly(bus, text, at_hand, line, probe)
            };
            if let Some(stop) = stop {
                return stop;
            }
        }
    }

    /// The same as `run_lines`, by blocks where there are any: only of lines of the text that are in
    /// the cache.
    #[inline(always)]
    fn run_quickly<'a, B: Bus, P: Probe>(
        &mut self,
        bus: &mut B,
        text: &'a Text,
        translator: Option<&mut Translator>,
        mut line: &'a Line,
        probe: &mut P,
    ) -> Option<Stop> {
        let Some(translator) = translator else {
            return self.run_lines::<B, P, false>(bus, text, line, false, probe);
        };
        loop {
            let mut one = false;
            let ran = translator.run(&mut self.blocks(), bus, text);
            self.pipeline.settle();
            match ran {
                Ran::Enough => return None,
                Ran::With(op, flow) => {
                    // SAFETY: it lies in the text, which is held here.
                    let op = unsafe { &*op };
                    let place = self.pipeline.place(op, self.pipeline.next());
                    return self.leave(self.registers.pc, op, place, flow, probe);
                }
                Ran::Up => {
                    one = true;
                    line = text.line(self.registers.pc >> 5)?;
                }
                Ran::Cold => {}
            }
            let number = self.registers.pc >> 5;
            let stop = self.run_lines::<B, P, false>(bus, text, line, one, probe);
            // At the beginning of another line there may be more to do.
            let same_line = one && self.registers.pc >> 5 == number;
            if stop.is_some() || !same_line || self.pipeline.next() >= self.limit {
                return stop;
            }
        }
    }

    /// The same as `run_lines`, and records the iteration.
    #[inline(never)]
    fn run_lines_recorded<B: Bus, P: Probe>(
        &mut self,
        bus: &mut B,
        text: &Text,
        line: &Line,
        probe: &mut P,
    ) -> Option<Stop> {
        self.run_lines::<B, P, true>(bus, text, line, false, probe)
    }

    /// Executes instructions of a line, and of those that follow, until something is up or a line is not
    /// at hand. With an observer, of one line; or just `one` instruction.
    #[inline(always)]
    fn run_lines<'a, B: Bus, P: Probe, const RECORD: bool>(
        &mut self,
        bus: &mut B,
        text: &'a Text,
        mut line: &'a Line,
        one: bool,
        probe: &mut P,
    ) -> Option<Stop> {
        // Values that an instruction needs of the one before are kept in registers of the host.
        let mut last = self.pipeline.next();
        loop {
            let start = self.registers.pc & !31;
            let mut ops = line.rest(self.registers.pc).iter();
            while let Some(op) = ops.next() {
                if RECORD && self.idle_loop.recording() {
                    self.record(op);
                }
                let place = self.pipeline.place(op, last);
                self.issue = place.cycle();
                let flow = execute(self, bus, op);
                // The common cases by comparison: a jump table would be one more unpredictable jump.
                if flow == Flow::Next {
                    self.complete(self.registers.pc, op, place, probe);
                    last = place;
                    self.registers.pc = self.registers.pc.wrapping_add(4);
                } else if flow == Flow::Branch {
                    self.complete(self.registers.pc, op, place, probe);
                    self.pipeline.stall(place.cycle() + self.bubble);
                    if P::ON {
                        self.tell_branch(probe, self.registers.pc, op);
                    }
                    last = self.pipeline.next();
                    self.registers.pc = self.next;
                    if (start ^ self.next) & !31 != 0 {
                        break;
                    }
                    ops = line.rest(self.next).iter();
                } else if flow == Flow::Late {
                    self.complete(self.registers.pc, op, place, probe);
                    self.settle_late(op);
                    if P::ON {
                        self.tell_late(probe, self.registers.pc, op);
                    }
                    last = self.pipeline.next();
                    self.registers.pc = self.registers.pc.wrapping_add(4);
                } else {
                    // The program counter may already be elsewhere.
                    let pc = start + 4 * (WORDS - 1 - ops.len()) as u32;
                    return self.leave(pc, op, place, flow, probe);
                }
                // The head of an iteration that is recorded may be anywhere in a line.
                let arrived = RECORD && self.registers.pc == self.idle_loop.loop_head;
                if P::STEPS || arrived || one || last >= self.limit {
                    return None;
                }
            }
            if P::ON || P::STEPS || RECORD || one || last >= self.limit {
                return None;
            }
            line = self.enter_line(text)?;
        }
    }

    /// The line of the next instruction, another than before, unless there is something to do first.
    #[inline(always)]
    fn enter_line<'a>(&mut self, text: &'a Text) -> Option<&'a Line> {
        if self.is_looked_for_loop_head() {
            return None;
        }
        let line = self.fetched(text)?;
        self.idle_loop.lines -= 1;
        Some(line)
    }

    #[inline(always)]
    fn complete<P: Probe>(&mut self, pc: u32, op: &Op, place: IssueSlot, probe: &mut P) {
        if P::ON {
            self.tell_issue(probe, pc, op, place);
        }
        self.pipeline.issue(op, place);
        self.counters.instructions += 1;
    }

    /// Takes over the load and store unit's delays after an instruction that used its slow path.
    fn settle_late(&mut self, op: &Op) {
        self.pipeline.late(op, self.unit.data_at);
        self.pipeline.hold(self.unit.stall);
        if self.unit.replay.count != 0 {
            self.unit.replay_forgotten();
            // An interrupt may have waited for the end of this instruction.
            self.refresh_limit();
        }
    }

    /// The flows that end a line.
    fn leave<P: Probe>(
        &mut self,
        pc: u32,
        op: &Op,
        place: IssueSlot,
        flow: Flow,
        probe: &mut P,
    ) -> Option<Stop> {
        match flow {
            Flow::Refetch => {
                self.complete(pc, op, place, probe);
                self.registers.pc = self.registers.pc.wrapping_add(4);
            }
            Flow::Synchronise => {
                self.complete(pc, op, place, probe);
                self.pipeline.stall(place.cycle() + self.synchronise);
                self.icache.forget_buffer();
            }
            Flow::Exception => {
                self.pipeline.stall(place.cycle() + self.synchronise);
                self.unit.replay_forgotten();
                if P::ON {
                    self.tell_exception(probe, pc);
                }
                return None;
            }
            Flow::Retry => return Some(Stop::Until),
            Flow::Fault => return Some(Stop::Fault),
            Flow::Next | Flow::Late | Flow::Branch => {
                unreachable!("handled in the line's loop")
            }
        }
        if P::ON {
            self.tell_leave(probe, pc, op);
        }
        None
    }
}

//! Lines become cycles: what an analyser on the pins tells, and the rules of the lines themselves.

use super::lines::{parity as half_parity, Control, Lines, CONTROLS, HALVES};
use super::transfer::{command, Transfer};
use crate::cycle::parity;
use crate::{Command, Cycle, Ending, Monitor, Params, Phase, Protocol, Violation};

/// Next phase on the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Idle,
    /// The second half of an address.
    Second,
    Attribute,
    /// Response, data or an end.
    Answer,
    TurnAround,
}

/// An analyser. It tells a cycle when it has seen the lines of the next one, which carry its parity.
#[derive(Clone, Debug)]
pub struct Analyser {
    params: Params,
    before: Option<Lines>,
    next: Next,
    command: Command,
    addr: u64,
    phases: u16,
    /// PERR# must be low in the next cycle.
    perr: bool,
}

type Told<T> = Result<T, &'static str>;

fn ensure(holds: bool, rule: &'static str) -> Told<()> {
    if holds {
        Ok(())
    } else {
        Err(rule)
    }
}

impl Analyser {
    /// An analyser of a bus that has just been switched on.
    pub fn new(params: Params) -> Analyser {
        Analyser {
            params,
            before: None,
            next: Next::Idle,
            command: Command::Read,
            addr: 0,
            phases: 0,
            perr: false,
        }
    }

    /// Takes in the lines of a cycle, and has the one before it judged: as lines here, as a cycle by the
    /// monitor.
    pub fn judge(
        &mut self,
        lines: &Lines,
        monitor: &mut Monitor,
    ) -> Result<Option<Cycle>, Violation> {
        let Some(before) = self.before.replace(lines.clone()) else { return Ok(None) };
        let idle = Cycle {
            number: before.number,
            grant: before.grant,
            phase: Phase::Idle,
            ad: 0,
            cbe: 0,
            parity: false,
        };
        let due = std::mem::take(&mut self.perr);
        let perr = ensure(
            lines.is_low(Control::Perr) == due,
            "PERR# tells wrong parity two cycles behind the data, and nothing else",
        );
        let told = self.cycle(&before, lines, idle);
        let cycle = told.as_ref().map_or(idle, |cycle| *cycle);
        let verdict = monitor.judge(&cycle);
        let rules = electrical(&before, lines).and(protocol(&before, lines)).and(perr);
        rules.and(told.map(|_| ())).map_err(|rule| Violation { cycle, rule })?;
        verdict.map(|()| Some(cycle))
    }

    /// The use of the cycle `at`, of which `after` has the parity.
    fn cycle(&mut self, at: &Lines, after: &Lines, idle: Cycle) -> Told<Cycle> {
        let wrong = (0..HALVES).any(|half| {
            let of = at.ad[half].zip(at.cbe(half));
            of.is_some_and(|(ad, cbe)| after.par(half) != Some(half_parity(ad, cbe)))
        });
        let silent = Cycle { parity: wrong, ..idle };
        let told = |phase, ad, cbe| {
            let parity = parity(ad, cbe) ^ wrong;
            Cycle { phase, ad, cbe, parity, ..idle }
        };
        let (phase, next) = match self.next {
            Next::TurnAround if at.is_low(Control::Frame) => {
                self.next = Next::Idle;
                return Err("a transaction ends with a turn-around");
            }
            Next::Idle if at.is_low(Control::Frame) => {
                let (phase, ad) = self.address(at)?;
                return Ok(told(phase, ad, at.cbe(0).unwrap_or(0)));
            }
            Next::Second => {
                let low = self.addr & 0xFFFF_FFFF;
                let (phase, _) = self.address(at)?;
                self.addr = u64::from(at.ad[0].unwrap_or(0)) << 32 | low;
                return Ok(told(phase, self.addr, at.cbe(0).unwrap_or(0)));
            }
            Next::Idle => (Phase::Idle, Next::Idle),
            Next::TurnAround => (Phase::TurnAround, Next::Idle),
            Next::Attribute => {
                self.next = Next::Answer;
                let ad = at.ad[0].ok_or("AD is driven where it is sampled")?;
                let (requester, tag, bytes) = Transfer::read_attributes(ad, at.cbe(0).unwrap_or(0));
                let phase = Phase::Attribute { requester, tag, bytes };
                return Ok(told(phase, u64::from(ad), 0));
            }
            Next::Answer if at.moves() => {
                self.perr = wrong;
                let (phase, ad, lanes) = self.data(at)?;
                return Ok(told(phase, ad, lanes));
            }
            Next::Answer => self.answer(at, after),
        };
        self.next = next;
        Ok(Cycle { phase, ..silent })
    }

    fn address(&mut self, at: &Lines) -> Told<(Phase, u64)> {
        let second = self.next == Next::Second;
        let pcix = self.params.protocol == Protocol::Pcix;
        self.next = if pcix { Next::Attribute } else { Next::Answer };
        let command = at.cbe(0).and_then(command).ok_or("C/BE# carries a known command")?;
        let master = at.asserted_by(Control::Frame).ok_or("FRAME# stays low up to the data")?;
        let low = at.ad[0].ok_or("AD is driven where it is sampled")?;
        let dual = command == Command::DualAddress;
        if dual && !second {
            self.next = Next::Second;
        }
        let high = at.ad[1].filter(|_| !dual && !second).unwrap_or(0);
        (self.command, self.phases) = (command, 0);
        self.addr = u64::from(high) << 32 | u64::from(low);
        Ok((Phase::Address { master, command }, self.addr))
    }

    /// A data phase: its use, AD and lanes.
    fn data(&mut self, at: &Lines) -> Told<(Phase, u64, u8)> {
        let wide = at.is_low(Control::Ack64);
        let asked = at.control(Control::Req64).is_some() || self.params.width == 4;
        let config = matches!(self.command, Command::ConfigRead | Command::ConfigWrite);
        ensure(wide != (config || self.params.width == 4), "ACK64# answers REQ64#, where it fits")?;
        ensure(asked || config, "a master of 64 bits asks for them")?;
        let width = if wide { 8 } else { 4 };
        let addr = (self.addr & !(width - 1)) + width * u64::from(self.phases);
        let shift = if wide || config { 0 } else { 8 * (addr as u32 & 4) };
        let (mut ad, mut lanes) = (0, 0);
        for half in 0..1 + usize::from(wide) {
            let shift = shift + 32 * half as u32;
            let word = at.ad[half].ok_or("AD is driven where it is sampled")?;
            ad |= u64::from(word) << shift;
            lanes |= (!at.cbe(half).unwrap_or(0xF) & 0xF) << (shift / 8);
        }
        self.phases += 1;
        let last = at.is_high(Control::Frame) || at.is_low(Control::Stop);
        if last {
            self.next = Next::TurnAround;
        }
        Ok((Phase::Data { addr, last }, ad, lanes))
    }

    /// A cycle of an answer without data.
    fn answer(&self, at: &Lines, after: &Lines) -> (Phase, Next) {
        let given_up = at.is_low(Control::Irdy) && after.is_high(Control::Irdy);
        if at.is_idle() {
            (Phase::Idle, Next::Idle)
        } else if at.is_retry() {
            (Phase::End(Ending::Retry), Next::TurnAround)
        } else if self.params.protocol == Protocol::Pcix && at.is_split() {
            (Phase::End(Ending::Split), Next::TurnAround)
        } else if given_up && at.is_high(Control::Devsel) {
            (Phase::End(Ending::MasterAbort), Next::TurnAround)
        } else {
            (Phase::Response { target: at.asserted_by(Control::Devsel) }, Next::Answer)
        }
    }
}

/// Agent that drives a line in a cycle.
fn drivers<T>(lines: &Lines, of: impl Fn(&super::Drive) -> Option<T>) -> Told<Option<usize>> {
    let mut all = (0..lines.drives.len()).filter(|place| of(&lines.drives[*place]).is_some());
    let first = all.next();
    ensure(all.next().is_none(), "one agent at a time drives a line")?;
    Ok(first)
}

/// A line that is driven by one agent, and in the next cycle by another, had no turn-around.
fn handed_over<T>(
    before: &Lines,
    now: &Lines,
    of: impl Fn(&super::Drive) -> Option<T>,
) -> Told<()> {
    // Two at a time were reported in their cycle.
    let was = drivers(before, &of).unwrap_or(None);
    let is = drivers(now, &of)?;
    let same = was.zip(is).is_none_or(|(was, is)| was == is);
    ensure(same, "a line floats for a cycle between two drivers")
}

/// Rules of any line.
fn electrical(before: &Lines, now: &Lines) -> Told<()> {
    for line in CONTROLS {
        handed_over(before, now, |drive| drive.control[line as usize])?;
        let dropped = before.control(line) == Some(false) && now.control(line).is_none();
        ensure(!dropped, "a control line is driven high before it is released")?;
    }
    for half in 0..HALVES {
        handed_over(before, now, |drive| drive.ad[half])?;
        handed_over(before, now, |drive| drive.cbe[half])?;
        handed_over(before, now, |drive| drive.par[half])?;
    }
    Ok(())
}

/// Rules of the control lines, from one cycle to the next.
fn protocol(before: &Lines, now: &Lines) -> Told<()> {
    let was_low = |line| before.is_low(line);
    let (frame, irdy, stop) = (Control::Frame, Control::Irdy, Control::Stop);
    let claimed = was_low(Control::Devsel) || now.is_low(Control::Devsel);
    let answers = now.is_low(Control::Trdy) || now.is_low(stop);
    ensure(!answers || claimed, "TRDY# and STOP# follow DEVSEL#")?;
    let claims = before.is_high(Control::Devsel) && now.is_low(Control::Devsel);
    ensure(!claims || !before.is_idle(), "DEVSEL# falls within a transaction")?;
    let rises = was_low(frame) && now.is_high(frame);
    ensure(!rises || now.is_low(irdy), "FRAME# rises only while IRDY# is low")?;
    let falls = before.is_high(frame) && now.is_low(frame);
    ensure(!falls || before.is_idle(), "FRAME# falls on an idle bus")?;
    if was_low(stop) && was_low(frame) {
        ensure(now.is_low(stop), "STOP# stays until FRAME# is high")?;
        ensure(!was_low(irdy) || now.is_high(frame), "FRAME# is high in the cycle after STOP#")?;
    }
    let over = before.moves() || before.is_retry() || before.is_split();
    let nobody = before.is_high(frame) && before.is_high(Control::Devsel);
    // A master that has been stopped, or has given up, lets IRDY# go.
    let waits = was_low(irdy) && !over && !nobody && before.is_high(stop);
    ensure(!waits || now.is_low(irdy), "IRDY# stays low until a data phase is over")
}

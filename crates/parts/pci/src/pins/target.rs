//! The target of an agent: DEVSEL#, TRDY#, STOP#, ACK64#, and AD where it is read.

use super::agent::{Received, Store};
use super::lines::{agent, Control, Drive, Lines};
use super::mutant::Mutant;
use super::transfer::{command, Answer, Transfer};
use crate::{Agent, Command, Ending, Params, Protocol};
use std::collections::VecDeque;

/// Stages of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Watching,
    /// The first half of an address has been seen.
    Second,
    Attributes,
    /// Cycles until DEVSEL# has been low for one.
    Decoding(u8),
    Data,
    /// Split Response.
    Splitting,
    /// STOP# stays until FRAME# is high.
    Stopping,
    /// Lines that were low are driven high before they are released.
    Restore,
}

#[derive(Clone, Debug)]
pub(super) struct Target {
    params: Params,
    me: Agent,
    planned: VecDeque<Transfer>,
    step: Step,
    /// The bus was idle in the last cycle.
    was_idle: bool,
    /// The transaction, as far as its lines have told of it.
    command: Command,
    addr: u64,
    selected: bool,
    wide: bool,
    /// Planned answer to the transaction.
    current: Option<Transfer>,
    moved: u16,
}

impl Target {
    pub fn new(params: Params, place: usize) -> Target {
        Target {
            params,
            me: agent(place),
            planned: VecDeque::new(),
            step: Step::Watching,
            was_idle: true,
            command: Command::Read,
            addr: 0,
            selected: false,
            wide: false,
            current: None,
            moved: 0,
        }
    }
    pub fn plan(&mut self, transfer: &Transfer) {
        self.planned.push_back(transfer.clone());
    }

    /// True if the answer's last data phase is the one that comes, and the master wants more.
    fn stops(&self, t: &Transfer) -> bool {
        matches!(t.answer, Answer::Data { phases } if self.moved + 1 >= phases && phases < t.wanted)
    }

    pub fn drive(&self, drive: &mut Drive, store: &Store, mutant: Option<Mutant>) {
        let Some(t) = &self.current else { return };
        let reads = !self.command.is_write();
        let early = mutant == Some(Mutant::NoTurnAround) && matches!(self.step, Step::Decoding(_));
        if reads && (early || self.step == Step::Data) {
            let data = self.read_data(t, store);
            t.place(&self.params, self.moved, Some(data), 0xFF, drive);
            // C/BE# is the master's.
            drive.cbe = [None; 2];
        }
        let (devsel, trdy, stop) = match self.step {
            Step::Decoding(1) => (false, true, true),
            Step::Decoding(2) if mutant == Some(Mutant::EarlyTrdy) => (true, false, true),
            Step::Data => (false, false, !self.stops(t)),
            Step::Splitting => (true, false, true),
            Step::Stopping => (false, true, false),
            Step::Restore => (true, true, true),
            Step::Decoding(_) | Step::Watching | Step::Second | Step::Attributes => return,
        };
        drive.set(Control::Devsel, devsel);
        drive.set(Control::Trdy, trdy);
        drive.set(Control::Stop, stop);
        if self.wide && mutant != Some(Mutant::NoAck64) {
            drive.set(Control::Ack64, devsel);
        }
    }

    fn read_data(&self, t: &Transfer, store: &Store) -> u64 {
        match (self.command, store) {
            (Command::ConfigRead, Store::Card { config, .. }) => {
                u64::from(config.read(self.addr as u8))
            }
            _ => store.word(t.phase_addr(&self.params, self.moved) & !7),
        }
    }

    /// The edge at the end of a cycle. Returns the word taken; true if it is data of a read.
    pub fn clock(
        &mut self,
        lines: &Lines,
        store: &mut Store,
        mutant: Option<Mutant>,
    ) -> Option<(Received, bool)> {
        let pcix = self.params.protocol == Protocol::Pcix;
        let mut taken = None;
        self.step = match self.step {
            // An agent does not answer itself.
            Step::Watching if lines.asserted_by(Control::Frame) == Some(self.me) => Step::Watching,
            Step::Watching if self.was_idle && lines.is_low(Control::Frame) => {
                self.note(lines);
                match self.command {
                    Command::DualAddress => Step::Second,
                    _ if pcix => Step::Attributes,
                    _ => self.decide(self.me, lines, store, mutant),
                }
            }
            Step::Second => {
                let low = self.addr & 0xFFFF_FFFF;
                self.note(lines);
                self.addr = u64::from(lines.ad[0].unwrap_or(0)) << 32 | low;
                match pcix {
                    true => Step::Attributes,
                    false => self.decide(self.me, lines, store, mutant),
                }
            }
            Step::Attributes => {
                let requester = Transfer::requester(lines.ad[0].unwrap_or(0));
                self.decide(requester, lines, store, mutant)
            }
            Step::Decoding(left) if left > 1 => Step::Decoding(left - 1),
            Step::Decoding(_) => match self.current.as_ref().map(|t| t.answer) {
                Some(Answer::End(Ending::Split)) => Step::Splitting,
                Some(Answer::End(_)) => Step::Stopping,
                _ => Step::Data,
            },
            Step::Data if lines.is_low(Control::Irdy) => {
                taken = self.take(lines, store);
                self.moved += 1;
                match lines.is_high(Control::Frame) {
                    true => Step::Restore,
                    false if lines.is_low(Control::Stop) => Step::Stopping,
                    false => Step::Data,
                }
            }
            Step::Stopping => match lines.is_high(Control::Frame) {
                false if mutant != Some(Mutant::BriefStop) => Step::Stopping,
                _ => Step::Restore,
            },
            Step::Splitting => Step::Restore,
            Step::Restore => {
                self.current = None;
                Step::Watching
            }
            step => step,
        };
        self.was_idle = lines.is_idle();
        taken
    }

    /// Keeps what an address phase tells.
    fn note(&mut self, lines: &Lines) {
        self.command = command(lines.cbe(0).unwrap_or(0)).unwrap_or(Command::DualAddress);
        self.wide = lines.is_low(Control::Req64);
        let high = if self.wide { lines.ad[1].unwrap_or(0) } else { 0 };
        self.addr = u64::from(high) << 32 | u64::from(lines.ad[0].unwrap_or(0));
        self.moved = 0;
        self.selected = match self.me {
            Agent::Device(slot) => lines.drives[0].idsel >> slot & 1 == 1,
            Agent::Bridge => false,
        };
    }

    /// Decodes the address: claims the transaction or goes back to watching.
    fn decide(
        &mut self,
        requester: Agent,
        lines: &Lines,
        store: &Store,
        mutant: Option<Mutant>,
    ) -> Step {
        let word = self.addr & !7;
        let mine = match (self.command, store) {
            // Two halves of an address are the most; only a bug leads here.
            (Command::DualAddress, _) => false,
            (Command::ConfigRead | Command::ConfigWrite, _) => self.selected,
            (Command::SplitCompletion, _) => requester == self.me,
            (_, Store::Host(memory)) => memory.contains(word, 8),
            (_, Store::Card { config, registers, .. }) => {
                let wide = mutant == Some(Mutant::WideDecode);
                let behind = word.wrapping_sub(if wide { registers.len() as u64 } else { 0 });
                config.decode(word).or(config.decode(behind)).is_some()
            }
        };
        if !mine {
            return Step::Watching;
        }
        let planned = self.planned.pop_front();
        let unplanned = || Transfer::unplanned(lines.number, self.me, self.command, self.addr);
        let t = self.current.insert(planned.unwrap_or_else(unplanned));
        let late = if mutant == Some(Mutant::LateDevsel) { 6 } else { 0 };
        Step::Decoding(t.response + late)
    }

    /// A data phase is over: what the master has written is kept.
    fn take(&self, lines: &Lines, store: &mut Store) -> Option<(Received, bool)> {
        let t = self.current.as_ref()?;
        if !self.command.is_write() {
            return None;
        }
        let received = t.take(&self.params, self.moved, lines);
        match (self.command, &mut *store) {
            (Command::SplitCompletion, _) => return Some((received, true)),
            (Command::ConfigWrite, Store::Card { config, .. }) => {
                config.write(self.addr as u8, received.data as u32, received.lanes);
            }
            _ => {
                let addr = t.phase_addr(&self.params, self.moved) & !7;
                store.set(addr, received.data, received.lanes);
            }
        }
        Some((received, false))
    }
}

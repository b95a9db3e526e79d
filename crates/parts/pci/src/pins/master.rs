//! The master of an agent: FRAME#, IRDY#, addresses, attributes, C/BE#, and AD where it writes.

use super::agent::{Received, Store};
use super::lines::{agent, Control, Drive, Lines};
use super::mutant::Mutant;
use super::transfer::Transfer;
use crate::{Agent, Command, Params, Protocol};
use std::collections::VecDeque;

/// Cycles of decoding after which a master gives up.
const ABORT_CYCLES: u8 = 5;

/// Stages of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Idle,
    Dual,
    Address,
    Attribute,
    /// Response and data; so many cycles after the first of them.
    Going(u8),
    /// FRAME# high, IRDY# low: the target has ended it, or nobody has answered.
    Stopped,
    /// IRDY# is driven high before it is released.
    Restore,
}

#[derive(Clone, Debug)]
pub(super) struct Master {
    params: Params,
    me: Agent,
    planned: VecDeque<Transfer>,
    step: Step,
    /// Number of the next cycle.
    now: u64,
    /// Data phases that are over, of the transfer under way.
    moved: u16,
    /// A target has claimed it.
    claimed: bool,
}

impl Master {
    pub fn new(params: Params, place: usize) -> Master {
        let (me, planned) = (agent(place), VecDeque::new());
        Master { params, me, planned, step: Step::Idle, now: 0, moved: 0, claimed: false }
    }
    pub fn plan(&mut self, transfer: &Transfer) {
        self.planned.push_back(transfer.clone());
    }
    pub fn is_done(&self) -> bool {
        self.planned.is_empty()
    }

    fn pcix(&self) -> bool {
        self.params.protocol == Protocol::Pcix
    }
    /// IRDY# falls two cycles behind the attributes (PCI-X) or one behind the address.
    fn is_ready(&self, after: u8, mutant: Option<Mutant>) -> bool {
        let ready = !self.pcix() || after > 0;
        ready && !(mutant == Some(Mutant::UnsteadyIrdy) && after == 2)
    }
    fn is_last(&self, transfer: &Transfer, mutant: Option<Mutant>) -> bool {
        let early = u16::from(mutant == Some(Mutant::EarlyFrame));
        mutant != Some(Mutant::LateFrame) && self.moved + 1 + early >= transfer.wanted
    }

    pub fn drive(&self, drive: &mut Drive, store: &Store, mutant: Option<Mutant>) {
        let Some(t) = self.planned.front() else { return };
        let wide = t.is_wide(&self.params);
        let halves = 1 + usize::from(wide);
        match self.step {
            Step::Idle => drive.requests = self.requests(t),
            Step::Dual | Step::Address => {
                self.frame(drive, false, wide, mutant);
                let dual = self.step == Step::Dual;
                let command = if dual { Command::DualAddress } else { t.command };
                let (low, high) = (t.addr as u32, (t.addr >> 32) as u32);
                let first = if !dual && t.is_far() { high } else { low };
                for half in 0..halves {
                    drive.ad[half] = Some([first, high][half]);
                    drive.cbe[half] = Some(command.code());
                }
                if let Some(slot) = t.idsel() {
                    drive.idsel = 1 << slot;
                }
            }
            Step::Attribute => {
                self.frame(drive, false, wide, mutant);
                drive.set(Control::Irdy, true);
                let (ad, cbe) = t.attributes();
                for half in 0..halves {
                    drive.ad[half] = Some([ad, 0][half]);
                    drive.cbe[half] = Some([cbe, 0][half]);
                }
            }
            Step::Going(after) => {
                let ready = self.is_ready(after, mutant);
                drive.set(Control::Irdy, !ready);
                self.frame(drive, ready && self.is_last(t, mutant), wide, mutant);
                let lanes = t.lanes(self.moved);
                let lanes = if mutant == Some(Mutant::ActiveHighLanes) { !lanes } else { lanes };
                let mut data = None;
                if t.command.is_write() && mutant != Some(Mutant::FloatingData) {
                    data = Some(self.write_data(t, store));
                } else if mutant == Some(Mutant::TwoDrivers) {
                    data = Some(!0);
                }
                t.place(&self.params, self.moved, data, lanes, drive);
            }
            Step::Stopped => {
                self.frame(drive, true, wide, mutant);
                drive.set(Control::Irdy, false);
                drive.cbe[..halves].fill(Some(0xF));
            }
            Step::Restore => {
                drive.set(Control::Irdy, true);
                drive.requests = self.planned.get(1).is_some_and(|next| self.requests(next));
            }
        }
    }

    /// REQ#: the arbiter samples it, then the master GNT#. The bridge is where the bus is parked.
    fn requests(&self, next: &Transfer) -> bool {
        self.me != Agent::Bridge && self.now + 2 >= next.start
    }

    /// FRAME#, and REQ64# with it.
    fn frame(&self, drive: &mut Drive, high: bool, wide: bool, mutant: Option<Mutant>) {
        if high && mutant == Some(Mutant::ReleasesLow) {
            return;
        }
        drive.set(Control::Frame, high);
        if wide {
            drive.set(Control::Req64, high);
        }
    }

    /// The word of a data phase; data that were read earlier come out of memory.
    fn write_data(&self, t: &Transfer, store: &Store) -> u64 {
        match t.command {
            Command::SplitCompletion => store.word(t.phase_addr(&self.params, self.moved) & !7),
            _ => t.data.get(usize::from(self.moved)).map_or(0, |(data, _)| *data),
        }
    }

    pub fn clock(&mut self, lines: &Lines, mutant: Option<Mutant>) -> Option<Received> {
        self.now = lines.number + 1;
        let t = self.planned.front()?;
        let (pcix, mut received) = (self.pcix(), None);
        self.step = match self.step {
            Step::Idle => {
                let granted = lines.grant == self.me || mutant == Some(Mutant::Ungranted);
                let free = lines.is_idle() || mutant == Some(Mutant::Impatient);
                // A master with such a bug comes early, too.
                let hasty = matches!(mutant, Some(Mutant::Ungranted | Mutant::Impatient));
                let early = if hasty { 3 } else { 0 };
                match granted && free && self.now + early >= t.start {
                    true if t.is_far() => Step::Dual,
                    true => Step::Address,
                    false => Step::Idle,
                }
            }
            Step::Dual => Step::Address,
            Step::Address if pcix => Step::Attribute,
            Step::Address | Step::Attribute => Step::Going(0),
            Step::Going(after) => {
                self.claimed |= lines.is_low(Control::Devsel);
                if lines.moves() {
                    if !t.command.is_write() {
                        received = Some(t.take(&self.params, self.moved, lines));
                    }
                    self.moved += 1;
                }
                self.next(lines, after, mutant)
            }
            Step::Stopped => Step::Restore,
            Step::Restore => {
                self.planned.pop_front();
                (self.moved, self.claimed) = (0, false);
                Step::Idle
            }
        };
        received
    }

    /// Next step after a cycle of response or data.
    fn next(&self, lines: &Lines, after: u8, mutant: Option<Mutant>) -> Step {
        let over = lines.moves() || lines.is_retry() || self.pcix() && lines.is_split();
        let stopped = lines.is_low(Control::Stop) || self.pcix() && lines.is_split();
        let stopped = stopped && mutant != Some(Mutant::IgnoresStop);
        let lost = !self.claimed && after + 1 >= ABORT_CYCLES;
        match lines.is_high(Control::Frame) {
            true if over && lines.is_low(Control::Irdy) => Step::Restore,
            false if over && stopped || lost => Step::Stopped,
            true if lost => Step::Stopped,
            _ if mutant == Some(Mutant::LateFrame) && lines.moves() => {
                let wanted = self.planned.front().map_or(0, |t| t.wanted);
                if self.moved >= wanted {
                    Step::Stopped
                } else {
                    Step::Going(after.saturating_add(1))
                }
            }
            _ => Step::Going(after.saturating_add(1)),
        }
    }
}

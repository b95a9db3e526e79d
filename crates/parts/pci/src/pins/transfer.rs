//! Transactions as their sides know them, taken from the cycles of the transaction level.

use crate::{lanes, Agent, Command, Cycle, Ending, Params, Phase, Protocol};

/// Answer of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Data; it asserts STOP# in the last of `phases` if the master wants more than them.
    Data {
        /// Data phases.
        phases: u16,
    },
    /// An end without data.
    End(Ending),
}

/// A transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Its address phase does not come before this cycle.
    pub start: u64,
    /// Master.
    pub master: Agent,
    /// Agent that claims it.
    pub target: Option<Agent>,
    /// Command.
    pub command: Command,
    /// Address of the first byte.
    pub addr: u64,
    /// Attributes (PCI-X).
    pub requester: Agent,
    /// Tag (PCI-X).
    pub tag: u8,
    /// Bytes that are announced (PCI-X).
    pub bytes: u16,
    /// Cycles of decoding, with the one in which DEVSEL# falls.
    pub response: u8,
    /// The target's answer.
    pub answer: Answer,
    /// Data phases that the master wants.
    pub wanted: u16,
    /// AD and lanes of the data phases: the master drives AD for a write and C/BE# always.
    pub data: Vec<(u64, u8)>,
}

/// The transactions of a run of cycles that ends with an idle bus. A conventional transaction that has moved
/// nothing does not show its planned length; it is taken for two data phases.
pub fn transfers(params: &Params, cycles: &[Cycle]) -> Vec<Transfer> {
    let mut all: Vec<Transfer> = Vec::new();
    let mut starting = None;
    for cycle in cycles {
        match (cycle.phase, all.last_mut()) {
            (Phase::Address { command: Command::DualAddress, .. }, _) => {
                starting = Some(cycle.number);
            }
            (Phase::Address { master, command }, _) => all.push(Transfer {
                start: starting.take().unwrap_or(cycle.number),
                master,
                target: None,
                command,
                addr: cycle.ad,
                requester: master,
                tag: 0,
                bytes: 0,
                response: 0,
                answer: Answer::Data { phases: 0 },
                wanted: 0,
                data: Vec::new(),
            }),
            (Phase::Attribute { requester, tag, bytes }, Some(last)) => {
                (last.requester, last.tag, last.bytes) = (requester, tag, bytes);
            }
            (Phase::Response { target }, Some(last)) => {
                last.target = target;
                last.response += 1;
            }
            (Phase::Data { .. }, Some(last)) => {
                last.data.push((cycle.ad, cycle.cbe));
                last.answer = Answer::Data { phases: last.data.len() as u16 };
            }
            (Phase::End(ending), Some(last)) => last.answer = Answer::End(ending),
            (Phase::TurnAround, Some(last)) => last.wanted = wanted(params, last),
            _ => {}
        }
    }
    all
}

/// Data phases that the master wants: those that were, and one more where the target has ended it.
fn wanted(params: &Params, transfer: &Transfer) -> u16 {
    let moved = transfer.data.len() as u16;
    let bytes: u32 = transfer.data.iter().map(|(_, lanes)| lanes.count_ones()).sum();
    let per_word = 8 / u16::from(params.width);
    let device = matches!(transfer.master, Agent::Device(_));
    let stopped = match params.protocol {
        Protocol::Pcix if moved == 0 => {
            return per_word * lanes::words(transfer.addr, transfer.bytes.max(1));
        }
        Protocol::Pci if moved == 0 => return 2,
        Protocol::Pcix => device && bytes < u32::from(transfer.bytes),
        Protocol::Pci => device && moved >= params.burst_words && params.burst_words != 0,
    };
    moved + u16::from(stopped)
}

/// The command of a code on C/BE#.
pub(super) fn command(code: u8) -> Option<Command> {
    use Command::*;
    let all = [DualAddress, ConfigRead, ConfigWrite, Read, Write, SplitCompletion];
    all.into_iter().find(|command| command.code() == code)
}

/// Number of a device on the bus: the bridge has the first.
fn device(agent: Agent) -> u32 {
    super::lines::place(agent) as u32
}

/// The transaction on the lines.
impl Transfer {
    /// Answer of a target without a planned transfer: a word.
    pub(super) fn unplanned(number: u64, target: Agent, command: Command, addr: u64) -> Transfer {
        Transfer {
            start: number,
            master: target,
            target: Some(target),
            command,
            addr,
            requester: target,
            tag: 0,
            bytes: 8,
            response: 1,
            answer: Answer::Data { phases: 1 },
            wanted: 1,
            data: Vec::new(),
        }
    }

    fn is_config(&self) -> bool {
        matches!(self.command, Command::ConfigRead | Command::ConfigWrite)
    }
    /// True if REQ64# is asserted: configuration is 32 bits wide on every bus.
    pub(super) fn is_wide(&self, params: &Params) -> bool {
        params.width == 8 && !self.is_config()
    }
    /// True if the address takes two phases.
    pub(super) fn is_far(&self) -> bool {
        self.addr >> 32 != 0 && self.command != Command::SplitCompletion
    }
    /// The slot whose IDSEL goes up with the address.
    pub(super) fn idsel(&self) -> Option<u8> {
        match self.target {
            Some(Agent::Device(slot)) if self.is_config() => Some(slot),
            _ => None,
        }
    }

    /// AD and C/BE# of the attribute phase: byte count (4096 is 0), device, tag (PCI-X addendum, s2.5).
    pub(super) fn attributes(&self) -> (u32, u8) {
        let count = u32::from(self.bytes) & 0xFFF;
        let ad = count & 0xFF | device(self.requester) << 11 | u32::from(self.tag & 0x1F) << 24;
        (ad, (count >> 8) as u8)
    }
    /// Requester, tag and byte count of an attribute phase.
    pub(super) fn read_attributes(ad: u32, cbe: u8) -> (Agent, u8, u16) {
        let count = ad & 0xFF | u32::from(cbe & 0xF) << 8;
        let bytes = if count == 0 { 4096 } else { count as u16 };
        (Transfer::requester(ad), (ad >> 24 & 0x1F) as u8, bytes)
    }
    /// The requester of an attribute phase.
    pub(super) fn requester(ad: u32) -> Agent {
        super::lines::agent((ad >> 11 & 0x1F) as usize)
    }

    /// Address of a data phase.
    pub(super) fn phase_addr(&self, params: &Params, phase: u16) -> u64 {
        let width = if self.is_wide(params) { 8 } else { 4 };
        (self.addr & !(width - 1)) + width * u64::from(phase)
    }
    /// Lanes of the word that a data phase wants.
    pub(super) fn lanes(&self, phase: u16) -> u8 {
        self.data.get(usize::from(phase)).map_or(0xFF, |(_, lanes)| *lanes)
    }
    /// Bits that a 32-bit data phase's word is shifted by: its half is on `AD[31:0]`.
    fn shift(&self, params: &Params, phase: u16) -> u32 {
        let upper = !self.is_config() && !self.is_wide(params);
        if upper {
            8 * (self.phase_addr(params, phase) as u32 & 4)
        } else {
            0
        }
    }

    /// Drives the word of a data phase, if there is one, and its lanes.
    pub(super) fn place(
        &self,
        params: &Params,
        phase: u16,
        data: Option<u64>,
        lanes: u8,
        drive: &mut super::Drive,
    ) {
        let shift = self.shift(params, phase);
        for half in 0..1 + usize::from(self.is_wide(params)) {
            let shift = shift + 32 * half as u32;
            drive.ad[half] = data.map(|data| (data >> shift) as u32);
            drive.cbe[half] = Some(!(lanes >> (shift / 8)) & 0xF);
        }
    }

    /// Data received in a data phase.
    pub(super) fn take(
        &self,
        params: &Params,
        phase: u16,
        lines: &super::Lines,
    ) -> super::Received {
        let shift = self.shift(params, phase);
        let (mut data, mut lanes) = (0, 0);
        for half in 0..1 + usize::from(self.is_wide(params)) {
            let shift = shift + 32 * half as u32;
            data |= u64::from(lines.ad[half].unwrap_or(!0)) << shift;
            lanes |= (!lines.cbe(half).unwrap_or(0) & 0xF) << (shift / 8);
        }
        super::Received { cycle: lines.number, tag: self.tag, data, lanes }
    }
}

//! Lines: the outputs of each agent, and the levels that result.

use crate::Agent;

/// Control lines that several agents drive in turn (sustained tristate). All are low active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// FRAME#: a transaction goes on.
    Frame,
    /// IRDY#: the master is ready.
    Irdy,
    /// TRDY#: the target is ready.
    Trdy,
    /// DEVSEL#: a target has claimed the address.
    Devsel,
    /// STOP#: the target wants no more.
    Stop,
    /// REQ64#: the master wants 64 bits.
    Req64,
    /// ACK64#: the target has them.
    Ack64,
    /// PERR#: data were taken with wrong parity.
    Perr,
}

/// All control lines, in the order of [`Drive::control`].
pub const CONTROLS: [Control; 8] = [
    Control::Frame,
    Control::Irdy,
    Control::Trdy,
    Control::Devsel,
    Control::Stop,
    Control::Req64,
    Control::Ack64,
    Control::Perr,
];

/// AD, C/BE# and PAR come in halves: bits 31 to 0, and those of the 64-bit extension.
pub const HALVES: usize = 2;

/// Outputs of one agent in a cycle; `None` floats. `true` is a high line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drive {
    /// Control lines.
    pub control: [Option<bool>; CONTROLS.len()],
    /// AD.
    pub ad: [Option<u32>; HALVES],
    /// C/BE#, four bits a half.
    pub cbe: [Option<u8>; HALVES],
    /// PAR and PAR64, over the AD and C/BE# of the cycle before.
    pub par: [Option<bool>; HALVES],
    /// REQ# is low.
    pub requests: bool,
    /// INTA# is pulled low (open drain).
    pub interrupts: bool,
    /// IDSEL lines that are high, a bit a slot; the bridge's.
    pub idsel: u8,
}

impl Drive {
    /// Drives a control line.
    pub fn set(&mut self, line: Control, high: bool) {
        self.control[line as usize] = Some(high);
    }
}

/// Levels of the lines in a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    /// Number of the cycle.
    pub number: u64,
    /// Outputs of each agent: the bridge first, then the slots. An analyser of a real bus does not see
    /// this.
    pub drives: Vec<Drive>,
    /// Agent whose GNT# is low.
    pub grant: Agent,
    /// AD as it arrives, after what the wires do to it; `None` floats.
    pub ad: [Option<u32>; HALVES],
}

impl Lines {
    /// The lines for what the agents drive.
    pub fn new(number: u64, drives: Vec<Drive>, grant: Agent) -> Lines {
        let ad = [0, 1].map(|half| drives.iter().find_map(|drive| drive.ad[half]));
        Lines { number, drives, grant, ad }
    }

    /// Level of a control line; pull-ups hold high what floats.
    pub fn is_high(&self, line: Control) -> bool {
        self.control(line).unwrap_or(true)
    }
    /// True if a control line is asserted.
    pub fn is_low(&self, line: Control) -> bool {
        !self.is_high(line)
    }
    /// Level driven on a control line. Of two drivers the low one wins.
    pub fn control(&self, line: Control) -> Option<bool> {
        let levels = self.drives.iter().filter_map(|drive| drive.control[line as usize]);
        levels.reduce(|one, other| one && other)
    }
    /// Four bits of C/BE#.
    pub fn cbe(&self, half: usize) -> Option<u8> {
        self.drives.iter().find_map(|drive| drive.cbe[half])
    }
    /// PAR or PAR64.
    pub fn par(&self, half: usize) -> Option<bool> {
        self.drives.iter().find_map(|drive| drive.par[half])
    }
    /// True if INTA# is low.
    pub fn interrupt(&self) -> bool {
        self.drives.iter().any(|drive| drive.interrupts)
    }
    /// True if no transaction is on the lines.
    pub fn is_idle(&self) -> bool {
        self.is_high(Control::Frame) && self.is_high(Control::Irdy)
    }
    /// The agent that asserts a control line.
    pub fn asserted_by(&self, line: Control) -> Option<Agent> {
        self.drives.iter().position(|drive| drive.control[line as usize] == Some(false)).map(agent)
    }
    /// A data phase is over at the end of this cycle.
    pub fn moves(&self) -> bool {
        [Control::Irdy, Control::Trdy, Control::Devsel].iter().all(|line| self.is_low(*line))
    }
    /// The target ends the transaction without data in this cycle.
    pub fn is_retry(&self) -> bool {
        self.is_low(Control::Stop) && self.is_low(Control::Devsel) && self.is_high(Control::Trdy)
    }
    /// Split Response of PCI-X: TRDY# alone.
    pub fn is_split(&self) -> bool {
        self.is_low(Control::Trdy) && self.is_high(Control::Devsel) && self.is_high(Control::Stop)
    }
}

/// The agent with a place on the bus: the bridge first, then the slots.
pub fn agent(place: usize) -> Agent {
    match place {
        0 => Agent::Bridge,
        slot => Agent::Device(slot as u8 - 1),
    }
}

/// The place of an agent.
pub fn place(agent: Agent) -> usize {
    match agent {
        Agent::Bridge => 0,
        Agent::Device(slot) => 1 + usize::from(slot),
    }
}

/// PAR for a half of AD and C/BE#: even over all of them.
pub fn parity(ad: u32, cbe: u8) -> bool {
    (ad.count_ones() + (cbe & 0xF).count_ones()) % 2 == 1
}

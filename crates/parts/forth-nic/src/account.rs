//! Sorts the cycles of a bus as the card's counters do (marazakis2006 s2.6).

use pci::{Agent, Command, Cycle, Phase};

/// Cycles of a bus on which nothing else happens, by what they are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// The host's writes into the card, each with the idle cycles behind it.
    pub initiation: u64,
    /// Reads: from the first request to the first message's last word.
    pub fetch: u64,
    /// From there to the end of the last message's read.
    pub fetch_more: u64,
    /// The card's writes into memory, each with its arbitration before it.
    pub deposit: u64,
    open: u64,
    idle: u64,
    finished: u64,
    current: Option<Use>,
    last: Option<Use>,
}

/// Owner of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Host,
    Fetch,
    Deposit,
}

/// Idle cycles that belong to a transaction: an arbitration.
const ARBITRATION: u64 = 2;

impl Account {
    /// Idle cycles that nobody has looked at.
    pub fn pass(&mut self, cycles: u64) {
        self.idle += cycles;
    }

    /// A cycle. Idle ones of an arbitration behind the host's write are its; all that passes while a read is
    /// open is the read's; before the card's write they are the write's.
    pub fn cycle(&mut self, cycle: &Cycle) {
        if let Phase::Address { master, command } = cycle.phase {
            self.begin(master, command);
        }
        match self.current {
            Some(Use::Host) => self.initiation += 1,
            Some(Use::Deposit) => self.deposit += 1,
            Some(Use::Fetch) if self.finished == 0 => self.fetch += 1,
            Some(Use::Fetch) => self.fetch_more += 1,
            None if self.open > 0 && self.finished == 0 => self.fetch += 1,
            None if self.open > 0 => self.fetch_more += 1,
            None => self.idle += 1,
        }
        match cycle.phase {
            Phase::Data { last: true, .. } if self.current == Some(Use::Fetch) => {
                (self.open, self.finished) = (self.open.saturating_sub(1), self.finished + 1);
            }
            Phase::TurnAround => (self.last, self.current) = (self.current, None),
            _ => {}
        }
    }

    fn begin(&mut self, master: Agent, command: Command) {
        let whose = match (command, master) {
            (Command::Write, Agent::Bridge) => Use::Host,
            (Command::Write, _) => Use::Deposit,
            _ => Use::Fetch,
        };
        match (self.last, whose) {
            (Some(Use::Host), _) => self.initiation += ARBITRATION.min(self.idle),
            (_, Use::Deposit) => self.deposit += ARBITRATION.min(self.idle),
            _ => {}
        }
        (self.current, self.idle) = (Some(whose), 0);
        self.open += u64::from(command == Command::Read && whose == Use::Fetch);
    }
}

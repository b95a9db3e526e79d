//! Sorts the cycles of a bus as counters on the card would (marazakis2006 s2.6).

use pci::{Agent, Command, Cycle, Phase};

/// Cycles of a bus, by what they are for.
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
}

/// Whose a transaction is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Host,
    Fetch,
    Deposit,
}

/// The account of a bus on which nothing else happens. Idle cycles of an arbitration after the host's write
/// are its; all that passes while a read is open is the read's; before the card's write they are the
/// write's.
pub fn account(cycles: &[Cycle]) -> Account {
    let mut account = Account::default();
    let (mut open, mut idle, mut finished) = (0, 0, 0);
    let mut current = None;
    let mut last = None;
    for cycle in cycles {
        if let Phase::Address { master, command } = cycle.phase {
            let whose = match (command, master) {
                (Command::Write, Agent::Bridge) => Use::Host,
                (Command::Write, _) => Use::Deposit,
                _ => Use::Fetch,
            };
            // Idle cycles before it: those of an arbitration.
            match (last, whose) {
                (Some(Use::Host), _) => account.initiation += 2.min(idle),
                (_, Use::Deposit) => account.deposit += 2.min(idle),
                _ => {}
            }
            (current, idle) = (Some(whose), 0);
            open += u64::from(command == Command::Read && whose == Use::Fetch);
        }
        let fetching = open > 0;
        match current {
            Some(Use::Host) => account.initiation += 1,
            Some(Use::Deposit) => account.deposit += 1,
            Some(Use::Fetch) if finished == 0 => account.fetch += 1,
            Some(Use::Fetch) => account.fetch_more += 1,
            None if fetching && finished == 0 => account.fetch += 1,
            None if fetching => account.fetch_more += 1,
            None => idle += 1,
        }
        match cycle.phase {
            Phase::Data { last: true, .. } if current == Some(Use::Fetch) => {
                (open, finished) = (open - 1, finished + 1);
            }
            Phase::TurnAround => (last, current) = (current, None),
            _ => {}
        }
    }
    account
}

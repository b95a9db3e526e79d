//! Judges every cycle of a bus, as an analyser on its wires. Knows the rules of the bus and nothing of who
//! plays by them: neither the arbiter's state, nor what bridge and devices hold.

use crate::cycle::{parity, Agent, Command, Cycle, Ending, Phase};
use crate::lanes;
use crate::params::{Params, Protocol, BLOCK, WORD};
use std::fmt;

/// A cycle that is against the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The cycle.
    pub cycle: Cycle,
    /// Rule, as a sentence.
    pub rule: &'static str,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bus cycle {}: {}: {:?}", self.cycle.number, self.rule, self.cycle.phase)
    }
}
impl std::error::Error for Violation {}

/// A read that was answered with Split Response.
#[derive(Clone, Copy, Debug)]
struct Open {
    requester: Agent,
    tag: u8,
    addr: u64,
    bytes: u32,
}

/// A transaction as seen so far.
#[derive(Clone, Copy, Debug)]
struct Seen {
    master: Agent,
    command: Command,
    addr: u64,
    requester: Agent,
    tag: u8,
    /// Bytes announced; conventional PCI announces none.
    bytes: Option<u32>,
    moved: u32,
    phases: u16,
    /// Cycles of decoding, and the agent that has claimed.
    decode: u8,
    target: Option<Agent>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Dual,
    Address,
    Attribute,
    Response,
    Data,
    Ended,
}

/// The judge.
#[derive(Clone, Debug)]
pub struct Monitor {
    params: Params,
    number: Option<u64>,
    last_grant: Agent,
    seen: Option<Seen>,
    open: Vec<Open>,
    /// Idle cycles since the last transaction.
    idle: u64,
    last_master: Option<Agent>,
}

type Verdict = Result<(), &'static str>;

fn ensure(holds: bool, rule: &'static str) -> Verdict {
    if holds {
        Ok(())
    } else {
        Err(rule)
    }
}

impl Monitor {
    /// A judge of a bus that has just been switched on.
    pub fn new(params: Params) -> Monitor {
        Monitor {
            params,
            number: None,
            last_grant: Agent::Bridge,
            seen: None,
            open: Vec::new(),
            idle: 0,
            last_master: None,
        }
    }

    /// Reads that are open.
    pub fn open_reads(&self) -> usize {
        self.open.len()
    }

    /// Lets `cycles` pass in which nobody has the bus.
    pub fn pass(&mut self, cycles: u64) {
        debug_assert!(self.seen.is_none(), "a transaction has no cycles that nobody looks at");
        self.number = self.number.map(|number| number + cycles);
        self.idle += cycles;
    }

    /// Judges the next cycle.
    pub fn judge(&mut self, cycle: &Cycle) -> Result<(), Violation> {
        let verdict = self.verdict(cycle);
        self.number = Some(cycle.number);
        self.last_grant = cycle.grant;
        verdict.map_err(|rule| Violation { cycle: *cycle, rule })
    }

    fn verdict(&mut self, cycle: &Cycle) -> Verdict {
        let next = self.number.is_none_or(|number| cycle.number == number + 1);
        ensure(next, "cycles are numbered one after the other")?;
        // The use of the cycle is followed even if a wire has spoilt it.
        self.phase(cycle)?;
        ensure(parity(cycle.ad, cycle.cbe) == cycle.parity, "parity is even over AD, C/BE#, PAR")
    }

    fn phase(&mut self, cycle: &Cycle) -> Verdict {
        match cycle.phase {
            Phase::Idle => {
                ensure(self.seen.is_none(), "a transaction ends with a turn-around")?;
                self.idle += 1;
                Ok(())
            }
            Phase::Address { master, command } => self.address(cycle, master, command),
            Phase::Attribute { requester, tag, bytes } => self.attribute(requester, tag, bytes),
            Phase::Response { target } => self.response(target),
            Phase::Data { addr, last } => self.data(cycle, addr, last),
            Phase::End(ending) => self.end(ending),
            Phase::TurnAround => {
                let seen = self.seen.take().ok_or("a turn-around follows a transaction")?;
                self.idle = 0;
                self.last_master = Some(seen.master);
                ensure(
                    seen.stage == Stage::Ended,
                    "a turn-around follows the last data phase or an end",
                )
            }
        }
    }

    fn address(&mut self, cycle: &Cycle, master: Agent, command: Command) -> Verdict {
        if let Some(seen) = &mut self.seen {
            ensure(seen.stage == Stage::Dual, "one transaction at a time")?;
            ensure(command != Command::DualAddress, "an address has two halves at most")?;
            ensure(cycle.ad >> 32 != 0, "an address below 4 GB takes one address phase")?;
            ensure(seen.master == master, "the master stays the same")?;
            (seen.stage, seen.command, seen.addr) = (Stage::Address, command, cycle.ad);
            return self.address_rules();
        }
        ensure(self.last_grant == master, "a master starts when it was granted the bus")?;
        let gap = u64::from(self.params.arbitration_cycles);
        ensure(self.last_master.is_none() || self.idle >= gap, "arbitration takes idle cycles")?;
        ensure(cycle.cbe == command.code(), "C/BE# carries the command")?;
        let dual = command == Command::DualAddress;
        let far = cycle.ad >> 32 != 0 && command != Command::SplitCompletion;
        ensure(dual || !far, "an address from 4 GB on takes two address phases")?;
        self.seen = Some(Seen {
            master,
            command,
            addr: cycle.ad,
            requester: master,
            tag: 0,
            bytes: None,
            moved: 0,
            phases: 0,
            decode: 0,
            target: None,
            stage: if dual { Stage::Dual } else { Stage::Address },
        });
        self.address_rules()
    }

    fn address_rules(&self) -> Verdict {
        let Some(seen) = &self.seen else { return Ok(()) };
        let bridge = seen.master == Agent::Bridge;
        let linear = seen.addr % 4 == 0 || self.params.protocol == Protocol::Pcix;
        ensure(linear, "conventional PCI's bursts are linear: the lowest two address bits are 0")?;
        match seen.command {
            Command::SplitCompletion => {
                let pcix = self.params.protocol == Protocol::Pcix;
                ensure(pcix && bridge, "split completions are the bridge's, in PCI-X")
            }
            Command::ConfigRead | Command::ConfigWrite => {
                ensure(bridge, "configuration is the bridge's")
            }
            Command::Read | Command::Write | Command::DualAddress => Ok(()),
        }
    }

    fn attribute(&mut self, requester: Agent, tag: u8, bytes: u16) -> Verdict {
        let pcix = self.params.protocol == Protocol::Pcix;
        ensure(pcix, "attributes are PCI-X's")?;
        let seen = self.seen.as_mut().ok_or("attributes follow an address")?;
        ensure(seen.stage == Stage::Address, "attributes follow an address")?;
        ensure((1..=4096).contains(&bytes), "a sequence has 1 to 4096 bytes")?;
        (seen.requester, seen.tag, seen.stage) = (requester, tag, Stage::Attribute);
        seen.bytes = Some(u32::from(bytes));
        if seen.command == Command::SplitCompletion {
            let (addr, open) = (seen.addr, self.find(requester, tag));
            let open = open.ok_or("a completion answers a read that is open")?;
            ensure(self.open[open].addr == addr, "a completion goes on where the last one ended")?;
            return ensure(
                self.open[open].bytes == u32::from(bytes),
                "a completion is for all the rest",
            );
        }
        ensure(seen.master == requester, "the requester of a request is its master")?;
        let again = seen.command == Command::Read && self.find(requester, tag).is_some();
        ensure(!again, "a tag is in use once")
    }

    fn find(&self, requester: Agent, tag: u8) -> Option<usize> {
        self.open.iter().position(|open| (open.requester, open.tag) == (requester, tag))
    }

    fn response(&mut self, target: Option<Agent>) -> Verdict {
        let pcix = self.params.protocol == Protocol::Pcix;
        let seen = self.seen.as_mut().ok_or("a response follows a request")?;
        let before = if pcix { Stage::Attribute } else { Stage::Address };
        let first = seen.stage == before;
        ensure(
            first || seen.stage == Stage::Response,
            "a response follows address and attributes",
        )?;
        ensure(seen.target.is_none() || target == seen.target, "one target claims, and stays")?;
        ensure(target.is_none() || target != Some(seen.master), "nobody answers itself")?;
        (seen.stage, seen.target) = (Stage::Response, target);
        seen.decode += 1;
        let completes = seen.command == Command::SplitCompletion;
        ensure(
            !completes || target.is_none_or(|target| target == seen.requester),
            "the requester is the target of its own read's data",
        )
    }

    fn data(&mut self, cycle: &Cycle, addr: u64, last: bool) -> Verdict {
        let params = self.params;
        let seen = self.seen.as_mut().ok_or("data belong to a transaction")?;
        let claimed = seen.stage == Stage::Response && seen.target.is_some();
        ensure(claimed || seen.stage == Stage::Data, "data follow a target's response")?;
        ensure(cycle.cbe != 0, "a data phase moves bytes")?;
        let config = matches!(seen.command, Command::ConfigRead | Command::ConfigWrite);
        let width = if config { 4 } else { u32::from(params.width) };
        let expected =
            (seen.addr & !u64::from(width - 1)) + u64::from(width * u32::from(seen.phases));
        ensure(addr == expected, "addresses of a burst are consecutive")?;
        let here = match width {
            4 if !config => 0x0F << (addr % WORD),
            4 => 0x0F,
            _ => 0xFF,
        };
        ensure(cycle.cbe & !here == 0, "lanes are those that the bus has")?;
        let skip = if seen.phases == 0 { (seen.addr % u64::from(width)) as u32 } else { 0 };
        let left = seen.bytes.map(|bytes| bytes.saturating_sub(seen.moved) as u16);
        match (left, seen.requester) {
            // The bytes of a block follow one another; the host's single words may leave some out.
            (Some(left), Agent::Device(_)) if left > 0 => {
                let run = lanes::of_run(addr + u64::from(skip), left) & here;
                ensure(
                    cycle.cbe == run,
                    "a block moves the bytes from its address on, all of them",
                )?;
                seen.moved += cycle.cbe.count_ones();
            }
            _ => seen.moved += width - skip,
        }
        seen.phases += 1;
        seen.stage = if last { Stage::Ended } else { Stage::Data };
        if config {
            ensure(last && seen.phases == 1, "configuration moves one register")?;
        }
        let burst = u32::from(params.burst_words);
        ensure(
            burst == 0 || u32::from(seen.phases) <= burst,
            "a burst is no longer than its limit",
        )?;
        let seen = *seen;
        match params.protocol {
            Protocol::Pci => Ok(()),
            Protocol::Pcix => self.block_rules(&seen, addr + u64::from(width), last),
        }
    }

    /// PCI-X: as many bytes as were announced, or an end at a boundary.
    fn block_rules(&mut self, seen: &Seen, next: u64, last: bool) -> Verdict {
        let announced = seen.bytes.unwrap_or(0);
        ensure(seen.moved <= announced, "no more bytes move than were announced")?;
        let complete = seen.moved == announced;
        ensure(!complete || last, "a transaction ends with its last byte")?;
        if last {
            ensure(complete || next % BLOCK == 0, "a disconnect is at a 128-byte boundary")?;
        }
        if last && seen.command == Command::SplitCompletion {
            let place = self.find(seen.requester, seen.tag).ok_or("the read is open")?;
            let open = &mut self.open[place];
            open.addr += u64::from(seen.moved);
            open.bytes -= seen.moved;
            if open.bytes == 0 {
                self.open.remove(place);
            }
        }
        Ok(())
    }

    fn end(&mut self, ending: Ending) -> Verdict {
        let limit = usize::from(self.params.splits_max);
        let pcix = self.params.protocol == Protocol::Pcix;
        let seen = self.seen.as_mut().ok_or("an end belongs to a transaction")?;
        ensure(seen.stage == Stage::Response, "an end without data follows a response")?;
        seen.stage = Stage::Ended;
        let seen = *seen;
        match ending {
            Ending::Split => {
                ensure(pcix, "split responses are PCI-X's")?;
                ensure(seen.target.is_some(), "the target says that it splits")?;
                ensure(!seen.command.is_write(), "reads are split, writes are not")?;
                ensure(
                    self.open.len() < limit,
                    "the target splits no more reads than it can hold",
                )?;
                let (requester, tag) = (seen.requester, seen.tag);
                let bytes = seen.bytes.unwrap_or(0);
                self.open.push(Open { requester, tag, addr: seen.addr, bytes });
                Ok(())
            }
            Ending::Retry => {
                ensure(seen.command != Command::SplitCompletion, "a completion is never retried")?;
                ensure(seen.target.is_some(), "the target says that it wants a retry")
            }
            Ending::MasterAbort => {
                let waited = seen.target.is_none() && seen.decode >= 4;
                ensure(waited, "a master waits for every speed of decoding")
            }
        }
    }
}

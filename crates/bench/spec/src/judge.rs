//! The judge of one node: it is told what its processes call, what reaches them, and what library, firmware
//! and DMA engines make of it, and holds that against the specification.
//!
//! ```text
//! issued ──► commanded ──► dma_read ... ──► ended        at the initiator
//!    └─ ledger ─► taken ──► dma_write ... ──► answered, ended   at the target
//! ```

use crate::header::{check_header, never_sent, unknown, Header};
use crate::ledger::{Facts, Ledger, Message, Stage, Untakable, What};
use crate::payload::{Coming, Stray};
use crate::process::{compare_grants, Issue, Key, Process, Role};
use crate::tally::Tally;
use crate::types::{
    same, Call, Code, Event, EventKind, Grant, Id, Kind, Limits, Request, Value, Wrong,
};
use crate::verdict::Disagreement;
use abi::MessageId;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The memory of a node's processes.
pub trait Memory {
    /// Fills `buf` from address `va` of address space `space` on, as if nobody had looked. False if the
    /// process does not have that memory.
    fn read(&self, space: u32, va: u64, buf: &mut [u8]) -> bool;
    /// True, once, if the process did not take what was written to it within `length` bytes at `va`.
    fn refused(&self, space: u32, va: u64, length: u64) -> bool;
}

/// Outcome of a message in the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// No process has that id.
    Nobody,
    /// It was handed to the process in this seat.
    Handed {
        /// The process.
        slot: usize,
        /// Descriptor that takes it; an acknowledgement needs none.
        grant: Option<Grant>,
        /// Events that were posted.
        events: u32,
        /// Match entries that were looked at.
        visits: u64,
    },
}

impl Fate {
    fn slot(&self) -> usize {
        match self {
            Fate::Nobody => usize::MAX,
            Fate::Handed { slot, .. } => *slot,
        }
    }
}

/// Answer to an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// By a message.
    Sent(Header),
    /// On the same node: this became of it.
    Local(Fate),
}

pub(crate) struct Slot {
    process: Process,
    space: u32,
    /// Its match lists are on the network interface.
    pub(crate) on_nic: bool,
}

/// A payload that a DMA engine reads.
pub(crate) struct Going {
    pub space: u32,
    pub message: Arc<Message>,
    /// A read of its bytes may be for another message: one with the same bytes was under way, too, or
    /// messages are sent again.
    pub ambiguous: bool,
}

/// Operation in progress at the target of a message, or of a reply.
pub(crate) struct Open {
    pub message: Arc<Message>,
    pub grant: Grant,
    /// The acknowledgement or reply, once it was sent.
    pub answer: Option<Arc<Message>>,
    pub answered: bool,
    /// Bytes that an atomic operation found.
    pub found: Vec<u8>,
    /// Bytes that it left, if the firmware performed it.
    pub left: Option<Vec<u8>>,
}

/// The judge of one node.
pub struct Judge {
    pub(crate) nid: u32,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) memory: Box<dyn Memory>,
    pub(crate) slots: Vec<Option<Slot>>,
    pub(crate) going: VecDeque<Going>,
    pub(crate) coming: Vec<Coming>,
    pub(crate) strays: Vec<Stray>,
    pub(crate) open: BTreeMap<(usize, Key), Open>,
    /// The DMA engines tell what they do.
    pub(crate) watched: bool,
    /// Operations may fail because memory is in too many pieces.
    pub(crate) scattered: bool,
    /// Damage that the network did has reached what nothing protects; nothing is said any more.
    blind: bool,
    verdict: Option<Disagreement>,
    pub(crate) tally: Tally,
}

/// Subject of the judgement: for the report.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct About {
    pub pid: Option<u32>,
    pub message: Option<MessageId>,
}

impl Judge {
    /// The judge of node `nid`. `watched`: it is told what the DMA engines do. `scattered`: the node's
    /// memory may be in more pieces than its network interface can be told of.
    pub fn new(
        nid: u32,
        ledger: Arc<Ledger>,
        memory: Box<dyn Memory>,
        watched: bool,
        scattered: bool,
    ) -> Judge {
        Judge {
            nid,
            ledger,
            memory,
            slots: Vec::new(),
            going: VecDeque::new(),
            coming: Vec::new(),
            strays: Vec::new(),
            open: BTreeMap::new(),
            watched,
            scattered,
            blind: false,
            verdict: None,
            tally: Tally::default(),
        }
    }

    /// Judges with `f`; the first disagreement is kept.
    pub(crate) fn judge(
        &mut self,
        at: u64,
        about: About,
        f: impl FnOnce(&mut Judge) -> Result<(), Wrong>,
    ) {
        if self.blind {
            return;
        }
        let Err(wrong) = f(self) else { return };
        let since = about.message.and_then(|id| self.ledger.find(id)).map(|message| message.at);
        let About { pid, message } = about;
        // One is enough: what follows from it would be its fault.
        self.blind = true;
        self.verdict = Some(Disagreement { nid: self.nid, pid, at, message, since, wrong });
    }

    /// Comparisons so far.
    pub fn tally(&self) -> Tally {
        Tally { silent: u64::from(self.blind && self.verdict.is_none()), ..self.tally }
    }

    /// The first disagreement.
    pub fn verdict(&self) -> Option<&Disagreement> {
        self.verdict.as_ref()
    }

    /// The network has damaged something that no checksum protects in time.
    pub(crate) fn gives_up(&mut self) -> Result<(), Wrong> {
        self.blind = true;
        Ok(())
    }

    pub(crate) fn about(&self, slot: usize, message: Option<MessageId>) -> About {
        let slot = self.slots.get(slot).and_then(Option::as_ref);
        About { pid: slot.map(|slot| slot.process.id().pid), message }
    }

    pub(crate) fn space(&self, slot: usize) -> u32 {
        self.slots[slot].as_ref().map_or(0, |slot| slot.space)
    }

    pub(crate) fn process(&mut self, slot: usize) -> Result<&mut Process, Wrong> {
        let there = self.slots.get_mut(slot).and_then(Option::as_mut);
        there.map(|slot| &mut slot.process).ok_or_else(|| Wrong {
            clause: "Portals 3.3 s3.5 (PtlNIFini)",
            what: "use of an interface".to_owned(),
            expected: "none: it is closed".to_owned(),
            got: "one".to_owned(),
        })
    }

    fn find(&self, pid: u32) -> Option<usize> {
        self.slots
            .iter()
            .position(|slot| slot.as_ref().is_some_and(|slot| slot.process.id().pid == pid))
    }

    fn posted(&mut self, slot: usize, events: u32) -> Result<(), Wrong> {
        let expected = self.process(slot)?.take_posted();
        if self.on_nic(slot) {
            // The library will post them later; it is held against each when the process takes it.
            return Ok(());
        }
        let what = || "number of events posted".to_owned();
        same("Portals 3.3 s3.11 (when events are posted)", what, &expected, &events)
    }

    // What processes call.

    /// A process has opened its interface (PtlNIInit).
    /// `on_nic`: its match lists are on the network interface.
    pub fn opened(
        &mut self,
        slot: usize,
        space: u32,
        id: Id,
        user: [u32; 2],
        limits: Limits,
        on_nic: bool,
    ) {
        if self.slots.len() <= slot {
            self.slots.resize_with(slot + 1, || None);
        }
        let process = Process::new(id, user[0], user[1], limits);
        self.slots[slot] = Some(Slot { process, space, on_nic });
    }

    /// A process leaves (PtlNIFini).
    pub fn leaves(&mut self, at: u64, slot: usize) {
        self.judge(at, self.about(slot, None), |judge| {
            judge.process(slot)?.leave();
            Ok(())
        })
    }

    /// A process has left.
    pub fn closed(&mut self, at: u64, slot: usize) {
        self.judge(at, self.about(slot, None), |judge| {
            let busy = judge.process(slot)?.is_busy();
            judge.slots[slot] = None;
            let what = || "an operation is under way when PtlNIFini returns".to_owned();
            same("Portals 3.3 s3.5 (PtlNIFini)", what, &false, &busy)
        })
    }

    /// A process has made a call that concerns objects, and it returned this.
    pub fn called(&mut self, at: u64, slot: usize, call: &Call, result: Result<&Value, Code>) {
        self.tally.calls += 1;
        self.judge(at, self.about(slot, None), |judge| judge.process(slot)?.called(call, result))
    }

    /// A process has asked for its next event, and got this.
    pub fn next_event(&mut self, at: u64, slot: usize, eq: u32, got: Result<(&Event, bool), Code>) {
        self.tally.events += u64::from(got.is_ok());
        self.judge(at, self.about(slot, None), |judge| judge.process(slot)?.next_event(eq, got))
    }

    /// A process has asked for an operation: what the library made of it, and how many events it posted.
    pub fn issued(
        &mut self,
        at: u64,
        slot: usize,
        issue: &Issue,
        result: Result<&Grant, Code>,
        events: u32,
    ) {
        self.tally.calls += 1;
        let about = self.about(slot, Some(issue.request.message));
        self.judge(at, about, |judge| judge.issue(at, slot, issue, result, events))
    }

    fn issue(
        &mut self,
        at: u64,
        slot: usize,
        issue: &Issue,
        result: Result<&Grant, Code>,
        events: u32,
    ) -> Result<(), Wrong> {
        const CLAUSE: &str = "Portals 3.3 s3.13 (PtlPut, PtlGet, PtlGetPut)";
        let nid = self.nid;
        let to = self.find(issue.request.to.pid);
        let kernels = !self.on_nic(slot) && !to.is_some_and(|to| self.on_nic(to));
        let local = issue.request.to.nid == self.nid && kernels;
        let nodes = self.ledger.nodes();
        let process = self.process(slot)?;
        let reasons = process.refusals(issue, nodes);
        let what = || format!("result of a {}", issue.request.kind.name());
        let grant = match result {
            Err(code) if reasons.contains(&code) => return Ok(()),
            Err(code) => {
                let expected = if reasons.is_empty() { "PTL_OK" } else { reasons[0] };
                return same(CLAUSE, what, &expected, &code);
            }
            Ok(_) if !reasons.is_empty() => return same(CLAUSE, what, &reasons[0], &"PTL_OK"),
            Ok(grant) => grant,
        };
        let number = |handle| process.descriptor(handle).expect("nothing was wrong with it");
        let answer_to = number(issue.get.unwrap_or(issue.md));
        let expected = process.issue(issue);
        let kind = issue.request.kind;
        let request = Request { length: expected.mlength, from: process.id(), ..issue.request };
        compare_grants(CLAUSE, &format!("the {}", kind.name()), Some(&expected), Some(grant))?;
        self.posted(slot, events)?;
        let get = kind == Kind::Get;
        let facts = Facts {
            id: request.message,
            what: What::Request(request),
            from: request.from,
            to: request.to,
            travels: !local,
            length: if get { 0 } else { expected.mlength },
            pieces: if get { Vec::new() } else { expected.pieces },
            answer_to,
            local_offset: if get { expected.offset } else { 0 },
            at,
        };
        let message = self.begin(facts)?;
        debug_assert_eq!(message.id.source_nid, nid);
        if local {
            message.state().stage = Stage::Commanded;
            self.fetch(slot, &message);
        }
        Ok(())
    }

    pub(crate) fn begin(&mut self, facts: Facts) -> Result<Arc<Message>, Wrong> {
        let id = facts.id;
        self.ledger.begin(facts).ok_or_else(|| Wrong {
            clause: "Portals 3.3 s2.2: messages are told from one another",
            what: "serial number of a message".to_owned(),
            expected: "a new one".to_owned(),
            got: format!("{id:?}"),
        })
    }

    /// The kernel has written the header of a request that was issued.
    pub fn sent(&mut self, at: u64, slot: usize, header: &Header) {
        self.judge(at, self.about(slot, Some(header.message)), |judge| {
            let message = judge.ledger.find(header.message).ok_or_else(|| unknown(header))?;
            check_header(&message, header, "header that the kernel writes")
        })
    }

    // What reaches them.

    /// The kernel has got a message, and this is what it made of it.
    pub fn taken(&mut self, at: u64, header: &Header, fate: &Fate) {
        let about = self.about(fate.slot(), Some(header.message));
        self.judge(at, about, |judge| judge.take(header, fate))
    }

    fn take(&mut self, header: &Header, fate: &Fate) -> Result<(), Wrong> {
        const CLAUSE: &str = "Portals 3.3 s2.2: messages keep their order, and each comes once";
        let wrong = |expected: String, got: String| {
            let what = "arrival of a message".to_owned();
            Err(Wrong { clause: CLAUSE, what, expected, got })
        };
        let lossy = self.ledger.is_lossy();
        let message = match self.ledger.take(header.message, self.nid) {
            Ok(message) => message,
            Err(_) if lossy => return self.gives_up(),
            Err(Untakable::Unknown) => return Err(unknown(header)),
            Err(Untakable::Again) => {
                return wrong("that it comes once".to_owned(), "it comes again".to_owned())
            }
            Err(Untakable::Overtook(first)) => {
                return wrong(format!("{} before it", first.describe()), "this one".to_owned())
            }
        };
        if let Err(wrong) = check_header(&message, header, "header that arrived") {
            return if lossy { self.gives_up() } else { Err(wrong) };
        }
        if lossy && message.length > 0 && header.inline != message.state().inline {
            return self.gives_up();
        }
        self.hand(&message, fate)
    }

    /// A message, from here or elsewhere, is given to the process that it is for.
    pub(crate) fn hand(&mut self, message: &Arc<Message>, fate: &Fate) -> Result<(), Wrong> {
        const CLAUSE: &str = "Portals 3.3 s2.2 (translation) and s3.10 (what a descriptor takes)";
        let expected = self.find(message.to.pid);
        let got = match fate {
            Fate::Nobody => None,
            Fate::Handed { slot, .. } => Some(*slot),
        };
        let what = || format!("process that gets {} (seat)", message.describe());
        same(CLAUSE, what, &expected, &got)?;
        self.tally.messages += 1;
        let Fate::Handed { slot, grant, events, visits } = fate else {
            self.ledger.target_done(message);
            return Ok(());
        };
        let on_nic = self.on_nic(*slot);
        let process = self.process(*slot)?;
        process.take_visits();
        process.keep(on_nic);
        let (expected, role) = match &message.what {
            What::Request(request) => (process.arrive(request), Role::Target),
            What::Reply(reply) => (process.reply(reply), Role::Replied),
            What::Ack(ack) => {
                process.ack(ack);
                (None, Role::Replied)
            }
        };
        process.keep(false);
        let looked = process.take_visits();
        compare_grants(CLAUSE, &message.describe(), expected.as_ref(), grant.as_ref())?;
        same(CLAUSE, || "match entries looked at".to_owned(), &looked, visits)?;
        self.posted(*slot, *events)?;
        match expected {
            Some(grant) => self.open(*slot, Key { role, message: message.id }, message, grant),
            None => self.ledger.target_done(message),
        }
        Ok(())
    }

    /// A request to a process of this node has come to its target without a message.
    pub fn delivered(&mut self, at: u64, message: MessageId, fate: &Fate) {
        let about = self.about(fate.slot(), Some(message));
        self.judge(at, about, |judge| match judge.ledger.find(message) {
            Some(message) => judge.hand(&message, fate),
            None => Err(never_sent("a request on the same node", message)),
        })
    }

    // What follows from it.

    /// An operation has ended, with this END event, and this many events were posted.
    pub fn ended(
        &mut self,
        at: u64,
        slot: usize,
        kind: EventKind,
        message: MessageId,
        failed: bool,
        events: u32,
    ) {
        self.judge(at, self.about(slot, Some(message)), |judge| {
            let on_nic = judge.on_nic(slot);
            let process = judge.process(slot)?;
            let key = process.ending(kind, message);
            process.keep(on_nic);
            let ended = process.complete(key, failed);
            process.keep(false);
            if !ended {
                return Err(Wrong {
                    clause: "Portals 3.3 s3.11 (END events)",
                    what: format!("end of an operation ({kind:?})"),
                    expected: "none: it is not under way".to_owned(),
                    got: "one".to_owned(),
                });
            }
            judge.posted(slot, events)?;
            match key.role {
                Role::Sender | Role::Getter => judge.left(slot, message, failed),
                Role::Target | Role::Replied if on_nic => {
                    judge.process(slot)?.keep_end(key, failed);
                    Ok(())
                }
                Role::Target | Role::Replied => judge.arrived(slot, key, failed),
            }
        })
    }

    /// The firmware says that the header of a message is damaged.
    pub fn damaged(&mut self, at: u64) {
        self.judge(at, About::default(), |judge| {
            let what = || "header of a message".to_owned();
            let intact = if judge.ledger.is_lossy() { "damaged" } else { "intact" };
            same("Portals 3.3 s2.2: what is sent arrives", what, &intact, &"damaged")
        })
    }
}

/// The bytes of a place; `None` if some are not there.
pub(crate) fn read(memory: &dyn Memory, space: u32, pieces: &[(u64, u64)]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for &(start, length) in pieces {
        let at = bytes.len();
        bytes.resize(at + length as usize, 0);
        if !memory.read(space, start, &mut bytes[at..]) {
            return None;
        }
    }
    Some(bytes)
}

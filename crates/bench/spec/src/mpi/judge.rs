//! The judge of one process: what it begins, and how that ends.

use super::inbox::{Because, Ended, Inbox, Kept, Meeting, Message, Role, Unsettled};
use super::kinds::{Kinds, Mismatch, Seat, Share, Side};
use super::ledger::Ledger;
use super::verdict::{rule, time, Broken};
use super::{Buffer, Envelope, Found, Status, Wanted};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// A message to be sent.
#[derive(Clone, Debug)]
pub struct Send {
    /// Rank of the receiver in the world.
    pub to: u32,
    /// Envelope of the message.
    pub envelope: Envelope,
    /// Bytes.
    pub length: u64,
    /// The bytes as they stand when it begins; `None` if they cannot be read.
    pub bytes: Option<Vec<u8>>,
    /// Items of the program, if they are known.
    pub kinds: Option<Kinds>,
    /// It ends after its receive has begun.
    pub synchronous: bool,
}

/// A send under way.
#[derive(Clone, Debug)]
struct Sending {
    to: u32,
    way: (u16, i32),
    number: u64,
    meeting: Option<Arc<Mutex<Meeting>>>,
}

/// The receive that has ended last, and what the program must be told of it.
#[derive(Clone, Copy, Debug)]
struct Told {
    id: u64,
    status: Status,
}

/// Reads the process's memory: address and length.
pub type Read<'a> = &'a dyn Fn(u64, u64) -> Option<Vec<u8>>;

/// The judge of one process. Operations have names: those under way differ.
#[derive(Debug)]
pub struct Judge {
    rank: u32,
    ledger: Arc<Ledger>,
    sends: RefCell<HashMap<u64, Sending>>,
    /// A probe that may not fail: the process was told that there is something.
    promised: RefCell<Option<Wanted>>,
    told: RefCell<Option<Told>>,
    /// Collective operations under way: what this process takes in them.
    joined: RefCell<HashMap<u64, (Seat, Share)>>,
}

/// An answer: that all is well, or the rule that was broken.
pub type Answer = Result<(), Broken>;

impl Judge {
    /// The judge of this rank of the world.
    pub fn new(rank: u32, ledger: Arc<Ledger>) -> Judge {
        let (sends, promised, told, joined) = Default::default();
        Judge { rank, ledger, sends, promised, told, joined }
    }

    fn broken(&self, at: u64, rule: &'static str, what: String) -> Broken {
        Broken { rank: self.rank, at, rule, what }
    }

    fn own<R>(&self, f: impl FnOnce(&mut Inbox) -> R) -> R {
        f(&mut self.ledger.inbox(self.rank))
    }

    // Sends.

    /// A send begins.
    pub fn sends(&self, at: u64, id: u64, send: Send) {
        let Send { to, envelope, length, bytes, kinds, synchronous } = send;
        let meeting = synchronous.then(Arc::default);
        let (way, from) = ((envelope.context, envelope.source), self.rank);
        let mut inbox = self.ledger.inbox(to);
        let number = inbox.counts.entry(from).or_default();
        *number += 1;
        let number = *number;
        let message = Message {
            number,
            from,
            to,
            envelope,
            length,
            bytes,
            kinds,
            at,
            meeting: meeting.clone(),
            seen: None,
        };
        inbox.ways.entry(way).or_default().push_back(message);
        inbox.tally.sent += 1;
        self.sends.borrow_mut().insert(id, Sending { to, way, number, meeting });
    }

    /// It could not begin: nothing was sent.
    pub fn unsent(&self, id: u64) {
        let Some(sending) = self.sends.borrow_mut().remove(&id) else { return };
        let mut inbox = self.ledger.inbox(sending.to);
        let way = inbox.ways.entry(sending.way).or_default();
        way.retain(|message| message.from != self.rank || message.number != sending.number);
        inbox.tally.sent -= 1;
    }

    /// It is over at once.
    pub fn sent(&self, at: u64, id: u64) {
        let sending = self.sends.borrow_mut().remove(&id);
        self.send_ended(at, sending);
    }

    fn send_ended(&self, at: u64, sending: Option<Sending>) {
        let Some(Sending { to, number, meeting: Some(meeting), .. }) = sending else { return };
        let mut meeting = meeting.lock().expect("nobody panics with it");
        meeting.ended = Some(at);
        if meeting.is_wrong() {
            self.ledger.too_late(self.too_soon(&meeting, self.rank, to, number));
        }
    }

    /// A synchronous send ended before its receive began.
    pub(super) fn too_soon(&self, meeting: &Meeting, from: u32, to: u32, number: u64) -> Broken {
        let [ended, begun] = [meeting.ended, meeting.begun].map(Option::unwrap_or_default);
        let what = format!(
            "synchronous message {number} of rank {from} to rank {to} ended at {}, and the \
             receive that got it began at {}",
            time(ended),
            time(begun)
        );
        Broken { rank: from, at: begun.max(ended), rule: rule::SYNCHRONOUS, what }
    }

    // Receives.

    /// A receive begins, with room for its message.
    pub fn receives(&self, at: u64, id: u64, wanted: Wanted, room: Buffer) {
        self.promised.replace(None);
        self.own(|inbox| {
            let role = Role::Receive { id, room };
            let number = inbox.begin(Unsettled { wanted, role, at, met: None, ended: None });
            inbox.receives.insert(id, number);
        });
    }

    /// A receive of a message begins that was taken by this name.
    pub fn receives_taken(&self, at: u64, id: u64, name: u64, room: Buffer) -> Answer {
        self.own(|inbox| {
            let claimed = inbox.claims.values().any(|(other, _)| *other == name);
            if claimed || !inbox.kept.contains_key(&name) {
                let what = format!(
                    "rank {} receives a message that it has not taken, or has received",
                    self.rank
                );
                return Err(self.broken(at, rule::TAKEN, what));
            }
            inbox.claims.insert(id, (name, room));
            Ok(())
        })
    }

    /// An operation has ended, with what it has found if it received, the program's items that it has filled,
    /// and `failed` if its bytes are not to be believed.
    pub fn ended(
        &self,
        at: u64,
        id: u64,
        found: Found,
        kinds: Option<Kinds>,
        failed: bool,
        read: Read<'_>,
    ) -> Answer {
        let sending = self.sends.borrow_mut().remove(&id);
        if sending.is_some() {
            self.send_ended(at, sending);
            return Ok(());
        }
        self.own(|inbox| {
            let take = |room: Buffer| {
                let length = found.bytes.min(room.length);
                // A message that is longer than its room is an error above the seam.
                let failed_so = failed || found.bytes > room.length;
                let Found { source, tag, .. } = found;
                let status = Status { source, tag, bytes: length, failed: failed_so };
                self.told.replace(Some(Told { id, status }));
                let bytes = if failed { None } else { read(room.address, length) };
                Ended { at, found, bytes, kinds }
            };
            if let Some((name, room)) = inbox.claims.remove(&id) {
                return self.claim_ended(inbox, name, take(room));
            }
            let Some(number) = inbox.receives.remove(&id) else {
                let what = format!(
                    "something ended that rank {} had not begun, or that had ended or was \
                     cancelled before: {}",
                    self.rank,
                    told(&found)
                );
                return Err(self.broken(at, rule::END, what));
            };
            let unsettled =
                inbox.unsettled.get_mut(&number).expect("a receive stands until it ends");
            let Role::Receive { room, .. } = unsettled.role else { unreachable!("it receives") };
            let wanted = unsettled.wanted;
            unsettled.ended = Some(take(room));
            if !wanted.accepts(found.envelope(wanted.context)) {
                let what = format!("{unsettled} ended with {}", told(&found));
                return Err(self.broken(at, rule::WANTED, what));
            }
            inbox.pass(number, wanted.context, found, at);
            self.settle(inbox)
        })
    }

    /// A receive of a taken message has ended.
    fn claim_ended(&self, inbox: &mut Inbox, name: u64, ended: Ended) -> Answer {
        match inbox.kept.remove(&name) {
            Some(Kept::Known(message)) => {
                let Ended { at, found, .. } = ended;
                let (told, is) = (found, message.envelope);
                if (told.source, told.tag, told.bytes) != (is.source, is.tag, message.length) {
                    let what =
                        format!("the receive of {message} ended with {}", self::told(&found));
                    return Err(self.broken(at, rule::STATUS, what));
                }
                self.compare(inbox, &message, &ended, None)
            }
            _ => {
                inbox.early.insert(name, ended);
                Ok(())
            }
        }
    }

    /// The process has asked for a receive to be taken back, and was told whether it is.
    pub fn cancels(&self, at: u64, id: u64, cancelled: bool) -> Answer {
        self.own(|inbox| {
            let Some(&number) = inbox.receives.get(&id) else { return Ok(()) };
            let unsettled =
                inbox.unsettled.get_mut(&number).expect("a receive stands until it ends");
            if !cancelled {
                unsettled.met.get_or_insert((at, Because::Kept));
                return Ok(());
            }
            if let Some((since, Because::Passed(found))) = unsettled.met.clone() {
                let what = format!(
                    "{unsettled} was cancelled, but a younger one had got {} by {}, which it \
                     wanted, too",
                    told(&found),
                    time(since)
                );
                return Err(self.broken(at, rule::CANCEL, what));
            }
            inbox.unsettled.remove(&number);
            inbox.receives.remove(&id);
            self.settle(inbox)
        })
    }

    // Probes.

    /// A probe was answered.
    pub fn probed(&self, at: u64, wanted: Wanted, found: Option<Found>) -> Answer {
        let promised = self.promised.replace(None);
        self.own(|inbox| {
            inbox.tally.probes += 1;
            let Some(found) = found else {
                if promised == Some(wanted) {
                    let what = "a probe that waited was told of a message, and then found none";
                    return Err(self.broken(at, rule::PROBE, what.into()));
                }
                return self.found_nothing(inbox, at, &wanted);
            };
            self.finds(inbox, at, wanted, Role::Probe, found)
        })
    }

    /// The process was told whether a probe would find something.
    pub fn promises(&self, at: u64, wanted: Wanted, something: bool) -> Answer {
        if something {
            self.promised.replace(Some(wanted));
            return Ok(());
        }
        self.own(|inbox| self.found_nothing(inbox, at, &wanted))
    }

    fn found_nothing(&self, inbox: &Inbox, at: u64, wanted: &Wanted) -> Answer {
        let Some(message) = inbox.seen(wanted) else { return Ok(()) };
        let what = format!(
            "a probe found nothing, but an earlier one had found {message}, which nobody has \
             received"
        );
        Err(self.broken(at, rule::PROBE, what))
    }

    /// The message that a probe has found was taken by this name.
    pub fn takes(&self, at: u64, wanted: Wanted, name: u64, found: Found) -> Answer {
        self.promised.replace(None);
        self.own(|inbox| {
            inbox.kept.insert(name, Kept::Unknown);
            self.finds(inbox, at, wanted, Role::Take(name), found)
        })
    }

    fn finds(
        &self,
        inbox: &mut Inbox,
        at: u64,
        wanted: Wanted,
        role: Role,
        found: Found,
    ) -> Answer {
        let ended = Some(Ended { at, found, bytes: None, kinds: None });
        let unsettled = Unsettled { wanted, role, at, met: None, ended };
        if !wanted.accepts(found.envelope(wanted.context)) {
            let what = format!("{unsettled} found {}", told(&found));
            return Err(self.broken(at, rule::PROBE, what));
        }
        let number = inbox.begin(unsettled);
        inbox.pass(number, wanted.context, found, at);
        self.settle(inbox)
    }

    // Collective operations.

    /// One begins, in which the process gives and takes these items.
    pub fn joins(&self, id: u64, seat: Seat, gives: Share, takes: Share) {
        self.ledger.assemblies().join(self.rank, &seat, gives);
        self.joined.borrow_mut().insert(id, (seat, takes));
    }

    /// It has ended here.
    pub fn leaves(&self, at: u64, id: u64) {
        let Some((seat, takes)) = self.joined.borrow_mut().remove(&id) else { return };
        let differs = self.ledger.assemblies().leave(&seat, &takes);
        if let Some((from, given, taken)) = differs {
            let taker = Side { rank: self.rank, kinds: &taken };
            let mismatch = Mismatch::new(at, taker, Side { rank: from, kinds: &given }, None);
            self.ledger.mismatched(mismatch);
        }
    }

    // What the program is told.

    /// The program can see this status from now on.
    pub fn completed(&self, at: u64, id: u64, status: Status) -> Answer {
        let told = self.told.take().filter(|told| told.id == id);
        let Some(Told { status: due, .. }) = told.filter(|told| told.status != status) else {
            return Ok(());
        };
        let what = format!("a receive ended with {due:?}, and its program was told {status:?}");
        Err(self.broken(at, rule::STATUS, what))
    }

    pub(super) fn rank(&self) -> u32 {
        self.rank
    }
    pub(super) fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}

/// A message, as a status tells it.
pub(super) fn told(found: &Found) -> String {
    let Found { source, tag, bytes } = found;
    format!("a message of {bytes} bytes from rank {source} with tag {tag}")
}

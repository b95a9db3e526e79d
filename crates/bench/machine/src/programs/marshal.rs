//! The judge of MPI's rules beside a rank: what passes the seam below requests, in the judge's own words. The
//! tests of `mpi` use it too.

use host::{Cpu, SpaceId};
use mpi::{Address, Bytes, Ending, Exchange, Found, Kinds, Mode, RequestId};
use mpi::{Seat, Share, Status, Taken, Wanted, Witness};
use spec::mpi::{self as rules, Broken, Judge};
use std::sync::Arc;

/// Stands beside a rank. A broken rule is a fault of its processor, which ends the run.
pub(crate) struct Marshal {
    judge: Judge,
    ledger: Arc<rules::Ledger>,
    rank: u32,
    /// Datatypes that do not match are a fault of the program that ends the run.
    ends: bool,
    cpu: Cpu,
    space: SpaceId,
}

impl Marshal {
    /// Beside this rank of the world, whose memory is `space`; datatypes that do not match end the run if
    /// `ends`.
    pub fn new(
        rank: u32,
        ledger: Arc<rules::Ledger>,
        ends: bool,
        cpu: Cpu,
        space: SpaceId,
    ) -> Marshal {
        Marshal { judge: Judge::new(rank, ledger.clone()), ledger, rank, ends, cpu, space }
    }

    /// Ends the run if datatypes did not match.
    fn compare(&self) {
        if self.ends
            && let Some(mismatch) = self.ledger.mismatch_of(self.rank)
        {
            self.cpu.fault(mismatch.what);
        }
    }

    fn now(&self) -> u64 {
        self.cpu.now().0
    }

    /// The process's memory as if nobody had looked.
    fn read(&self, va: u64, length: u64) -> Option<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        let mut memory = self.cpu.memory().borrow_mut();
        memory.peek(self.space, va, &mut bytes).is_ok().then_some(bytes)
    }

    fn uphold(&self, answer: Result<(), Broken>) {
        if let Err(broken) = answer {
            self.cpu.fault(broken.to_string());
        }
    }
}

fn wanted(wanted: Wanted) -> rules::Wanted {
    let Wanted { context, source, tag } = wanted;
    let source = (source != abi::mpi::ANY_SOURCE).then_some(source);
    rules::Wanted { context, source, tag: (tag != abi::mpi::ANY_TAG).then_some(tag) }
}

fn found(found: Found) -> rules::Found {
    rules::Found { source: found.source, tag: found.tag, bytes: found.bytes }
}

fn buffer(room: Bytes) -> rules::Buffer {
    rules::Buffer { address: room.va, length: room.length }
}

fn of_kinds(kinds: Kinds) -> rules::Kinds {
    let Kinds { call, items, number, matches_all, text } = kinds;
    rules::Kinds { call, items, number, matches_all, text }
}

fn share(share: Share) -> rules::Share {
    match share {
        Share::Nothing => rules::Share::Nothing,
        Share::All(kinds) => rules::Share::All(of_kinds(kinds)),
        Share::Lower(kinds) => rules::Share::Lower(of_kinds(kinds)),
        Share::One(rank, kinds) => rules::Share::One(rank, of_kinds(kinds)),
        Share::Each(all) => rules::Share::Each(all.into_iter().map(of_kinds).collect()),
    }
}

impl Witness for Marshal {
    fn sends(&self, id: RequestId, to: Address, bytes: Bytes, mode: Mode, kinds: Option<Kinds>) {
        let (context, source) = (to.context, to.source as i32);
        let send = rules::Send {
            to: to.target,
            envelope: rules::Envelope { context, source, tag: to.tag },
            length: bytes.length,
            bytes: self.read(bytes.va, bytes.length),
            kinds: kinds.map(of_kinds),
            synchronous: mode == Mode::Synchronous,
        };
        self.judge.sends(self.now(), id.word(), send);
    }
    fn sent(&self, id: RequestId) {
        self.judge.sent(self.now(), id.word());
    }
    fn unsent(&self, id: RequestId) {
        self.judge.unsent(id.word());
    }
    fn receives(&self, id: RequestId, of: Wanted, room: Bytes) {
        self.judge.receives(self.now(), id.word(), wanted(of), buffer(room));
    }
    fn receives_taken(&self, id: RequestId, message: Taken, room: Bytes) {
        self.uphold(self.judge.receives_taken(self.now(), id.word(), message.0, buffer(room)));
    }
    fn cancels(&self, id: RequestId, cancelled: bool) {
        self.uphold(self.judge.cancels(self.now(), id.word(), cancelled));
    }
    fn probed(&self, of: Wanted, what: Option<Found>) {
        self.uphold(self.judge.probed(self.now(), wanted(of), what.map(found)));
    }
    fn promises(&self, of: Wanted, something: bool) {
        self.uphold(self.judge.promises(self.now(), wanted(of), something));
    }
    fn takes(&self, of: Wanted, message: Taken, what: Found) {
        self.uphold(self.judge.takes(self.now(), wanted(of), message.0, found(what)));
    }
    fn joins(&self, id: RequestId, seat: &Seat, exchange: Exchange) {
        let Seat { communicator, number, rank, members } = *seat;
        let seat = rules::Seat { communicator, number, rank, members };
        self.judge.joins(id.word(), seat, share(exchange.gives), share(exchange.takes));
    }
    fn leaves(&self, id: RequestId) {
        self.judge.leaves(self.now(), id.word());
        self.compare();
    }
    fn ended(&self, ending: &Ending, kinds: Option<Kinds>) {
        let (what, failed) = (found(ending.found), ending.error.is_some());
        let read = |va, length| self.read(va, length);
        let (now, id, kinds) = (self.now(), ending.id.word(), kinds.map(of_kinds));
        self.uphold(self.judge.ended(now, id, what, kinds, failed, &read));
        self.compare();
    }
    fn completed(&self, id: RequestId, status: &Status, failed: bool) {
        let Status { source, tag, bytes, .. } = *status;
        let status = rules::Status { source, tag, bytes, failed };
        self.uphold(self.judge.completed(self.now(), id.word(), status));
    }
}

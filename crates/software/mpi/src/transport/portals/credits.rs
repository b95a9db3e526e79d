//! Credits of senders, if they are asked for (`mpi.send_credits`). A message costs its sender one, and the
//! receiver gives it back once its library has the message's event: so no process has more than so many of
//! each sender on their way to it and in its queue of unexpected messages.
//!
//! Credits come back by empty puts to a portal of their own, half of them at a time. Sends without one wait
//! here, in their order for each receiver, and begin when some come back: a nonblocking send returns at once
//! all the same.

use super::operations::Owner;
use super::{must, Portals, ACCESS};
use crate::error::Error;
use crate::local::Local;
use crate::request::RequestId;
use crate::transport::{Address, Bytes, Ending, Found, Mode, Step};
use portals::{
    option, AckRequest, Criteria, Event, Md, Position, ProcessId, Region, Target, Unlink,
};
use std::collections::{HashMap, VecDeque};

/// Portal of credits that come back.
const CREDITS: u32 = 6;

/// A send that has not begun.
#[derive(Clone, Copy)]
pub(super) struct Deferred {
    pub id: RequestId,
    pub to: Address,
    pub bytes: Bytes,
    pub mode: Mode,
}

/// Another process, as sender and as receiver.
#[derive(Default)]
struct Peer {
    /// Messages to it whose credits have not come back.
    out: u32,
    /// Messages of it whose credits have not been given back.
    owed: u32,
    waiting: VecDeque<Deferred>,
}

/// Credits of a process.
pub(super) struct Credits {
    most: u32,
    ranks: HashMap<ProcessId, u32>,
    peers: HashMap<u32, Peer>,
    /// Receivers to which sends that have waited may begin.
    ready: VecDeque<u32>,
}

impl Credits {
    /// True if no send waits.
    pub fn is_quiet(&self) -> bool {
        self.peers.values().all(|peer| peer.waiting.is_empty())
    }
}

impl Portals {
    /// Makes the portal of credits, and the queue of its events.
    pub(super) fn open_credits(&mut self, local: &Local) {
        let most = self.params.send_credits;
        // Of each peer two halves may be on their way, with START and END.
        let events = (4 * self.map.len() as u32).clamp(64, 1 << 20);
        let eq = must(local, self.ni.eq_alloc(events), "PtlEQAlloc");
        self.poll_set.push(eq);
        let all = Criteria { match_id: ProcessId::ANY, match_bits: 0, ignore_bits: 0 };
        let entry = self.ni.me_attach(CREDITS, all, Unlink::Retain, Position::After);
        let entry = must(local, entry, "PtlMEAttach");
        let md = Md {
            user_ptr: Owner::Credits.pack(),
            eq: Some(eq),
            ..Md::new(0, 0, option::OP_PUT | option::ACK_DISABLE | option::EVENT_START_DISABLE)
        };
        must(local, self.ni.md_attach(entry, md, Unlink::Retain), "PtlMDAttach");
        let ranks = self.map.iter().enumerate().map(|(rank, id)| (*id, rank as u32)).collect();
        let (peers, ready) = Default::default();
        self.credits = Some(Credits { most, ranks, peers, ready });
    }

    /// Takes a credit for a message; without one, or behind one without, the send waits. True if it may
    /// begin.
    pub(super) fn take_credit(
        &mut self,
        id: RequestId,
        to: Address,
        bytes: Bytes,
        mode: Mode,
    ) -> bool {
        let Some(credits) = &mut self.credits else { return true };
        let peer = credits.peers.entry(to.target).or_default();
        if peer.out < credits.most && peer.waiting.is_empty() {
            peer.out += 1;
            return true;
        }
        peer.waiting.push_back(Deferred { id, to, bytes, mode });
        false
    }

    /// A message could not begin: its credit is free.
    pub(super) fn untake_credit(&mut self, to: Address) {
        let peer = self.credits.as_mut().and_then(|credits| credits.peers.get_mut(&to.target));
        if let Some(peer) = peer {
            peer.out -= 1;
        }
    }

    /// The library has the first event of a message: gives credits back, half of all at a time.
    pub(super) fn owe_credit(&mut self, local: &mut Local, from: ProcessId) {
        let Some(credits) = &mut self.credits else { return };
        let Some(&rank) = credits.ranks.get(&from) else { return };
        let peer = credits.peers.entry(rank).or_default();
        peer.owed += 1;
        if 2 * peer.owed < credits.most {
            return;
        }
        let count = u64::from(std::mem::take(&mut peer.owed));
        local.settle();
        let target =
            Target { id: from, pt_index: CREDITS, ac_index: ACCESS, match_bits: 0, offset: 0 };
        let nothing = Region { offset: 0, length: 0 };
        let put = self.ni.put_region(self.empty, nothing, AckRequest::NoAck, target, count);
        must(local, put, "PtlPutRegion");
    }

    /// Credits have come back.
    pub(super) fn credits_came(&mut self, event: &Event) {
        let Some(credits) = &mut self.credits else { return };
        let Some(&rank) = credits.ranks.get(&event.initiator) else { return };
        let peer = credits.peers.entry(rank).or_default();
        peer.out = peer.out.saturating_sub(u32::try_from(event.hdr_data).unwrap_or(u32::MAX));
        if !peer.waiting.is_empty() {
            credits.ready.push_back(rank);
        }
    }

    /// Begins sends that have waited for credits. One that is over at once, or cannot begin, is told.
    pub(super) fn start_deferred(&mut self, local: &mut Local) -> Option<Step> {
        loop {
            let credits = self.credits.as_mut()?;
            let rank = *credits.ready.front()?;
            let peer = credits.peers.entry(rank).or_default();
            let next = if peer.out < credits.most { peer.waiting.pop_front() } else { None };
            let Some(Deferred { id, to, bytes, mode }) = next else {
                credits.ready.pop_front();
                continue;
            };
            peer.out += 1;
            let over = |error: Option<Error>| {
                Some(Step::Ended(Ending { id, found: Found::NOTHING, error }))
            };
            match self.start_or_wait(local, id, to, bytes, mode) {
                Ok(false) => {}
                Ok(true) => return over(None),
                Err(error) => {
                    self.untake_credit(to);
                    return over(Some(error));
                }
            }
        }
    }
}

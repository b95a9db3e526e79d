//! The processes of a run. Each has an inbox behind a lock of its own: senders put messages there, and its
//! own thread all else. What one process looks for was put there by causes of what it is told, and so before.

use super::inbox::{Inbox, Kept};
use super::kinds::{Assemblies, Mismatch};
use super::verdict::{rule, Broken};
use super::Tally;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

/// Mismatches of datatypes that are kept of each rank.
const MISMATCHES_MAX: usize = 16;

/// The processes of a run.
#[derive(Debug)]
pub struct Ledger {
    inboxes: Vec<Mutex<Inbox>>,
    /// Violations that may show to either side first, and are reported at the end.
    late: Mutex<Vec<Broken>>,
    /// Collective operations.
    assemblies: Mutex<Assemblies>,
    /// Datatypes that do not match.
    mismatches: Mutex<BTreeMap<u32, Vec<Mismatch>>>,
}

impl Ledger {
    /// For so many ranks.
    pub fn new(ranks: u32) -> Ledger {
        let inboxes = (0..ranks).map(|_| Mutex::default()).collect();
        let (late, assemblies, mismatches) = Default::default();
        Ledger { inboxes, late, assemblies, mismatches }
    }

    pub(super) fn inbox(&self, rank: u32) -> MutexGuard<'_, Inbox> {
        self.inboxes[rank as usize].lock().expect("nobody panics with an inbox")
    }

    pub(super) fn too_late(&self, broken: Broken) {
        self.late.lock().expect("nobody panics with it").push(broken);
    }

    pub(super) fn assemblies(&self) -> MutexGuard<'_, Assemblies> {
        self.assemblies.lock().expect("nobody panics with it")
    }

    pub(super) fn mismatched(&self, mismatch: Mismatch) {
        let mut all = self.mismatches.lock().expect("nobody panics with it");
        let own = all.entry(mismatch.rank).or_default();
        if own.len() < MISMATCHES_MAX {
            own.push(mismatch);
        }
    }

    /// The datatypes that did not match so far, the first of each rank, in the order of their times.
    pub fn mismatches(&self) -> Vec<Mismatch> {
        let told = self.mismatches.lock().expect("nobody panics with it");
        let mut all: Vec<Mismatch> = told.values().flatten().cloned().collect();
        all.sort_by_key(|mismatch| (mismatch.at, mismatch.rank));
        all
    }

    /// The first of them that showed to this rank.
    pub fn mismatch_of(&self, rank: u32) -> Option<Mismatch> {
        let all = self.mismatches.lock().expect("nobody panics with it");
        all.get(&rank)?.first().cloned()
    }

    /// Comparisons so far.
    pub fn tally(&self) -> Tally {
        let mut all = Tally::default();
        (0..self.inboxes.len()).for_each(|rank| all += self.inbox(rank as u32).tally);
        all
    }

    /// The run is over. `waits` says of a rank that nothing moves any more while it is in a call: then no
    /// receive may wait for a message that was sent. The first rule that was broken comes first.
    pub fn conclude(&self, at: u64, waits: impl Fn(u32) -> bool) -> Vec<Broken> {
        let mut all = self.late.lock().expect("nobody panics with it").clone();
        for rank in 0..self.inboxes.len() as u32 {
            let inbox = self.inbox(rank);
            all.extend(inbox.unmet(at));
            if waits(rank) {
                all.extend(inbox.lost(rank, at));
            }
        }
        all.sort_by_key(|broken| (broken.at, broken.rank));
        all
    }
}

impl Inbox {
    /// A synchronous send that has ended although nobody can have received it.
    fn unmet(&self, at: u64) -> Option<Broken> {
        let mut left = self.ways.values().flatten();
        let message = left.find(|message| {
            let ended = message.meeting.as_ref().is_some_and(|meeting| {
                meeting.lock().expect("nobody panics with it").ended.is_some()
            });
            let mut unsettled = self.unsettled.values();
            ended && !unsettled.any(|unsettled| unsettled.wanted.accepts(message.envelope))
        })?;
        let what = format!("synchronous {message} ended, and no receive of it has begun");
        Some(Broken { rank: message.from, at, rule: rule::SYNCHRONOUS, what })
    }

    /// A receive that waits for ever for a message that was sent.
    fn lost(&self, rank: u32, at: u64) -> Option<Broken> {
        let broken = |what| Some(Broken { rank, at, rule: rule::PROGRESS, what });
        for unsettled in self.unsettled.values().filter(|unsettled| unsettled.ended.is_none()) {
            if let Some((by, _)) = unsettled.met {
                let by = super::verdict::time(by);
                return broken(format!(
                    "{unsettled} of rank {rank} must have had its message by {by}, and never ended"
                ));
            }
            let mut left = self.ways.values().flatten();
            if let Some(message) = left.find(|left| unsettled.wanted.accepts(left.envelope)) {
                return broken(format!(
                    "{unsettled} of rank {rank} waits for ever, and {message} was never received"
                ));
            }
        }
        let claimed = self.claims.values().find_map(|(name, _)| match self.kept.get(name) {
            Some(Kept::Known(message)) => Some(message),
            _ => None,
        })?;
        broken(format!("the receive of {claimed}, which was taken, never ended"))
    }
}

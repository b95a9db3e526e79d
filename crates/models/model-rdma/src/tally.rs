//! State shared by card and host software of a node, beside the host's memory: counters, the poller, and
//! the specification that judges.

use forth_nic::{Arrival, Header, RemoteWrite, Spec, Violation};
use host::{SharedMemory, Waker};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::memory::word;

/// The untimed specification of all nodes of a run. A message is posted before any of it arrives, in whatever
/// order the threads run, because windows are shorter than its way.
#[derive(Debug, Default)]
pub(super) struct Judge {
    spec: Mutex<Spec>,
    /// For programs, which change their memory when they like and take it along when they end.
    written: Option<Mutex<Written>>,
}

/// Something that the judge does not allow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Misdeed {
    #[error(transparent)]
    Specification(#[from] Violation),
    #[error("the word at {addr:#x} of a message from {from}, flow {flow}, was not written")]
    Unwritten { addr: u64, from: u8, flow: u8 },
    #[error("{words} words were written that nobody sent, one at {addr:#x} on node {node}")]
    Unsent { words: usize, addr: u64, node: u32 },
}

/// Words that cards have written and no message has accounted for, by node and address; each with its value
/// and how often it was written.
type Written = HashMap<(u32, u64), (u64, u32)>;

impl Judge {
    /// Judge of programs.
    pub fn of_programs() -> Judge {
        Judge { written: Some(Mutex::default()), ..Judge::default() }
    }

    /// A node's card has written a word.
    pub fn writes(&self, node: u32, addr: u64, word: u64) {
        let Some(written) = &self.written else { return };
        let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = written.entry((node, addr)).or_default();
        *entry = (word, entry.1 + 1);
    }

    /// A packet is in a node's memory, of which `read` gives a word.
    fn arrived(
        &self,
        node: u32,
        header: &Header,
        read: impl Fn(u64) -> u64,
    ) -> Result<(), Misdeed> {
        let Header { source, flow, destination, words, .. } = *header;
        let Some(written) = &self.written else {
            self.spec().arrive(source, flow, destination, words, read)?;
            return Ok(());
        };
        let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
        let mut there = HashMap::new();
        for addr in (u64::from(destination)..).step_by(8).take(words.into()) {
            let Some((word, times)) = written.get_mut(&(node, addr)) else {
                return Err(Misdeed::Unwritten { addr, from: source, flow });
            };
            there.insert(addr, *word);
            *times -= 1;
            if *times == 0 {
                written.remove(&(node, addr));
            }
        }
        let read = |addr| there[&addr];
        self.spec().arrive(source, flow, destination, words, read)?;
        Ok(())
    }

    /// Nothing moves any more.
    pub fn at_rest(&self) -> Result<(), Misdeed> {
        let Some(written) = &self.written else { return Ok(self.spec().at_rest()?) };
        // A program need not look at its notifications.
        self.spec().all_arrived()?;
        let written = written.lock().unwrap_or_else(PoisonError::into_inner);
        written.keys().min().map_or(Ok(()), |(node, addr)| {
            Err(Misdeed::Unsent { words: written.len(), addr: *addr, node: *node })
        })
    }

    /// Of the run.
    pub fn spec(&self) -> MutexGuard<'_, Spec> {
        // A panic elsewhere ends the run; what was judged until then stands.
        self.spec.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counters of a node's software, and what it waits for.
pub(super) struct Tally {
    nid: u32,
    memory: SharedMemory,
    judge: Option<Arc<Judge>>,
    poller: RefCell<Option<Waker>>,
    /// Words that came from each node.
    pub words_from: RefCell<[u64; super::settings::NODES_MAX as usize]>,
    /// The account of the bus begins anew.
    pub counts_anew: Cell<bool>,
    /// A reset is on its way to the card, whose counters go with it.
    pub resetting: Cell<bool>,
    /// Software finds out what credits were lost, and begins anew.
    pub recovers: Cell<bool>,
    /// Times that the card has begun anew, and messages that were sent again.
    pub restarts: Cell<u64>,
    pub sent_again: Cell<u64>,
    pub posted: Cell<u64>,
    pub posted_words: Cell<u64>,
    /// Times that no handle was free.
    pub stalls: Cell<u64>,
    /// Handles reclaimed.
    pub reclaimed: Cell<u64>,
    pub interrupts: Cell<u64>,
    /// Looks after enabling that have found something.
    pub second_looks: Cell<u64>,
    /// Parts of words that the handler has stored.
    pub parts: Cell<u64>,
}

/// A descriptor, as the specification sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Posting {
    /// Physical address here.
    pub from: u64,
    pub words: u16,
    pub flow: u8,
    /// Physical address at the receiver.
    pub to: u32,
    /// It asks for a notification here, and for an interrupt there.
    pub notify: bool,
    pub interrupt: bool,
}

/// Adds to a counter.
pub(super) fn add(cell: &Cell<u64>, count: u64) {
    cell.set(cell.get() + count);
}

impl Tally {
    /// Of node `nid`.
    pub fn new(nid: u32, memory: SharedMemory, judge: Option<Arc<Judge>>) -> Tally {
        Tally {
            nid,
            memory,
            judge,
            poller: RefCell::default(),
            words_from: RefCell::default(),
            counts_anew: Cell::default(),
            resetting: Cell::default(),
            recovers: Cell::default(),
            restarts: Cell::default(),
            sent_again: Cell::default(),
            posted: Cell::default(),
            posted_words: Cell::default(),
            stalls: Cell::default(),
            reclaimed: Cell::default(),
            interrupts: Cell::default(),
            second_looks: Cell::default(),
            parts: Cell::default(),
        }
    }

    /// Sets the process that polls what the watch is on.
    pub fn polls(&self, waker: Option<Waker>) {
        *self.poller.borrow_mut() = waker;
    }
    /// It was written to.
    pub fn wake(&self) {
        if let Some(waker) = &*self.poller.borrow() {
            waker.wake();
        }
    }

    /// A descriptor is posted.
    pub fn posts(&self, posting: Posting) {
        let Posting { from, words, flow, to, notify, interrupt } = posting;
        add(&self.posted, 1);
        add(&self.posted_words, words.into());
        if let Some(judge) = &self.judge {
            let mut bytes = vec![0; 8 * usize::from(words)];
            // Zeroes, where a program has unmapped what it registered.
            let _ = self.memory.borrow_mut().read_phys(from, &mut bytes);
            let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("8 bytes"));
            let data = bytes.chunks_exact(8).map(word).collect();
            let write = RemoteWrite { addr: to, data, notify, interrupt };
            judge.spec().post(self.nid as u8, flow, write);
        }
    }
    /// A packet is in memory to its last word.
    pub fn arrived(&self, arrival: &Arrival) -> Result<(), Misdeed> {
        let header = arrival.header;
        self.words_from.borrow_mut()[usize::from(header.source)] += u64::from(header.words);
        let Some(judge) = self.judge.as_ref().filter(|_| arrival.good) else { return Ok(()) };
        judge.arrived(self.nid, &header, |addr| word(&self.memory, addr))
    }
    /// The count of notifications that a host has read.
    pub fn notified(&self, source: u8, count: u64) -> Result<(), Violation> {
        let judge = self.judge.as_ref();
        judge.map_or(Ok(()), |judge| judge.spec().notified(source, count))
    }

    /// A reset is on its way to the card (`begins`), or has taken all that was there.
    pub fn resets(&self, begins: bool) {
        if begins {
            return self.resetting.set(true);
        }
        add(&self.restarts, 1);
        if let Some(judge) = &self.judge {
            judge.spec().forget(self.nid as u8);
        }
    }

    pub fn counters(&self) -> [(&'static str, u64); 9] {
        [
            ("host.posted", self.posted.get()),
            ("host.posted_words", self.posted_words.get()),
            ("host.handle_stalls", self.stalls.get()),
            ("host.handles_reclaimed", self.reclaimed.get()),
            ("host.interrupts", self.interrupts.get()),
            ("host.second_looks", self.second_looks.get()),
            ("host.parts_stored", self.parts.get()),
            ("host.card_restarts", self.restarts.get()),
            ("host.sent_again", self.sent_again.get()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header =
        Header { destination: 0x100, words: 2, flow: 1, source: 0, interrupt: false };

    /// Verdict of a judge of programs on a message of two words, 7 and 8, when these were written.
    fn verdict(written: &[(u64, u64)]) -> Result<(), Misdeed> {
        let judge = Judge::of_programs();
        let (addr, data) = (HEADER.destination, vec![7, 8]);
        judge.spec().post(0, 1, RemoteWrite { addr, data, notify: true, interrupt: false });
        written.iter().for_each(|(addr, word)| judge.writes(1, *addr, *word));
        // Whatever the program has there now.
        judge.arrived(1, &HEADER, |_| 99)?;
        judge.at_rest()
    }

    #[test]
    fn each_word_of_a_programs_message_is_written_once() {
        assert_eq!(verdict(&[(0x100, 7), (0x108, 8)]), Ok(()));
        for (written, said) in [
            (&[(0x100, 7)][..], "the word at 0x108 of a message from 0, flow 1, was not written"),
            (&[(0x100, 7), (0x110, 8)], "the word at 0x108"),
            (&[(0x100, 7), (0x108, 9)], "0x9 at 0x108 from 0, flow 1, word 1: 0x8 was sent"),
            (
                &[(0x100, 7), (0x108, 8), (0x108, 8)],
                "1 words were written that nobody sent, one at 0x108 on node 1",
            ),
            (&[(0x100, 7), (0x108, 8), (0x110, 8)], "one at 0x110 on node 1"),
        ] {
            let why = verdict(written).expect_err("it is wrong").to_string();
            assert!(why.contains(said), "{why}");
        }
    }
}

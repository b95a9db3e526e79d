//! State shared by card and host software of a node, beside the host's memory: counters, the poller, and
//! the specification that judges.

use ::rdma::{Arrival, RemoteWrite, Spec};
use host::{SharedMemory, Waker};
use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::memory::word;

/// The untimed specification of all nodes of a run. A message is posted before any of it arrives, in whatever
/// order the threads run, because windows are shorter than its way.
#[derive(Debug, Default)]
pub(super) struct Judge {
    spec: Mutex<Spec>,
}

impl Judge {
    /// Of the run.
    pub fn spec(&self) -> MutexGuard<'_, Spec> {
        // A panic elsewhere ends the run; what was judged until then stands.
        self.spec.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counters of a node's software, and what it waits for.
pub(super) struct Tally {
    memory: SharedMemory,
    judge: Option<Arc<Judge>>,
    poller: RefCell<Option<Waker>>,
    /// Words that came from each node.
    pub words_from: RefCell<[u64; super::settings::NODES_MAX as usize]>,
    /// The account of the bus begins anew.
    pub counts_anew: Cell<bool>,
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

/// Adds to a counter.
pub(super) fn add(cell: &Cell<u64>, count: u64) {
    cell.set(cell.get() + count);
}

impl Tally {
    pub fn new(memory: SharedMemory, judge: Option<Arc<Judge>>) -> Tally {
        Tally {
            memory,
            judge,
            poller: RefCell::default(),
            words_from: RefCell::default(),
            counts_anew: Cell::default(),
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
    pub fn posts(&self, (source, flow): (u8, u8), from: u64, words: u16, message: RemoteWrite) {
        add(&self.posted, 1);
        add(&self.posted_words, words.into());
        if let Some(judge) = &self.judge {
            let at = |place: u64| word(&self.memory, from + 8 * place);
            let data = (0..u64::from(words)).map(at).collect();
            judge.spec().post(source, flow, RemoteWrite { data, ..message });
        }
    }
    /// A packet is in memory to its last word. The error is a sentence.
    pub fn arrived(&self, arrival: &Arrival) -> Result<(), String> {
        let header = arrival.header;
        self.words_from.borrow_mut()[usize::from(header.source)] += u64::from(header.words);
        let Some(judge) = self.judge.as_ref().filter(|_| arrival.good) else { return Ok(()) };
        let flow = (header.source, header.flow);
        let read = |addr| word(&self.memory, addr);
        judge.spec().arrive(flow, header.destination, header.words, read).map(drop)
    }
    /// The count of notifications that a host has read.
    pub fn notified(&self, source: u8, count: u64) -> Result<(), String> {
        self.judge.as_ref().map_or(Ok(()), |judge| judge.spec().notified(source, count))
    }

    pub fn counters(&self) -> [(&'static str, u64); 7] {
        [
            ("host.posted", self.posted.get()),
            ("host.posted_words", self.posted_words.get()),
            ("host.handle_stalls", self.stalls.get()),
            ("host.handles_reclaimed", self.reclaimed.get()),
            ("host.interrupts", self.interrupts.get()),
            ("host.second_looks", self.second_looks.get()),
            ("host.parts_stored", self.parts.get()),
        ]
    }
}

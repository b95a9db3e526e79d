//! Programs over the host library: `builtin:rdma-*`.

use super::bringup::STAGES;
use super::library::{Awaited, Buffer, Library};
use super::memory::{set_word, word};
use super::module::{pages, OWN_PAGES};
use super::storage::{self, DISKS};
use abi::forth::register;
use des::Time;
use machine::programs::native::{Workload, WorkloadKind};
use std::fmt::Write;

/// Bytes of a message at most: what all senders' messages have room for in a host.
const BYTES_MAX: u64 = 1 << 20;

const fn kind(name: &'static str, bytes: u64) -> WorkloadKind {
    WorkloadKind { name, bytes, bytes_max: BYTES_MAX, word: 8, ranks: 2 }
}

/// The workloads of this model.
pub(crate) static WORKLOADS: &[WorkloadKind] = &[
    kind("rdma-pingpong", 8),
    kind("rdma-latency", 8),
    kind("rdma-stream", 4096),
    kind("rdma-incast", 4096),
    kind("rdma-permutation", 4096),
    STAGES[0],
    STAGES[1],
    STAGES[2],
    STAGES[3],
    STAGES[4],
    DISKS[0],
    DISKS[1],
    DISKS[2],
    DISKS[3],
    kind("rdma-sampled", 65536),
];

/// Of `rdma-sampled`: cycles of the lanes' clock between samples, and samples.
const PERIOD: u64 = 1000;
const SAMPLES: u64 = 1000;

/// A rank at work.
pub(super) struct Task<'a> {
    pub library: &'a Library,
    pub rank: u32,
    pub ranks: u32,
    pub workload: Workload,
    /// A buffer for each sender, and one out of which is sent.
    slots: Vec<Buffer>,
    source: Buffer,
    /// Buffers of the other ranks for what is sent from here.
    targets: Vec<Buffer>,
}

/// Something that went wrong in a workload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum WorkloadError {
    #[error("word {place} of message {message} from rank {sender} is wrong")]
    Word { place: u64, message: u32, sender: u32 },
    #[error("{0} samples are too few: send more")]
    Samples(usize),
}

/// Bindings that each of so many nodes needs for handles: its pages at all others, and their doorbells.
pub(super) fn bindings(nodes: u32, workload: &Workload) -> u64 {
    if storage::is_disk(workload) {
        return storage::bindings(nodes);
    }
    u64::from(nodes) + u64::from(nodes - 1) * pages(workload.bytes)
}

impl<'a> Task<'a> {
    /// Registers the rank's buffers: those of all ranks lie the same way in their hosts' lists of pages.
    pub fn new(library: &'a Library, rank: u32, ranks: u32, workload: Workload) -> Task<'a> {
        let slots = (0..ranks).map(|_| library.register(0, workload.bytes)).collect();
        let source = library.register(0, workload.bytes);
        let target = |to| {
            // Behind the pages of module and library; each slot has whole pages.
            let page = OWN_PAGES + 1 + u64::from(rank) * pages(workload.bytes);
            let buffer = Buffer { nid: to, page, offset: 0, binding: None };
            if to == rank {
                return buffer;
            }
            library.bind(buffer, workload.bytes)
        };
        let targets = (0..ranks).map(target).collect();
        Task { library, rank, ranks, workload, slots, source, targets }
    }

    /// Runs it; gives what is to be printed.
    pub fn run(&self) -> Result<String, WorkloadError> {
        let text = match self.workload.kind.name {
            "rdma-pingpong" => self.ping_pong(),
            "rdma-latency" => self.latency(),
            "rdma-stream" => self.stream(),
            "rdma-incast" => self.incast(),
            "rdma-sampled" => self.sampled(),
            _ => self.permutation(),
        }?;
        self.library.finish();
        Ok(text)
    }

    /// The buffer for what this rank sends to `rank`.
    fn slot_at(&self, rank: u32) -> Buffer {
        self.targets[rank as usize]
    }

    // ---- payload: no two messages have a word in common --------------------------------------------------

    fn pattern(&self, sender: u32, message: u32, place: u64) -> u64 {
        u64::from(sender + 1) << 56 | u64::from(message + 1) << 24 | place
    }
    fn words(&self) -> u64 {
        self.workload.bytes / 8
    }
    fn fill(&self, message: u32) {
        for place in 0..self.words() {
            let word = self.pattern(self.rank, message, place);
            set_word(self.library.cpu().memory(), self.source.phys(8 * place), word);
        }
    }
    fn check(&self, sender: u32, message: u32) -> Result<(), WorkloadError> {
        let slot = self.slots[sender as usize];
        let wrong = |place: &u64| {
            let found = word(self.library.cpu().memory(), slot.phys(8 * place));
            found != self.pattern(sender, message, *place)
        };
        (0..self.words())
            .find(wrong)
            .map_or(Ok(()), |place| Err(WorkloadError::Word { place, message, sender }))
    }

    fn send(&self, to: u32, message: u32) {
        self.fill(message);
        let (from, to) = (self.source, self.slot_at(to));
        self.library.write(from, to, self.workload.bytes, Awaited::ByProcess);
    }
    /// Spins until the last word of a message is there: words of a flow come in their order.
    fn receive(&self, from: u32, message: u32) -> Result<(), WorkloadError> {
        let last = self.words() - 1;
        let word = self.pattern(from, message, last);
        let addr = self.slots[from as usize].phys(8 * last);
        self.library.wait(from, addr, |found| found == word);
        self.check(from, message)
    }

    // ---- the workloads -----------------------------------------------------------------------------------

    /// Ranks 0 and 1 send a message there and back.
    fn ping_pong(&self) -> Result<String, WorkloadError> {
        if self.rank > 1 {
            return Ok(String::new());
        }
        let (start, peer) = (self.library.cpu().now(), 1 - self.rank);
        for message in 0..self.workload.times {
            if self.rank == 0 {
                self.send(peer, message);
            }
            self.receive(peer, message)?;
            if self.rank == 1 {
                self.send(peer, message);
            }
        }
        let bytes = 2 * u64::from(self.workload.times) * self.workload.bytes;
        self.told(0, start, bytes, "half of a round trip", 2 * self.workload.times)
    }

    /// Rank 0 posts so many messages at once; the cards' accounts tell where the time went.
    fn latency(&self) -> Result<String, WorkloadError> {
        self.library.count_anew();
        let (start, last) = (self.library.cpu().now(), self.workload.times - 1);
        match self.rank {
            0 => {
                self.fill(last);
                let (from, to) = (self.source, self.slot_at(1));
                // The receiver cannot tell equal messages apart: it goes on with the first.
                for message in 0..=last {
                    let awaited = if message == 0 { Awaited::ByProcess } else { Awaited::No };
                    self.library.begin(from, to, self.workload.bytes, awaited);
                }
                self.library.fence();
                Ok(String::new())
            }
            1 => {
                // The last word changes with the first of equal messages.
                self.receive(0, last)?;
                self.told(1, start, self.workload.bytes, "until the first is there", 1)
            }
            _ => Ok(String::new()),
        }
    }

    /// Rank 0 sends to rank 1 as fast as it goes. A message is written over the one before.
    fn stream(&self) -> Result<String, WorkloadError> {
        match self.rank {
            0 => self.pour(1),
            1 => return self.drink(0),
            _ => {}
        }
        Ok(String::new())
    }

    /// Rank 0 sends to rank 1 as fast as it goes, and its card's sampling memory tells how fast that is.
    fn sampled(&self) -> Result<String, WorkloadError> {
        if self.rank > 0 {
            return self.drink(0).map(|_| String::new());
        }
        self.library.store(register::SAMPLE_CONTROL, &(SAMPLES << 32 | PERIOD).to_le_bytes());
        self.pour(1);
        self.library.finish();
        let samples = (0..self.library.load(register::SAMPLE_COUNT)).map(|sample| {
            self.library.store(register::SAMPLE_INDEX, &sample.to_le_bytes());
            let of = |offset| self.library.load(offset);
            (of(register::SAMPLE_SENT), of(register::SAMPLE_PRESSURE))
        });
        let samples: Vec<(u64, u64)> = samples.collect();
        // Between the first and the last in which words were sent.
        let moves = |two: &&[(u64, u64)]| two[1].0 > two[0].0;
        let busy: Vec<_> = samples.windows(2).filter(moves).collect();
        let Some([first, .., last]) = busy.get(1..busy.len().saturating_sub(1)) else {
            return Err(WorkloadError::Samples(busy.len()));
        };
        let cycles = (busy.len() - 2) as u64 * PERIOD;
        let hertz = self.library.module().lanes_hz as f64;
        let rate = 8.0 * (last[1].0 - first[0].0) as f64 * hertz / cycles as f64;
        let pressure = 1000.0 * (last[1].1 - first[0].1) as f64 / cycles as f64;
        Ok(format!(
            "rank 0: {} bytes, back-pressure in {pressure:.1} of 1,000 cycles, a sample {:.1} ns, \
             {:.1} MiB/s\n",
            self.workload.bytes,
            PERIOD as f64 / hertz * 1e9,
            rate / f64::from(1 << 20)
        ))
    }

    /// Rank r sends to rank r + half of the ranks; everybody sends and receives.
    fn permutation(&self) -> Result<String, WorkloadError> {
        let (ranks, half) = (self.ranks, self.ranks.div_ceil(2));
        self.pour((self.rank + half) % ranks);
        self.drink((self.rank + ranks - half) % ranks)
    }

    /// All messages, with doorbells behind the first and the last.
    fn pour(&self, to: u32) {
        self.fill(0);
        for message in 0..self.workload.times {
            let slot = self.slot_at(to);
            self.library.write(self.source, slot, self.workload.bytes, Awaited::No);
            if message == 0 {
                self.library.ring(to, 1);
            }
        }
        self.library.ring(to, 2);
    }

    /// Sleeps until all are there; counts from the first on.
    fn drink(&self, from: u32) -> Result<String, WorkloadError> {
        self.library.sleep(|rung| rung[from as usize] >= 2);
        let start = self.library.first_ring(from);
        self.check(from, 0)?;
        let times = self.workload.times - 1;
        let bytes = u64::from(times) * self.workload.bytes;
        self.told(self.rank.min(1), start, bytes, "a message", times)
    }

    /// All send to rank 0, which wants to know whether each got its share.
    fn incast(&self) -> Result<String, WorkloadError> {
        if self.rank > 0 {
            self.pour(0);
            return Ok(String::new());
        }
        let start = self.library.cpu().now();
        self.library.sleep(|rung| rung.iter().any(|count| *count >= 2));
        let words = self.library.words_from();
        let (at, senders) = (self.library.cpu().now(), &words[1..self.ranks as usize]);
        let all: u64 = senders.iter().sum();
        self.library.sleep(|rung| rung[1..].iter().all(|count| *count >= 2));
        (1..self.ranks).try_for_each(|sender| self.check(sender, 0))?;
        let mut text = String::new();
        let share = |words: &u64| 100.0 * *words as f64 * senders.len() as f64 / all.max(1) as f64;
        let shares = senders.iter().map(share);
        let (least, most) =
            shares.fold((f64::MAX, 0.0_f64), |(least, most), s| (least.min(s), most.max(s)));
        writeln!(
            text,
            "{} senders of {} bytes: {:.1} MiB/s; the shares of each are {least:.1} to {most:.1} % \
             of an equal one",
            senders.len(),
            self.workload.bytes,
            mib(8 * all, start, at)
        )
        .expect("a string takes everything");
        Ok(text)
    }

    /// Report of rank `teller` on `count` things in the time from `start` to now.
    fn told(
        &self,
        teller: u32,
        start: Time,
        bytes: u64,
        what: &str,
        count: u32,
    ) -> Result<String, WorkloadError> {
        if self.rank != teller || count == 0 {
            return Ok(String::new());
        }
        let now = self.library.cpu().now();
        let each = now.since(start).as_ns() / f64::from(count);
        let (size, rate) = (self.workload.bytes, mib(bytes, start, now));
        Ok(format!("rank {teller}: {size} bytes, {what} {each:.1} ns, {rate:.1} MiB/s\n"))
    }
}

/// 2^20 bytes a second.
fn mib(bytes: u64, from: Time, to: Time) -> f64 {
    let seconds = to.since(from).0 as f64 * 1e-12;
    if seconds > 0.0 {
        bytes as f64 / seconds / f64::from(1 << 20)
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_wrong_is_one_sentence() {
        let word = WorkloadError::Word { place: 5, message: 3, sender: 1 };
        assert_eq!(word.to_string(), "word 5 of message 3 from rank 1 is wrong");
        let samples = WorkloadError::Samples(2);
        assert_eq!(samples.to_string(), "2 samples are too few: send more");
    }
}

//! Built-in workloads: programs that are functions here and have no process, for machines with more
//! nodes than a workstation has room for processes. They use the same MPI library as every program,
//! and check every byte that they receive.

use crate::agent::Observer;
use crate::workload_error::WorkloadError;
use abi::mpi::Function;
use mpi::{CollectiveBuffers, Error, Op, Process, Result};
use std::ffi::OsString;
use std::fmt::Write;

/// Prefix of a program's name that means one of these.
pub const PREFIX: &str = "builtin:";

/// A workload with its arguments.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    kind: &'static WorkloadKind,
    bytes: u64,
    times: u32,
}

/// A kind of workload.
#[derive(Debug)]
struct WorkloadKind {
    name: &'static str,
    /// Bytes by default, none if it has none to choose.
    bytes: Option<u64>,
    /// The least number of ranks.
    ranks: u32,
    /// Makes buffers and does it once, then as often as asked; the time is that of the latter.
    run: fn(&mut Task) -> Result<()>,
}

const KINDS: [WorkloadKind; 8] = [
    WorkloadKind { name: "pingpong", bytes: Some(8), ranks: 2, run: pingpong },
    WorkloadKind { name: "barrier", bytes: None, ranks: 1, run: barrier },
    WorkloadKind { name: "allreduce", bytes: Some(8), ranks: 1, run: allreduce },
    WorkloadKind { name: "alltoall", bytes: Some(64), ranks: 1, run: alltoall },
    WorkloadKind { name: "halo", bytes: Some(4096), ranks: 1, run: halo },
    WorkloadKind { name: "exchange", bytes: Some(1 << 20), ranks: 2, run: exchange },
    WorkloadKind { name: "traffic", bytes: Some(1 << 16), ranks: 1, run: traffic },
    WorkloadKind { name: "incast", bytes: Some(0), ranks: 2, run: incast },
];

/// Most bytes: a rank's buffers shall fit into its share of the simulator's memory.
const BYTES_MAX: u64 = 16 << 20;
const TIMES: u32 = 10;

impl Builtin {
    /// Names of all workloads, [`PREFIX`] left out.
    pub fn names() -> impl Iterator<Item = &'static str> {
        KINDS.iter().map(|kind| kind.name)
    }

    /// The workload with this name, [`PREFIX`] left out, and these arguments: `[BYTES] [TIMES]`.
    pub fn parse(
        name: &str,
        arguments: &[OsString],
        ranks: u32,
    ) -> std::result::Result<Builtin, WorkloadError> {
        let known = Builtin::names().collect();
        let unknown = || WorkloadError::Unknown { name: name.to_owned(), known };
        let kind = KINDS.iter().find(|kind| kind.name == name).ok_or_else(unknown)?;
        let program = || format!("{PREFIX}{name}");
        if ranks < kind.ranks {
            return Err(WorkloadError::Ranks { program: program(), least: kind.ranks });
        }
        let takes = if kind.bytes.is_some() { "[BYTES] [TIMES]" } else { "[TIMES]" };
        let number = |text: &OsString| {
            let number = text.to_str().and_then(|text| text.parse::<u64>().ok());
            number.ok_or_else(|| {
                let text = text.to_string_lossy().into_owned();
                WorkloadError::NoNumber { program: program(), arguments: takes, text }
            })
        };
        let mut numbers =
            arguments.iter().map(number).collect::<std::result::Result<Vec<_>, _>>()?;
        if numbers.len() > 1 + usize::from(kind.bytes.is_some()) {
            return Err(WorkloadError::TooMany { program: program(), arguments: takes });
        }
        let bytes = match kind.bytes {
            None => 0,
            Some(default) if numbers.is_empty() => default,
            Some(_) => numbers.remove(0),
        };
        let times = numbers.first().map_or(Ok(TIMES), |&times| u32::try_from(times));
        let times = times.ok().filter(|&times| times > 0);
        let times = times.ok_or_else(|| WorkloadError::Times { program: program() })?;
        if name == "allreduce" && (bytes == 0 || bytes % 8 != 0) {
            return Err(WorkloadError::Doubles { program: program(), bytes });
        }
        let parts = if name == "alltoall" { u64::from(ranks) } else { 1 };
        if bytes.saturating_mul(parts) > BYTES_MAX {
            return Err(WorkloadError::Buffer { program: program(), most: BYTES_MAX });
        }
        Ok(Builtin { kind, bytes, times })
    }

    /// Runs it as one rank, from MPI_Init to MPI_Finalize. The result is rank 0's output.
    /// `observer` is told of its calls.
    pub fn run(&self, mpi: &mut Process, observer: &dyn Observer) -> Result<String> {
        let (rank, ranks) = (mpi.world().rank, mpi.world().size);
        let mut task = Task {
            mpi,
            observer,
            rank,
            ranks,
            bytes: self.bytes,
            times: 0,
            turns: 0,
            buffers: Default::default(),
        };
        let mut spent = 0;
        // Once for the caches and buffers of everybody, then for the clock.
        for times in [1, self.times] {
            task.times = times;
            task.call(Function::Barrier, |mpi| mpi.barrier(Process::WORLD))?;
            let start = task.mpi.now();
            (self.kind.run)(&mut task)?;
            spent = task.mpi.now().since(start).0;
        }
        task.call(Function::Finalize, Process::finalize)?;
        let mut text = String::new();
        if rank == 0 {
            let each = spent as f64 * 1e-6 / f64::from(self.times) / self.ways();
            let WorkloadKind { name, bytes, .. } = self.kind;
            let of = bytes.map_or(String::new(), |_| format!(" of {} bytes", self.bytes));
            let times = self.times;
            writeln!(text, "{name}{of}, {ranks} ranks, {times} times: {each:.3} us each")
                .expect("a string takes everything");
        }
        Ok(text)
    }
    /// Ways that a message goes in one time.
    fn ways(&self) -> f64 {
        if self.kind.name == "pingpong" {
            2.0
        } else {
            1.0
        }
    }
}

/// A rank that runs a workload.
struct Task<'a> {
    mpi: &'a mut Process,
    observer: &'a dyn Observer,
    rank: u32,
    ranks: u32,
    bytes: u64,
    times: u32,
    /// Turns done so far: the data sent differ from turn to turn.
    turns: u32,
    /// Buffers of sent and received data.
    buffers: [Vec<u8>; 2],
}

impl Task<'_> {
    /// Does a call, and reports it.
    fn call<R>(
        &mut self,
        function: Function,
        call: impl FnOnce(&mut Process) -> Result<R>,
    ) -> Result<R> {
        self.observer.call_entered(self.mpi.now(), function);
        let result = call(self.mpi);
        self.observer.call_returned(self.mpi.now(), function);
        result
    }
    /// Fills a buffer with the bytes that `from` sends to `to` this time.
    fn pattern_into(&self, from: u32, to: u32, bytes: &mut Vec<u8>) {
        let seed = from.wrapping_mul(31) ^ to.wrapping_mul(17) ^ self.turns.wrapping_mul(101);
        bytes.resize(self.bytes as usize, 0);
        fill(seed, bytes);
    }
    fn pattern(&self, from: u32, to: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.pattern_into(from, to, &mut bytes);
        bytes
    }
    /// Writes at `va` what this rank sends to `to` this time.
    fn write_pattern(&mut self, va: u64, to: u32) {
        let mut bytes = std::mem::take(&mut self.buffers[0]);
        self.pattern_into(self.rank, to, &mut bytes);
        self.write(va, &bytes);
        self.buffers[0] = bytes;
    }
    fn write(&mut self, va: u64, bytes: &[u8]) {
        let mut memory = self.mpi.cpu().memory().borrow_mut();
        memory.write(self.mpi.space(), va, bytes).expect("the buffer was allocated");
    }
    fn read_into(&self, va: u64, buffer: &mut [u8]) {
        let mut memory = self.mpi.cpu().memory().borrow_mut();
        memory.read(self.mpi.space(), va, buffer).expect("the buffer was allocated");
    }
    fn read(&self, va: u64, bytes: u64) -> Vec<u8> {
        let mut buffer = vec![0; bytes as usize];
        self.read_into(va, &mut buffer);
        buffer
    }
    /// Checks that the bytes from `from`, at `va`, are those that it sent.
    fn check(&mut self, va: u64, from: u32) -> Result<()> {
        let mut buffers = std::mem::take(&mut self.buffers);
        let [sent, came] = &mut buffers;
        self.pattern_into(from, self.rank, sent);
        came.resize(self.bytes as usize, 0);
        self.read_into(va, came);
        let same = sent == came;
        self.buffers = buffers;
        if same {
            return Ok(());
        }
        Err(wrong(format!("what came from rank {from} is not what it sent")))
    }
    fn times(&mut self, mut once: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        for _ in 0..self.times {
            self.turns += 1;
            once(self)?;
        }
        Ok(())
    }
}

/// Fills `bytes` from `seed`: byte `i` is `seed + 7 * i`, shifted to the right by the rest of `i` in threes.
fn fill(seed: u32, bytes: &mut [u8]) {
    // Blocks of whole threes, whose bytes are computed side by side. Ten bits of the sum are all that comes
    // into a byte, and to shift by 0 to 2 is to multiply by 4 to 1 and to shift by 2.
    const BLOCK: usize = 48;
    const STEPS: [u16; BLOCK] = steps();
    const FACTORS: [u16; BLOCK] = factors();
    let mut sum = seed as u16;
    for block in bytes.chunks_mut(BLOCK) {
        let mut all = [0; BLOCK];
        for ((to, step), factor) in all.iter_mut().zip(STEPS).zip(FACTORS) {
            *to = (((sum.wrapping_add(step) & 0x3ff) * factor) >> 2) as u8;
        }
        block.copy_from_slice(&all[..block.len()]);
        sum = sum.wrapping_add(7 * BLOCK as u16);
    }
}

const fn steps<const N: usize>() -> [u16; N] {
    let (mut steps, mut i) = ([0; N], 0);
    while i < N {
        steps[i] = 7 * i as u16;
        i += 1;
    }
    steps
}

const fn factors<const N: usize>() -> [u16; N] {
    let (mut factors, mut i) = ([0; N], 0);
    while i < N {
        factors[i] = 4 >> (i % 3);
        i += 1;
    }
    factors
}

fn wrong(text: String) -> Error {
    Error::new(abi::mpi::ERR_OTHER, text)
}

/// Rank 0 and the last rank send a message back and forth; the others wait.
fn pingpong(task: &mut Task) -> Result<()> {
    let (first, last, bytes) = (0, task.ranks - 1, task.bytes);
    let (out, into) = (task.mpi.allocate_buffer(bytes), task.mpi.allocate_buffer(bytes));
    if task.rank != first && task.rank != last {
        return Ok(());
    }
    let peer = if task.rank == first { last } else { first };
    task.times(|task| {
        task.write_pattern(out, peer);
        if task.rank == first {
            task.call(Function::Send, |mpi| mpi.send(out, bytes, peer as i32, 0, Process::WORLD))?;
        }
        task.call(Function::Recv, |mpi| mpi.recv(into, bytes, peer as i32, 0, Process::WORLD))?;
        if task.rank == last {
            task.call(Function::Send, |mpi| mpi.send(out, bytes, peer as i32, 0, Process::WORLD))?;
        }
        task.check(into, peer)
    })
}

fn barrier(task: &mut Task) -> Result<()> {
    task.times(|task| task.call(Function::Barrier, |mpi| mpi.barrier(Process::WORLD)))
}

/// Sums of small integers, exact in a double.
fn allreduce(task: &mut Task) -> Result<()> {
    let bytes = task.bytes;
    let (out, into) = (task.mpi.allocate_buffer(bytes), task.mpi.allocate_buffer(bytes));
    let (rank, ranks) = (f64::from(task.rank), f64::from(task.ranks));
    task.times(|task| {
        let turn = f64::from(task.turns);
        let mine = (0..bytes / 8).flat_map(|i| (rank + turn + i as f64).to_le_bytes());
        task.write(out, &mine.collect::<Vec<_>>());
        let double = abi::mpi::DOUBLE;
        let buffers = CollectiveBuffers { out, into };
        task.call(Function::Allreduce, |mpi| {
            mpi.allreduce(buffers, bytes / 8, double, Op::Sum, Process::WORLD)
        })?;
        let sum = |i: u64| ranks * (ranks - 1.0) / 2.0 + ranks * (turn + i as f64);
        let expected = (0..bytes / 8).flat_map(|i| sum(i).to_le_bytes());
        if task.read(into, bytes).into_iter().eq(expected) {
            return Ok(());
        }
        Err(wrong("MPI_Allreduce gave wrong sums".into()))
    })
}

fn alltoall(task: &mut Task) -> Result<()> {
    let (bytes, ranks) = (task.bytes, task.ranks);
    let all = bytes * u64::from(ranks);
    let (out, into) = (task.mpi.allocate_buffer(all), task.mpi.allocate_buffer(all));
    task.times(|task| {
        for to in 0..ranks {
            task.write_pattern(out + bytes * u64::from(to), to);
        }
        let buffers = CollectiveBuffers { out, into };
        task.call(Function::Alltoall, |mpi| mpi.alltoall(buffers, bytes, Process::WORLD))?;
        (0..ranks).try_for_each(|from| task.check(into + bytes * u64::from(from), from))
    })
}

/// Everybody sends to its six neighbours in a periodic grid, the most cubic for the number of ranks.
fn halo(task: &mut Task) -> Result<()> {
    const WAYS: u64 = 6;
    let bytes = task.bytes;
    let (out, into) =
        (task.mpi.allocate_buffer(WAYS * bytes), task.mpi.allocate_buffer(WAYS * bytes));
    let neighbours = neighbours(task.rank, task.ranks);
    task.times(|task| {
        let mut requests = Vec::with_capacity(2 * WAYS as usize);
        for (way, &peer) in (0..).zip(&neighbours) {
            task.write_pattern(out + way * bytes, peer);
            // Data from that side were sent towards the opposite one.
            let (va, tag) = (into + way * bytes, (way ^ 1) as i32);
            requests.push(task.call(Function::Irecv, |mpi| {
                mpi.irecv(va, bytes, peer as i32, tag, Process::WORLD)
            })?);
        }
        for (way, &peer) in (0..).zip(&neighbours) {
            let (va, tag) = (out + way * bytes, way as i32);
            requests.push(task.call(Function::Isend, |mpi| {
                mpi.isend(va, bytes, peer as i32, tag, Process::WORLD)
            })?);
        }
        task.call(Function::Waitall, |mpi| mpi.waitall(&requests))?;
        let mut ways = (0..).zip(&neighbours);
        ways.try_for_each(|(way, &peer)| task.check(into + way * bytes, peer))
    })
}

/// Ranks 0 and 1, 2 and 3, and so on send each other a message at once.
fn exchange(task: &mut Task) -> Result<()> {
    let (peer, bytes) = (task.rank ^ 1, task.bytes);
    let (out, into) = (task.mpi.allocate_buffer(bytes), task.mpi.allocate_buffer(bytes));
    if peer >= task.ranks {
        return Ok(());
    }
    task.times(|task| {
        task.write_pattern(out, peer);
        let received = task
            .call(Function::Irecv, |mpi| mpi.irecv(into, bytes, peer as i32, 0, Process::WORLD))?;
        let sent = task
            .call(Function::Isend, |mpi| mpi.isend(out, bytes, peer as i32, 0, Process::WORLD))?;
        task.call(Function::Waitall, |mpi| mpi.waitall(&[received, sent]))?;
        task.check(into, peer)
    })
}

/// Each rank sends two messages, of any length up to the given one, to any rank, at once.
fn traffic(task: &mut Task) -> Result<()> {
    const EACH: u32 = 2;
    let (rank, ranks, bytes) = (task.rank, task.ranks, task.bytes);
    let out = task.mpi.allocate_buffer(bytes);
    let mut into = Vec::new();
    task.times(|task| {
        // The same for everybody.
        let mut random = des::Random::new(task.turns.into());
        let all: Vec<_> = (0..EACH * ranks)
            .map(|i| (i / EACH, random.below(ranks.into()) as u32, random.below(bytes + 1)))
            .collect();
        let coming = all.iter().zip(0..).filter(|((_, to, _), _)| *to == rank);
        let mut requests = Vec::new();
        for (i, ((from, _, bytes), tag)) in coming.clone().enumerate() {
            if i == into.len() {
                into.push(task.mpi.allocate_buffer(task.bytes));
            }
            requests.push(task.call(Function::Irecv, |mpi| {
                mpi.irecv(into[i], *bytes, *from as i32, tag, Process::WORLD)
            })?);
        }
        // All of a rank's messages are beginnings of the same bytes.
        task.write_pattern(out, 0);
        for ((_, to, bytes), tag) in all.iter().zip(0..).filter(|((from, ..), _)| *from == rank) {
            requests.push(task.call(Function::Isend, |mpi| {
                mpi.isend(out, *bytes, *to as i32, tag, Process::WORLD)
            })?);
        }
        task.call(Function::Waitall, |mpi| mpi.waitall(&requests))?;
        coming.zip(&into).try_for_each(|(((from, _, bytes), _), &va)| {
            if task.read(va, *bytes) == task.pattern(*from, 0)[..*bytes as usize] {
                return Ok(());
            }
            Err(wrong(format!("what came from rank {from} is not what it sent")))
        })
    })
}

/// Everybody sends to rank 0 at once.
fn incast(task: &mut Task) -> Result<()> {
    let bytes = task.bytes;
    let va = task.mpi.allocate_buffer(bytes);
    task.times(|task| {
        if task.rank > 0 {
            task.write_pattern(va, 0);
            return task.call(Function::Send, |mpi| mpi.send(va, bytes, 0, 0, Process::WORLD));
        }
        (1..task.ranks).try_for_each(|from| {
            task.call(Function::Recv, |mpi| mpi.recv(va, bytes, from as i32, 0, Process::WORLD))?;
            task.check(va, from)
        })
    })
}

/// Down and up in each of three dimensions.
fn neighbours(rank: u32, ranks: u32) -> [u32; 6] {
    let dims = mpi::balance(ranks, 3).expect("every number has factors");
    let mut stride = 1;
    let mut neighbours = [0; 6];
    for (dimension, &dim) in dims.iter().enumerate() {
        let at = rank / stride % dim;
        let base = rank - at * stride;
        neighbours[2 * dimension] = base + (at + dim - 1) % dim * stride;
        neighbours[2 * dimension + 1] = base + (at + 1) % dim * stride;
        stride *= dim;
    }
    neighbours
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(
        name: &str,
        arguments: &str,
        ranks: u32,
    ) -> std::result::Result<Builtin, WorkloadError> {
        let arguments: Vec<OsString> = arguments.split_whitespace().map(Into::into).collect();
        Builtin::parse(name, &arguments, ranks)
    }

    #[test]
    fn arguments_are_bytes_and_times() {
        for (name, arguments, bytes, times) in [
            ("barrier", "", 0, 10),
            ("barrier", "3", 0, 3),
            ("halo", "", 4096, 10),
            ("alltoall", "100", 100, 10),
            ("allreduce", "104 7", 104, 7),
            ("pingpong", "0 1", 0, 1),
        ] {
            let builtin = parse(name, arguments, 64).unwrap();
            assert_eq!((builtin.bytes, builtin.times), (bytes, times), "{name} {arguments}");
        }
    }

    #[test]
    fn mistakes_are_told_in_a_sentence() {
        for (name, arguments, ranks, word) in [
            ("sort", "", 2, "there are: pingpong, barrier"),
            ("pingpong", "", 1, "needs 2 ranks"),
            ("barrier", "1 2", 2, "[TIMES] and no more"),
            ("halo", "x", 2, "'x' is no number"),
            ("halo", "8 0", 2, "TIMES is 1 to 4294967295"),
            ("halo", "8 4294967296", 2, "TIMES is 1 to 4294967295"),
            ("alltoall", "1048576", 4096, "at most"),
            ("allreduce", "100", 2, "8 or a multiple of 8, not 100"),
            ("allreduce", "0", 2, "8 or a multiple of 8, not 0"),
        ] {
            let sentence = parse(name, arguments, ranks).unwrap_err().to_string();
            assert!(sentence.contains(word), "{sentence}");
        }
    }

    #[test]
    fn neighbours_are_mutual() {
        for ranks in [1, 2, 8, 12, 64, 100] {
            for rank in 0..ranks {
                for (way, peer) in neighbours(rank, ranks).into_iter().enumerate() {
                    assert_eq!(neighbours(peer, ranks)[way ^ 1], rank);
                }
            }
        }
    }
}

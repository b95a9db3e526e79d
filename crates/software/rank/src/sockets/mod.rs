//! TCP sockets between ranks, over the administration network of the cluster ([`Network`]).
//!
//! A program's calls come as they are from the library in its process, which keeps the descriptors.
//! What waits looks again from time to time: as everything is known before it can be seen, it goes on
//! just when that happens.

mod desk;
#[cfg(test)]
mod interleaved;
mod link;
mod network;
mod records;
mod system;
#[cfg(test)]
mod tests;

pub use network::{Costs, Network};
pub use system::{Connection, ConnectionError, NodeRank};

use crate::channel::RECORD_ARGUMENTS;
use crate::launch::Barrier;
use crate::memory::ProcessMemory;
use abi::rank::{poll, socket_call as call, Poll};
use des::{Duration, Time};
use host::{AddressSpace, Cpu};
use network::{Answer, State};
use records::Name;

/// Arguments of a call.
pub(crate) const ARGUMENTS: usize = 6;
/// A wait that has taken so long is looked after less often: late by a thousandth of it at most.
const PATIENCE: u64 = 1000;
/// Nothing comes any more of a wait that takes a day.
const WAIT_MAX: Duration = Duration(86_400 * 1_000_000_000_000);
/// Bytes that one call moves, and sockets that one looks at.
const BYTES_MAX: u64 = 1 << 20;
const LOOKED_AT_MAX: u64 = 4096;

/// A call of a socket, as the library puts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketCall {
    /// A value of `abi::rank::socket_call`.
    pub call: u32,
    /// Its own arguments.
    pub arguments: [u64; ARGUMENTS],
    /// It comes back after each look, as other threads of the program may have something to do.
    pub shares: bool,
    /// Time for which it has already waited.
    pub waited: Duration,
    /// Longest time for which it may wait in all.
    pub limit: Duration,
}

impl SocketCall {
    /// Call in a record of the ring.
    pub(crate) fn new(call: u16, record: &[u64; RECORD_ARGUMENTS]) -> SocketCall {
        SocketCall {
            call: call.into(),
            arguments: std::array::from_fn(|i| record[i]),
            shares: record[11] != 0,
            waited: Duration(record[12]),
            limit: Duration(record[13]),
        }
    }
}

/// A call of a socket that ends the run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SocketError {
    /// The network has no time in which nodes can be apart.
    #[error(
        "rank {rank}: sockets need a network on which a message takes more than the {notice} in \
         which a run ends, and admin.latency is {latency}"
    )]
    Latency { rank: u32, notice: Duration, latency: Duration },
    /// Not all ranks come.
    #[error(
        "rank {rank} has waited in the launcher's barrier (PMI) for a day of simulated time: \
         {came} of {size} ranks came, and rank {missing} {}",
        if *left { "left without finalize" } else { "did not" }
    )]
    Barrier { rank: u32, came: u32, size: u32, missing: u32, left: bool },
    /// Nothing comes.
    #[error(
        "rank {rank} has waited at a socket for a day of simulated time, and nothing came: the \
         program is deadlocked"
    )]
    Deadlock { rank: u32 },
}

/// Result of a call: its code, which is a negative error number if it failed, and further words, of which
/// the last is the time for which it has waited.
pub(crate) struct Told {
    pub code: i32,
    pub words: [u64; ARGUMENTS],
}

/// The sockets of one rank.
pub(crate) struct Sockets<'a> {
    pub cpu: &'a Cpu,
    pub network: &'a Network,
    pub memory: ProcessMemory,
    pub rank: u32,
    pub node: u32,
}

impl Sockets<'_> {
    /// Does a call. The error ends the run.
    pub fn carry_out(&self, call: &SocketCall) -> Result<Told, SocketError> {
        let (outlook, costs, notice) = {
            let state = self.network.lock();
            (state.outlook(), state.costs(), state.notice())
        };
        let Some(outlook) = outlook else {
            let (rank, latency) = (self.rank, costs.latency);
            return Err(SocketError::Latency { rank, notice, latency });
        };
        if call.waited == Duration::ZERO {
            self.cpu.spend(costs.call);
        }
        let mut told = Told { code: 0, words: [0; ARGUMENTS] };
        let mut waited = call.waited;
        loop {
            let now = self.cpu.now();
            let next = match self.attempt(call, waited > Duration::ZERO, now, &mut told.words) {
                Answer::Done(result) => {
                    told.code = i32::try_from(result).unwrap_or(i32::MAX);
                    break;
                }
                Answer::Failed(error) => {
                    told.code = -error;
                    break;
                }
                Answer::Later(next) => next,
            };
            told.code = -libc::EAGAIN;
            let step = Duration(outlook.0.max(waited.0 / PATIENCE));
            let until =
                next.unwrap_or(Time::NEVER).min(now + step).min(now + (call.limit - waited));
            if until <= now {
                break;
            }
            if waited >= WAIT_MAX {
                return Err(self.deadlock());
            }
            self.cpu.spend(until.since(now));
            waited += self.cpu.now().since(now);
            // The launcher ends it when it asks again.
            let now = self.cpu.now();
            if call.shares || self.network.at(now).abort_of(self.rank, now).is_some() {
                break;
            }
        }
        told.words[ARGUMENTS - 1] = waited.0;
        Ok(told)
    }

    fn deadlock(&self) -> SocketError {
        let rank = self.rank;
        match self.network.lock().barrier_of(rank, self.cpu.now()) {
            Some(Barrier { came, size, missing, left }) => {
                SocketError::Barrier { rank, came, size, missing, left }
            }
            None => SocketError::Deadlock { rank },
        }
    }

    /// Tries it now.
    fn attempt(
        &self,
        call: &SocketCall,
        again: bool,
        now: Time,
        words: &mut [u64; ARGUMENTS],
    ) -> Answer {
        let [socket, second, third, fourth, ..] = call.arguments;
        let mut state = self.network.at(now);
        if call.call == call::OPEN {
            return Answer::Done(state.open(self.rank, self.node));
        }
        if call.call == call::POLL {
            return self.poll(&mut state, socket, second, now);
        }
        if !state.is_of(socket, self.rank) {
            return Answer::Failed(libc::EBADF);
        }
        match call.call {
            call::BIND => state.bind(socket, second as u16),
            call::LISTEN => state.listen(socket, now),
            call::CONNECT => {
                let to = Name { node: second as u32, port: third as u16 };
                state.connect(socket, to, again, now)
            }
            call::ACCEPT => state.accept(socket, now),
            call::SEND => {
                let most = third.min(BYTES_MAX).min(state.costs().buffer);
                let mut data = vec![0; most as usize];
                if self.memory.read(second, &mut data).is_err() {
                    return Answer::Failed(libc::EFAULT);
                }
                state.send(socket, &data, now)
            }
            call::RECEIVE => {
                let most = third.min(BYTES_MAX) as usize;
                match state.receive(socket, most, fourth != 0, now) {
                    Ok(data) if self.memory.write(second, &data).is_ok() => {
                        Answer::Done(data.len() as u64)
                    }
                    Ok(_) => Answer::Failed(libc::EFAULT),
                    Err(answer) => answer,
                }
            }
            call::SHUTDOWN => state.shutdown(socket, second, now),
            call::CLOSE => state.close(socket, now),
            call::NAMES => {
                let Some((own, peer)) = state.names(socket) else {
                    return Answer::Failed(libc::EBADF);
                };
                let Name { node, port } = own;
                (words[0], words[1]) = (node.into(), port.into());
                match peer {
                    Some(Name { node, port }) => (words[2], words[3]) = (node.into(), port.into()),
                    None if second != 0 => return Answer::Failed(libc::ENOTCONN),
                    None => {}
                }
                Answer::Done(0)
            }
            call::AVAILABLE => state.available(socket, now),
            call::ERROR => {
                state.look(socket, now);
                Answer::Done(state.take_error(socket) as u64)
            }
            _ => Answer::Failed(libc::ENOSYS),
        }
    }

    /// Looks at several.
    fn poll(&self, state: &mut State, at: u64, count: u64, now: Time) -> Answer {
        if count > LOOKED_AT_MAX {
            return Answer::Failed(libc::EINVAL);
        }
        let mut rows = vec![0; count as usize * Poll::SIZE];
        if self.memory.read(at, &mut rows).is_err() {
            return Answer::Failed(libc::EFAULT);
        }
        let (mut found, mut next) = (0, None);
        for row in rows.chunks_exact_mut(Poll::SIZE) {
            let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| row[at + i]));
            let (socket, events) = (word(poll::SOCKET).into(), word(poll::EVENTS) as i16);
            if !state.is_of(socket, self.rank) {
                continue;
            }
            let (there, news) = state.look(socket, now);
            let there = there & (events | libc::POLLERR | libc::POLLHUP | libc::POLLNVAL);
            row[poll::FOUND..poll::FOUND + 2].copy_from_slice(&there.to_le_bytes());
            found += u64::from(there != 0);
            next = next.into_iter().chain(news).min();
        }
        if found == 0 {
            return Answer::Later(next);
        }
        if self.memory.write(at, &rows).is_err() {
            return Answer::Failed(libc::EFAULT);
        }
        Answer::Done(found)
    }
}

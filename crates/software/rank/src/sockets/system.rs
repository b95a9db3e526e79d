//! A connection over the administration network between the kernels of two nodes.

use super::network::{Answer, Network, State};
use super::records::Name;
use des::{Duration, Time};
use host::Cpu;
use std::io;

/// Longest wait for the other side, in simulated time.
const WAIT_MAX: Duration = Duration(1_000_000_000_000);

/// A rank, and the node on which it is.
#[derive(Clone, Copy, Debug)]
pub struct NodeRank {
    /// The rank.
    pub rank: u32,
    /// Its node.
    pub node: u32,
}

/// A connection that has failed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum ConnectionError {
    /// The network has no time in which nodes can be apart.
    #[error("admin.latency is {latency}, too short for the administration network")]
    Latency { latency: Duration },
    /// A call fails.
    #[error("the administration network: {0}")]
    Call(io::Error),
    /// Nobody answers for long.
    #[error("the other side of the administration network does not answer")]
    Silent,
    /// The other side has ended.
    #[error("the other side has closed the connection")]
    Closed,
}

/// One end of a connection.
pub struct Connection<'a> {
    cpu: &'a Cpu,
    network: &'a Network,
    socket: u64,
}

impl<'a> Connection<'a> {
    /// Connects to a port of node `peer`, where somebody may listen later.
    pub fn connect(
        cpu: &'a Cpu,
        network: &'a Network,
        own: NodeRank,
        peer: u32,
        port: u16,
    ) -> Result<Connection<'a>, ConnectionError> {
        let to = Name { node: peer, port };
        let socket = network.lock().open(own.rank, own.node);
        wait(cpu, network, |state, again, now| state.connect(socket, to, again, now))?;
        Ok(Connection { cpu, network, socket })
    }

    /// Waits until somebody connects to a port.
    pub fn accept(
        cpu: &'a Cpu,
        network: &'a Network,
        own: NodeRank,
        port: u16,
    ) -> Result<Connection<'a>, ConnectionError> {
        let listener = network.lock().open(own.rank, own.node);
        wait(cpu, network, |state, _, _| state.bind(listener, port))?;
        wait(cpu, network, |state, _, now| state.listen(listener, now))?;
        let socket = wait(cpu, network, |state, _, now| state.accept(listener, now))?;
        Ok(Connection { cpu, network, socket })
    }

    /// Sends all of it.
    pub fn send(&self, data: &[u8]) -> Result<(), ConnectionError> {
        let mut sent = 0;
        while sent < data.len() {
            let part = &data[sent..];
            let attempt = |state: &mut State, _, now| state.send(self.socket, part, now);
            sent += wait(self.cpu, self.network, attempt)? as usize;
        }
        Ok(())
    }

    /// Looks whether so many bytes have come, and waits for nothing.
    pub fn has(&self, bytes: usize) -> Result<bool, ConnectionError> {
        let look = |state: &mut State, _, now| state.available(self.socket, now);
        wait(self.cpu, self.network, look).map(|come| come >= bytes as u64)
    }

    /// Receives so many bytes.
    pub fn receive(&self, bytes: usize) -> Result<Vec<u8>, ConnectionError> {
        let mut all = Vec::new();
        while all.len() < bytes {
            let mut part = Vec::new();
            let come = wait(self.cpu, self.network, |state, _, now| {
                match state.receive(self.socket, bytes - all.len(), false, now) {
                    Ok(data) => {
                        part = data;
                        Answer::Done(part.len() as u64)
                    }
                    Err(answer) => answer,
                }
            })?;
            if come == 0 {
                return Err(ConnectionError::Closed);
            }
            all.append(&mut part);
        }
        Ok(all)
    }
}

/// Tries until it is done.
fn wait(
    cpu: &Cpu,
    network: &Network,
    mut attempt: impl FnMut(&mut State, bool, Time) -> Answer,
) -> Result<u64, ConnectionError> {
    let (outlook, costs) = {
        let state = network.lock();
        (state.outlook(), state.costs())
    };
    let Some(outlook) = outlook else {
        return Err(ConnectionError::Latency { latency: costs.latency });
    };
    cpu.spend(costs.call);
    let begun = cpu.now();
    let mut again = false;
    loop {
        let now = cpu.now();
        let answer = attempt(&mut network.lock(), again, now);
        let next = match answer {
            Answer::Done(result) => return Ok(result),
            Answer::Failed(error) => {
                return Err(ConnectionError::Call(io::Error::from_raw_os_error(error)));
            }
            Answer::Later(next) => next,
        };
        if now.since(begun) > WAIT_MAX {
            return Err(ConnectionError::Silent);
        }
        let until = next.unwrap_or(Time::NEVER).min(now + outlook);
        cpu.spend(until.since(now));
        again = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_is_a_sentence() {
        let cases = [
            (
                ConnectionError::Latency { latency: Duration::from_ns(5) },
                "admin.latency is 5.000 ns, too short for the administration network",
            ),
            (
                ConnectionError::Call(io::Error::from_raw_os_error(libc::EADDRINUSE)),
                "the administration network: Address already in use (os error 98)",
            ),
            (
                ConnectionError::Silent,
                "the other side of the administration network does not answer",
            ),
            (ConnectionError::Closed, "the other side has closed the connection"),
        ];
        for (error, sentence) in cases {
            assert_eq!(error.to_string(), sentence);
        }
    }
}

//! Channels of Directed Point to all other ranks.

use crate::begin_error::BeginError;
use crate::messages::{Network, DP_MAX};
use abi::pico::POINT;
use std::time::Instant;

/// libdp's functions, and the end of the program, as the library in C gives them.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Calls {
    /// The number of this node.
    pub node: extern "C" fn() -> i32,
    /// Opens a channel: point here, node, point there.
    pub open: extern "C" fn(i32, i32, i32) -> i32,
    /// Sends a packet.
    pub write: extern "C" fn(i32, *const u8, usize) -> isize,
    /// Takes a packet.
    pub read: extern "C" fn(i32, *mut u8, usize) -> isize,
    /// Ends the program with this status.
    pub end: extern "C" fn(i32) -> !,
}

impl Calls {
    /// Ends the program, and says why.
    pub fn fail(&self, why: &str) -> ! {
        eprintln!("sunstar: {why}");
        (self.end)(1)
    }
}

/// Channels of a rank.
pub struct Channels {
    rank: u32,
    calls: Calls,
    began: Instant,
    peers: Vec<u32>,
    watched: Vec<libc::pollfd>,
}

impl Channels {
    /// Opens a channel to each other rank, which is on the node of the same number.
    pub fn open(rank: u32, ranks: u32, calls: Calls) -> Result<Channels, BeginError> {
        let node = (calls.node)();
        if node != rank as i32 {
            let why = std::io::Error::last_os_error();
            return Err(match node {
                0.. => BeginError::Node { rank, node },
                _ => BeginError::Module { rank, why },
            });
        }
        let peers: Vec<u32> = (0..ranks).filter(|other| *other != rank).collect();
        let mut watched = Vec::new();
        for peer in &peers {
            let [here, node, there] =
                [POINT + peer, *peer, POINT + rank].map(|number| number as i32);
            let fd = (calls.open)(here, node, there);
            if fd < 0 {
                let why = std::io::Error::last_os_error();
                return Err(BeginError::Channel { rank, node, why });
            }
            watched.push(libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
        }
        Ok(Channels { rank, calls, began: Instant::now(), peers, watched })
    }

    fn failed(&self, what: &str, peer: u32) -> ! {
        let why = std::io::Error::last_os_error();
        self.calls.fail(&format!("rank {}: {what} node {peer}: {why}", self.rank))
    }

    fn index(&self, peer: u32) -> usize {
        // One's own number is left out.
        peer as usize - usize::from(peer > self.rank)
    }
}

impl Network for Channels {
    fn send(&mut self, peer: u32, packet: &[u8]) {
        let fd = self.watched[self.index(peer)].fd;
        if (self.calls.write)(fd, packet.as_ptr(), packet.len()) != packet.len() as isize {
            self.failed("a packet does not go to", peer);
        }
    }

    fn receive(&mut self, until: Option<u64>) -> Vec<(u32, Vec<u8>)> {
        let left = until.map(|until| match until {
            0 => 0,
            until => until.saturating_sub(self.now()),
        });
        let left = left.map(|left| libc::timespec {
            tv_sec: (left / 1_000_000_000) as libc::time_t,
            tv_nsec: (left % 1_000_000_000) as libc::c_long,
        });
        let limit = left.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let (all, count) = (self.watched.as_mut_ptr(), self.watched.len() as libc::nfds_t);
        // SAFETY: an array of our own of that length, and a time or none.
        if unsafe { libc::ppoll(all, count, limit, std::ptr::null()) } <= 0 {
            return Vec::new(); // It is time, or a signal has come.
        }
        let ready = self.peers.iter().zip(&self.watched).filter(|(_, own)| own.revents != 0);
        let ready: Vec<_> = ready.map(|(peer, own)| (*peer, own.fd)).collect();
        let read = |(peer, fd)| {
            let mut packet = vec![0; DP_MAX];
            let length = (self.calls.read)(fd, packet.as_mut_ptr(), DP_MAX);
            if length < 0 {
                self.failed("no packet can be read from", peer);
            }
            packet.truncate(length as usize);
            (peer, packet)
        };
        ready.into_iter().map(read).collect()
    }

    fn now(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }
}

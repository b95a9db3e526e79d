//! Sockets and those who wait at them, as the network notes them.

use des::Time;

/// An end of a connection, as addresses tell it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name {
    pub node: u32,
    pub port: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Not connected, and never was.
    Fresh,
    Listening(usize),
    /// No listener has been found yet.
    Seeking(Name),
    /// It hears of the connection then.
    Connecting(usize, Time),
    Connected(usize, usize),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Socket {
    pub rank: u32,
    pub node: u32,
    pub port: Option<u16>,
    pub role: Role,
    /// Error of a connect that failed while nobody waited.
    pub error: i32,
}

/// A socket that accepts connections.
#[derive(Debug)]
pub(super) struct Listener {
    pub name: Name,
    pub since: Time,
    pub until: Option<Time>,
    pub requests: Vec<Request>,
}

/// Request for a connection. In the order in which they are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Request {
    pub arrives: Time,
    pub node: u32,
    pub number: u64,
    pub link: usize,
}

#[derive(Debug, Default)]
pub(super) struct Node {
    pub ports: u16,
    pub requests: u64,
    /// All that it has sent has left it then.
    pub sends_until: Time,
    /// Ranks that have ended, and when the last one did.
    pub ended: u32,
    pub ended_at: Time,
}

//! Account of a rank as it is reported.

use serde::Serialize;

/// Costs of all calls of one function on one rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Call {
    /// The function.
    pub call: &'static str,
    /// Number of calls.
    pub times: u64,
    /// Messages that began in it, and their payload.
    pub messages: u64,
    /// As above.
    pub bytes: u64,
    /// Time from entry to return, summed over all calls, in picoseconds; the following add up to it.
    pub total_ps: u64,
    /// In libraries of processes, on this side or, behind the last entry, on others: those of Portals, too,
    /// of a process on the network interface, which enters no kernel.
    pub library_ps: u64,
    /// In kernels; 0 where none is entered.
    pub kernel_ps: u64,
    /// Of these, in the disks of the other side.
    #[serde(skip_serializing_if = "is_none")]
    pub disk_ps: u64,
    /// In network interfaces and on the way to them.
    pub nic_ps: u64,
    /// Of these, waiting at the sender for room at the target, which had refused the message.
    #[serde(skip_serializing_if = "is_none")]
    pub refused_ps: u64,
    /// In the network.
    pub network_ps: u64,
    /// Waiting for a late sender.
    pub late_sender_ps: u64,
    /// Waiting for a late receiver.
    pub late_receiver_ps: u64,
    /// Waiting, in a collective operation, for the rank that came last: imbalance.
    pub imbalance_ps: u64,
    /// Ranks for which it waited most, with the time: the rank that came last, or the one for which that rank
    /// had waited itself.
    pub waits_for: Vec<WaitsFor>,
}

/// A rank that was waited for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WaitsFor {
    /// The rank.
    pub rank: u32,
    /// For how long, in picoseconds.
    pub ps: u64,
}

/// Messages of a rank to another rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sent {
    /// The other.
    pub to: u32,
    /// Messages, and their payload.
    pub messages: u64,
    /// As above.
    pub bytes: u64,
}

/// The account of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Rank {
    /// Its number.
    pub rank: u32,
    /// From the launch to the return of its last call, in picoseconds: its calls and the following four add
    /// up to it.
    pub total_ps: u64,
    /// Time outside of calls in which it computes, in picoseconds.
    pub computes_ps: u64,
    /// Looks at a clock, outside of calls.
    #[serde(skip_serializing_if = "is_none")]
    pub clocks_ps: u64,
    /// Sleep, outside of calls.
    #[serde(skip_serializing_if = "is_none")]
    pub sleeps_ps: u64,
    /// Calls of sockets.
    #[serde(skip_serializing_if = "is_none")]
    pub sockets_ps: u64,
    /// Each function that it called, that with the most time first.
    pub calls: Vec<Call>,
    /// Ranks to which it sent.
    pub sent: Vec<Sent>,
    /// Messages that came before their receive, and the most that were kept at a time.
    pub unexpected: u64,
    /// As above.
    pub unexpected_most: u64,
    /// Their number over time: messages times picoseconds; divided by `total_ps`, the mean.
    pub unexpected_time: u64,
    /// Searches of them by receives and probes; an empty queue is not searched.
    pub searches: u64,
    /// Kept messages that these compared, the most in one search, and the time of that in the library.
    pub searched: u64,
    /// As above.
    pub searched_most: u64,
    /// As above.
    pub searching_ps: u64,
    /// Receives that were posted before their message came, and the most at a time.
    pub posted: u64,
    /// As above.
    pub posted_most: u64,
    /// Their number over time: receives times picoseconds.
    pub posted_time: u64,
    /// Searches of its list of posted receives, each for a message to it; those of other lists are left out.
    pub walks: u64,
    /// Entries that these compared, the matching one included, and the most in one search.
    pub walked: u64,
    /// As above.
    pub walked_most: u32,
    /// Searches of which it is not known whether they are among these.
    pub walks_untold: u64,
    /// Entries of its match list that were compared with messages that it has taken, and the most for one.
    pub entries: u64,
    /// As above.
    pub entries_most: u32,
    /// The time of all searches of match lists on its core, in the kernel; where the network interface keeps
    /// MPI's queues or the process's match lists, of those for messages to it, in the firmware.
    pub walking_ps: u64,
    /// Results that its network interface's matching units gave for messages to it and for its receives, and
    /// the time from when the firmware had fetched the header or the command.
    #[serde(skip_serializing_if = "is_none")]
    pub unit_results: u64,
    /// As above.
    #[serde(skip_serializing_if = "is_none")]
    pub unit_ps: u64,
}

/// True for a count that only some machines have, and that is left out for others.
fn is_none(count: &u64) -> bool {
    *count == 0
}

impl Rank {
    /// Time outside of calls: what it is, and how long.
    pub fn between(&self) -> [(&'static str, u64); 4] {
        [
            ("computation, between calls", self.computes_ps),
            ("looks at a clock, between calls", self.clocks_ps),
            ("sleep, between calls", self.sleeps_ps),
            ("sockets, between calls", self.sockets_ps),
        ]
    }
}

impl Call {
    /// Adds the calls of another rank, without the ranks for which they waited.
    pub fn add(&mut self, other: &Call) {
        self.call = other.call;
        let of = [
            (&mut self.times, other.times),
            (&mut self.messages, other.messages),
            (&mut self.bytes, other.bytes),
            (&mut self.total_ps, other.total_ps),
            (&mut self.library_ps, other.library_ps),
            (&mut self.kernel_ps, other.kernel_ps),
            (&mut self.nic_ps, other.nic_ps),
            (&mut self.refused_ps, other.refused_ps),
            (&mut self.disk_ps, other.disk_ps),
            (&mut self.network_ps, other.network_ps),
            (&mut self.late_sender_ps, other.late_sender_ps),
            (&mut self.late_receiver_ps, other.late_receiver_ps),
            (&mut self.imbalance_ps, other.imbalance_ps),
        ];
        of.into_iter().for_each(|(own, theirs)| *own += theirs);
    }
    /// Waiting for the other side, in picoseconds.
    pub fn waiting_ps(&self) -> u64 {
        self.late_sender_ps + self.late_receiver_ps + self.imbalance_ps
    }
    /// All of its parts.
    pub fn parts_ps(&self) -> u64 {
        self.library_ps + self.kernel_ps + self.nic_ps + self.network_ps + self.waiting_ps()
    }
}

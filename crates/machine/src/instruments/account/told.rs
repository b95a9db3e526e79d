//! The account as it is told.

use serde::Serialize;

/// What the calls of one function took on one rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Call {
    /// The function.
    pub call: &'static str,
    /// How often it was called.
    pub times: u64,
    /// Messages that began in it, and their payload.
    pub messages: u64,
    /// See there.
    pub bytes: u64,
    /// From entry to return, all of them, in picoseconds; the following add up to it.
    pub total_ps: u64,
    /// In the library, on this side or, behind the last entry, on others.
    pub library_ps: u64,
    /// In kernels.
    pub kernel_ps: u64,
    /// In network interfaces and on the way to them.
    pub nic_ps: u64,
    /// In the network.
    pub network_ps: u64,
    /// Waiting for who had to send: a late sender.
    pub late_sender_ps: u64,
    /// Waiting for who had to receive: a late receiver.
    pub late_receiver_ps: u64,
    /// Waiting, in a collective operation, for who came to it last: imbalance.
    pub imbalance_ps: u64,
    /// Those for whom it waited most, with the time: the rank that came last, or that for which this one had
    /// waited itself.
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

/// What a rank sent to another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sent {
    /// The other.
    pub to: u32,
    /// Messages, and their payload.
    pub messages: u64,
    /// See there.
    pub bytes: u64,
}

/// The account of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Rank {
    /// Its number.
    pub rank: u32,
    /// From the launch to the return of its last call, in picoseconds: its calls and `computes_ps` add up to
    /// it.
    pub total_ps: u64,
    /// Outside of calls.
    pub computes_ps: u64,
    /// Each function that it called, that with the most time first.
    pub calls: Vec<Call>,
    /// To whom it sent.
    pub sent: Vec<Sent>,
    /// Messages that came before their receive, and the most that were kept at a time.
    pub unexpected: u64,
    /// See there.
    pub unexpected_most: u64,
    /// Their number over time: messages times picoseconds; by `total_ps` the mean.
    pub unexpected_time: u64,
    /// Searches of them, by receives and probes; where there were none, nothing is searched.
    pub searches: u64,
    /// Kept messages that these looked at, the most in one, and the time of that in the library.
    pub searched: u64,
    /// See there.
    pub searched_most: u64,
    /// See there.
    pub searching_ps: u64,
    /// Receives that were posted before their message came, and the most at a time.
    pub posted: u64,
    /// See there.
    pub posted_most: u64,
    /// Their number over time: receives times picoseconds.
    pub posted_time: u64,
    /// Searches of its list of posted receives, each for a message to it; those of other lists are left out.
    pub walks: u64,
    /// Entries that these looked at, that of the match included, and the most in one.
    pub walked: u64,
    /// See there.
    pub walked_most: u32,
    /// Searches of which it is not known whether they are among these.
    pub walks_untold: u64,
    /// Entries of its match list that were looked at for messages that it has taken, and the most for one.
    pub entries: u64,
    /// See there.
    pub entries_most: u32,
    /// The time of all searches of match lists on its core, in the kernel; where the network interface keeps
    /// MPI's queues, of those for messages to it, in the firmware.
    pub walking_ps: u64,
    /// Results that its network interface's matching units gave for messages to it and for its receives, and
    /// the time from when the firmware had fetched the header or the command.
    #[serde(skip_serializing_if = "is_none")]
    pub unit_results: u64,
    /// See there.
    #[serde(skip_serializing_if = "is_none")]
    pub unit_ps: u64,
}

/// True of a count that only some machines have, and that is left out of the others' data.
fn is_none(count: &u64) -> bool {
    *count == 0
}

impl Call {
    /// Adds the calls of another rank, but for whom they waited.
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

//! Report of a run, for people and for other programs (`--json`; the keys are documented in
//! docs/reference/run-json.md).

use crate::firmware::work::Work;
use crate::instruments::account::{Collective, Rank};
use crate::instruments::message_trace::{Breakdown, Messages};
use serde::Serialize;
use std::collections::BTreeMap;

/// The whole report of a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Machine name and what was changed on the command line.
    pub machine: Machine,
    /// Ranks that ran.
    pub ranks: u32,
    /// Ranks on each node, a core each; the last node may have fewer.
    pub ranks_per_node: u32,
    /// Seed of the run.
    pub seed: u64,
    /// Cost of the program's own computation: `none`, or `scale=` and a factor.
    pub compute: String,
    /// Equal runs have equal results: no time was measured on the simulating machine.
    pub deterministic: bool,
    /// End of the run.
    pub exit: Exit,
    /// Simulated time from the launch of the program to the end, in nanoseconds.
    pub simulated_ns: f64,
    /// Wall time of the run, in seconds (the only number here that differs from run to run).
    pub wall_seconds: f64,
    /// Hash of all events: equal for equal runs, on any number of threads.
    pub trace_hash: String,
    /// Time of each rank, by use; empty where programs make no calls that the bench knows.
    pub account: Vec<Rank>,
    /// Ranks that came last to collective operations, by function; absent where there were none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub collectives: Vec<Collective>,
    /// Number of messages, and the slowest of them; absent where the model declares no steps.
    pub messages: Option<Messages>,
    /// Breakdown of the time of the program's smallest messages; absent if none came to its end.
    pub breakdown: Option<Breakdown>,
    /// The same for the messages of every class: the program's own first, then those of collectives; in each
    /// sizes ascend.
    pub breakdowns: Vec<Breakdown>,
    /// Work of the firmware on all nodes since the launch; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firmware: Option<Firmware>,
    /// Numbers of comparisons with the specification; absent without a judge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judged: Option<Judged>,
    /// Datatypes that did not match on both sides of a message, a sentence each; absent if there are none, or
    /// if nobody has looked (`--judge`, `--check-types`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mismatches: Vec<String>,
    /// Each node.
    pub nodes: Vec<NodeReport>,
    /// Switches apart from the nodes; absent where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub switches: Vec<SwitchReport>,
}

/// Switch apart from the nodes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SwitchReport {
    /// Its number.
    pub number: u32,
    /// Counters, by name.
    pub counters: BTreeMap<String, u64>,
}

/// True for a counter that holds the most there was at a time: all nodes together have the greatest of them,
/// and no sum.
pub fn is_greatest(counter: &str) -> bool {
    counter.ends_with("_max") || counter.ends_with("_high_water")
}

/// The machine of a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// The model of its network interfaces (`nic.model`).
    pub model: &'static str,
    /// Parameters set on the command line, as given.
    pub overrides: Vec<String>,
    /// Faults that were asked for, as given.
    pub faults: Vec<String>,
    /// Number of parameters by role: from documents, assumed, calibrated, set.
    pub parameters: BTreeMap<String, usize>,
    /// Every parameter, by its key.
    pub values: BTreeMap<&'static str, Setting>,
    /// Parameters that do nothing with the values of the others.
    #[serde(skip)]
    pub idle: Vec<&'static str>,
}

/// A parameter of the machine of a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Setting {
    /// Its value with its unit, as written.
    pub value: String,
    /// Source of the value.
    pub source: String,
}

/// End of a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Exit {
    /// Exit status for the shell.
    pub code: i32,
    /// Errors, one sentence each; empty if there were none.
    pub sentences: Vec<String>,
}

/// The firmware's work between the launch of the program and the end of the run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Firmware {
    /// Build options of the image.
    pub options: String,
    /// Digest of the image: equal for equal images.
    pub image: String,
    /// Messages that network interfaces sent plus those that they received, over all nodes.
    pub messages: u64,
    /// Instructions, those of the idle loop included.
    pub instructions: u64,
    /// Processor cycles, those of the idle loop included.
    pub cycles: u64,
    /// Instructions outside of the idle loop.
    pub busy_instructions: u64,
    /// Cycles outside of the idle loop.
    pub busy_cycles: u64,
    /// Instructions outside of the idle loop, a message.
    pub instructions_per_message: f64,
    /// Cycles outside of the idle loop, a message.
    pub cycles_per_message: f64,
}

/// Numbers of comparisons with the specifications of Portals and of MPI's rules.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Judged {
    /// Calls of processes, with their results.
    pub calls: u64,
    /// Events that processes took from their queues.
    pub events: u64,
    /// Messages that reached their node.
    pub messages: u64,
    /// Payload bytes, with their places.
    pub bytes: u64,
    /// Nodes whose judge stopped judging, because the requested faults excuse everything that follows.
    pub silent_nodes: u64,
    /// Comparisons with MPI's rules of matching; absent where links lose messages, which breaks them all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mpi: Option<JudgedMatching>,
}

/// Numbers of operations compared with MPI's rules of matching.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct JudgedMatching {
    /// Messages sent, those of collective operations included.
    pub sent: u64,
    /// Messages received.
    pub received: u64,
    /// Probes.
    pub probes: u64,
    /// Bytes received and compared with those sent.
    pub bytes: u64,
}

impl Judged {
    /// Adds what one node's judge has compared.
    pub(crate) fn add(&mut self, tally: spec::Tally) {
        self.calls += tally.calls;
        self.events += tally.events;
        self.messages += tally.messages;
        self.bytes += tally.bytes;
        self.silent_nodes += tally.silent;
    }

    /// Adds the comparisons with MPI's rules.
    pub(crate) fn add_matching(&mut self, tally: spec::mpi::Tally) {
        let spec::mpi::Tally { sent, received, probes, bytes } = tally;
        self.mpi = Some(JudgedMatching { sent, received, probes, bytes });
    }
}

/// One node.
#[derive(Clone, Debug, Default, Serialize)]
pub struct NodeReport {
    /// Node id.
    pub nid: u32,
    /// The ranks on it, in the order of its cores.
    pub ranks: Vec<u32>,
    /// Counters: `niccb.*` read from the firmware's control block, `ppc.*`, `tx.*`, `rx.*`, `net.*`.
    pub counters: BTreeMap<String, u64>,
    /// Host processor time by kind since the launch, in nanoseconds, of all cores together.
    pub host_ns: BTreeMap<String, f64>,
    /// Links of the node's router that carried packets.
    pub links: Vec<Link>,
    /// Work of its firmware, if it has any.
    #[serde(skip)]
    pub work: Option<Work>,
    /// Host time of each core, if the node uses more than one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<Core>,
}

/// One core of a node.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Core {
    /// Time by kind since the launch, in nanoseconds.
    pub host_ns: BTreeMap<String, f64>,
}

/// Host processor time by kind between two instants, in nanoseconds. Where there are several cores, they may
/// wait for one another.
pub fn host_ns(end: &host::Times, start: &host::Times, cores: usize) -> BTreeMap<String, f64> {
    let lock = (cores > 1).then_some(("lock", end.lock - start.lock));
    let kinds = [
        ("user", end.user - start.user),
        ("kernel", end.kernel - start.kernel),
        ("interrupt", end.interrupt - start.interrupt),
        ("mmio_stall", end.mmio_stall - start.mmio_stall),
        ("polling", end.polling - start.polling),
        ("idle", end.idle - start.idle),
    ];
    kinds.into_iter().chain(lock).map(|(name, span)| (name.to_string(), span.as_ns())).collect()
}

/// One direction of a link: from the node's router to a neighbour's.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Link {
    /// The neighbour.
    pub to: u32,
    /// Packets that left over it.
    pub packets: u64,
    /// Bytes in them, headers of messages included.
    pub bytes: u64,
    /// Time in which flits were on it, in nanoseconds.
    pub busy_ns: f64,
    /// Most packets that waited for it at once.
    pub queue_max: u64,
    /// Number of times that a packet was ready for it and the neighbour had reported no room.
    pub starved: u64,
}

//! What a debugger can be told of the run, whatever processor it debugs.

use crate::run::Options;
use des::Time;

/// The run of which a debugger sees one processor.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The node with the processor.
    pub nid: u32,
    /// The machine's name.
    machine: String,
    nodes: u32,
    ranks: u32,
    /// When the program starts.
    launch: Time,
}

impl Facts {
    /// Of a run on a machine of `nodes` nodes, for the processor of node `nid`.
    pub fn new(options: &Options, nid: u32, nodes: u32, launch: Time) -> Facts {
        let machine = options.parameters.name().into();
        Facts { nid, machine, nodes, ranks: options.ranks, launch }
    }

    /// What is simulated, and which node this is: a line.
    pub fn machine(&self) -> String {
        format!(
            "machine {} with {} nodes, {} ranks; this is the processor of node {}\n",
            self.machine, self.nodes, self.ranks, self.nid
        )
    }

    /// A time, since power on and since the launch: a line.
    pub fn time(&self, now: Time) -> String {
        let launched = match now >= self.launch {
            true => format!("{} after the launch", Time(now.since(self.launch).0)),
            false => format!("{} before the launch", Time(self.launch.since(now).0)),
        };
        format!("{now} since power on, {launched}\n")
    }
}

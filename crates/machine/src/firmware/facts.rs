//! Facts about the run that a debugger can show, independent of the processor that it debugs.

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
    /// Time at which the program starts.
    launch: Time,
}

impl Facts {
    /// Facts of a run on a machine of `nodes` nodes, for the processor of node `nid`.
    pub fn new(options: &Options, nid: u32, nodes: u32, launch: Time) -> Facts {
        let machine = options.parameters.name().into();
        Facts { nid, machine, nodes, ranks: options.ranks, launch }
    }

    /// Machine and node of this processor, as a line.
    pub fn machine(&self) -> String {
        format!(
            "machine {} with {} nodes, {} ranks; this is the processor of node {}\n",
            self.machine, self.nodes, self.ranks, self.nid
        )
    }

    /// Time since power on and since the launch, as a line.
    pub fn time(&self, now: Time) -> String {
        let launched = match now >= self.launch {
            true => format!("{} after the launch", Time(now.since(self.launch).0)),
            false => format!("{} before the launch", Time(self.launch.since(now).0)),
        };
        format!("{now} since power on, {launched}\n")
    }
}

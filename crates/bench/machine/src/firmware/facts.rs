//! Facts about the run that a debugger can show, independent of the processor that it debugs.

use des::Time;

/// The run of which a debugger sees one processor.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The node with the processor.
    pub nid: u32,
    /// The machine's name.
    pub machine: String,
    /// Number of nodes.
    pub nodes: u32,
    /// Number of ranks.
    pub ranks: u32,
    /// Time at which the program starts.
    pub launch: Time,
}

impl Facts {
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

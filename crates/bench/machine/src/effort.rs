//! Effort of the simulating machine for a run with firmware. Nothing of it is simulated.

/// Effort of simulating the firmware since the launch, over all nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Firmware instructions that were executed one by one.
    pub executed: u64,
    /// Firmware instructions of skipped iterations of polling loops.
    pub parked: u64,
    /// Events of the whole run, with the boot.
    pub events: Events,
    /// Measured time of the processor model; all 0 unless the run was metered.
    pub metered: Metered,
}

/// Events of the nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// Events handled one by one.
    pub carried_out: u64,
    /// Events in repeated spans that were skipped.
    pub skipped: u64,
}

/// Calls of the processor model that were timed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metered {
    /// Time in the processor model and in what it calls, in ticks of the model's clock.
    pub ticks: u64,
    /// Calls of the processor model in that time.
    pub calls: u64,
    /// Instructions executed in them.
    pub executed: u64,
    /// Calls that are left out because they took so long that the operating system must have preempted the
    /// process.
    pub interrupted: u64,
}

impl std::ops::AddAssign for Effort {
    fn add_assign(&mut self, other: Effort) {
        self.executed += other.executed;
        self.parked += other.parked;
        self.events.carried_out += other.events.carried_out;
        self.events.skipped += other.events.skipped;
        self.metered.ticks += other.metered.ticks;
        self.metered.calls += other.metered.calls;
        self.metered.executed += other.metered.executed;
        self.metered.interrupted += other.metered.interrupted;
    }
}

//! What a checkpoint holds of a core. Clock, timing, shared code and whether it parks are those of
//! the core that it is read into. A core that has stopped for a fault is not kept.

use crate::core::{Core, Counters, State};
use des::{Checkpoint, Checkpointed};

des::checkpointed!(Core {
    registers,
    special,
    tlb,
    icache,
    dcache,
    unit,
    pipeline,
    predictor,
    counters,
    state,
    blocked,
    interrupt,
    interrupt_at,
    until,
    limit,
    calm_limit,
    started,
    park,
    account,
} given {
    issue, next, bubble, hot, left, clock, period, inverse, synchronise, coherence_faults, fault
});

des::checkpointed!(Counters {
    instructions,
    cycles,
    icache_misses,
    dcache_misses,
    writebacks,
    uncached_reads,
    uncached_writes,
    gathered_stores,
    branches,
    mispredicts,
    exceptions,
});

impl Checkpointed for State {
    fn pass(&mut self, checkpoint: &mut Checkpoint<'_>) {
        let mut running = *self == State::Running;
        running.pass(checkpoint);
        match (*self, checkpoint.reads()) {
            (State::Stopped, false) => checkpoint.refuse(),
            (_, false) => {}
            (_, true) => *self = if running { State::Running } else { State::Reset },
        }
    }
}

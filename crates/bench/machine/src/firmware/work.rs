//! Work of firmware between the launch of the program and the end of the run. Each model counts what its
//! processors execute; the work is what is left without the turns of the main loop that find nothing to do.

use crate::report::{Firmware, NodeReport};

/// Counts of a processor up to an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Instructions, those of the idle loop included.
    pub instructions: u64,
    /// Cycles, likewise.
    pub cycles: u64,
    /// Turns of the firmware's main loop.
    pub turns: u64,
}

/// Cost of a turn of the main loop that finds nothing to do; zeros if it is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IdleTurn {
    /// Instructions.
    pub instructions: f64,
    /// Cycles.
    pub cycles: f64,
}

/// Work of a node's firmware since the launch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Messages that the network interface has sent, plus those that it has received.
    pub messages: u64,
    /// Instructions, those of the idle loop included.
    pub instructions: u64,
    /// Cycles, likewise.
    pub cycles: u64,
    /// Instructions beyond the idle loop.
    pub busy_instructions: f64,
    /// Cycles likewise.
    pub busy_cycles: f64,
    /// Turns of the main loop, and the cost of an idle one. Where that is not known (a debugger had the
    /// processor before the launch) all turns are busy here.
    pub turns: u64,
    /// As above.
    pub idle: IdleTurn,
}

impl Work {
    /// Work from one instant to another; for each turn of the main loop the cost of an idle one is
    /// subtracted.
    pub fn between(from: Count, to: Count, idle: IdleTurn, messages: u64) -> Work {
        let instructions = to.instructions.saturating_sub(from.instructions);
        let cycles = to.cycles.saturating_sub(from.cycles);
        let turns = to.turns.saturating_sub(from.turns);
        let (busy_instructions, busy_cycles) = (instructions as f64, cycles as f64);
        let work =
            Work { messages, instructions, cycles, busy_instructions, busy_cycles, turns, idle };
        work.with(idle)
    }

    /// The same, if an idle turn costs so much.
    fn with(self, idle: IdleTurn) -> Work {
        let turns = self.turns as f64;
        Work {
            busy_instructions: (self.instructions as f64 - turns * idle.instructions).max(0.0),
            busy_cycles: (self.cycles as f64 - turns * idle.cycles).max(0.0),
            idle,
            ..self
        }
    }

    /// True if it has turns whose cost is not known.
    fn lacks_idle(&self) -> bool {
        self.turns > 0 && self.idle == IdleTurn::default()
    }
}

impl Firmware {
    /// Firmware of these build options, whose image has this digest, with its work on all nodes.
    pub fn of(options: String, image: String, nodes: &[NodeReport]) -> Firmware {
        let mut firmware = Firmware { options, image, ..Firmware::default() };
        let (mut instructions, mut cycles) = (0.0, 0.0);
        let all = || nodes.iter().filter_map(|node| node.work);
        // All nodes have the same firmware.
        let known = all().map(|work| work.idle).find(|idle| *idle != IdleTurn::default());
        for work in all() {
            let work = known.filter(|_| work.lacks_idle()).map_or(work, |idle| work.with(idle));
            firmware.messages += work.messages;
            firmware.instructions += work.instructions;
            firmware.cycles += work.cycles;
            instructions += work.busy_instructions;
            cycles += work.busy_cycles;
        }
        let messages = firmware.messages.max(1) as f64;
        firmware.busy_instructions = instructions.round() as u64;
        firmware.busy_cycles = cycles.round() as u64;
        firmware.instructions_per_message = instructions / messages;
        firmware.cycles_per_message = cycles / messages;
        firmware
    }

    /// Share of its cycles in which it did more than poll.
    pub fn busy(&self) -> f64 {
        self.busy_cycles as f64 / self.cycles.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_turns_are_left_out_and_nodes_add_up() {
        let count = |n: u64| Count { instructions: 10 * n, cycles: 20 * n, turns: n };
        let idle = IdleTurn { instructions: 4.5, cycles: 8.0 };
        let work = Work::between(count(100), count(300), idle, 7);
        assert_eq!((work.instructions, work.cycles), (2_000, 4_000));
        assert_eq!((work.busy_instructions, work.busy_cycles), (1_100.0, 2_400.0));
        // An idle turn that is dearer than the mean one leaves nothing, not less than that.
        let dear = IdleTurn { instructions: 11.0, cycles: 21.0 };
        let none = Work::between(count(100), count(300), dear, 0);
        assert_eq!((none.busy_instructions, none.busy_cycles), (0.0, 0.0));
        let node = |work| NodeReport { work, ..NodeReport::default() };
        let nodes = [node(Some(work)), node(None), node(Some(none))];
        let firmware = Firmware::of("all".into(), "0".into(), &nodes);
        assert_eq!((firmware.messages, firmware.cycles), (7, 8_000));
        assert_eq!((firmware.busy_instructions, firmware.busy_cycles), (1_100, 2_400));
        assert_eq!(firmware.busy(), 0.3);
        assert!((firmware.cycles_per_message - 2_400.0 / 7.0).abs() < 1e-9);
        assert_eq!(Firmware::default().busy(), 0.0);
        // A node whose idle turns could not be measured has those of the others.
        let unknown = Work::between(count(100), count(300), IdleTurn::default(), 7);
        assert_eq!(unknown.busy_cycles, 4_000.0);
        let firmware =
            Firmware::of("all".into(), "0".into(), &[node(Some(unknown)), node(Some(work))]);
        assert_eq!((firmware.busy_instructions, firmware.busy_cycles), (2_200, 4_800));
    }
}

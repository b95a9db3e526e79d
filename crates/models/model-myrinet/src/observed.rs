//! Observers of a running LANai: the recorder is told the cause of every cycle, the monitor the next
//! instruction.

use super::monitor::stops::Stops;
use lanai::{Core, Probe, Step};
use machine::firmware::profile::{Cause, Profile};
use machine::firmware::recorder::{Jump, Observation, Recorder};

/// Instructions behind a branch, and behind a load of the program counter, before control goes elsewhere.
const BRANCH_SLOTS: u8 = 1;
const LOAD_SLOTS: u8 = 2;

/// From a branch that calls to the instruction to which the function comes back.
const BACK: u32 = 8;

/// Tells a recorder what the processor does.
pub(super) struct Teller {
    recorder: Recorder,
    /// A jump, and the slots that are executed before it.
    jump: Option<(u8, Observation)>,
    learns: bool,
}

impl Teller {
    pub fn new(recorder: Recorder) -> Teller {
        Teller { recorder, jump: None, learns: false }
    }

    /// The processor has been run: once it only polls it has nothing to do until the launch.
    pub fn ran(&mut self, core: &Core) {
        if !self.learns && core.polls() {
            self.learns = true;
            self.recorder.learn();
        }
    }

    /// The program is launched: from now on it counts.
    pub fn count(&mut self, core: &Core) {
        self.learns = true;
        self.recorder.count(core.told_until());
    }

    /// Finishes the recording, and returns the profile.
    pub fn finish(self, nid: u32, core: &Core) -> Profile {
        self.recorder.finish(nid, core.told_until())
    }

    fn step(&mut self, step: &Step) {
        let pc = step.pc;
        for (cause, cycles) in [
            (Cause::Operand, step.load_wait),
            (Cause::Issue, step.own),
            (Cause::Memory, step.memory_wait),
        ] {
            if cycles > 0 {
                self.recorder.observe(Observation::Spent { pc, cause, cycles: cycles.into() });
            }
        }
        self.recorder.observe(Observation::Completed { pc });
        match &mut self.jump {
            Some((0 | 1, jump)) => {
                let jump = *jump;
                self.jump = None;
                self.recorder.observe(jump);
            }
            Some((slots, _)) => *slots -= 1,
            None => self.jump = self.jump_of(step),
        }
    }

    /// A jump to another function. Clang's functions are called where they begin, and return by a load.
    fn jump_of(&self, step: &Step) -> Option<(u8, Observation)> {
        let (pc, target) = (step.pc, step.jump?);
        if step.loads {
            return Some((LOAD_SLOTS, Observation::Jumped { pc, target, jump: Jump::Return }));
        }
        let jump = Jump::Call { back: pc.wrapping_add(BACK) };
        let calls = self.recorder.begins(target);
        calls.then_some((BRANCH_SLOTS, Observation::Jumped { pc, target, jump }))
    }
}

/// Observers of a processor.
pub(super) struct Observed<'a> {
    pub teller: Option<&'a mut Teller>,
    pub stops: Option<&'a mut Stops>,
}

impl Probe for Observed<'_> {
    fn step(&mut self, step: Step) {
        if let Some(teller) = &mut self.teller {
            teller.step(&step);
        }
    }

    fn halts(&mut self, pc: u32, before: u64) -> bool {
        self.stops.as_mut().is_some_and(|stops| stops.halts(pc, before))
    }
}

//! What the PowerPC 440 tells an observer, as recorders take it.

use crate::firmware::profile::Cause;
use crate::firmware::recorder::{Jump, Observation, Recorder};

impl ppc440::Probe for Recorder {
    const ON: bool = true;

    fn observe(&mut self, what: ppc440::Observation) {
        Recorder::observe(self, taken(&what));
    }

    fn repeat(&mut self, turn: &[ppc440::Observation], times: u64) {
        Recorder::repeat(self, turn.iter().map(taken), times);
    }
}

fn taken(what: &ppc440::Observation) -> Observation {
    match *what {
        ppc440::Observation::Spent { pc, cause, cycles } => {
            Observation::Spent { pc, cause: cause_of(cause), cycles }
        }
        ppc440::Observation::Completed { pc } => Observation::Completed { pc },
        ppc440::Observation::Missed { pc, instructions, data } => {
            Observation::Missed { pc, instructions, data }
        }
        ppc440::Observation::Jumped { pc, target, jump } => {
            let jump = match jump {
                ppc440::Jump::Call => Jump::Call { back: pc.wrapping_add(4) },
                ppc440::Jump::Exception => Jump::Call { back: pc },
                ppc440::Jump::Return | ppc440::Jump::Resume => Jump::Return,
            };
            Observation::Jumped { pc, target, jump }
        }
    }
}

fn cause_of(cause: ppc440::Cause) -> Cause {
    match cause {
        ppc440::Cause::Issue => Cause::Issue,
        ppc440::Cause::Operand => Cause::Operand,
        ppc440::Cause::Load => Cause::Load,
        ppc440::Cause::Read => Cause::Read,
        ppc440::Cause::Write => Cause::Write,
        ppc440::Cause::Fetch => Cause::Fetch,
        ppc440::Cause::Branch => Cause::Branch,
        ppc440::Cause::Mispredict => Cause::Mispredict,
        ppc440::Cause::Synchronise => Cause::Synchronise,
        ppc440::Cause::Sleep => Cause::Sleep,
    }
}

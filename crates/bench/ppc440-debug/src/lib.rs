//! The PowerPC 440 of network interfaces that have one: its parameters, its images, what it tells recorders,
//! and gdb on it.

#![forbid(unsafe_code)]

pub mod debugger;

pub use ppc440::{Off, Stop};

use machine::firmware::profile::Cause;
use machine::firmware::recorder::{Jump, Observation, Recorder};
use machine::input;
use machine::parameters::schema::{count, cycles, frequency, power_of_two, switch};
use machine::parameters::{Parameters, Row};
use std::fmt;
use std::path::Path;

/// Its parameters, in the order in which they are printed.
pub const ROWS: [Row; 25] = [
    frequency("ppc440.clock", "1 MHz", "100 GHz"),
    cycles("ppc440.simple", "0 cycles", "255 cycles"),
    cycles("ppc440.load", "0 cycles", "255 cycles"),
    cycles("ppc440.update", "0 cycles", "255 cycles"),
    cycles("ppc440.compare", "0 cycles", "255 cycles"),
    cycles("ppc440.record_half", "0 cycles", "255 cycles"),
    cycles("ppc440.record_long", "0 cycles", "255 cycles"),
    cycles("ppc440.multiply", "0 cycles", "255 cycles"),
    cycles("ppc440.multiply_half", "0 cycles", "255 cycles"),
    cycles("ppc440.divide", "0 cycles", "255 cycles"),
    cycles("ppc440.divide_busy", "0 cycles", "255 cycles"),
    cycles("ppc440.move_to_branch", "0 cycles", "255 cycles"),
    cycles("ppc440.move_from_special", "0 cycles", "255 cycles"),
    cycles("ppc440.move_to_cr", "0 cycles", "255 cycles"),
    cycles("ppc440.taken", "0 cycles", "255 cycles"),
    cycles("ppc440.taken_btac", "0 cycles", "255 cycles"),
    cycles("ppc440.mispredict", "0 cycles", "255 cycles"),
    cycles("ppc440.synchronise", "0 cycles", "255 cycles"),
    power_of_two("ppc440.bht_entries", "1", "32768"),
    power_of_two("ppc440.btac_entries", "1", "8"),
    count("ppc440.line_fills", "1", "4"),
    count("ppc440.load_slots", "1", "8"),
    count("ppc440.write_slots", "1", "8"),
    cycles("ppc440.gather", "0 cycles", "255 cycles"),
    switch("ppc440.coherence_faults"),
];

/// Configuration of a core.
pub fn config(p: &Parameters) -> ppc440::Config {
    let timing = timing(p);
    ppc440::Config {
        clock: p.clock("ppc440.clock"),
        timing,
        coherence_faults: p.switch("ppc440.coherence_faults"),
        code: ppc440::Code::new(&timing),
    }
}

fn timing(p: &Parameters) -> ppc440::Timing {
    ppc440::Timing {
        simple: p.number("ppc440.simple"),
        load: p.number("ppc440.load"),
        update: p.number("ppc440.update"),
        compare: p.number("ppc440.compare"),
        record_half: p.number("ppc440.record_half"),
        record_long: p.number("ppc440.record_long"),
        multiply: p.number("ppc440.multiply"),
        multiply_half: p.number("ppc440.multiply_half"),
        divide: p.number("ppc440.divide"),
        divide_busy: p.number("ppc440.divide_busy"),
        move_to_branch: p.number("ppc440.move_to_branch"),
        move_from_special: p.number("ppc440.move_from_special"),
        move_to_cr: p.number("ppc440.move_to_cr"),
        taken: p.number("ppc440.taken"),
        taken_btac: p.number("ppc440.taken_btac"),
        mispredict: p.number("ppc440.mispredict"),
        synchronise: p.number("ppc440.synchronise"),
        bht_entries: p.number("ppc440.bht_entries"),
        btac_entries: p.number("ppc440.btac_entries"),
        line_fills: p.number("ppc440.line_fills"),
        load_slots: p.number("ppc440.load_slots"),
        write_slots: p.number("ppc440.write_slots"),
        gather: p.number("ppc440.gather"),
    }
}

/// A recorder as the processor's observer.
pub struct Told<'a>(pub &'a mut Recorder);

impl ppc440::Probe for Told<'_> {
    const ON: bool = true;

    fn observe(&mut self, what: ppc440::Observation) {
        self.0.observe(taken(&what));
    }

    fn repeat(&mut self, turn: &[ppc440::Observation], times: u64) {
        self.0.repeat(turn.iter().map(taken), times);
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

/// The bytes of an image, those of every word in reverse order. The error is a sentence.
pub fn swapped(file: &Path) -> Result<Vec<u8>, String> {
    let bad = |why: &dyn fmt::Display| format!("cannot load {}: {why}", file.display());
    let mut bytes = input::read(file, input::WRITTEN_MAX).map_err(|error| bad(&error))?;
    if bytes.len() % 4 != 0 {
        return Err(bad(&format!("{} bytes are not whole words", bytes.len())));
    }
    bytes.chunks_exact_mut(4).for_each(<[u8]>::reverse);
    Ok(bytes)
}

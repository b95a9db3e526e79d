//! The PowerPC 440 of network interfaces that have one: its parameters, its images, what it tells recorders,
//! and gdb on it.

#![forbid(unsafe_code)]

pub mod debugger;

pub use ppc440::{Off, Stop};

use des::Clock;
use machine::firmware::profile::Cause;
use machine::firmware::recorder::{Jump, Observation, Recorder};
use machine::input;
use machine::parameters::{Parameters, Row};
use machine::rows;
use std::io;
use std::path::{Path, PathBuf};

/// Its parameters, in the order in which they are printed.
pub const ROWS: &[Row] = rows![Core::ROWS, Timing::ROWS, Checks::ROWS];

machine::parameters! {
    /// The processor.
    pub struct Core in "ppc440" {
        clock: frequency("1 MHz", "100 GHz"),
    }
}

machine::parameters! {
    /// Cycles of its instructions, and what it has room for.
    pub Timing in "ppc440" => ppc440::Timing {
        simple: cycles("0 cycles", "255 cycles"),
        load: cycles("0 cycles", "255 cycles"),
        update: cycles("0 cycles", "255 cycles"),
        compare: cycles("0 cycles", "255 cycles"),
        record_half: cycles("0 cycles", "255 cycles"),
        record_long: cycles("0 cycles", "255 cycles"),
        multiply: cycles("0 cycles", "255 cycles"),
        multiply_half: cycles("0 cycles", "255 cycles"),
        divide: cycles("0 cycles", "255 cycles"),
        divide_busy: cycles("0 cycles", "255 cycles"),
        move_to_branch: cycles("0 cycles", "255 cycles"),
        move_from_special: cycles("0 cycles", "255 cycles"),
        move_to_cr: cycles("0 cycles", "255 cycles"),
        taken: cycles("0 cycles", "255 cycles"),
        taken_btac: cycles("0 cycles", "255 cycles"),
        mispredict: cycles("0 cycles", "255 cycles"),
        synchronise: cycles("0 cycles", "255 cycles"),
        bht_entries: power_of_two("1", "32768"),
        btac_entries: power_of_two("1", "8"),
        line_fills: count("1", "4"),
        load_slots: count("1", "8"),
        write_slots: count("1", "8"),
        gather: cycles("0 cycles", "255 cycles"),
    }
}

machine::parameters! {
    /// Checks of what it executes.
    pub struct Checks in "ppc440" {
        coherence_faults: switch(),
    }
}

/// Clock of a machine's core.
pub fn clock(machine: &Parameters) -> Clock {
    Core::of(machine).clock
}

/// Configuration of a core.
pub fn config(p: &Parameters) -> ppc440::Config {
    let timing = Timing::of(p);
    ppc440::Config {
        clock: clock(p),
        timing,
        coherence_faults: Checks::of(p).coherence_faults,
        code: ppc440::Code::new(&timing),
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

/// Reason for which an image cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum ImageError {
    /// Its file cannot be read.
    #[error("cannot load {file}: {why}")]
    Read { file: PathBuf, why: io::Error },
    /// It ends within a word.
    #[error("cannot load {file}: {bytes} bytes are not whole words")]
    Words { file: PathBuf, bytes: usize },
}

/// The bytes of an image, those of every word in reverse order.
pub fn swapped(file: &Path) -> Result<Vec<u8>, ImageError> {
    let read = input::read(file, input::WRITTEN_MAX);
    let mut bytes = read.map_err(|why| ImageError::Read { file: file.to_owned(), why })?;
    if bytes.len() % 4 != 0 {
        return Err(ImageError::Words { file: file.to_owned(), bytes: bytes.len() });
    }
    bytes.chunks_exact_mut(4).for_each(<[u8]>::reverse);
    Ok(bytes)
}

/// Counters of the processor since power-on by name, the same on every machine that has it.
pub fn counters(core: &ppc440::Core) -> [(&'static str, u64); 11] {
    let count = core.counters();
    [
        ("ppc.instructions", count.instructions),
        ("ppc.cycles", count.cycles),
        ("ppc.icache_misses", count.icache_misses),
        ("ppc.dcache_misses", count.dcache_misses),
        ("ppc.writebacks", count.writebacks),
        ("ppc.uncached_reads", count.uncached_reads),
        ("ppc.uncached_writes", count.uncached_writes),
        ("ppc.gathered_stores", count.gathered_stores),
        ("ppc.branches", count.branches),
        ("ppc.mispredicts", count.mispredicts),
        ("ppc.exceptions", count.exceptions),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_a_sentence() {
        let file = PathBuf::from("build/shim.img");
        let why = io::Error::other("it is a folder, not a file");
        let read = ImageError::Read { file: file.clone(), why };
        assert_eq!(read.to_string(), "cannot load build/shim.img: it is a folder, not a file");
        let words = ImageError::Words { file, bytes: 7 };
        assert_eq!(words.to_string(), "cannot load build/shim.img: 7 bytes are not whole words");
    }
}

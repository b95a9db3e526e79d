//! A machine, a program, and the run of one on the other.

use crate::program::Named;
use crate::root::Root;
use crate::usage_error::UsageError;
use crate::{firmware, machines, program, scratch};
use des::Duration;
use machine::parameters::Parameters;
use machine::report::Report;
use machine::{Observers, Options, Outcome, Places};
use rank::{Crowd, Surroundings};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// A machine: hosts, network interfaces with their firmware, and a network.
#[derive(Clone, Debug)]
pub struct Machine {
    root: Root,
    parameters: Parameters,
}

impl Machine {
    /// One of Sunstar's machines by its name, or a file of your own (`.toml`).
    pub fn load(name: &str) -> Result<Machine, UsageError> {
        let root = Root::find()?;
        let parameters = machines::load(&root, name)?;
        Ok(Machine { root, parameters })
    }

    /// The same machine with another value of a parameter, as `--set` takes it: `host.kernel_entry=200 ns`.
    pub fn set(mut self, assignment: &str) -> Result<Machine, UsageError> {
        self.parameters.set(assignment)?;
        Ok(self)
    }

    /// Its parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Runs a program on it, with seed 1 and without faults; [`Run`] has more.
    pub fn run(&self, program: &Program) -> Result<Report, UsageError> {
        Run::new(self, program).outcome().map(|outcome| outcome.report)
    }
}

/// A program with its arguments, and the number of its ranks.
#[derive(Clone, Debug)]
pub struct Program(Named);

impl Program {
    /// A built-in workload (`builtin:pingpong`), an executable, or a source that is compiled first; one rank.
    pub fn new(named: impl Into<PathBuf>) -> Program {
        Program(Named { ranks: 1, command: vec![named.into().into()], mpi: None })
    }
    /// Adds an argument.
    pub fn arg(mut self, word: impl Into<OsString>) -> Program {
        self.0.command.push(word.into());
        self
    }
    /// Adds arguments.
    pub fn args(self, words: impl IntoIterator<Item = impl Into<OsString>>) -> Program {
        words.into_iter().fold(self, Program::arg)
    }
    /// Sets the number of ranks.
    pub fn ranks(mut self, ranks: u32) -> Program {
        self.0.ranks = ranks;
        self
    }
}

/// A run that is prepared.
#[derive(Clone, Debug)]
pub struct Run {
    machine: Machine,
    program: Program,
    seed: u64,
    threads: usize,
    faults: Vec<String>,
    until: Option<Duration>,
    judge: bool,
}

impl Run {
    /// A run on one thread with seed 1, without faults, judge and limit.
    pub fn new(machine: &Machine, program: &Program) -> Run {
        let (machine, program) = (machine.clone(), program.clone());
        Run { machine, program, seed: 1, threads: 1, faults: vec![], until: None, judge: false }
    }
    /// Sets the seed of everything random.
    pub fn seed(mut self, seed: u64) -> Run {
        self.seed = seed;
        self
    }
    /// Sets the number of threads, which changes nothing but the speed.
    pub fn threads(mut self, threads: usize) -> Run {
        self.threads = threads.max(1);
        self
    }
    /// Adds a fault, as `--fault` takes it: `link.drop=0.01`.
    pub fn fault(mut self, fault: &str) -> Run {
        self.faults.push(fault.into());
        self
    }
    /// Ends the run after so much simulated time, if it has not ended before.
    pub fn until(mut self, limit: Duration) -> Run {
        self.until = Some(limit);
        self
    }
    /// Checks the run against the specification of its interfaces.
    pub fn judged(mut self) -> Run {
        self.judge = true;
        self
    }

    /// Runs. The error is a usage error; a program or a firmware that fails is in the report.
    pub fn outcome(self) -> Result<Outcome, UsageError> {
        let Run { machine, program: Program(named), seed, threads, faults, until, judge } = self;
        let Machine { root, mut parameters } = machine;
        machine::faults::set(&mut parameters, &faults)?;
        let folder = scratch::folder("")?;
        let ranks = named.ranks;
        let crowd = Arc::new(Crowd::new(ranks));
        let around = Surroundings { crowd, seed, ..Surroundings::default() };
        let (model, parts) = (parameters.model(), std::slice::from_ref(&named));
        let in_guests = match model.guests {
            true => program::for_guests(&root, parts, model, folder.path())?,
            false => None,
        };
        let program = match in_guests {
            Some(files) => program::guests(&root, parts, files, vec![around], None)?,
            None => program::programs(&root, parts, vec![around], folder.path())?,
        };
        rank::permitted(!program.executables().is_empty())?;
        let common = options(&root, &parameters, program, ranks)?;
        let observers = Observers { judge, ..Observers::default() };
        machine::run(&Options { seed, threads, faults, until, observers, ..common })
    }
}

/// Options of a run of which nothing is known but machine, program and ranks: on one thread, with seed 1,
/// with all that makes it fast, and watched by nobody. The machine's firmware is built if its sources have
/// changed.
pub fn options(
    root: &Root,
    parameters: &Parameters,
    program: machine::Program,
    ranks: u32,
) -> Result<Options, UsageError> {
    let places = Places {
        firmware: firmware::folder_if_any(root, parameters)?,
        root: root.path().to_owned(),
        built: root.compiled(),
        library: root.library(),
    };
    Ok(Options::new(parameters.clone(), program, ranks, places))
}

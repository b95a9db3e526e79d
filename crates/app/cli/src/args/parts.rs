//! Several programs in one run, as `mpiexec` takes them: `-n 1 a : -n 2 b ARGUMENTS` (MPI 5.0, 11.5).

use super::mistake;
use super::processes::Processes;
use super::runs::RunOptions;
use super::spelling::{is_option, Plain};
use super::value::whole;
use clap::{CommandFactory, Parser};
use machine::console;
use std::ffi::OsString;
use sunstar::program::Named;
use sunstar::usage_error::UsageError;

/// Stands between two programs.
pub(super) const BETWEEN: &str = ":";

/// One of the programs of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Ranks that run it: those behind the ranks of the parts before it.
    pub ranks: u32,
    /// The start of its processes: environment, folder, output.
    pub processes: Processes,
    /// The program as the user named it, and its arguments.
    pub command: Vec<OsString>,
}

/// Options between a separator and the program of a part.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Before {
    #[arg(short = 'n', long, default_value_t = 1, value_parser = whole(1..=u32::MAX))]
    ranks: u32,
    #[command(flatten)]
    processes: Processes,
}

impl Part {
    /// The program without what is about its processes.
    pub fn named(self) -> Named {
        Named { ranks: self.ranks, command: self.command, mpi: self.processes.mpi }
    }

    /// Takes the words between two separators apart.
    fn of(words: &[OsString]) -> Result<Part, UsageError> {
        let mut verb = Before::command();
        verb.build();
        let (mut plain, mut words) = (Plain::default(), words.iter().cloned().peekable());
        while let Some(word) = words.next_if(is_option) {
            let only = "behind ':' only -n N, --env, --wdir and --server stand before the program";
            let text = word.to_string_lossy().into_owned();
            let taken = plain.take(&verb, word, &mut words);
            taken.map_err(|_| {
                UsageError::sentence(format!("{only}; {text} holds for all programs"))
            })?;
        }
        if !plain.ignored.is_empty() {
            console::say(&format!("{}: ignored", plain.ignored.join(", ")));
        }
        let before = Before::try_parse_from(plain.words).map_err(|error| {
            UsageError::sentence(format!("behind ':': {}", mistake::problem(&error, &verb)))
        })?;
        let Before { ranks, processes } = before;
        Ok(Part { ranks, processes, command: words.collect() })
    }

    /// Its words on a command line.
    fn words(&self) -> impl Iterator<Item = String> + '_ {
        let command = self.command.iter().map(|word| word.to_string_lossy().into_owned());
        ["-n".to_owned(), self.ranks.to_string()].into_iter().chain(command)
    }
}

impl RunOptions {
    /// Takes apart what follows the first program; from then on `ranks` are those of all programs.
    pub fn separate(&mut self) -> Result<(), UsageError> {
        if !self.command.iter().any(|word| word == BETWEEN) {
            return Ok(());
        }
        let mut groups = self.command.split(|word| word == BETWEEN);
        let first = groups.next().unwrap_or_default().to_vec();
        self.others = groups.map(Part::of).collect::<Result<_, _>>()?;
        if first.is_empty() || self.others.iter().any(|part| part.command.is_empty()) {
            return Err(UsageError::sentence(
                "':' stands between two programs, one of them is missing",
            ));
        }
        self.command = first;
        let all = self.others.iter().try_fold(self.ranks, |sum, part| sum.checked_add(part.ranks));
        self.ranks =
            all.ok_or_else(|| UsageError::sentence("there are more ranks than can be counted"))?;
        Ok(())
    }

    /// All programs.
    pub fn parts(&self) -> Vec<Part> {
        let others: u32 = self.others.iter().map(|part| part.ranks).sum();
        let processes = self.processes.clone();
        let first = Part { ranks: self.ranks - others, processes, command: self.command.clone() };
        std::iter::once(first).chain(self.others.iter().cloned()).collect()
    }

    /// Programs and numbers of ranks as they stand on a command line.
    pub fn words(&self) -> Vec<String> {
        let parts = self.parts();
        let words = parts.iter().map(|part| part.words().collect::<Vec<_>>());
        words.collect::<Vec<_>>().join(&BETWEEN.to_owned())
    }

    /// The programs as the user named them.
    pub fn programs(&self) -> String {
        let parts = self.parts();
        let names = parts.iter().map(|part| part.command[0].to_string_lossy());
        names.collect::<Vec<_>>().join(" : ")
    }
}

/// Refuses several programs where only one is run.
pub fn only_one(command: &[OsString]) -> Result<(), UsageError> {
    match command.iter().any(|word| word == BETWEEN) {
        true => Err(UsageError::sentence("':' separates programs, but a sweep runs one")),
        false => Ok(()),
    }
}

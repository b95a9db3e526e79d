//! Several programs in one run, as `mpiexec` takes them: `-n 1 a : -n 2 b ARGUMENTS` (MPI 5.0, 11.5).

use super::RunOptions;
use crate::mistake::Mistake;
use std::ffi::OsString;

/// Stands between two programs.
const BETWEEN: &str = ":";

/// One of the programs of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Ranks that run it: those behind the ranks of the parts before it.
    pub ranks: u32,
    /// The program as the user named it, and its arguments.
    pub command: Vec<OsString>,
}

impl Part {
    /// Takes the words between two separators apart.
    fn of(words: &[OsString]) -> Result<Part, Mistake> {
        let (mut ranks, mut words) = (1, words.iter());
        while let Some(word) = words.clone().next().filter(|word| is_option(word)) {
            words.next();
            let text = word.to_string_lossy();
            let rest = text.strip_prefix("--ranks").or(text.strip_prefix("-np"));
            let number = match rest.or(text.strip_prefix("-n")) {
                Some("") => words.next().map(|word| word.to_string_lossy().into_owned()),
                Some(rest) => Some(rest.trim_start_matches('=').to_owned()),
                None => {
                    let only = "behind ':' only -n N stands before the program";
                    return Err(Mistake(format!("{only}; {text} holds for all programs")));
                }
            };
            let number = number.unwrap_or_default();
            ranks =
                number.parse().ok().filter(|ranks| *ranks >= 1).ok_or_else(|| {
                    Mistake(format!("-n {number}: a number of ranks is at least 1"))
                })?;
        }
        Ok(Part { ranks, command: words.cloned().collect() })
    }

    /// Its words on a command line.
    fn words(&self) -> impl Iterator<Item = String> + '_ {
        let command = self.command.iter().map(|word| word.to_string_lossy().into_owned());
        ["-n".to_owned(), self.ranks.to_string()].into_iter().chain(command)
    }
}

fn is_option(word: &OsString) -> bool {
    word.len() > 1 && word.as_encoded_bytes().starts_with(b"-")
}

impl RunOptions {
    /// Takes apart what follows the first program; from then on `ranks` are those of all programs.
    pub fn separate(&mut self) -> Result<(), Mistake> {
        if !self.command.iter().any(|word| word == BETWEEN) {
            return Ok(());
        }
        let mut groups = self.command.split(|word| word == BETWEEN);
        let first = groups.next().unwrap_or_default().to_vec();
        self.others = groups.map(Part::of).collect::<Result<_, _>>()?;
        if first.is_empty() || self.others.iter().any(|part| part.command.is_empty()) {
            return Err(Mistake("':' stands between two programs, one of them is missing".into()));
        }
        self.command = first;
        let all = self.others.iter().try_fold(self.ranks, |sum, part| sum.checked_add(part.ranks));
        self.ranks =
            all.ok_or_else(|| Mistake("there are more ranks than can be counted".into()))?;
        Ok(())
    }

    /// All programs.
    pub fn parts(&self) -> Vec<Part> {
        let others: u32 = self.others.iter().map(|part| part.ranks).sum();
        let first = Part { ranks: self.ranks - others, command: self.command.clone() };
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
pub fn only_one(command: &[OsString]) -> Result<(), Mistake> {
    match command.iter().any(|word| word == BETWEEN) {
        true => Err(Mistake("':' separates programs, but a sweep runs one".into())),
        false => Ok(()),
    }
}

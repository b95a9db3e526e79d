//! Options of a run as words, which make the same run again.

use super::processes::Processes;
use super::{Part, RunOptions};
use clap::ValueEnum;
use std::ffi::OsStr;

/// Adds `--name value` for each value.
fn each<T: ToString>(words: &mut Vec<String>, name: &str, values: impl IntoIterator<Item = T>) {
    for value in values {
        words.extend([name.to_owned(), value.to_string()]);
    }
}

fn text(word: impl AsRef<OsStr>) -> String {
    word.as_ref().to_string_lossy().into_owned()
}

impl Processes {
    fn again(&self) -> Vec<String> {
        let mut words = Vec::new();
        each(&mut words, "--env", self.env.iter().map(text));
        each(&mut words, "--mpi", &self.mpi);
        each(&mut words, "--wdir", self.wdir.iter().map(text));
        if self.server {
            words.push("--server".into());
        }
        let errors = Some(self.initial_errhandler).filter(|own| *own != Default::default());
        let errors = errors.and_then(|own| own.to_possible_value());
        each(&mut words, "--initial-errhandler", errors.iter().map(|own| own.get_name()));
        words
    }
}

impl Part {
    fn again(&self, options: Vec<String>) -> Vec<String> {
        let ranks = ["-n".to_owned(), self.ranks.to_string()];
        let command = self.command.iter().map(text);
        ranks.into_iter().chain(options).chain(self.processes.again()).chain(command).collect()
    }
}

impl RunOptions {
    /// Words behind the name of a command that make the same run again. Options which change no result, and
    /// those for files that are written, are left out; `beside` are words beside those of the user.
    pub fn again(&self, beside: &[String]) -> Vec<String> {
        let mut parts = self.parts().into_iter();
        let first = parts.next().map(|part| part.again(self.options_again(beside)));
        let groups = first.into_iter().chain(parts.map(|part| part.again(Vec::new())));
        groups.collect::<Vec<_>>().join(&super::parts::BETWEEN.to_owned())
    }

    /// The options alone, without number of ranks and program.
    pub fn options_again(&self, beside: &[String]) -> Vec<String> {
        let mut words = Vec::new();
        each(&mut words, "--ranks-per-node", self.ranks_per_node);
        each(&mut words, "--machine", [&self.machine.machine]);
        each(&mut words, "--set", &self.machine.overrides);
        each(&mut words, "--fault", &self.faults);
        each(&mut words, "--seed", Some(self.seed).filter(|seed| *seed != 1));
        let compute = Some(self.compute).filter(|own| *own != rank::Compute::default());
        each(&mut words, "--compute", compute);
        each(&mut words, "--until", self.until.map(|until| format!("{}ps", until.0)));
        words.extend(self.rtl.map(|mode| format!("--rtl={mode}")));
        each(&mut words, "--rtl-dir", self.rtl_dir.iter().map(text));
        // What these two find ends the run.
        let judges = [(self.judge, "--judge"), (self.check_types, "--check-types")];
        words.extend(judges.iter().filter(|(on, _)| *on).map(|(_, name)| (*name).to_owned()));
        each(&mut words, "--genv", self.all.genv.iter().map(text));
        let date = Some(self.all.date).filter(|own| *own != Default::default());
        each(&mut words, "--date", date);
        words.extend_from_slice(beside);
        words
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Arguments, Command};
    use clap::Parser;

    /// Options that no page of the tests has: they wait, take minutes, or need what need not be there.
    #[test]
    fn words_come_back_as_options_and_what_changes_nothing_is_left_out() {
        let again = |line: &str| {
            let words = ["sunstar", "run"].into_iter().chain(line.split(' '));
            let Command::Run(mut options) = Arguments::parse_from(words).command else {
                panic!("not a run");
            };
            options.separate().unwrap();
            options.again(&["--largest".to_owned(), "8".to_owned()]).join(" ")
        };
        let line = "-n 2 --machine alpu --compute scale=2 --until 5us --rtl=check --rtl-dir unit \
                    --genv A=1 --largest 8 --env B=2 --mpi mpich --server a.c -n 3 : -n 1 --env \
                    C=3 --mpi own --wdir x b.c y";
        let typed = line.replace(" --largest 8", "");
        assert_eq!(again(&typed), line.replace("--until 5us", "--until 5000000ps"));
        let quiet = "-t 2 -q --no-park --json run.json --rtl-wave a.vcd --gdb 0 --rtl -n 4 a.c";
        assert_eq!(again(quiet), "-n 4 --machine redstorm --rtl=on --largest 8 a.c");
    }
}

//! Spellings of options that clap does not know by itself, since what follows the program may look like
//! anything.

use super::{habits, mistake, strays};
use clap::{Arg, Command};
use std::ffi::OsString;
use sunstar::usage_error::UsageError;

/// The words of a command line as clap takes them: `mpirun` and its like spell `-n` also `-np`, and a value
/// may stand right behind its letter (`-n2`). What follows the program is the program's, and stays as it is.
/// A word before it that is no option is a mistake: clap would take it for the program.
pub fn plain(words: impl Iterator<Item = OsString>) -> Result<Plain, UsageError> {
    let mut words = words.peekable();
    let mut plain = Plain { words: words.by_ref().take(2).collect(), ..Plain::default() };
    let mut all = super::command();
    all.build();
    let verb = plain.words.get(1).and_then(|verb| all.find_subcommand(verb));
    if let Some(verb) =
        verb.filter(|verb| verb.get_positionals().any(|arg| arg.get_id() == "command"))
    {
        let mut before = verb.get_positionals().count() - 1;
        let mut ended = false;
        while let Some(word) = words.next_if(|word| before > 0 || is_option(word)) {
            before -= usize::from(!is_option(&word));
            if plain.take(verb, word, &mut words)? {
                ended = true;
                break;
            }
        }
        let rest: Vec<OsString> = words.collect();
        if !ended {
            plain.strays = strays::of(verb, &plain.words, &rest);
        }
        plain.words.extend(rest);
        return Ok(plain);
    }
    plain.words.extend(words);
    Ok(plain)
}

/// Words as clap takes them.
#[derive(Default)]
pub struct Plain {
    /// All words.
    pub words: Vec<OsString>,
    /// Options that are none here.
    pub ignored: Vec<String>,
    /// Option of ours among the program's arguments, as it is written there.
    pub strays: Option<String>,
}

impl Plain {
    /// Takes one word before the program, with its values. True if it ends the options.
    pub fn take(
        &mut self,
        verb: &Command,
        word: OsString,
        rest: &mut impl Iterator<Item = OsString>,
    ) -> Result<bool, UsageError> {
        if let Some(habit) = habits::of(verb, &word, rest) {
            self.words.extend(habit.words);
            self.ignored.extend(habit.ignored);
            return Ok(false);
        }
        let ends = word == "--";
        if put(verb, word, &mut self.words)? {
            self.words.extend(rest.next());
        }
        Ok(ends)
    }
}

pub fn is_option(word: &OsString) -> bool {
    word.len() > 1 && word.as_encoded_bytes().starts_with(b"-")
}

/// Puts a word before the program as clap takes it. True if its value follows.
fn put(verb: &Command, word: OsString, plain: &mut Vec<OsString>) -> Result<bool, UsageError> {
    let takes_value = |arg: &Arg| arg.get_action().takes_values();
    let unknown = |name: &str| mistake::unknown_option(verb, name);
    let text = word.to_string_lossy().into_owned();
    if let Some(long) = text.strip_prefix("--").filter(|long| !long.is_empty()) {
        let (name, value) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v)));
        let is_named = |arg: &&Arg| {
            let aliases = arg.get_all_aliases().unwrap_or_default();
            arg.get_long() == Some(name) || aliases.contains(&name)
        };
        let arg = verb.get_arguments().find(is_named).ok_or_else(|| unknown(&text))?;
        plain.push(word);
        return Ok(value.is_none() && takes_value(arg));
    }
    for (at, letter) in text.char_indices().skip(1).filter(|_| is_option(&word) && text != "--") {
        let mut args = verb.get_arguments();
        let arg = args.find(|arg| arg.get_short() == Some(letter)).ok_or_else(|| unknown(&text))?;
        if takes_value(arg) {
            let (letters, value) = text.split_at(at + letter.len_utf8());
            plain.push(letters.into());
            plain.extend((!value.is_empty()).then(|| value.trim_start_matches('=').into()));
            return Ok(value.is_empty());
        }
    }
    plain.push(word);
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn becomes(words: &str, expected: &str) {
        let words = format!("sunstar {words}");
        let plain = plain(words.split(' ').map(OsString::from)).unwrap().words;
        let plain: Vec<_> = plain[1..].iter().map(|word| word.to_str().unwrap()).collect();
        assert_eq!(plain.join(" "), expected, "{words}");
    }

    #[test]
    fn options_before_the_program() {
        becomes("run -np 2 prog -np 7 -n3", "run -n 2 prog -np 7 -n3");
        becomes("run prog -np 7 -n 3", "run prog -np 7 -n 3");
        becomes("run --json out.json -np 2 ./prog", "run --json out.json -n 2 ./prog");
        becomes("run --json=a/b -np 2 ./prog", "run --json=a/b -n 2 ./prog");
        becomes("run --ppn 2 --set a.b=1 -q -np 4 x", "run --ppn 2 --set a.b=1 -q -n 4 x");
        becomes("run -n2 -t2 -mredstorm -qn2 x", "run -n 2 -t 2 -m redstorm -qn 2 x");
        becomes("run -n=2 x", "run -n 2 x");
        becomes("run -np 2 -- -np 3", "run -n 2 -- -np 3");
        becomes("run -ppn 2 -env A b -genv C d x -env", "run --ppn 2 --env A=b --genv C=d x -env");
        becomes("run --env A=b -x C -wdir d -l x", "run --env A=b -x C --wdir d -l x");
        becomes("run --ntasks=4 --output-filename o x", "run -n 4 --output o x");
        becomes("run --bind-to core --mca a b --host=c -n 2 x", "run -n 2 x");
        becomes("report p.html -np 8 a.c -np 3", "report p.html -n 8 a.c -np 3");
        becomes("report -np 8 p.html a.c -np 3", "report -n 8 p.html a.c -np 3");
        becomes("sweep --out t.csv -np 8 a.c -np 3", "sweep --out t.csv -n 8 a.c -np 3");
        becomes("cc -np x.c", "cc -np x.c");
        becomes("machines -h", "machines -h");
        becomes("run -h", "run -h");
        becomes("run --help", "run --help");
    }

    #[test]
    fn words_that_are_no_options() {
        for word in ["--nosuch", "--nosuch=3", "-z", "-qz"] {
            let words = ["sunstar", "trace", "-n", "2", word, "x"].map(OsString::from);
            let usage_error = plain(words.into_iter()).err().unwrap().to_string();
            let said = format!("there is no option {word} (see `sunstar trace --help`)");
            assert_eq!(usage_error, said);
        }
    }
}

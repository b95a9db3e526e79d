//! Place of the cursor on a command line: what the words before it make of the word that is completed.

use clap::{Arg, Command};

/// Thing that is completed.
#[derive(Clone, Copy, Debug)]
pub enum What<'a> {
    /// A command.
    Command,
    /// An option.
    Option,
    /// The value of an argument.
    Value(&'a Arg),
    /// An argument of the program.
    OfProgram,
    /// Nothing can stand here.
    Nothing,
}

/// Place of a word on a command line.
#[derive(Clone, Debug)]
pub struct Place<'a> {
    /// Command whose words these are.
    pub verb: &'a Command,
    /// Thing that is completed.
    pub what: What<'a>,
    /// Part of the word that stays, as `--set=`.
    pub fixed: String,
    /// Part of the word that is completed.
    pub text: String,
    /// Machine that an option before it names.
    pub machine: Option<String>,
}

impl<'a> Place<'a> {
    /// The place of `last` behind the words `before`, of which the first is the command's name.
    pub fn of(all: &'a Command, before: &[String], last: &str) -> Place<'a> {
        let (mut verb, mut words) = (all, before.iter().skip(1).peekable());
        while let Some(found) = words.peek().and_then(|word| verb.find_subcommand(word)) {
            verb = found;
            words.next();
        }
        let mut place = Place {
            verb,
            what: What::Nothing,
            fixed: String::new(),
            text: last.to_owned(),
            machine: None,
        };
        let (mut positionals, mut ended) = (0, false);
        let mut waiting: Option<&Arg> = None;
        for word in words {
            let option = !ended && word.len() > 1 && word.starts_with('-');
            if let Some(arg) = waiting.take().filter(|arg| !option || must_follow(arg)) {
                place.note(arg, word);
            } else if option && word == "--" {
                ended = true;
            } else if option {
                waiting = place.option(word);
            } else if verb.get_positionals().nth(positionals).is_some_and(is_program) {
                place.what = What::OfProgram;
                return place;
            } else {
                positionals += 1;
            }
        }
        place.what = match waiting {
            Some(arg) if must_follow(arg) || !last.starts_with('-') => What::Value(arg),
            _ if !ended && last.starts_with("--") && last.contains('=') => {
                let (name, text) = last.split_once('=').unwrap_or_default();
                place.fixed = format!("{name}=");
                place.text = text.to_owned();
                long(verb, &name[2..]).map_or(What::Nothing, What::Value)
            }
            _ if !ended && last.starts_with('-') => What::Option,
            _ if verb.has_subcommands() => What::Command,
            _ => match positional(verb, positionals) {
                Some(arg) => What::Value(arg),
                None => What::Nothing,
            },
        };
        place
    }

    /// The argument whose value follows this option, if one does.
    fn option(&mut self, word: &str) -> Option<&'a Arg> {
        let verb = self.verb;
        if let Some(name) = word.strip_prefix("--") {
            let (name, value) = name.split_once('=').map_or((name, None), |(n, v)| (n, Some(v)));
            let arg = long(verb, name).filter(|arg| takes_value(arg))?;
            return match value {
                Some(value) => {
                    self.note(arg, value);
                    None
                }
                None => (!arg.is_require_equals_set()).then_some(arg),
            };
        }
        // As mpirun has it.
        let letters = if word == "-np" { "n" } else { &word[1..] };
        for (at, letter) in letters.char_indices() {
            let arg = verb.get_arguments().find(|arg| arg.get_short() == Some(letter))?;
            if takes_value(arg) {
                let value = &letters[at + letter.len_utf8()..];
                if value.is_empty() {
                    return Some(arg);
                }
                self.note(arg, value.trim_start_matches('='));
                return None;
            }
        }
        None
    }

    fn note(&mut self, arg: &Arg, value: &str) {
        if arg.get_long() == Some("machine") {
            self.machine = Some(value.to_owned());
        }
    }
}

fn takes_value(arg: &Arg) -> bool {
    arg.get_action().takes_values()
}

/// True if a value must follow the option.
fn must_follow(arg: &Arg) -> bool {
    arg.get_num_args().is_none_or(|range| range.min_values() > 0)
}

fn is_program(arg: &Arg) -> bool {
    arg.is_trailing_var_arg_set()
}

fn positional(verb: &Command, number: usize) -> Option<&Arg> {
    let many = |arg: &&Arg| arg.get_num_args().is_some_and(|range| range.max_values() > 1);
    verb.get_positionals().nth(number).or_else(|| verb.get_positionals().last().filter(many))
}

fn long<'a>(verb: &'a Command, name: &str) -> Option<&'a Arg> {
    verb.get_arguments().find(|arg| {
        let aliases = arg.get_all_aliases().unwrap_or_default();
        arg.get_long() == Some(name) || aliases.contains(&name)
    })
}

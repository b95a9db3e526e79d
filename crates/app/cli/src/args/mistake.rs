//! Mistakes on a command line that clap finds, in our own words: a sentence of what is wrong, what was
//! probably meant, and where help is.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};
use machine::suggestion;
use std::error::Error as _;
use std::ffi::OsString;
use sunstar::usage_error::UsageError;

/// Usage error of a command line that clap refused; `all` is its definition.
pub fn refused(mut all: Command, error: &Error, words: &[OsString]) -> UsageError {
    // With all that clap adds.
    all.build();
    let (verb, path) = verb_of(&all, words);
    UsageError::sentence(format!("{} (see `{path} --help`)", problem(error, verb)))
}

/// Usage error of an option that a command does not have.
pub fn unknown_option(verb: &Command, word: &str) -> UsageError {
    let (no_such, path) = (no_option(verb, word), path_of(verb));
    UsageError::sentence(format!("{no_such} (see `{path} --help`)"))
}

/// Command that words name, and what a user types for it.
fn verb_of<'a>(all: &'a Command, words: &[OsString]) -> (&'a Command, String) {
    let mut verb = all;
    for word in words.iter().skip(1) {
        match verb.find_subcommand(word) {
            Some(found) => verb = found,
            None => break,
        }
    }
    (verb, path_of(verb))
}

fn path_of(verb: &Command) -> String {
    verb.get_bin_name().unwrap_or(verb.get_name()).to_owned()
}

/// The problem, without a place for help.
pub fn problem(error: &Error, verb: &Command) -> String {
    let text = |kind| texts(error, kind).into_iter().next().unwrap_or_default();
    let (argument, value) = (text(ContextKind::InvalidArg), text(ContextKind::InvalidValue));
    let name = name_of(&argument);
    match error.kind() {
        ErrorKind::InvalidSubcommand => no_command(verb, &text(ContextKind::InvalidSubcommand)),
        ErrorKind::MissingSubcommand => format!("a command is missing: {}", commands(verb)),
        ErrorKind::UnknownArgument if argument.starts_with('-') => no_option(verb, &argument),
        ErrorKind::UnknownArgument if verb.has_subcommands() => no_command(verb, &argument),
        ErrorKind::UnknownArgument => format!("{argument} is one argument too many"),
        ErrorKind::InvalidValue if value.is_empty() => format!("{argument}: the value is missing"),
        ErrorKind::InvalidValue => {
            let allowed = texts(error, ContextKind::ValidValue);
            let near = suggestion::nearest(&value, allowed.iter().map(String::as_str));
            let meant = suggestion::question(&near).map(|asked| format!("; {asked}"));
            format!("{name} {value}: allowed is {}{}", listed(&allowed), meant.unwrap_or_default())
        }
        ErrorKind::ValueValidation => {
            let shown = if value.is_empty() { "''" } else { &value };
            match error.source() {
                Some(why) => format!("{name} {shown}: {why}"),
                None => format!("{name} {shown}: it is no such value"),
            }
        }
        ErrorKind::NoEquals => format!("{name}: a value stands behind '=', as in {name}=VALUE"),
        ErrorKind::TooManyValues => format!("{name}: the value '{value}' is one too many"),
        ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues => {
            format!("{argument}: it has too few or too many values")
        }
        ErrorKind::ArgumentConflict => {
            let others = texts(error, ContextKind::PriorArg);
            match others.iter().all(|other| *other == argument) {
                true => format!("{name} is given twice"),
                false => {
                    let others: Vec<&str> = others.iter().map(|other| name_of(other)).collect();
                    format!("{name} does not go with {}", others.join(", "))
                }
            }
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = texts(error, ContextKind::InvalidArg);
            let is = if missing.len() > 1 { "are" } else { "is" };
            format!("{} {is} missing", missing.join(" and "))
        }
        ErrorKind::InvalidUtf8 => "an argument is not in UTF-8".into(),
        _ => "the command line cannot be understood".into(),
    }
}

/// Words of a kind of context.
fn texts(error: &Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        Some(other) => vec![other.to_string()],
        None => Vec::new(),
    }
}

/// `--set` of `--set <KEY=VALUE>`.
fn name_of(argument: &str) -> &str {
    let end = argument.find([' ', '=', '[']).filter(|_| argument.starts_with('-'));
    &argument[..end.unwrap_or(argument.len())]
}

fn listed(words: &[String]) -> String {
    match words {
        [others @ .., last] if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => words.concat(),
    }
}

fn no_command(verb: &Command, word: &str) -> String {
    let advice =
        suggestion::question_or(word, names(verb), || format!("there are {}", commands(verb)));
    format!("there is no command {word}; {advice}")
}

fn commands(verb: &Command) -> String {
    names(verb).collect::<Vec<_>>().join(", ")
}

/// Names of the commands of a command.
pub fn names(verb: &Command) -> impl Iterator<Item = &str> {
    let listed = |one: &&Command| !one.is_hide_set() && one.get_name() != "help";
    verb.get_subcommands().filter(listed).map(Command::get_name)
}

fn no_option(verb: &Command, word: &str) -> String {
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    let all = options(verb);
    // A single dash is a slip, too.
    let dashed = if name.starts_with("--") { name.to_owned() } else { format!("-{name}") };
    let named = all.iter().map(String::as_str).filter(|_| name.len() > 2);
    match suggestion::question(&suggestion::nearest(&dashed, named)) {
        Some(asked) => format!("there is no option {word}; {asked}"),
        None => format!("there is no option {word}"),
    }
}

/// Long options of a command, and all other names of them.
pub fn options(verb: &Command) -> Vec<String> {
    let names = |arg: &clap::Arg| {
        let aliases = arg.get_visible_aliases().unwrap_or_default();
        arg.get_long()
            .into_iter()
            .chain(aliases)
            .map(|name| format!("--{name}"))
            .collect::<Vec<_>>()
    };
    verb.get_arguments().filter(|arg| !arg.is_hide_set()).flat_map(names).collect()
}

/// A name after one slip: a letter that is dropped, doubled, or swapped with the next.
#[cfg(test)]
pub fn mistyped(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut wrong = Vec::new();
    for at in 0..letters.len() {
        let mut dropped = letters.clone();
        dropped.remove(at);
        let mut doubled = letters.clone();
        doubled.insert(at, letters[at]);
        let mut swapped = letters.clone();
        swapped.swap(at, (at + 1).min(letters.len() - 1));
        wrong.extend([dropped, doubled, swapped].map(|letters| letters.into_iter().collect()));
    }
    wrong.retain(|wrong: &String| wrong != name);
    wrong
}

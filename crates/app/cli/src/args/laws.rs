//! Laws of the command line: what must hold for every option of every command.

use super::heading::WITHOUT_MAX;
use super::mistake::{mistyped, names, options, refused};
use super::*;
use clap::Arg;
use machine::suggestion::nearest;

/// Columns of a short help.
const WIDTH: usize = 100;

/// All commands with the words for them, but clap's own `help`.
fn commands() -> Vec<(String, clap::Command)> {
    let mut all = command().term_width(WIDTH);
    all.build();
    let (mut found, mut left) = (Vec::new(), vec![("sunstar".to_owned(), all)]);
    while let Some((words, command)) = left.pop() {
        let below = command.get_subcommands().filter(|one| one.get_name() != "help");
        left.extend(below.map(|one| (format!("{words} {}", one.get_name()), one.clone())));
        found.push((words, command));
    }
    assert!(found.len() > 25, "{}", found.len());
    found
}

fn own(command: &clap::Command) -> impl Iterator<Item = &Arg> {
    let of_clap = |arg: &Arg| ["help", "version"].contains(&arg.get_id().as_str());
    command.get_opts().chain(flags(command)).filter(move |arg| !of_clap(arg))
}

fn flags(command: &clap::Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| !arg.is_positional() && !arg.get_action().takes_values())
}

#[test]
fn options_of_a_command_with_many_have_headings() {
    for (words, command) in commands() {
        let all: Vec<&Arg> = own(&command).collect();
        let without: Vec<&str> = all
            .iter()
            .filter(|arg| arg.get_help_heading().is_none())
            .map(|arg| arg.get_id().as_str())
            .collect();
        assert!(all.len() <= WITHOUT_MAX || without.is_empty(), "{words}: {without:?}");
    }
}

/// Each option, argument and command has one line in a short help, with its default and all. What does not
/// fit goes on below, far to the right.
#[test]
fn a_short_help_has_a_line_for_each() {
    const RIGHT: &str = "         ";
    for (words, mut command) in commands() {
        let text = command.render_help().to_string();
        for line in text.lines() {
            assert!(line.chars().count() <= WIDTH, "{words}: {line}");
            assert!(!line.starts_with(RIGHT), "{words}: '{}' goes on\n{text}", line.trim());
        }
        let shown = own(&command).filter(|arg| !arg.is_hide_short_help_set());
        assert!(
            text.lines().filter(|line| line.trim_start().starts_with('-')).count() >= shown.count(),
            "{words}:\n{text}"
        );
    }
}

/// A long help has all options; a short one names those that it leaves out.
#[test]
fn help_is_whole_or_says_so() {
    for (words, mut command) in commands() {
        let (short, long) = (command.render_help(), command.render_long_help());
        let (short, long) = (short.to_string(), long.to_string());
        for arg in own(&command).filter(|arg| !arg.is_hide_set()) {
            let name = format!("--{}", arg.get_long().unwrap());
            assert!(long.contains(&name) && short.contains(&name), "{words}: {name}");
        }
        assert!(!long.contains("are in --help") && !long.ends_with("\n\n"), "{words}: {long}");
    }
}

/// Words that only this project would use; terms of the field stand in their place.
#[test]
fn help_is_in_the_words_of_the_field() {
    for (words, mut command) in commands() {
        let text = command.render_long_help().to_string();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for dialect in [
            "is the same, later",
            "same, later",
            "go wrong",
            "Hold everything",
            "Hold library",
            "against what is simulated",
            "for nothing",
            " in all ",
            "What the setting",
            "which is the most",
            "by the seed",
            "99 %",
        ] {
            assert!(!text.contains(dialect), "{words}: '{dialect}'");
        }
    }
}

/// Kind and sentence of the mistake in these words.
fn said_of(words: &str) -> Option<(ErrorKind, String)> {
    let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
    let error = command().try_get_matches_from(&words).err()?;
    Some((error.kind(), refused(command(), &error, &words).to_string()))
}

/// One sentence, that ends with the place of help, in the style of all others.
fn check_style(words: &str, said: &str) {
    assert!(
        !said.contains("error:") && !said.contains('\n') && !said.contains("  "),
        "{words}: {said}"
    );
    assert!(said.ends_with(" --help`)") && said.contains("(see `sunstar"), "{words}: {said}");
    assert!(
        !said.replace("...", "").contains(". ") && !said.trim_end_matches("`)").ends_with('.'),
        "{words}: {said}"
    );
    let nothing = ["cannot be understood", "it is no such value", ": ;", " :"];
    assert!(!nothing.iter().any(|one| said.contains(one)), "{words}: {said}");
}

/// Each kind of mistake, on each command that it can be made on, is told in one style.
#[test]
fn mistakes_have_one_style() {
    let mut kinds = std::collections::BTreeSet::new();
    for (words, command) in commands() {
        let mut lines = vec![format!("{words} --nosuch"), format!("{words} x y z nosuch --nosuch")];
        lines.push(words.clone());
        lines.push(format!("{words} nosuch"));
        for arg in command.get_arguments().filter(|arg| arg.get_long().is_some()) {
            let name = format!("--{}", arg.get_long().unwrap());
            // No value, a bad one, an empty one, one too many; twice; with some other options.
            for rest in ["", " ?", "=?", "=", " ? x", "=? "] {
                lines.push(format!("{words} {name}{rest}"));
            }
            lines.push(format!("{words} {name} {name}"));
            lines.push(format!("{words} {name}=1 {name}=1 x"));
            let others = command.get_arguments().filter_map(|other| other.get_long()).step_by(9);
            lines.extend(others.map(|other| format!("{words} {name} --{other} x")));
        }
        for line in lines {
            if let Some((kind, said)) = said_of(&line) {
                let help = [
                    ErrorKind::DisplayHelp,
                    ErrorKind::DisplayVersion,
                    ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand,
                ];
                if !help.contains(&kind) {
                    check_style(&line, &said);
                    kinds.insert(format!("{kind:?}"));
                }
            }
        }
    }
    for kind in [
        "ArgumentConflict",
        "InvalidSubcommand",
        "InvalidValue",
        "MissingRequiredArgument",
        "TooManyValues",
        "UnknownArgument",
        "ValueValidation",
    ] {
        assert!(kinds.contains(kind), "no {kind} among {kinds:?}");
    }
}

#[test]
fn mistakes_are_sentences() {
    for (words, said) in [
        ("sunstar nosuch", "there is no command nosuch; there are run, guest, cc,"),
        ("sunstar rnu", "there is no command rnu; did you mean run?"),
        (
            "sunstar bench alpu",
            "there is no command alpu; there are ladder, latency, rdma, dp, queues, suite (",
        ),
        ("sunstar diff", "<A.json> and <B.json> are missing (see `sunstar diff --help`)"),
        ("sunstar diff a b c", "c is one argument too many"),
        ("sunstar diff --jsno a b", "there is no option --jsno; did you mean --json? (see"),
        (
            "sunstar run --rtl=chek x",
            "--rtl chek: allowed is on, check or exact; did you mean check? (",
        ),
        ("sunstar run --seed", "--seed <N>: the value is missing ("),
        ("sunstar run --quiet=3 x", "--quiet: the value '3' is one too many ("),
        ("sunstar run --quiet --quiet x", "--quiet is given twice ("),
        ("sunstar run --quiet --full x", "--quiet does not go with --full ("),
        ("sunstar run --rtl-dir f x", "--rtl[=<on|check|exact>] is missing ("),
        (
            "sunstar completions bsh",
            "<SHELL> bsh: allowed is bash, elvish, fish, powershell or zsh; did you mean bash",
        ),
        ("sunstar bench dp --largset 1", "there is no option --largset"),
    ] {
        let (_, sentence) = said_of(words).unwrap_or_else(|| panic!("{words} is taken"));
        assert!(sentence.starts_with(said), "{words}: {sentence}");
        check_style(words, &sentence);
    }
}

/// One slip in the name of any option or command, and it is told which was meant.
#[test]
fn mistyped_options_and_commands_are_told() {
    for (words, command) in commands() {
        let all = options(&command);
        for option in &all {
            for wrong in mistyped(option).into_iter().filter(|wrong| !all.contains(wrong)) {
                if wrong.len() > 2 && wrong.starts_with('-') {
                    let said = super::mistake::unknown_option(&command, &wrong).to_string();
                    assert!(
                        said.contains(&format!("{option} or "))
                            || said.contains(&format!("{option}?"))
                            || said.contains(&format!("{option}, ")),
                        "{words} {wrong}: {said}"
                    );
                }
            }
        }
        let below: Vec<&str> = names(&command).collect();
        for name in &below {
            for wrong in mistyped(name).iter().filter(|wrong| !below.contains(&&***wrong)) {
                assert!(nearest(wrong, below.iter().copied()).contains(name), "{words} {wrong}");
            }
        }
    }
}

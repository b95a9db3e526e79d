//! Options behind the program, which are the program's, as with mpirun: if they look like ours, the user may
//! have meant us.

use clap::Command;
use std::ffi::OsString;

/// Options with one letter that are looked for; programs use many letters for other things.
const SHORT: [&str; 3] = ["-n", "-np", "-m"];

/// Options that are only ours before the program: the user has asked for silence.
const QUIET: [&str; 2] = ["-q", "--quiet"];

/// The first argument of the program that looks like an option of ours, with its value. One that is given
/// before the program, too, is the program's own.
pub fn of(verb: &Command, before: &[OsString], arguments: &[OsString]) -> Option<String> {
    let text = |word: &OsString| word.to_str().map(name_of).unwrap_or_default().to_owned();
    let given: Vec<String> = before.iter().map(text).collect();
    if given.iter().any(|word| QUIET.contains(&&**word)) {
        return None;
    }
    // The program itself is the first; behind a lone ':' stand options of ours again.
    let mut own = arguments.iter().skip(1).take_while(|word| *word != ":").peekable();
    while let Some(word) = own.next() {
        let name = text(word);
        let long = long_of(verb, &name);
        let Some(long) = long.filter(|long| !given.iter().any(|of| is_same(verb, of, long))) else {
            continue;
        };
        let takes = |arg: &&clap::Arg| arg.get_long() == Some(&*long);
        let takes = verb.get_arguments().find(takes).is_some_and(|arg| {
            arg.get_action().takes_values() && !word.to_string_lossy().contains('=')
        });
        let value = own.peek().filter(|_| takes).map(|value| value.to_string_lossy().into_owned());
        let word = word.to_string_lossy();
        return Some(value.map_or(word.to_string(), |value| format!("{word} {value}")));
    }
    None
}

fn name_of(word: &str) -> &str {
    word.split_once('=').map_or(word, |(name, _)| name)
}

/// The long name of an option of ours; `None` if it is none, or one of those that every program has.
fn long_of(verb: &Command, name: &str) -> Option<String> {
    let named = |arg: &&clap::Arg| {
        let aliases = arg.get_visible_aliases().unwrap_or_default();
        let long = name.strip_prefix("--").filter(|long| !long.is_empty());
        let is_long =
            long.is_some_and(|long| arg.get_long() == Some(long) || aliases.contains(&long));
        let letter = if name == "-np" { Some('n') } else { name.chars().nth(1) };
        is_long || (SHORT.contains(&name) && arg.get_short() == letter)
    };
    let found = verb.get_arguments().find(named)?.get_long()?;
    (!["help", "version"].contains(&found)).then(|| found.to_owned())
}

fn is_same(verb: &Command, word: &str, long: &str) -> bool {
    let letter =
        |arg: &clap::Arg| arg.get_short().is_some_and(|letter| word == format!("-{letter}"));
    long_of(verb, word).is_some_and(|other| other == long)
        || verb.get_arguments().any(|arg| arg.get_long() == Some(long) && letter(arg))
}

#[cfg(test)]
mod tests {
    use crate::args::plain;
    use std::ffi::OsString;

    fn stray(line: &str) -> Option<String> {
        let words = format!("sunstar {line}");
        plain(words.split(' ').map(OsString::from)).unwrap().strays
    }

    #[test]
    fn options_of_ours_behind_the_program_are_noticed() {
        for (line, said) in [
            ("run prog.c -n 4", Some("-n 4")),
            ("run prog.c -np 4", Some("-np 4")),
            ("run prog.c 8 --machine=alpu", Some("--machine=alpu")),
            ("run -n 2 prog.c --fault link.drop=0.1", Some("--fault link.drop=0.1")),
            ("run prog.c --judge", Some("--judge")),
            ("report page.html prog.c -n 4", Some("-n 4")),
            // The program's own.
            ("run -n 2 prog.c -n 4", None),
            ("run -np 2 prog.c -n 4", None),
            ("run --ranks 2 prog.c -n 4", None),
            ("run -- prog.c -n 4", None),
            ("run -q prog.c -n 4", None),
            ("run prog.c -x 4 -t --help -q", None),
            ("run prog.c : -n 4 other.c", None),
            ("run -n4", None),
            ("cc x.c -n 4", None),
        ] {
            assert_eq!(stray(line).as_deref(), said, "{line}");
        }
    }
}

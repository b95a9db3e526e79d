//! Mistakes of whoever commands the monitor.

use super::command::COMMANDS;

/// A line that asks for nothing that there is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Mistake {
    #[error("there is no command '{0}' (help lists them)")]
    NoCommand(String),
    #[error("'{word}' may be {}", names.join(", "))]
    Ambiguous { word: String, names: Vec<&'static str> },
    #[error("{name} takes nothing behind it, and '{rest}' stands there")]
    TakesNothing { name: &'static str, rest: String },
    #[error("'{rest}' is too much; it is: {name} {}", usage(name))]
    TooMuch { name: &'static str, rest: String },
    #[error("{name} {word}: allowed is a number from 1 to {most}")]
    Count { name: &'static str, word: String, most: u32 },
    #[error("delete {0}: it is the number of a breakpoint")]
    NoNumber(String),
    #[error("memory of which PLACE? (help tells what that can be)")]
    NoPlace,
    #[error("there is no breakpoint {0}")]
    NoBreakpoint(u32),
    #[error("no instruction of the control program stands at {0:#x}")]
    NoInstruction(u32),
    #[error("{place}: +{offset} is no number")]
    Offset { place: String, offset: String },
    #[error("{0}: it has no address")]
    NoAddress(String),
    #[error("there is no register {0}")]
    NoRegister(String),
    #[error("{place}: {line} is no number of a line")]
    Line { place: String, line: String },
    #[error("no instruction is of {file}:{line}")]
    NothingOfLine { file: String, line: u32 },
    #[error("the control program has neither a function nor an object '{0}'")]
    NoSymbol(String),
    #[error(
        "{from:#x} is no memory: it ends at {end:#x}{}",
        if *special { "; card tells the special registers" } else { "" }
    )]
    NoMemory { from: u32, end: usize, special: bool },
}

/// Words behind a command.
pub(super) fn usage(name: &str) -> &'static str {
    COMMANDS.iter().find(|(known, ..)| *known == name).expect("it is one of them").1
}

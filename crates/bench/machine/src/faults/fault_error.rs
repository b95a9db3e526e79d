//! Sentences about faults that cannot be asked for.

use crate::parameters::quantity::ParameterError;
use crate::suggestion;
use crate::usage_error::UsageError;
use des::Duration;

/// A fault that cannot be asked for, as the command line writes it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("--fault {text}: {why}")]
pub struct WrongFault {
    /// Its text.
    pub text: String,
    /// Its mistake.
    pub why: FaultError,
}

/// Reason for which a text is no fault of a machine.
#[derive(Clone, Debug, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum FaultError {
    /// It has no kind or no value.
    #[error("a fault is KIND=VALUE; `sunstar faults` lists what can go wrong")]
    NoValue,
    /// The machine's model has no such kind.
    #[error("machines of model {model} have no {name}; {}", theirs(meant, names))]
    Kind { model: &'static str, name: String, meant: Vec<&'static str>, names: Vec<String> },
    /// The kind has no such place or time.
    #[error("'@{part}' does not belong here: it is {form}")]
    Scope { part: String, form: String },
    /// A place or a time is given twice.
    #[error("'@{part}' is one too many: another place or time is another --fault")]
    Twice { part: String },
    /// A time ends before it begins.
    #[error("'{part}' ends before it begins")]
    Backwards { part: String },
    /// Another option contradicts it.
    #[error("{other} says otherwise")]
    Contradicts { other: String },
    /// The firmware's image cannot have it.
    #[error("{0}")]
    Set(UsageError),
    /// A seed is no number.
    #[error("{kind} has a number, as in {kind}=7, which '{text}' is not")]
    Seed { kind: &'static str, text: String },
    /// A seed may hide nothing.
    #[error("there is nothing to hide")]
    NothingToHide,
    /// A level is none.
    #[error("the line is stuck high or low, not '{text}'")]
    Level { text: String },
    /// A level would end.
    #[error("a line that is stuck high stays so: give @TIME")]
    Stays,
    /// A share has no number.
    #[error("'{text}' is no number: #1 is the first")]
    ShareNumber { text: String },
    /// A share is none.
    #[error("a share is a chance from 0 to 1, or #NUMBER for one, which '{text}' is not")]
    Share { text: String },
    /// A share has no time.
    #[error("it is SHARE:TIME, as in 0.01:500ns")]
    NoTime,
    /// A factor is none, or is too large.
    #[error("a factor is a number from 1 to {most}, which '{text}' is not")]
    Factor { text: String, most: f64 },
    /// Pauses follow one another at once.
    #[error(
        "'{text}': the period must be longer than the pause by {least:.0} or more, in which the \
         host gets on"
    )]
    Period { text: String, least: Duration },
    /// Pauses take all of the host's time.
    #[error("with the other pauses there it leaves the host no time")]
    NoTimeLeft,
    /// A number is none, or too small or too large.
    #[error("a number from {least} to {most} is needed, not '{text}'")]
    Number { text: String, least: u32, most: u32 },
    /// A time is none.
    #[error("'{text}': {why}")]
    Time { text: String, why: ParameterError },
    /// A time is too long.
    #[error("'{text}' is longer than {}", in_ms(*longest))]
    TooLong { text: String, longest: Duration },
    /// A node has no number.
    #[error("a node's number is missing")]
    NoNode,
    /// There is no such node.
    #[error("there is no node {text}; the machine has {nodes}")]
    Node { text: String, nodes: u32 },
    /// A link is none.
    #[error("a link is NODE-NODE, as in 0-1, which '{text}' is not")]
    Link { text: String },
    /// No link joins these nodes.
    #[error("nodes {from} and {to} are no neighbours in a {network}")]
    Neighbours { from: u32, to: u32, network: String },
}

fn theirs(meant: &[&str], names: &[String]) -> String {
    suggestion::question(meant).unwrap_or_else(|| {
        let names = names.join(", ");
        format!("theirs are {names} (`sunstar faults` says more, also of other machines)")
    })
}

fn in_ms(time: Duration) -> String {
    format!("{} ms", time.0 / Duration::from_us(1000).0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::quantity::ValueKind;

    #[test]
    fn each_error_is_a_sentence() {
        let text = || "7x".to_owned();
        let why = ValueKind::Duration.parse("5").unwrap_err();
        let cases = [
            (
                FaultError::NoValue,
                "a fault is KIND=VALUE; `sunstar faults` lists what can go wrong",
            ),
            (
                FaultError::Kind {
                    model: "all",
                    name: text(),
                    meant: Vec::new(),
                    names: vec!["link.*".into(), "host.slow".into()],
                },
                "machines of model all have no 7x; theirs are link.*, host.slow (`sunstar faults` \
                 says more, also of other machines)",
            ),
            (
                FaultError::Kind {
                    model: "all",
                    name: text(),
                    meant: vec!["7y", "7z"],
                    names: vec!["link.*".into()],
                },
                "machines of model all have no 7x; did you mean 7y or 7z?",
            ),
            (
                FaultError::Scope { part: text(), form: "pool.slots=NUMBER".into() },
                "'@7x' does not belong here: it is pool.slots=NUMBER",
            ),
            (
                FaultError::Twice { part: text() },
                "'@7x' is one too many: another place or time is another --fault",
            ),
            (
                FaultError::Backwards { part: "2us..1us".into() },
                "'2us..1us' ends before it begins",
            ),
            (
                FaultError::Contradicts { other: "--fault pool.slots=3".into() },
                "--fault pool.slots=3 says otherwise",
            ),
            (FaultError::Set(UsageError::sentence("no such key")), "no such key"),
            (
                FaultError::Seed { kind: "riddle", text: text() },
                "riddle has a number, as in riddle=7, which '7x' is not",
            ),
            (FaultError::NothingToHide, "there is nothing to hide"),
            (FaultError::Level { text: text() }, "the line is stuck high or low, not '7x'"),
            (FaultError::Stays, "a line that is stuck high stays so: give @TIME"),
            (FaultError::ShareNumber { text: text() }, "'7x' is no number: #1 is the first"),
            (
                FaultError::Share { text: text() },
                "a share is a chance from 0 to 1, or #NUMBER for one, which '7x' is not",
            ),
            (FaultError::NoTime, "it is SHARE:TIME, as in 0.01:500ns"),
            (
                FaultError::Factor { text: text(), most: 1e6 },
                "a factor is a number from 1 to 1000000, which '7x' is not",
            ),
            (
                FaultError::Period { text: text(), least: Duration::from_us(1) },
                "'7x': the period must be longer than the pause by 1 us or more, in which the host \
                 gets on",
            ),
            (
                FaultError::NoTimeLeft,
                "with the other pauses there it leaves the host no time",
            ),
            (
                FaultError::Number { text: text(), least: 1, most: 256 },
                "a number from 1 to 256 is needed, not '7x'",
            ),
            (
                FaultError::Time { text: text(), why },
                "'7x': the unit is missing; allowed is a duration (a number with ps, ns, us or ms)",
            ),
            (
                FaultError::TooLong { text: text(), longest: Duration::from_us(1_000_000_000) },
                "'7x' is longer than 1000000 ms",
            ),
            (FaultError::NoNode, "a node's number is missing"),
            (
                FaultError::Node { text: text(), nodes: 4 },
                "there is no node 7x; the machine has 4",
            ),
            (
                FaultError::Link { text: text() },
                "a link is NODE-NODE, as in 0-1, which '7x' is not",
            ),
            (
                FaultError::Neighbours { from: 0, to: 5, network: "grid".into() },
                "nodes 0 and 5 are no neighbours in a grid",
            ),
        ];
        for (error, sentence) in cases {
            assert_eq!(error.to_string(), sentence);
        }
        let wrong = WrongFault { text: "riddle=x".into(), why: FaultError::NothingToHide };
        assert_eq!(wrong.to_string(), "--fault riddle=x: there is nothing to hide");
    }
}

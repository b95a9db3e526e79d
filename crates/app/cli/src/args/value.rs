//! Values of options: whole numbers, times, and what is said of values that cannot be taken.

use super::value_error::ValueError;
use des::Duration;
use machine::parameters::quantity::{Value, ValueKind};
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

/// Takes a whole number of `range`, or says what is allowed.
pub fn whole<T: FromStr + PartialOrd + Display + Clone>(
    range: RangeInclusive<T>,
) -> impl Fn(&str) -> Result<T, ValueError> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        let (first, last) = (range.start(), range.end());
        number.ok_or_else(|| ValueError::Whole { first: first.to_string(), last: last.to_string() })
    }
}

/// A simulated time.
pub fn time(text: &str) -> Result<Duration, ValueError> {
    match ValueKind::Duration.parse(text).map_err(ValueError::Time)? {
        Value::Duration(time) if time > Duration::ZERO => Ok(time),
        _ => Err(ValueError::Nothing),
    }
}

/// A message's name: the sender's node, and its number there.
pub fn message(text: &str) -> Result<abi::MessageId, ValueError> {
    let parts = text.split_once(':').map(|(node, number)| (node.parse(), number.parse()));
    match parts {
        Some((Ok(source_nid), Ok(serial))) => Ok(abi::MessageId { source_nid, serial }),
        _ => Err(ValueError::Message),
    }
}

/// A number of bytes: 24, 64K, 1M.
pub fn size(text: &str) -> Result<u64, ValueError> {
    let digits = text.trim_end_matches(['B', 'b']).trim_end_matches(['i']);
    let (digits, shift) = match digits.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&digits[..at], 10),
        Some((at, 'm' | 'M')) => (&digits[..at], 20),
        Some((at, 'g' | 'G')) => (&digits[..at], 30),
        _ => (digits, 0),
    };
    let bytes = digits.parse::<u64>().ok().filter(|bytes| *bytes <= u64::MAX >> shift);
    let bytes = bytes.map(|bytes| bytes << shift);
    bytes.ok_or(ValueError::Size)
}

/// A share: 2%, 0.5.
pub fn percent(text: &str) -> Result<f64, ValueError> {
    let number = text.strip_suffix('%').unwrap_or(text).trim_end().parse::<f64>().ok();
    number.filter(|number| number.is_finite() && *number >= 0.0).ok_or(ValueError::Percent)
}

/// Node that gdb debugs, and the port for it; 0 takes any free port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gdb {
    #[allow(missing_docs)]
    pub node: u32,
    #[allow(missing_docs)]
    pub port: u16,
}

impl FromStr for Gdb {
    type Err = ValueError;
    fn from_str(text: &str) -> Result<Gdb, ValueError> {
        let (node, port) = text.split_once(':').unwrap_or((text, "0"));
        match (node.parse(), port.parse()) {
            (Ok(node), Ok(port)) => Ok(Gdb { node, port }),
            (Err(_), _) => Err(ValueError::GdbNode),
            (_, Err(_)) => Err(ValueError::GdbPort),
        }
    }
}

/// Node that a monitor examines, and the source of its commands: a file, or standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Monitored {
    #[allow(missing_docs)]
    pub node: u32,
    #[allow(missing_docs)]
    pub file: Option<PathBuf>,
}

impl FromStr for Monitored {
    type Err = ValueError;
    fn from_str(text: &str) -> Result<Monitored, ValueError> {
        let (node, file) = match text.split_once(':') {
            Some((_, "")) => return Err(ValueError::MonitorFile),
            Some((node, file)) => (node, Some(file.into())),
            None => (text, None),
        };
        let node = node.parse().map_err(|_| ValueError::MonitorNode)?;
        Ok(Monitored { node, file })
    }
}

/// Mode in which RTL runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum RtlMode {
    /// In the place of its model.
    On,
    /// Held against the model, or where it is another's against the specification.
    Check,
    /// Held against the model, whosever it is.
    Exact,
}

impl Display for RtlMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            RtlMode::On => "on",
            RtlMode::Check => "check",
            RtlMode::Exact => "exact",
        })
    }
}

/// A waveform, and the message that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RtlWave {
    #[allow(missing_docs)]
    pub file: PathBuf,
    #[allow(missing_docs)]
    pub message: Option<abi::MessageId>,
}

impl FromStr for RtlWave {
    type Err = ValueError;
    fn from_str(text: &str) -> Result<RtlWave, ValueError> {
        let (file, name) = text.split_once('@').map_or((text, None), |(file, id)| (file, Some(id)));
        if file.is_empty() {
            return Err(ValueError::WaveFile);
        }
        Ok(RtlWave { file: file.into(), message: name.map(message).transpose()? })
    }
}

/// A part of the machine that has a console.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Console {
    /// That of the switch.
    Switch,
}

/// Nodes that are meant: one, or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nodes(Option<u32>);

impl Nodes {
    /// The node; `None` if it is all of them.
    pub fn number(self) -> Option<u32> {
        self.0
    }
}

impl FromStr for Nodes {
    type Err = ValueError;
    fn from_str(text: &str) -> Result<Nodes, ValueError> {
        match text {
            "all" => Ok(Nodes(None)),
            _ => text.parse().map(|nid| Nodes(Some(nid))).map_err(|_| ValueError::Nodes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::bench::{even, largest, largest_of_words};
    use crate::args::processes::Date;

    fn refused<T>(taken: Result<T, ValueError>) -> String {
        taken.err().expect("it is refused").to_string()
    }

    #[test]
    fn each_value_that_is_not_taken_has_a_sentence() {
        let cases = [
            (refused(whole(1..=1024_u16)("0")), "allowed is a whole number from 1 to 1024"),
            (refused(time("0 ns")), "it must be more than nothing"),
            (refused(message("17")), "a message is named NODE:NUMBER, as 0:17"),
            (refused(size("24T")), "a size is a number of bytes, as 24 or 64K"),
            (refused(percent("-1%")), "it is a number of percent, as 2%"),
            (refused(percent("inf")), "it is a number of percent, as 2%"),
            (refused("x".parse::<Gdb>()), "in NODE[:PORT], NODE is the number of a node"),
            (refused("1:70000".parse::<Gdb>()), "in NODE[:PORT], PORT is a number up to 65535"),
            (refused("x".parse::<Monitored>()), "in NODE[:FILE], NODE is the number of a node"),
            (refused("1:".parse::<Monitored>()), "in NODE[:FILE], FILE is the name of a file"),
            (
                refused("@0:17".parse::<RtlWave>()),
                "in FILE[@NODE:NUMBER], FILE is the name of a file",
            ),
            (refused("some".parse::<Nodes>()), "it is a number, or all"),
            (refused(largest("x")), "allowed is 0 to 1048576, the ping-pong's largest message"),
            (refused(largest_of_words("9")), "allowed is 8 to 1048576, in steps of 8"),
            (refused(even("3")), "allowed is an even number from 2 to 1024"),
            (refused("2026".parse::<Date>()), "it is now, or a date as 2026-01-31T12:00:00 (UTC)"),
            (refused("1970-06-01".parse::<Date>()), "it is 1971-01-01 or later"),
        ];
        for (said, sentence) in cases {
            assert_eq!(said, sentence);
        }
        // In the words of the machine files' reader.
        let why = ValueKind::Duration.parse("5").expect_err("it has no unit").to_string();
        assert_eq!(refused(time("5")), why);
    }
}

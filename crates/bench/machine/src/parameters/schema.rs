//! Parameters of a machine: one row for each key.

use super::quantity::{ParameterError, Value, ValueKind};
use std::fmt;

/// One parameter of a machine.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Dotted key, as in `--set KEY=VALUE`: section and name.
    pub key: &'static str,
    /// Kind of its value.
    pub kind: ValueKind,
    /// Least and greatest value, as text; both empty for words.
    pub range: (&'static str, &'static str),
}

impl Row {
    pub(crate) fn section(&self) -> &'static str {
        self.key.split('.').next().unwrap_or_default()
    }
    /// Reads a value of this parameter.
    pub fn parse(&self, text: &str) -> Result<Value, ParameterError> {
        let value = self.kind.parse(text)?;
        let number = value.number();
        if number.is_some_and(|n| n < self.bound(self.range.0) || n > self.bound(self.range.1)) {
            let (least, most) = self.range;
            return Err(ParameterError::OutOfRange { least, most });
        }
        Ok(value)
    }
    fn bound(&self, text: &str) -> u64 {
        let value = self.kind.parse(text).expect("the schema's ranges are checked by a test");
        value.number().expect("only numbers have ranges")
    }
}

/// Values of the parameter: "a duration (a number with ps, ns, us or ms), 0 ns to 1 ms".
impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        match self.range {
            ("", "") => Ok(()),
            (least, most) => write!(f, ", {least} to {most}"),
        }
    }
}

/// Text of a key, a bound or a word.
pub type Text = &'static str;

/// A duration.
pub const fn time(key: Text, least: Text, most: Text) -> Row {
    Row { key, kind: ValueKind::Duration, range: (least, most) }
}
/// A frequency.
pub const fn frequency(key: Text, least: Text, most: Text) -> Row {
    Row { key, kind: ValueKind::Frequency, range: (least, most) }
}
/// A rate in bytes a second.
pub const fn rate(key: Text, least: Text, most: Text) -> Row {
    Row { key, kind: ValueKind::Rate, range: (least, most) }
}
/// A size in bytes.
pub const fn bytes(key: Text, least: Text, most: Text) -> Row {
    Row { key, kind: ValueKind::Bytes, range: (least, most) }
}
/// A number of cycles.
pub const fn cycles(key: Text, least: Text, most: Text) -> Row {
    Row { key, kind: ValueKind::Cycles, range: (least, most) }
}
/// A count.
pub const fn count(key: Text, least: Text, most: Text) -> Row {
    Row { key, kind: ValueKind::Count, range: (least, most) }
}
/// A count that is a power of two.
pub const fn power_of_two(key: Text, least: Text, most: Text) -> Row {
    Row { key, kind: ValueKind::PowerOfTwo, range: (least, most) }
}
/// A switch, on or off.
pub const fn switch(key: Text) -> Row {
    Row { key, kind: ValueKind::Switch, range: ("", "") }
}
/// One of a few words.
pub const fn choice(key: Text, words: &'static [Text]) -> Row {
    Row { key, kind: ValueKind::Choice(words), range: ("", "") }
}

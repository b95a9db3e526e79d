//! Parameters of a machine: one row for each key.

use super::hosts;
use super::quantity::{Value, ValueKind};
use crate::models::{Model, Models};
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
    fn section(&self) -> &'static str {
        self.key.split('.').next().unwrap_or_default()
    }
    /// Reads a value of this parameter. The error follows "`KEY` is `TEXT`:".
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        let value = self.kind.parse(text)?;
        let number = value.number();
        if number.is_some_and(|n| n < self.bound(self.range.0) || n > self.bound(self.range.1)) {
            return Err(format!("allowed is {} to {}", self.range.0, self.range.1));
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

/// Least letters with which the beginning of a key, or a key without its section, identifies it.
const TELLING: usize = 4;

impl Models {
    /// The parameters of machines of a model, in the order in which they are printed.
    pub fn rows(&'static self, model: &'static Model) -> Vec<&'static Row> {
        let mut rows: Vec<&Row> = self.of_all().collect();
        for row in model.rows {
            let behind = rows.iter().rposition(|other| other.section() == row.section());
            rows.insert(behind.map_or(rows.len(), |behind| behind + 1), row);
        }
        rows
    }

    /// The row of `key`, of any model.
    pub fn row(&'static self, key: &str) -> Option<&'static Row> {
        self.all().find(|row| row.key == key)
    }

    /// The models that have the parameter `key`; none if all have, or none.
    pub fn owner(&self, key: &str) -> Option<&'static Model> {
        self.iter().find(|model| model.rows.iter().any(|row| row.key == key))
    }

    /// The rows of all models.
    pub fn all(&'static self) -> impl Iterator<Item = &'static Row> + Clone {
        self.of_all().chain(self.iter().flat_map(|model| model.rows))
    }

    /// The rows that every machine has.
    pub fn of_all(&'static self) -> impl Iterator<Item = &'static Row> + Clone {
        hosts::ROWS.iter().chain([self.choice()])
    }

    /// The existing key that a mistyped one was probably meant to be.
    pub fn nearest(&'static self, wrong: &str) -> Option<&'static str> {
        let mut keys = self.all().map(|row| row.key);
        let (distance, key) =
            keys.clone().map(|key| (strsim::levenshtein(wrong, key), key)).min()?;
        if distance <= (wrong.len() / 3).max(2) {
            return Some(key);
        }
        let parts = |key: &'static str| key.split_once('.').unwrap_or(("", key));
        if wrong.len() < TELLING || keys.clone().any(|key| parts(key).0 == wrong) {
            return None;
        }
        keys.find(|key| key.starts_with(wrong) || parts(key).1.starts_with(wrong))
    }

    /// "there is no parameter X; did you mean Y?"
    pub fn unknown(&'static self, key: &str) -> String {
        match self.nearest(key) {
            Some(nearest) => format!("there is no parameter {key}; did you mean {nearest}?"),
            None => format!("there is no parameter {key}; \"sunstar machines NAME\" lists all"),
        }
    }
}

//! Which parameters a machine has: one row a key.

use crate::quantity::{Kind, Value};
use std::fmt;

/// One parameter that every machine file has.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Dotted key, as in `--set KEY=VALUE`: section and name.
    pub key: &'static str,
    /// What sort of value it takes.
    pub kind: Kind,
    /// Least and greatest value, as text; both empty for words.
    pub range: (&'static str, &'static str),
}

impl Row {
    /// Reads a value of this parameter. The error stands after "`KEY` is `TEXT`:".
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

/// What the parameter takes: "a duration (a number with ps, ns, us or ms), 0 ns to 1 ms".
impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        match self.range {
            ("", "") => Ok(()),
            (least, most) => write!(f, ", {least} to {most}"),
        }
    }
}

const fn time(key: &'static str, least: &'static str, most: &'static str) -> Row {
    Row { key, kind: Kind::Duration, range: (least, most) }
}
const fn frequency(key: &'static str, least: &'static str, most: &'static str) -> Row {
    Row { key, kind: Kind::Frequency, range: (least, most) }
}
const fn rate(key: &'static str, least: &'static str, most: &'static str) -> Row {
    Row { key, kind: Kind::Rate, range: (least, most) }
}
const fn switch(key: &'static str) -> Row {
    Row { key, kind: Kind::Switch, range: ("", "") }
}
const fn choice(key: &'static str, words: &'static [&'static str]) -> Row {
    Row { key, kind: Kind::Choice(words), range: ("", "") }
}

/// All parameters, in the order in which they are printed.
pub const ROWS: &[Row] = &[
    choice("firmware.cache", &["id", "i", "off"]),
    switch("firmware.inline"),
    switch("firmware.shadow_fifos"),
    switch("firmware.pinned_regs"),
    switch("firmware.trace"),
    frequency("host.clock", "1 MHz", "100 GHz"),
    time("host.kernel_entry", "0 ns", "1 ms"),
    time("host.kernel_exit", "0 ns", "1 ms"),
    time("host.interrupt_entry", "0 ns", "1 ms"),
    time("host.interrupt_exit", "0 ns", "1 ms"),
    time("host.mmio_write", "0 ns", "1 ms"),
    time("host.copy_start", "0 ns", "1 ms"),
    rate("host.copy_rate", "1 MB/s", "1000 GB/s"),
    time("host.poll_period", "1 ns", "1 ms"),
];

/// The row of `key`.
pub fn row(key: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.key == key)
}

/// The existing key that a mistyped one was probably meant to be.
pub fn nearest(wrong: &str) -> Option<&'static str> {
    let (distance, key) = ROWS.iter().map(|row| (distance(wrong, row.key), row.key)).min()?;
    (distance <= (wrong.len() / 3).max(2)).then_some(key)
}

/// Levenshtein distance: letters to insert, remove or replace.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_can_be_read_and_keys_are_unique() {
        for (index, row) in ROWS.iter().enumerate() {
            if row.range != ("", "") {
                assert!(row.bound(row.range.0) <= row.bound(row.range.1), "{}", row.key);
            }
            let numeric = !matches!(row.kind, Kind::Choice(_) | Kind::Switch);
            assert_eq!(numeric, row.range != ("", ""), "{}", row.key);
            assert!(ROWS[..index].iter().all(|other| other.key != row.key), "{}", row.key);
            let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._".contains(c);
            assert!(row.key.contains('.') && row.key.chars().all(word), "{}", row.key);
        }
    }

    #[test]
    fn nearest_finds_slips_and_leaves_strangers() {
        assert_eq!(nearest("host.kernel_entri"), Some("host.kernel_entry"));
        assert_eq!(nearest("hots.clock"), Some("host.clock"));
        assert_eq!(nearest("completely.different"), None);
    }
}

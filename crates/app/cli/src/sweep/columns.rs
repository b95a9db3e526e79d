//! Columns of the table that are taken from a run's output and JSON.

use super::axis::{Value, Variable};
use super::plan::filled;
use machine::suggestion;
use regex_lite::{Regex, RegexBuilder};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use sunstar::usage_error::UsageError;

/// A column with the first match of an expression in the program's output.
#[derive(Debug)]
pub struct Take {
    /// Its heading.
    pub name: String,
    expression: String,
}

impl Take {
    /// `NAME=REGEX`; `values` are those of any point.
    pub fn parse(text: &str, values: &[(&Variable, &Value)]) -> Result<Take, UsageError> {
        let parts = text.split_once('=').filter(|(name, _)| !name.trim().is_empty());
        let (name, expression) = parts.ok_or_else(|| {
            UsageError::sentence(format!(
                "--take {text}: it must read NAME=REGEX, as in 'us=([0-9.]+) us'"
            ))
        })?;
        let take = Take { name: name.trim().to_string(), expression: expression.to_string() };
        match take.regex(values) {
            Ok(_) => Ok(take),
            Err(why) => {
                Err(UsageError::sentence(format!("--take {text}: {}", one_line(&why.to_string()))))
            }
        }
    }

    fn regex(&self, values: &[(&Variable, &Value)]) -> Result<Regex, regex_lite::Error> {
        let expression = filled(&self.expression, values, regex_lite::escape);
        RegexBuilder::new(&expression).multi_line(true).build()
    }

    /// Text that the expression finds in the output.
    pub fn find(&self, output: &str, values: &[(&Variable, &Value)]) -> Option<String> {
        let found = self.regex(values).ok()?.captures(output)?;
        let text = found.get(1).or_else(|| found.get(0))?;
        Some(text.as_str().to_string())
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Reduction of a list to one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fold {
    Sum,
    Max,
    Min,
    Mean,
}

const FOLDS: [(&str, Fold); 4] =
    [("sum", Fold::Sum), ("max", Fold::Max), ("min", Fold::Min), ("mean", Fold::Mean)];

/// A column with a value of the run's JSON.
#[derive(Debug)]
pub struct Column {
    /// Its heading.
    pub name: String,
    key: String,
    fold: Option<Fold>,
}

impl Column {
    /// Parses `KEY`, `FOLD(KEY)`, or either of them behind `NAME=`.
    pub fn parse(text: &str) -> Result<Column, UsageError> {
        let wrong = |why: &str| UsageError::sentence(format!("--column {text}: {why}"));
        let named = text.split_once('=').filter(|(name, _)| !name.contains(['(', '[']));
        let (name, what) = named.unwrap_or((text, text));
        let (name, what) = (name.trim(), what.trim());
        let (key, fold) = match what.strip_suffix(')').and_then(|what| what.split_once('(')) {
            Some((fold, key)) => {
                let found = FOLDS.iter().find(|(name, _)| *name == fold.trim());
                let unknown = "before brackets stands sum, max, min or mean";
                (key.trim(), Some(found.ok_or_else(|| wrong(unknown))?.1))
            }
            None => (what, None),
        };
        if name.is_empty() || key.is_empty() {
            return Err(wrong("it must read KEY or NAME=KEY, as in breakdown.total_ns"));
        }
        if key.contains("[]") && fold.is_none() {
            return Err(wrong(
                "[] stands for many values; say sum(KEY), max(KEY), min(KEY) or mean(KEY)",
            ));
        }
        Ok(Column { name: name.to_string(), key: key.to_string(), fold })
    }

    /// Keys of a report of which one was probably meant, if it has not this one.
    pub fn nearest(&self, report: &Json) -> Vec<String> {
        let mut keys = BTreeSet::new();
        keys_of(report, "", &mut keys);
        let near = suggestion::nearest(&self.key, keys.iter().map(String::as_str));
        near.into_iter().map(str::to_owned).collect()
    }

    /// The value in a report. `None` if there is no such key; empty if the key has no value.
    pub fn find(&self, report: &Json) -> Option<String> {
        let mut found = Vec::new();
        if !collect(report, &self.key, &mut found) {
            return None;
        }
        Some(match self.fold {
            Some(fold) => folded(fold, &found),
            None => found.first().map_or(String::new(), |value| cell(value)),
        })
    }
}

/// Collects the values under `key`, whose names may contain dots; false if a name is not there.
fn collect<'a>(value: &'a Json, key: &str, found: &mut Vec<&'a Json>) -> bool {
    if key.is_empty() {
        found.push(value);
        return true;
    }
    match value {
        // Told as unknown, as the breakdown of a run without messages.
        Json::Null => true,
        Json::Object(members) => {
            let key = key.strip_prefix('.').unwrap_or(key);
            let fits = |name: &&String| {
                let rest = key.strip_prefix(name.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
            };
            let name = members.keys().filter(fits).max_by_key(|name| name.len());
            name.is_some_and(|name| collect(&members[name], &key[name.len()..], found))
        }
        Json::Array(items) => {
            let Some((which, rest)) = key.strip_prefix('[').and_then(|key| key.split_once(']'))
            else {
                return false;
            };
            let named = |item: &&Json| ["name", "function"].iter().any(|key| item[*key] == which);
            let item = match which {
                "" => return items.iter().all(|item| collect(item, rest, found)),
                _ => which.parse::<usize>().ok().and_then(|n| items.get(n)),
            };
            // An item that is not there has no value in this run.
            item.or_else(|| items.iter().find(named)).is_none_or(|item| collect(item, rest, found))
        }
        _ => false,
    }
}

/// Keys of a report as columns name them: `[]` stands for all items of a list.
fn keys_of(value: &Json, key: &str, keys: &mut BTreeSet<String>) {
    match value {
        Json::Object(members) => {
            for (name, member) in members {
                let between = if key.is_empty() { "" } else { "." };
                keys_of(member, &format!("{key}{between}{name}"), keys);
            }
        }
        Json::Array(items) => {
            items.iter().for_each(|item| keys_of(item, &format!("{key}[]"), keys));
        }
        _ => {
            keys.insert(key.to_owned());
        }
    }
}

fn cell(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn folded(fold: Fold, values: &[&Json]) -> String {
    let numbers: Vec<f64> = values.iter().filter_map(|value| value.as_f64()).collect();
    let whole: Option<Vec<u64>> = values.iter().map(|value| value.as_u64()).collect();
    if numbers.is_empty() {
        return String::new();
    }
    match (fold, whole) {
        (Fold::Sum, Some(whole)) => whole.iter().map(|n| u128::from(*n)).sum::<u128>().to_string(),
        (Fold::Max, Some(whole)) => whole.iter().max().map_or(String::new(), u64::to_string),
        (Fold::Min, Some(whole)) => whole.iter().min().map_or(String::new(), u64::to_string),
        (Fold::Sum, None) => sum(&numbers).to_string(),
        (Fold::Max, None) => numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max).to_string(),
        (Fold::Min, None) => numbers.iter().copied().fold(f64::INFINITY, f64::min).to_string(),
        (Fold::Mean, _) => (sum(&numbers) / numbers.len() as f64).to_string(),
    }
}

/// Sum of times. They are whole picoseconds, given as decimals of nanoseconds, and so is the sum.
fn sum(numbers: &[f64]) -> f64 {
    let thousandths: Vec<f64> = numbers.iter().map(|number| (number * 1e3).round()).collect();
    match thousandths.iter().zip(numbers).all(|(whole, number)| whole / 1e3 == *number) {
        true => thousandths.iter().sum::<f64>() / 1e3,
        false => numbers.iter().sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::axis::Axis;
    use serde_json::json;

    /// Whatever letter of a key is lost or swapped, the key is told.
    #[test]
    fn a_key_that_is_mistyped_is_told() {
        let report = json!({
            "simulated_ns": 1, "breakdown": {"total_ns": 2},
            "nodes": [{"counters": {"rx.messages": 1}}, {"counters": {"rx.messages": 2}}],
        });
        let mut keys = BTreeSet::new();
        keys_of(&report, "", &mut keys);
        assert_eq!(keys.len(), 3, "{keys:?}");
        for key in keys {
            assert!(Column::parse(&format!("sum({key})")).unwrap().find(&report).is_some());
            for wrong in crate::args::mistake::mistyped(&key) {
                let column = Column::parse(&format!("sum({wrong})"));
                let Some(column) = column.ok().filter(|column| column.find(&report).is_none())
                else {
                    continue;
                };
                assert!(column.nearest(&report).contains(&key), "{wrong}");
            }
        }
    }

    #[test]
    fn keys_lead_to_values() {
        let report = json!({
            "simulated_ns": 12.5, "times": [0.1, 0.2, 0.3, 4.929],
            "breakdown": null, "trace_hash": "00ff",
            "mean": { "segments": [{ "name": "wire", "ns": 1.5 }, { "name": "a.b[", "ns": 2 }] },
            "nodes": [
                { "counters": { "tx.messages": 3, "tx.m": 9 }, "host_ns": { "user": 0.5 } },
                { "counters": { "tx.messages": 4 }, "host_ns": { "user": 1.0 } },
            ],
        });
        let cases = [
            ("simulated_ns", Some("12.5")),
            ("hash=trace_hash", Some("00ff")),
            ("breakdown.total_ns", Some("")),
            ("mean.segments[wire].ns", Some("1.5")),
            ("mean.segments[nothing].ns", Some("")),
            ("nodes[1].counters.tx.messages", Some("4")),
            ("sum(nodes[].counters.tx.messages)", Some("7")),
            ("most = max(nodes[].counters.tx.messages)", Some("4")),
            ("mean(nodes[].host_ns.user)", Some("0.75")),
            ("min(nodes[].host_ns.user)", Some("0.5")),
            ("sum(times[])", Some("5.529")),
            ("simulated", None),
            ("simulated_ns.more", None),
            ("nodes.counters", None),
            ("sum(nodes[].counters.rx)", None),
        ];
        for (text, expected) in cases {
            let found = Column::parse(text).unwrap().find(&report);
            assert_eq!(found.as_deref(), expected, "{text}");
        }
        assert_eq!(Column::parse("most = max(nodes[].x)").unwrap().name, "most");
        for (text, word) in [("nodes[].x", "sum(KEY)"), ("all(x)", "sum, max"), ("a=", "NAME=KEY")]
        {
            let said = Column::parse(text).unwrap_err().to_string();
            assert!(said.contains(word), "{text}: {said}");
        }
    }

    #[test]
    fn output_is_searched_line_by_line_for_the_points_own_values() {
        let axis = Axis::parse("arg.size=8,16.5").unwrap();
        let variable = &axis.variables[0];
        let values = |at: usize| vec![(variable, &variable.values[at])];
        let output = "bytes us\n  8 1.5\n 16x5 9\n 16.5 2.5\n";
        let take = Take::parse(r"us=^ *{size} +([0-9.]+)$", &values(0)).unwrap();
        assert_eq!(take.find(output, &values(0)).as_deref(), Some("1.5"));
        assert_eq!(take.find(output, &values(1)).as_deref(), Some("2.5"));
        let whole = Take::parse(r"n=[0-9]{2,3}", &values(0)).unwrap();
        assert_eq!(whole.find(output, &values(0)).as_deref(), Some("16"));
        assert_eq!(whole.find("none", &values(0)), None);
        for (text, word) in [("us", "NAME=REGEX"), ("=x", "NAME=REGEX"), ("us=(", "us=(: ")] {
            let said = Take::parse(text, &values(0)).unwrap_err().to_string();
            assert!(said.contains(word) && !said.contains('\n'), "{text}: {said}");
        }
    }
}

//! The plan of a sweep: its axes, their order, and the command line of each point.

use super::axis::{Axis, Target, Value, Variable, POINTS_MAX};
use super::axis_error::AxisError;
use crate::args::{MachineOptions, SweepOptions};
use machine::input;
use machine::parameters::hosts::Cores;
use std::ffi::OsString;
use std::path::Path;
use sunstar::usage_error::UsageError;

/// The value of `fault` for a point at which none is added.
const NO_FAULT: &str = "none";

/// Contents of a plan file.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// A table for each axis.
    #[serde(default)]
    vary: Vec<toml::Table>,
    #[serde(default)]
    take: Vec<String>,
    #[serde(default)]
    column: Vec<String>,
}

/// Axes and columns of a sweep, from the command line and the plan file.
#[derive(Debug)]
pub struct Plan {
    /// Axes, the slowest first.
    axes: Vec<Axis>,
    /// Columns taken from the output.
    pub take: Vec<String>,
    /// Columns taken from the JSON.
    pub columns: Vec<String>,
}

/// Arguments of `sunstar run` for one point.
#[derive(Clone, Debug)]
pub struct Point {
    /// Machine and settings.
    pub machine: MachineOptions,
    /// Ranks.
    pub ranks: u32,
    /// Seed.
    pub seed: u64,
    /// Cost of computation.
    pub compute: String,
    /// Faults.
    pub faults: Vec<String>,
    /// Program and arguments.
    pub command: Vec<String>,
}

impl Plan {
    /// Reads the axes and columns, and checks them.
    pub fn of(options: &SweepOptions) -> Result<Plan, UsageError> {
        let file = match &options.plan {
            Some(path) => read(path)?,
            None => File::default(),
        };
        let mut axes = Vec::new();
        if let Some(path) = &options.plan {
            for table in &file.vary {
                let axis = axis_of(table);
                axes.push(
                    axis.map_err(|why| UsageError::sentence(format!("{}: {why}", path.display())))?,
                );
            }
        }
        for text in &options.vary {
            axes.push(Axis::parse(text)?);
        }
        let take = file.take.into_iter().chain(options.take.iter().cloned()).collect();
        let columns = file.column.into_iter().chain(options.columns.iter().cloned()).collect();
        let plan = Plan { axes, take, columns };
        plan.check(options)?;
        Ok(plan)
    }

    /// All varied names, in the order of the columns.
    pub fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.axes.iter().flat_map(|axis| &axis.variables)
    }
    /// Number of points.
    pub fn len(&self) -> usize {
        self.axes.iter().map(Axis::len).product()
    }
    /// Index of each axis' value at a point; the last axis varies fastest.
    pub fn position(&self, mut index: usize) -> Vec<usize> {
        let mut position = vec![0; self.axes.len()];
        for (place, axis) in position.iter_mut().zip(&self.axes).rev() {
            *place = index % axis.len();
            index /= axis.len();
        }
        position
    }
    /// Number of values of each axis.
    pub fn lengths(&self) -> Vec<usize> {
        self.axes.iter().map(Axis::len).collect()
    }
    /// The values of a point, in the order of the columns.
    pub fn values(&self, index: usize) -> Vec<(&Variable, &Value)> {
        let position = self.position(index);
        let places = self.axes.iter().zip(position);
        places
            .flat_map(|(axis, at)| axis.variables.iter().map(move |v| (v, &v.values[at])))
            .collect()
    }
    /// Command line of a point's run.
    pub fn point(&self, options: &SweepOptions, index: usize) -> Point {
        let mut machine = options.machine.clone();
        let per_node = options.ranks_per_node.map(|n| format!("{}={n}", Cores::ranks_per_node));
        machine.overrides.extend(per_node);
        let mut point = Point {
            machine,
            ranks: options.ranks.unwrap_or(1),
            seed: options.seed.unwrap_or(1),
            compute: options.compute.unwrap_or_default().to_string(),
            faults: options.faults.clone(),
            command: words(&options.command),
        };
        let values = self.values(index);
        for (variable, value) in &values {
            let text = value.text.clone();
            let number = || text.parse().expect("it was checked to be a number that fits");
            match variable.target {
                Target::Parameter(key) => point.machine.overrides.push(format!("{key}={text}")),
                Target::Argument => {}
                Target::Machine => point.machine.machine = text,
                Target::Ranks => point.ranks = number() as u32,
                Target::Seed => point.seed = number(),
                Target::Fault if text == NO_FAULT => {}
                Target::Fault => point.faults.push(text),
                Target::Compute => point.compute = text,
            }
        }
        for word in &mut point.command {
            *word = filled(word, &values, str::to_string);
        }
        point
    }

    fn check(&self, options: &SweepOptions) -> Result<(), UsageError> {
        if self.axes.is_empty() {
            return Err(UsageError::sentence(
                "nothing is varied; say what, as in --vary host.interrupt_entry=1us..5us:1us",
            ));
        }
        let points = self.axes.iter().try_fold(1_usize, |n, axis| n.checked_mul(axis.len()));
        if points.is_none_or(|points| points > POINTS_MAX) {
            return Err(UsageError::sentence(format!(
                "the sweep has more than {POINTS_MAX} points"
            )));
        }
        let command = words(&options.command);
        let variables: Vec<&Variable> = self.variables().collect();
        for (at, variable) in variables.iter().enumerate() {
            let name = &variable.name;
            let twice =
                |other: &str| UsageError::sentence(format!("{name} is varied, and {other}"));
            if variables[..at].iter().any(|other| other.name == *name) {
                return Err(twice("varied once more"));
            }
            let set = |key: &str| {
                let keys = options.machine.overrides.iter().filter_map(|o| o.split_once('='));
                let per_node = options.ranks_per_node.is_some() && key == Cores::ranks_per_node;
                per_node || keys.map(|(other, _)| other.trim()).any(|other| other == key)
            };
            match variable.target {
                Target::Parameter(key) if set(key) => return Err(twice("set as well")),
                Target::Ranks if options.ranks.is_some() => return Err(twice("given with -n")),
                Target::Seed if options.seed.is_some() => return Err(twice("given with --seed")),
                Target::Compute if options.compute.is_some() => {
                    return Err(twice("given with --compute"));
                }
                Target::Argument => {
                    let place = format!("{{{}}}", variable.placeholder());
                    if !command.iter().any(|word| word.contains(&place)) {
                        return Err(twice(&format!(
                            "{place} stands nowhere in the program's arguments"
                        )));
                    }
                }
                _ => {}
            }
            check_words(variable)?;
        }
        let unfilled = command.iter().find_map(|word| {
            let left = placeholders(word);
            left.into_iter().find(|name| variables.iter().all(|v| v.placeholder() != *name))
        });
        match unfilled {
            Some(name) => Err(UsageError::sentence(format!(
                "{{{name}}} stands in the program's arguments, but no arg.{name} is varied"
            ))),
            None => Ok(()),
        }
    }
}

/// Checks values that otherwise only a run's own command line would check.
fn check_words(variable: &Variable) -> Result<(), UsageError> {
    for Value { text, .. } in &variable.values {
        let why = match variable.target {
            Target::Ranks => {
                let fits = text.parse::<u32>().is_ok_and(|ranks| ranks > 0);
                (!fits).then(|| "allowed is a number from 1 on".to_string())
            }
            Target::Seed => {
                text.parse::<u64>().is_err().then(|| "allowed is a whole number".to_string())
            }
            Target::Compute => text.parse::<rank::Compute>().err().map(|why| why.to_string()),
            _ => None,
        };
        if let Some(why) = why {
            return Err(UsageError::sentence(format!("{} is \"{text}\": {why}", variable.name)));
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<File, UsageError> {
    let text = input::text(path).map_err(|why| UsageError::with_file("read", path, why))?;
    toml::from_str(&text).map_err(|why| {
        let line = why.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        let why = why.message().replace('\n', ", ");
        UsageError::sentence(format!("{}:{line}: {why}", path.display()))
    })
}

/// Axis of a `[[vary]]` table, whose names change together. `net.flit` may be quoted or not.
fn axis_of(table: &toml::Table) -> Result<Axis, AxisError> {
    let mut variables = Vec::new();
    let mut tables = vec![(String::new(), table)];
    while let Some((path, table)) = tables.pop() {
        for (key, value) in table {
            let name = format!("{path}{key}");
            match value {
                toml::Value::Table(inner) => tables.push((format!("{name}."), inner)),
                toml::Value::String(text) => {
                    let items: Vec<&str> = text.split(',').map(str::trim).collect();
                    variables.push(Variable::of(&name, &items)?);
                }
                toml::Value::Array(items) => {
                    let items: Result<Vec<String>, AxisError> =
                        items.iter().map(|item| item_of(&name, item)).collect();
                    let items = items?;
                    let items: Vec<&str> = items.iter().map(|item| item.trim()).collect();
                    variables.push(Variable::of(&name, &items)?);
                }
                other => variables.push(Variable::of(&name, &[&item_of(&name, other)?])?),
            }
        }
    }
    Axis::of(variables)
}

fn item_of(name: &str, value: &toml::Value) -> Result<String, AxisError> {
    match value {
        toml::Value::String(text) => Ok(text.clone()),
        toml::Value::Integer(number) => Ok(number.to_string()),
        toml::Value::Float(number) => Ok(number.to_string()),
        other => Err(AxisError::Kind { name: name.to_owned(), value: other.to_string() }),
    }
}

fn words(command: &[OsString]) -> Vec<String> {
    command.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// `text` with the values of a point for the names in braces; `dress` converts each value.
pub fn filled(
    text: &str,
    values: &[(&Variable, &Value)],
    dress: impl Fn(&str) -> String,
) -> String {
    let mut out = text.to_string();
    for (variable, value) in values {
        let place = format!("{{{}}}", variable.placeholder());
        out = out.replace(&place, &dress(&value.text));
    }
    out
}

/// Names in braces: `{size}`. Other text in braces is the program's own.
fn placeholders(word: &str) -> Vec<&str> {
    let named = |name: &&str| {
        let first = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        first && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
    };
    let inner = word.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
    inner.filter(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_values_of_which_there_can_be_one_a_point() {
        let axis = |text: &str| axis_of(&text.parse().expect("it is TOML"));
        let error = axis("seed = true").unwrap_err();
        let sentence = "seed is true; allowed are strings, numbers and lists of them";
        assert_eq!(error.to_string(), sentence);
        assert_eq!(axis("").unwrap_err().to_string(), "nothing is varied");
    }
}

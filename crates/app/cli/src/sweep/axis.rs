//! Axes of a sweep: names, and the values that they go through.
//!
//! ```text
//! NAME=ITEM,ITEM,...        ITEM: a value, FIRST..LAST:STEP, or FIRST..LAST:xFACTOR
//! NAME=...; NAME=...        go in step: the first values of all, the second ones, and so on
//! ```

use super::axis_error::{AxisError, ItemError};
use machine::models::UnknownParameter;
use machine::parameters::quantity::ValueKind;
use machine::parameters::Row;
use machine::suggestion;
use models::MODELS;
use sunstar::usage_error::UsageError;

/// Points that a sweep may have.
pub const POINTS_MAX: usize = 100_000;

/// Prefix of an argument of the program.
const ARGUMENT: &str = "arg.";

/// Names that can be varied beside parameters and arguments.
const OTHERS: [(&str, Target); 5] = [
    ("machine", Target::Machine),
    ("ranks", Target::Ranks),
    ("seed", Target::Seed),
    ("fault", Target::Fault),
    ("compute", Target::Compute),
];

/// The same names, and that of arguments.
pub const NAMES: [&str; 6] = ["machine", "ranks", "seed", "fault", "compute", "arg."];

/// Part of a run's command line that gets the values of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A parameter of the machine.
    Parameter(&'static str),
    /// `{NAME}` in the program's arguments.
    Argument,
    /// `--machine`.
    Machine,
    /// `-n`.
    Ranks,
    /// `--seed`.
    Seed,
    /// `--fault`.
    Fault,
    /// `--compute`.
    Compute,
}

/// One value of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// Text for a run.
    pub text: String,
    /// Text for the table: a plain number in the unit of the column, or the word.
    pub cell: String,
}

/// A name with its values.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The whole name.
    pub name: String,
    /// Part of the command line that gets the values.
    pub target: Target,
    /// Unit of the cells; empty if they need none.
    pub unit: &'static str,
    /// The values.
    pub values: Vec<Value>,
}

impl Variable {
    /// Name in braces for it in the program's arguments.
    pub fn placeholder(&self) -> &str {
        self.name.strip_prefix(ARGUMENT).unwrap_or(&self.name)
    }
    /// Heading of its column.
    pub fn heading(&self) -> String {
        match self.unit {
            "" => self.name.clone(),
            unit => format!("{} ({unit})", self.name),
        }
    }

    /// `NAME=VALUES`; the error does not name the option.
    fn parse(text: &str) -> Result<Variable, AxisError> {
        let (name, values) = text.split_once('=').ok_or(AxisError::NoValues)?;
        let items: Vec<&str> = values.split(',').map(str::trim).collect();
        Variable::of(name.trim(), &items)
    }

    /// A name with items that are values or ranges.
    pub fn of(name: &str, items: &[&str]) -> Result<Variable, AxisError> {
        let numbers = numbers_of(name)?;
        let own = || name.to_owned();
        if items.is_empty() || items.contains(&"") {
            return Err(AxisError::Empty { name: own() });
        }
        let unit = match numbers {
            Numbers::Quantity(kind, _) => kind.unit_of(items[0].split("..").next().unwrap_or("")),
            _ => None,
        };
        let unit = unit.unwrap_or_default();
        let mut values = Vec::new();
        for item in items {
            let wrong = |why| AxisError::Item { name: own(), item: (*item).to_owned(), why };
            let expanded = numbers.expand(item, unit).map_err(Box::new);
            values.extend(expanded.map_err(wrong)?);
            if values.len() > POINTS_MAX {
                return Err(AxisError::TooMany { name: own(), most: POINTS_MAX });
            }
        }
        let target = target_of(name).ok_or_else(|| AxisError::Misspelt(MODELS.unknown(name)))?;
        Ok(Variable { name: own(), target, unit, values })
    }
}

/// Names whose values change together; only one in most cases.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The names; all have the same number of values.
    pub variables: Vec<Variable>,
}

impl Axis {
    /// Parses a value of `--vary`.
    pub fn parse(text: &str) -> Result<Axis, UsageError> {
        let variables = text.split(';').map(Variable::parse).collect::<Result<_, _>>();
        let axis = variables.and_then(Axis::of);
        axis.map_err(|why| UsageError::sentence(format!("--vary {text}: {why}")))
    }

    /// Axis of names that change together.
    pub fn of(variables: Vec<Variable>) -> Result<Axis, AxisError> {
        let first = variables.first().ok_or(AxisError::Nothing)?;
        let other = variables.iter().find(|v| v.values.len() != first.values.len());
        if let Some(other) = other {
            let [(first, values), (other, others)] =
                [first, other].map(|variable| (variable.name.clone(), variable.values.len()));
            return Err(AxisError::Step { first, values, other, others });
        }
        Ok(Axis { variables })
    }

    /// Number of values of each name.
    pub fn len(&self) -> usize {
        self.variables[0].values.len()
    }
}

/// An axis of that name with a value that most take, for tests of names.
#[cfg(test)]
pub fn axis_of(name: &str) -> Result<Axis, UsageError> {
    Axis::parse(&format!("{name}=1"))
}

fn target_of(name: &str) -> Option<Target> {
    if name.starts_with(ARGUMENT) {
        return Some(Target::Argument);
    }
    let other = OTHERS.iter().find(|(other, _)| *other == name).map(|(_, target)| *target);
    other.or_else(|| MODELS.row(name).map(|row| Target::Parameter(row.key)))
}

/// Kind of the values of a name.
#[derive(Clone, Copy)]
enum Numbers {
    /// A quantity, of a parameter if there is a row.
    Quantity(ValueKind, Option<&'static Row>),
    /// Any words, and ranges if both ends are numbers.
    Free,
    /// Words only.
    Words,
}

fn numbers_of(name: &str) -> Result<Numbers, AxisError> {
    match target_of(name) {
        Some(Target::Parameter(key)) => {
            let row = MODELS.row(key).expect("the target was made from it");
            Ok(Numbers::Quantity(row.kind, Some(row)))
        }
        Some(Target::Ranks | Target::Seed) => Ok(Numbers::Quantity(ValueKind::Count, None)),
        Some(Target::Argument) => {
            let word = &name[ARGUMENT.len()..];
            let letters = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            let fits = word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            match fits && word.chars().all(letters) {
                true => Ok(Numbers::Free),
                false => Err(AxisError::Argument { name: name.to_owned() }),
            }
        }
        Some(Target::Machine | Target::Fault | Target::Compute) => Ok(Numbers::Words),
        None => {
            let others = OTHERS.map(|(other, _)| other).join(", ");
            let meant = suggestion::nearest(name, OTHERS.map(|(other, _)| other));
            Err(match MODELS.unknown(name) {
                told if !meant.is_empty() => {
                    AxisError::Misspelt(UnknownParameter { meant, ..told })
                }
                told if !told.meant.is_empty() => AxisError::Misspelt(told),
                told => AxisError::Unknown { told, others },
            })
        }
    }
}

impl Numbers {
    /// The values of an item; `unit` is that of the cells.
    fn expand(self, item: &str, unit: &str) -> Result<Vec<Value>, ItemError> {
        let range = item.split_once("..");
        match self {
            Numbers::Words => Ok(vec![word(item)]),
            Numbers::Free => match range.map(|(first, rest)| free_range(first, rest)) {
                Some(Some(values)) => values,
                _ => Ok(vec![word(item)]),
            },
            Numbers::Quantity(kind, row) => {
                let parse = |text: &str| match row {
                    Some(row) => row.parse(text),
                    None => kind.parse(text),
                };
                let parse_within = |text: &str| {
                    parse(text).map_err(|why| ItemError::Within { text: text.to_owned(), why })
                };
                let Some((first, rest)) = range else {
                    let number = parse(item).map_err(ItemError::Value)?.number();
                    let cell = number.map_or(item.to_string(), |n| kind.in_unit(n, unit));
                    return Ok(vec![Value { text: item.to_string(), cell }]);
                };
                let (last, step) = rest.split_once(':').ok_or(ItemError::NoStep)?;
                let (first, last, step) = (first.trim(), last.trim(), step.trim());
                let number =
                    |text: &str| parse_within(text)?.number().ok_or(ItemError::Words(kind));
                let (from, to) = (number(first)?, number(last)?);
                let step = match step.strip_prefix('x') {
                    Some(factor) => Step::Times(factor_of(factor)?),
                    // A step may be less than the least value, or not be a power of two.
                    None => Step::Plus(step_of(kind, step)?.into()),
                };
                let own = kind.unit_of(first).unwrap_or_default();
                let numbers = range_of(from.into(), to.into(), step)?;
                let value = |number: i128| {
                    let number = u64::try_from(number).expect("it lies between two such numbers");
                    let text = written(kind, number, own);
                    // A step may also lead between what is allowed, as from one power of two to the next.
                    parse_within(&text)?;
                    Ok(Value { text, cell: kind.in_unit(number, unit) })
                };
                numbers.into_iter().map(value).collect()
            }
        }
    }
}

fn word(text: &str) -> Value {
    Value { text: text.to_string(), cell: text.to_string() }
}

/// Step of a range.
enum Step {
    Plus(i128),
    Times(f64),
}

fn step_of(kind: ValueKind, text: &str) -> Result<u64, ItemError> {
    let kind = if kind == ValueKind::PowerOfTwo { ValueKind::Count } else { kind };
    let value =
        kind.parse(text).map_err(|why| ItemError::StepValue { text: text.to_owned(), why })?;
    value.number().ok_or(ItemError::Words(kind))
}

fn factor_of(text: &str) -> Result<f64, ItemError> {
    let factor = text.parse::<f64>().ok().filter(|factor| factor.is_finite() && *factor > 1.0);
    factor.ok_or_else(|| ItemError::Factor { text: text.to_owned() })
}

/// A number with its unit, so that it can be parsed again: in `unit` if that takes few digits.
fn written(kind: ValueKind, number: u64, unit: &str) -> String {
    const DIGITS: usize = 9;
    let text = kind.in_unit(number, unit);
    let digits = text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let smallest = kind.smallest_unit();
    match digits <= DIGITS {
        true => format!("{text}{unit}"),
        false => format!("{number}{smallest}"),
    }
}

/// The numbers from `first` on that are not beyond `last`.
fn range_of(first: i128, last: i128, step: Step) -> Result<Vec<i128>, ItemError> {
    if last < first {
        return Err(ItemError::Backwards);
    }
    let mut numbers = vec![first];
    let mut next = first;
    for power in 1.. {
        next = match step {
            Step::Plus(step) if step > 0 => next + step,
            Step::Plus(_) => return Err(ItemError::NoWay),
            Step::Times(_) if first <= 0 => return Err(ItemError::FromZero),
            Step::Times(factor) => (first as f64 * factor.powi(power)).round() as i128,
        };
        if next > last {
            break;
        }
        // Rounding makes neighbours equal where the factor is small.
        if Some(&next) != numbers.last() {
            numbers.push(next);
        }
        if numbers.len() > POINTS_MAX || power as usize > POINTS_MAX {
            return Err(ItemError::TooMany { most: POINTS_MAX });
        }
    }
    Ok(numbers)
}

/// A range of arguments: all are decimals, written with as many digits as the longest. `None` if it only
/// looks like a range, as a path may.
fn free_range(first: &str, rest: &str) -> Option<Result<Vec<Value>, ItemError>> {
    let (last, step) = rest.split_once(':').unwrap_or((rest, ""));
    let (first, last, step) = (first.trim(), last.trim(), step.trim());
    let (first, last) = (Decimal::parse(first)?, Decimal::parse(last)?);
    let by = match step.strip_prefix('x') {
        Some(factor) => factor_of(factor).map(|factor| (Step::Times(factor), 0)),
        None => match Decimal::parse(step) {
            Some(step) => Ok((Step::Plus(step.number), step.digits)),
            None => Err(ItemError::NoStep),
        },
    };
    Some(by.and_then(|(step, step_digits)| {
        let digits = first.digits.max(last.digits).max(step_digits);
        let step = match step {
            Step::Plus(number) => Step::Plus(number * 10_i128.pow(digits - step_digits)),
            times @ Step::Times(_) => times,
        };
        let numbers = range_of(first.with(digits), last.with(digits), step)?;
        Ok(numbers.into_iter().map(|n| word(&Decimal { number: n, digits }.to_string())).collect())
    }))
}

/// A decimal number: `number` divided by ten to the power of `digits`.
#[derive(Clone, Copy)]
struct Decimal {
    number: i128,
    digits: u32,
}

impl Decimal {
    fn parse(text: &str) -> Option<Decimal> {
        let (sign, magnitude) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text),
        };
        let (whole, fraction) = magnitude.split_once('.').unwrap_or((magnitude, ""));
        let digits = format!("{whole}{fraction}");
        let fits = (1..=18).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
        let number = digits.parse::<i128>().ok().filter(|_| fits)?;
        Some(Decimal { number: sign * number, digits: fraction.len() as u32 })
    }
    fn with(self, digits: u32) -> i128 {
        self.number * 10_i128.pow(digits - self.digits)
    }
}

impl std::fmt::Display for Decimal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.number < 0 { "-" } else { "" };
        let one = 10_u128.pow(self.digits);
        let magnitude = self.number.unsigned_abs();
        write!(f, "{sign}{}", magnitude / one)?;
        match self.digits {
            0 => Ok(()),
            digits => write!(f, ".{:0width$}", magnitude % one, width = digits as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> (String, Vec<String>, Vec<String>) {
        let variable = Variable::parse(text).unwrap();
        let (texts, cells) =
            variable.values.iter().map(|v| (v.text.clone(), v.cell.clone())).unzip();
        (variable.heading(), texts, cells)
    }

    #[test]
    fn values_keep_their_unit_and_columns_have_one() {
        let (heading, texts, cells) = values("host.interrupt_entry=500ns, 1us..3us:1us ,0.01 ms");
        assert_eq!(heading, "host.interrupt_entry (ns)");
        assert_eq!(texts, ["500ns", "1us", "2us", "3us", "0.01 ms"]);
        assert_eq!(cells, ["500", "1000", "2000", "3000", "10000"]);
        let (heading, texts, _) = values("firmware.cache=id,none");
        assert_eq!((&*heading, texts), ("firmware.cache", ["id", "none"].map(String::from).into()));
        let (_, texts, _) = values("linux.page_run=1..16:x2");
        assert_eq!(texts, ["1", "2", "4", "8", "16"]);
        let (heading, texts, cells) = values("ppc440.load=1 cycles..3 cycles:1 cycles");
        assert_eq!(heading, "ppc440.load (cycles)");
        assert_eq!((texts[1].as_str(), cells[1].as_str()), ("2cycles", "2"));
    }

    #[test]
    fn factors_reach_the_end_and_round_to_what_can_be_said() {
        assert_eq!(values("ht.bandwidth=1GB/s..8GB/s:x2").1, ["1GB/s", "2GB/s", "4GB/s", "8GB/s"]);
        assert_eq!(values("net.flit=1ns..2ns:x1.5").1, ["1ns", "1.5ns"]);
        assert_eq!(values("ranks=2..1024:x8").1, ["2", "16", "128", "1024"]);
        assert_eq!(values("seed=1..9:x1.5").1, ["1", "2", "3", "5", "8"]);
    }

    #[test]
    fn arguments_are_what_the_program_makes_of_them() {
        assert_eq!(values("arg.size=0,8..64:x2,hello").1, ["0", "8", "16", "32", "64", "hello"]);
        assert_eq!(values("arg.x=-1..0.5:0.5").1, ["-1.0", "-0.5", "0.0", "0.5"]);
        assert_eq!(values("arg.file=../a,b..c").1, ["../a", "b..c"]);
    }

    #[test]
    fn names_in_step_have_as_many_values() {
        let axis = Axis::parse("net.flit=1ns,2ns; net.port_flit=3ns,4ns").unwrap();
        assert_eq!((axis.variables.len(), axis.len()), (2, 2));
        let text = "net.flit=1ns,2ns;net.port_flit=3ns";
        let sentence = "net.flit has 2 values and net.port_flit has 1, but they go in step";
        let wrong = Axis::parse(text).unwrap_err().to_string();
        assert_eq!(wrong, format!("--vary {text}: {sentence}"));
    }

    #[test]
    fn mistakes_are_named() {
        let range = "a range reads FIRST..LAST:STEP or FIRST..LAST:xFACTOR";
        let cases = [
            ("net.flit", "it must read NAME=VALUES, as in host.interrupt_entry=1us..5us:1us"),
            ("net.flit=", "net.flit has an empty value"),
            ("net.flit=1ns,,2ns", "net.flit has an empty value"),
            ("host.interrupt=1us", "did you mean host.interrupt_entry?"),
            (
                "size=8",
                "; beside parameters there are arg.NAME, machine, ranks, seed, fault, compute",
            ),
            ("arg.=8", "arg.: after arg. stands a name of letters and digits"),
            ("net.flit=1", "the unit is missing"),
            ("net.flit=1 GB", "the unit GB does not fit"),
            ("net.flit=2 ms", "allowed is 1 ps to 1 ms"),
            ("net.flit=1ns..2ns", range),
            ("net.flit=1..2ns:1ns", "net.flit is \"1..2ns:1ns\": \"1\": the unit is missing"),
            ("net.flit=1ns..2ns:1", "the step \"1\": the unit is missing"),
            ("net.flit=2ns..1ns:1ns", "the end of the range lies before its start"),
            ("net.flit=1ns..2ns:0ns", "the step must be more than nothing"),
            ("net.flit=1ns..2ns:x1", "the factor \"1\" must be a number above 1, as in x2"),
            ("host.copy_start=0ns..2ns:x2", "a range with a factor must start above 0"),
            ("net.flit=1ps..1ms:1ps", "the range has more than 100000 values"),
            ("seed=1..60000:1,1..60000:1", "seed has more than 100000 values"),
            ("firmware.inline=on..off:1", "a range needs numbers; allowed is "),
            ("linux.page_run=1..4:1", "a power of two"),
            ("arg.n=1..5", range),
            ("arg.n=1..1000000:1", "more than 100000 values"),
        ];
        for (text, expected) in cases {
            let said = Axis::parse(text).unwrap_err().to_string();
            assert!(said.contains(expected), "{text}: {said}");
        }
    }
}

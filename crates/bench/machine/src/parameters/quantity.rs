//! Values with units, as machine files and the command line write them: `40 ns`, `2.0 GHz`, `1.5 GB/s`.

use des::Duration;
use std::fmt;

/// Kind of a parameter's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// A span of time: ps, ns, us, ms.
    Duration,
    /// Hz, kHz, MHz, GHz.
    Frequency,
    /// B, KB (1000), MB, GB, KiB (1024), MiB, GiB.
    Bytes,
    /// B/s, KB/s, MB/s (1e6), GB/s (1e9).
    Rate,
    /// Periods of the clock of its section.
    Cycles,
    /// A bare whole number.
    Count,
    /// A bare power of two.
    PowerOfTwo,
    /// One of a few words.
    Choice(&'static [&'static str]),
    /// `on` or `off`.
    Switch,
}

/// A value without its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A [`ValueKind::Duration`].
    Duration(Duration),
    /// A [`ValueKind::Frequency`], in hertz.
    Frequency(u64),
    /// A [`ValueKind::Bytes`].
    Bytes(u64),
    /// A [`ValueKind::Rate`], in bytes a second.
    Rate(u64),
    /// A [`ValueKind::Cycles`].
    Cycles(u64),
    /// A [`ValueKind::Count`] or [`ValueKind::PowerOfTwo`].
    Count(u64),
    /// A [`ValueKind::Choice`].
    Choice(&'static str),
    /// A [`ValueKind::Switch`].
    Switch(bool),
}

impl Value {
    /// The number in its smallest unit; `None` for words.
    pub fn number(self) -> Option<u64> {
        match self {
            Value::Duration(Duration(n)) => Some(n),
            Value::Frequency(n) | Value::Bytes(n) | Value::Rate(n) => Some(n),
            Value::Cycles(n) | Value::Count(n) => Some(n),
            Value::Choice(_) | Value::Switch(_) => None,
        }
    }
}

/// Text that is no value of a parameter. The sentence follows "`KEY` is `TEXT`:".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum ParameterError {
    /// It is another word, or no power of two.
    #[error("allowed is {kind}")]
    NotAllowed { kind: ValueKind },
    /// It does not start with a number.
    #[error("it must start with a number; allowed is {kind}")]
    NoNumber { kind: ValueKind },
    /// Its number has no unit.
    #[error("the unit is missing; allowed is {kind}")]
    NoUnit { kind: ValueKind },
    /// The unit belongs to another kind.
    #[error("the unit {unit} does not fit; allowed is {kind}")]
    Unit { unit: String, kind: ValueKind },
    /// Its number is a fraction of the smallest unit, or has too many digits.
    #[error("it must be a whole number{} below 2^64", of_unit(*kind))]
    Fraction { kind: ValueKind },
    /// Its value is not in the parameter's range.
    #[error("allowed is {least} to {most}")]
    OutOfRange { least: &'static str, most: &'static str },
}

fn of_unit(kind: ValueKind) -> String {
    match kind.smallest_unit() {
        "" => String::new(),
        unit => format!(" of {unit}"),
    }
}

const TIMES: &[(&str, u64)] = &[("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("ms", 1_000_000_000)];
const FREQUENCIES: &[(&str, u64)] =
    &[("Hz", 1), ("kHz", 1_000), ("MHz", 1_000_000), ("GHz", 1_000_000_000)];
const SIZES: &[(&str, u64)] = &[
    ("B", 1),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];
const RATES: &[(&str, u64)] =
    &[("B/s", 1), ("KB/s", 1_000), ("MB/s", 1_000_000), ("GB/s", 1_000_000_000)];
const CYCLES: &[(&str, u64)] = &[("cycles", 1), ("cycle", 1)];
const BARE: &[(&str, u64)] = &[("", 1)];

impl ValueKind {
    /// Units of a number of this kind, each with its factor; empty for words.
    fn units(self) -> &'static [(&'static str, u64)] {
        match self {
            ValueKind::Duration => TIMES,
            ValueKind::Frequency => FREQUENCIES,
            ValueKind::Bytes => SIZES,
            ValueKind::Rate => RATES,
            ValueKind::Cycles => CYCLES,
            ValueKind::Count | ValueKind::PowerOfTwo => BARE,
            ValueKind::Choice(_) | ValueKind::Switch => &[],
        }
    }

    /// Reads a value.
    pub fn parse(self, text: &str) -> Result<Value, ParameterError> {
        let text = text.trim();
        let not_allowed = ParameterError::NotAllowed { kind: self };
        match self {
            ValueKind::Choice(words) => {
                let word = words.iter().find(|word| **word == text);
                word.map(|word| Value::Choice(word)).ok_or(not_allowed)
            }
            ValueKind::Switch => match text {
                "on" => Ok(Value::Switch(true)),
                "off" => Ok(Value::Switch(false)),
                _ => Err(not_allowed),
            },
            ValueKind::PowerOfTwo => match self.parse_number(text)? {
                number if number.is_power_of_two() => Ok(Value::Count(number)),
                _ => Err(not_allowed),
            },
            _ => self.parse_number(text).map(|number| self.value(number)),
        }
    }

    fn parse_number(self, text: &str) -> Result<u64, ParameterError> {
        let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        let (number, unit) = (&text[..end], text[end..].trim_start());
        if !number.contains(|c: char| c.is_ascii_digit()) {
            return Err(ParameterError::NoNumber { kind: self });
        }
        let scale = self.units().iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale);
        let scale = scale.ok_or_else(|| match unit {
            "" => ParameterError::NoUnit { kind: self },
            _ => ParameterError::Unit { unit: unit.to_owned(), kind: self },
        })?;
        scaled(number, scale).ok_or(ParameterError::Fraction { kind: self })
    }

    /// The unit in which `text` is written, if it is one of this kind.
    pub fn unit_of(self, text: &str) -> Option<&'static str> {
        let unit = text.trim().trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let unit = unit.trim_start();
        self.units().iter().map(|(name, _)| *name).find(|name| *name == unit)
    }

    /// The smallest unit; empty for bare numbers and words.
    pub fn smallest_unit(self) -> &'static str {
        self.units().first().map_or("", |(name, _)| name)
    }

    /// A number of the smallest unit as a decimal of `unit`, exactly; of the smallest unit if this kind has
    /// no such unit.
    pub fn in_unit(self, number: u64, unit: &str) -> String {
        let scale =
            self.units().iter().find(|(name, _)| *name == unit).map_or(1, |(_, scale)| *scale);
        let mut text = (number / scale).to_string();
        // Every scale is a product of twos and fives: the digits end.
        let mut rest = u128::from(number % scale);
        if rest > 0 {
            text.push('.');
        }
        while rest > 0 {
            rest *= 10;
            text.push(char::from(b'0' + (rest / u128::from(scale)) as u8));
            rest %= u128::from(scale);
        }
        text
    }

    fn value(self, number: u64) -> Value {
        match self {
            ValueKind::Duration => Value::Duration(Duration(number)),
            ValueKind::Frequency => Value::Frequency(number),
            ValueKind::Bytes => Value::Bytes(number),
            ValueKind::Rate => Value::Rate(number),
            ValueKind::Cycles => Value::Cycles(number),
            ValueKind::Count | ValueKind::PowerOfTwo => Value::Count(number),
            ValueKind::Choice(_) | ValueKind::Switch => unreachable!("words have no number"),
        }
    }
}

/// Decimal `number` times `scale`, if that is a whole number that fits.
fn scaled(number: &str, scale: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let mut product = match whole {
        "" => 0,
        _ => u128::from(whole.parse::<u64>().ok()?) * u128::from(scale),
    };
    let fraction = fraction.trim_end_matches('0');
    if !fraction.is_empty() {
        let digits = u32::try_from(fraction.len()).ok().filter(|digits| *digits < 19)?;
        let parts = u128::from(fraction.parse::<u64>().ok()?) * u128::from(scale);
        let tenth = 10u128.pow(digits);
        if parts % tenth != 0 {
            return None;
        }
        product += parts / tenth;
    }
    u64::try_from(product).ok()
}

/// Values that are allowed, as the end of a sentence: "a duration (a number with ps, ns, us or ms)".
impl fmt::Display for ValueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            ValueKind::Duration => "a duration",
            ValueKind::Frequency => "a frequency",
            ValueKind::Bytes => "a size",
            ValueKind::Rate => "a rate",
            ValueKind::Cycles => return write!(f, "a whole number of cycles, as in \"3 cycles\""),
            ValueKind::Count => return write!(f, "a whole number without unit"),
            ValueKind::PowerOfTwo => return write!(f, "a power of two without unit"),
            ValueKind::Choice(words) => return write!(f, "{}", listed(words)),
            ValueKind::Switch => return write!(f, "on or off"),
        };
        let units: Vec<&str> = self.units().iter().map(|(unit, _)| *unit).collect();
        write!(f, "{name} (a number with {})", listed(&units))
    }
}

/// `a, b or c`.
pub(crate) fn listed(words: &[&str]) -> String {
    match words {
        [] => "nothing".to_string(),
        [only] => only.to_string(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact() {
        let ok = |kind: ValueKind, text: &str| kind.parse(text).map(|v| v.number().unwrap());
        assert_eq!(ok(ValueKind::Duration, "40 ns"), Ok(40_000));
        assert_eq!(ok(ValueKind::Duration, "0.1us"), Ok(100_000));
        assert_eq!(ok(ValueKind::Duration, ".5 ns"), Ok(500));
        assert_eq!(ok(ValueKind::Frequency, "78.125 MHz"), Ok(78_125_000));
        assert_eq!(ok(ValueKind::Rate, "3.2 GB/s"), Ok(3_200_000_000));
        assert_eq!(ok(ValueKind::Bytes, "384 KiB"), Ok(393_216));
        assert_eq!(ok(ValueKind::Bytes, "1.50 KB"), Ok(1_500));
        assert_eq!(ok(ValueKind::Cycles, "3 cycles"), Ok(3));
        assert_eq!(ok(ValueKind::Count, "1274"), Ok(1274));
        assert_eq!(ValueKind::Switch.parse("off"), Ok(Value::Switch(false)));
        assert_eq!(ValueKind::Choice(&["mesh", "torus"]).parse("mesh"), Ok(Value::Choice("mesh")));
    }

    #[test]
    fn numbers_are_written_as_they_are_read() {
        let cases = [
            (ValueKind::Duration, "1.2 us", 1_200_000, "1.2"),
            (ValueKind::Duration, "40ns", 40_000, "40"),
            (ValueKind::Rate, "2.5 GB/s", 2_500_000_000, "2.5"),
            (ValueKind::Bytes, "1.5 KiB", 1536, "1.5"),
            (ValueKind::Cycles, "3 cycles", 3, "3"),
            (ValueKind::Count, "7", 7, "7"),
        ];
        for (kind, text, number, digits) in cases {
            let unit = kind.unit_of(text).unwrap();
            assert_eq!(kind.in_unit(number, unit), digits);
            assert_eq!(kind.parse(&format!("{digits}{unit}")).unwrap().number(), Some(number));
        }
        assert_eq!(ValueKind::Bytes.in_unit(1, "KiB"), "0.0009765625");
        assert_eq!(ValueKind::Duration.unit_of("4 GB"), None);
        assert_eq!(ValueKind::Switch.unit_of("on"), None);
    }

    #[test]
    fn mistakes_are_named() {
        let wrong = |kind: ValueKind, text: &str| kind.parse(text).unwrap_err().to_string();
        let times = "allowed is a duration (a number with ps, ns, us or ms)";
        assert_eq!(wrong(ValueKind::Duration, "40"), format!("the unit is missing; {times}"));
        assert_eq!(
            wrong(ValueKind::Duration, "40 MHz"),
            format!("the unit MHz does not fit; {times}")
        );
        assert_eq!(
            wrong(ValueKind::Duration, "-1 ns"),
            format!("it must start with a number; {times}")
        );
        assert_eq!(
            wrong(ValueKind::Duration, "0.0005 ns"),
            "it must be a whole number of ps below 2^64"
        );
        assert_eq!(wrong(ValueKind::Count, "1.5"), "it must be a whole number below 2^64");
        assert_eq!(wrong(ValueKind::Count, "1.2.3"), "it must be a whole number below 2^64");
        assert_eq!(
            wrong(ValueKind::Count, "7 ns"),
            "the unit ns does not fit; allowed is a whole number without unit"
        );
        assert_eq!(
            wrong(ValueKind::Duration, "99999999999999999999 ms"),
            "it must be a whole number of ps below 2^64"
        );
        let power = "allowed is a power of two without unit";
        assert_eq!(wrong(ValueKind::PowerOfTwo, "6"), power);
        assert_eq!(wrong(ValueKind::PowerOfTwo, "0"), power);
        assert_eq!(wrong(ValueKind::Switch, "yes"), "allowed is on or off");
        assert_eq!(wrong(ValueKind::Choice(&["id", "i", "off"]), "d"), "allowed is id, i or off");
        let range = ParameterError::OutOfRange { least: "1 ns", most: "1 us" };
        assert_eq!(range.to_string(), "allowed is 1 ns to 1 us");
    }
}

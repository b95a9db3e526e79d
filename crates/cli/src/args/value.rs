//! Values of options: whole numbers, times, and what is said of values that cannot be taken.

use crate::mistake::Mistake;
use clap::error::{ContextKind, ErrorKind};
use des::Duration;
use machine::parameters::quantity::{Kind, Value};
use std::error::Error;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Takes a whole number of `range`, or says what is allowed.
pub fn whole<T: FromStr + PartialOrd + Display + Clone>(
    range: RangeInclusive<T>,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        let (first, last) = (range.start(), range.end());
        number.ok_or_else(|| format!("allowed is a whole number from {first} to {last}"))
    }
}

/// A simulated time.
pub fn time(text: &str) -> Result<Duration, String> {
    match Kind::Duration.parse(text)? {
        Value::Duration(time) if time > Duration::ZERO => Ok(time),
        _ => Err("it must be more than nothing".into()),
    }
}

/// What clap says of a value that cannot be taken, as we say such things.
pub fn refused(error: &clap::Error) -> Option<Mistake> {
    if error.kind() != ErrorKind::ValueValidation {
        return None;
    }
    let option = error.get(ContextKind::InvalidArg)?.to_string();
    let (name, value) = (option.split(' ').next()?, error.get(ContextKind::InvalidValue)?);
    Some(Mistake(format!("{name} {value}: {}", error.source()?)))
}

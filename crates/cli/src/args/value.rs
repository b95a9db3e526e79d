//! Values of options: whole numbers, and what is said of values that cannot be taken.

use crate::mistake::Mistake;
use clap::error::{ContextKind, ErrorKind};
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

/// What clap says of a value that cannot be taken, as we say such things.
pub fn refused(error: &clap::Error) -> Option<Mistake> {
    if error.kind() != ErrorKind::ValueValidation {
        return None;
    }
    let option = error.get(ContextKind::InvalidArg)?.to_string();
    let (name, value) = (option.split(' ').next()?, error.get(ContextKind::InvalidValue)?);
    Some(Mistake(format!("{name} {value}: {}", error.source()?)))
}

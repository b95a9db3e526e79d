//! Environment, folder and output of the processes of a program, as options say them.

use super::heading;
use super::value_error::ValueError;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use sunstar::mpi::Choice;
use sunstar::usage_error::UsageError;

/// Options of the processes of one program.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct Processes {
    /// Environment variable for this program's ranks; may be repeated
    ///
    /// NAME=VALUE, or NAME for one with the command's value (-env NAME VALUE does the same). Ranks have the
    /// command's variables, too, but Linux guests only those that are given.
    #[arg(short = 'x', long = "env", value_name = "NAME[=VALUE]", help_heading = heading::PROGRAM)]
    pub env: Vec<OsString>,
    /// MPI library of this program's ranks
    ///
    /// own (Sunstar's), mpich or intel (an installed one with libfabric, as a wheel of PyPI has it), or the
    /// folder of an installation. Without it a program that was not built by `sunstar cc` has the MPI that it
    /// was linked to, and source is compiled for Sunstar's.
    #[arg(long, value_name = "own|mpich|intel|FOLDER", help_heading = heading::PROGRAM)]
    pub mpi: Option<Choice>,
    /// Working directory of this program's ranks
    #[arg(long, value_name = "FOLDER", help_heading = heading::PROGRAM)]
    pub wdir: Option<PathBuf>,
    /// Stop this program's ranks when all others have ended
    ///
    /// For a program that serves the others: its ranks get SIGTERM when all others have ended or wait in
    /// MPI_Finalize; a server that handles it then calls MPI_Finalize, too.
    #[arg(long, help_heading = heading::PROGRAM)]
    pub server: bool,
    /// MPI error handler that this program begins with
    ///
    /// As -initial-errhandler of MPI's mpiexec: mpi_errors_are_fatal (the run ends with a sentence, the
    /// default), mpi_errors_abort (the same) or mpi_errors_return (the call returns an error code).
    #[arg(long, value_name = "HANDLER", value_enum, ignore_case = true, default_value_t)]
    #[arg(help_heading = heading::PROGRAM, hide_default_value = true)]
    #[arg(hide_possible_values = true)]
    pub initial_errhandler: InitialErrhandler,
}

/// A predefined error handler of MPI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum InitialErrhandler {
    /// The run ends with a sentence
    #[default]
    #[value(name = "mpi_errors_are_fatal")]
    Fatal,
    /// The same
    #[value(name = "mpi_errors_abort")]
    Abort,
    /// The call returns an error code
    #[value(name = "mpi_errors_return")]
    Return,
}

impl From<InitialErrhandler> for rank::InitialErrors {
    fn from(handler: InitialErrhandler) -> rank::InitialErrors {
        match handler {
            InitialErrhandler::Fatal => rank::InitialErrors::Fatal,
            InitialErrhandler::Abort => rank::InitialErrors::Abort,
            InitialErrhandler::Return => rank::InitialErrors::Return,
        }
    }
}

/// The same for all programs of a run.
#[derive(Args, Clone, Debug, Default)]
pub struct AllProcesses {
    /// Environment variable for the ranks of all programs
    ///
    /// As --env; -genv NAME VALUE does the same.
    #[arg(long, value_name = "NAME[=VALUE]", help_heading = heading::PROGRAM)]
    pub genv: Vec<OsString>,
    /// Put its rank before each line that a rank prints
    #[arg(short, long, help_heading = heading::OUTPUT)]
    pub label: bool,
    /// Write each rank's output to a file of its own
    ///
    /// In its name %r stands for the rank; without %r the rank follows the name.
    #[arg(long, value_name = "FILE", conflicts_with = "label", help_heading = heading::OUTPUT)]
    pub output: Option<PathBuf>,
    /// Start date of the machine
    ///
    /// Calendar time of the program then: a date as 2026-01-31 or 2026-01-31T12:00:00 (UTC), or now,
    /// which makes runs differ.
    #[arg(long, value_name = "now|DATE", default_value_t, help_heading = heading::SIMULATION)]
    pub date: Date,
}

/// Variables of the environment that were asked for; one without a value has that of the command itself.
pub fn variables(words: &[OsString]) -> Result<Vec<(OsString, OsString)>, UsageError> {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let mut all = Vec::new();
    for word in words {
        let bytes = word.as_bytes();
        let at = bytes.iter().position(|byte| *byte == b'=');
        let (name, value) = match at {
            Some(at) => (&bytes[..at], Some(OsString::from_vec(bytes[at + 1..].to_vec()))),
            None => (bytes, std::env::var_os(word)),
        };
        if name.is_empty() {
            let word = word.to_string_lossy();
            return Err(UsageError::sentence(format!(
                "--env {word}: a variable is NAME=VALUE, or NAME"
            )));
        }
        all.extend(value.map(|value| (OsString::from_vec(name.to_vec()), value)));
    }
    Ok(all)
}

/// Seconds in a day.
const DAY: u64 = 86_400;
/// First date that is not the beginning itself: simulated time may last 213 days, and a time before the date
/// is one of a clock that does not tell dates.
const FIRST: u64 = 365 * DAY;

/// A date in seconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Date(pub u64);

impl std::str::FromStr for Date {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Date, ValueError> {
        if text == "now" {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            return Ok(Date(now.map_or(0, |now| now.as_secs())));
        }
        let seconds = seconds(text).ok_or(ValueError::Date)?;
        match seconds {
            0 | FIRST.. => Ok(Date(seconds)),
            _ => Err(ValueError::EarlyDate),
        }
    }
}

impl std::fmt::Display for Date {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (mut year, mut day) = (1970, self.0 / DAY);
        while day >= days_of(year) {
            day -= days_of(year);
            year += 1;
        }
        let mut month = 1;
        while day >= days_in(year, month) {
            day -= days_in(year, month);
            month += 1;
        }
        let (hour, minute, second) = (self.0 / 3600 % 24, self.0 / 60 % 60, self.0 % 60);
        write!(f, "{year}-{month:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z", day + 1)
    }
}

fn days_of(year: u64) -> u64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    365 + u64::from(leap)
}

fn days_in(year: u64, month: u64) -> u64 {
    match month {
        2 => days_of(year) - 337,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Seconds since 1970 of `2026-01-31`, perhaps with `T12:00` and `:00` and `Z`.
fn seconds(text: &str) -> Option<u64> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (date, time) = text.split_once(['T', ' ']).unwrap_or((text, "00:00"));
    let numbers = |text: &str, between: char| -> Option<Vec<u64>> {
        let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        text.split(between).map(|part| part.parse().ok().filter(|_| plain(part))).collect()
    };
    let [year, month, day] = numbers(date, '-')?.try_into().ok()?;
    let mut time = numbers(time, ':')?;
    time.resize(time.len() + usize::from(time.len() == 2), 0);
    let [hour, minute, second] = time.try_into().ok()?;
    let right = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=days_in(year, month)).contains(&day)
        && (hour, minute, second) < (24, 0, 0)
        && minute < 60
        && second < 60;
    let days = (1970..year).map(days_of).sum::<u64>()
        + (1..month).map(|month| days_in(year, month)).sum::<u64>()
        + day
        - 1;
    right.then_some(days * DAY + hour * 3600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        let cases = [
            ("1970-01-01", 0),
            ("2000-02-29T23:59:59Z", 951_868_799),
            ("2026-11-25T16:10:37", 1_795_623_037),
            ("2100-03-01 00:01", 4_107_542_460),
        ];
        for (text, seconds) in cases {
            let date: Date = text.parse().unwrap();
            assert_eq!(date.0, seconds, "{text}");
            assert_eq!(date.to_string().parse(), Ok(date));
        }
        assert_eq!(Date(951_868_799).to_string(), "2000-02-29T23:59:59Z");
        for text in
            ["", "2026", "2026-02-29", "2026-13-01", "2026-01-01T24:00", "1970-06-01", "+1-1-1"]
        {
            assert!(text.parse::<Date>().is_err(), "{text}");
        }
        assert!("now".parse::<Date>().unwrap().0 > 1_700_000_000);
    }
}

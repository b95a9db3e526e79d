//! Built-in workloads over an interface that only machines of one model have.

use crate::models::Models;
use std::ffi::OsString;

/// A kind of such a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkloadKind {
    /// Name behind `builtin:`; no other model has it.
    pub name: &'static str,
    /// Default size of a message, in bytes.
    pub bytes: u64,
    /// Largest size of a message, in bytes; messages are whole words, at least one.
    pub bytes_max: u64,
    /// Bytes of a word.
    pub word: u64,
    /// Least number of ranks.
    pub ranks: u32,
}

/// A workload with its arguments.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// Kind of the workload.
    pub kind: &'static WorkloadKind,
    /// Bytes of a message.
    pub bytes: u64,
    /// Number of repetitions.
    pub times: u32,
}

/// Arguments that a workload does not take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum WorkloadError {
    /// There are too few ranks.
    #[error("{program} needs {least} ranks; give -n")]
    Ranks { program: String, least: u32 },
    /// There are too many arguments.
    #[error("{program} takes [BYTES] [TIMES] and no more")]
    TooMany { program: String },
    /// An argument is no number.
    #[error("{program} takes [BYTES] [TIMES]: '{text}' is no number")]
    NoNumber { program: String, text: String },
    /// Messages have too many bytes, or a part of a word.
    #[error("{program}: BYTES is {word} to {bytes_max}, in steps of {word}, not {bytes}")]
    Bytes { program: String, word: u64, bytes_max: u64, bytes: u64 },
    /// The number of repetitions is 0, or too large.
    #[error("{program}: TIMES is 1 to {}", u32::MAX)]
    Times { program: String },
}

/// Default number of repetitions.
const TIMES: u32 = 10;

impl Workload {
    /// The workload of this name with its arguments, `[BYTES] [TIMES]`, if a model has it.
    pub fn parse(
        models: &Models,
        name: &str,
        args: &[OsString],
        ranks: u32,
    ) -> Option<Result<Workload, WorkloadError>> {
        let mut kinds = models.iter().flat_map(|model| model.workloads);
        let kind = kinds.find(|kind| kind.name == name)?;
        Some(kind.with(args, ranks))
    }
}

impl WorkloadKind {
    fn with(&'static self, args: &[OsString], ranks: u32) -> Result<Workload, WorkloadError> {
        let WorkloadKind { name, bytes, bytes_max, word, ranks: least } = *self;
        let program = || format!("{}{name}", rank::BUILTIN_PREFIX);
        if ranks < least {
            return Err(WorkloadError::Ranks { program: program(), least });
        }
        if args.len() > 2 {
            return Err(WorkloadError::TooMany { program: program() });
        }
        let number = |place: usize, default: u64| match args.get(place) {
            None => Ok(default),
            Some(text) => {
                let number = text.to_str().and_then(|text| text.parse().ok());
                let text = text.to_string_lossy().into_owned();
                number.ok_or_else(|| WorkloadError::NoNumber { program: program(), text })
            }
        };
        let (bytes, times) = (number(0, bytes)?, number(1, TIMES.into())?);
        if bytes % word != 0 || !(word..=bytes_max).contains(&bytes) {
            return Err(WorkloadError::Bytes { program: program(), word, bytes_max, bytes });
        }
        let times = u32::try_from(times).ok().filter(|times| *times > 0);
        let times = times.ok_or_else(|| WorkloadError::Times { program: program() })?;
        Ok(Workload { kind: self, bytes, times })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static KIND: WorkloadKind =
        WorkloadKind { name: "words", bytes: 8, bytes_max: 64, word: 8, ranks: 2 };

    #[test]
    fn each_error_is_a_sentence() {
        let error = |args: &str, ranks| {
            let args: Vec<OsString> = args.split_whitespace().map(Into::into).collect();
            KIND.with(&args, ranks).unwrap_err()
        };
        let program = || "builtin:words".to_owned();
        let cases = [
            (
                error("", 1),
                WorkloadError::Ranks { program: program(), least: 2 },
                "builtin:words needs 2 ranks; give -n",
            ),
            (
                error("8 1 1", 2),
                WorkloadError::TooMany { program: program() },
                "builtin:words takes [BYTES] [TIMES] and no more",
            ),
            (
                error("x", 2),
                WorkloadError::NoNumber { program: program(), text: "x".into() },
                "builtin:words takes [BYTES] [TIMES]: 'x' is no number",
            ),
            (
                error("9", 2),
                WorkloadError::Bytes { program: program(), word: 8, bytes_max: 64, bytes: 9 },
                "builtin:words: BYTES is 8 to 64, in steps of 8, not 9",
            ),
            (
                error("8 0", 2),
                WorkloadError::Times { program: program() },
                "builtin:words: TIMES is 1 to 4294967295",
            ),
        ];
        for (told, error, sentence) in cases {
            assert_eq!(told, error);
            assert_eq!(error.to_string(), sentence);
        }
    }
}

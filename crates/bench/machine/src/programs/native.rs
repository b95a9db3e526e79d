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

/// Default number of repetitions.
const TIMES: u32 = 10;

impl Workload {
    /// The workload of this name with its arguments, `[BYTES] [TIMES]`, if a model has it. The error is a
    /// sentence for the user.
    pub fn parse(
        models: &Models,
        name: &str,
        args: &[OsString],
        ranks: u32,
    ) -> Option<Result<Workload, String>> {
        let mut kinds = models.iter().flat_map(|model| model.workloads);
        let kind = kinds.find(|kind| kind.name == name)?;
        Some(kind.with(args, ranks))
    }
}

impl WorkloadKind {
    fn with(&'static self, args: &[OsString], ranks: u32) -> Result<Workload, String> {
        let WorkloadKind { name, bytes, bytes_max, word, ranks: least } = *self;
        let prefix = rank::BUILTIN_PREFIX;
        if ranks < least {
            return Err(format!("{prefix}{name} needs {least} ranks; give -n"));
        }
        if args.len() > 2 {
            return Err(format!("{prefix}{name} takes [BYTES] [TIMES] and no more"));
        }
        let number = |place: usize, default: u64| match args.get(place) {
            None => Ok(default),
            Some(text) => {
                let number = text.to_str().and_then(|text| text.parse().ok());
                let text = text.to_string_lossy();
                number.ok_or_else(|| {
                    format!("{prefix}{name} takes [BYTES] [TIMES]: '{text}' is no number")
                })
            }
        };
        let (bytes, times) = (number(0, bytes)?, number(1, TIMES.into())?);
        if bytes % word != 0 || !(word..=bytes_max).contains(&bytes) {
            return Err(format!(
                "{prefix}{name}: BYTES is {word} to {bytes_max}, in steps of {word}, not {bytes}"
            ));
        }
        let times = u32::try_from(times).ok().filter(|times| *times > 0);
        let times = times.ok_or_else(|| format!("{prefix}{name}: TIMES is 1 to {}", u32::MAX))?;
        Ok(Workload { kind: self, bytes, times })
    }
}

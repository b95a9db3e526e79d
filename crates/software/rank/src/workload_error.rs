//! Sentences about built-in workloads that cannot be run.

/// A workload that is none, or arguments that it does not take. `program` is its name as the user writes it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum WorkloadError {
    /// There is none of this name.
    #[error("there is no built-in workload '{name}'; there are: {}", known.join(", "))]
    Unknown { name: String, known: Vec<&'static str> },
    /// There are too few ranks.
    #[error("{program} needs {least} ranks; give -n")]
    Ranks { program: String, least: u32 },
    /// An argument is no number.
    #[error("{program} takes {arguments}: '{text}' is no number")]
    NoNumber { program: String, arguments: &'static str, text: String },
    /// There are too many arguments.
    #[error("{program} takes {arguments} and no more")]
    TooMany { program: String, arguments: &'static str },
    /// The number of repetitions is 0, or too large.
    #[error("{program}: TIMES is 1 to {}", u32::MAX)]
    Times { program: String },
    /// Bytes are no doubles.
    #[error("{program} adds doubles: its bytes are 8 or a multiple of 8, not {bytes}")]
    Doubles { program: String, bytes: u64 },
    /// A buffer is too large.
    #[error("{program}: a rank's buffer has at most {most} bytes")]
    Buffer { program: String, most: u64 },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_is_a_sentence() {
        let program = || "builtin:halo".to_owned();
        let cases = [
            (
                WorkloadError::Unknown { name: "sort".into(), known: vec!["halo", "incast"] },
                "there is no built-in workload 'sort'; there are: halo, incast",
            ),
            (
                WorkloadError::Ranks { program: program(), least: 2 },
                "builtin:halo needs 2 ranks; give -n",
            ),
            (
                WorkloadError::NoNumber {
                    program: program(),
                    arguments: "[TIMES]",
                    text: "x".into(),
                },
                "builtin:halo takes [TIMES]: 'x' is no number",
            ),
            (
                WorkloadError::TooMany { program: program(), arguments: "[BYTES] [TIMES]" },
                "builtin:halo takes [BYTES] [TIMES] and no more",
            ),
            (WorkloadError::Times { program: program() }, "builtin:halo: TIMES is 1 to 4294967295"),
            (
                WorkloadError::Doubles { program: program(), bytes: 9 },
                "builtin:halo adds doubles: its bytes are 8 or a multiple of 8, not 9",
            ),
            (
                WorkloadError::Buffer { program: program(), most: 16 },
                "builtin:halo: a rank's buffer has at most 16 bytes",
            ),
        ];
        for (error, sentence) in cases {
            assert_eq!(error.to_string(), sentence);
        }
    }
}

//! Sentences about contradictions in `abi/mpi/`.

/// A contradiction in the API.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum MpiError {
    /// A function is listed, and is not defined.
    #[error("functions.toml: {function} has no signature")]
    NoSignature { function: String },
    /// A rule of Fortran is for no function.
    #[error("fortran.toml: {name} is no function")]
    NoFunction { name: String },
    /// No rule of Fortran is for a parameter.
    #[error("fortran.toml: {function}: no rule makes '{parameter}' Fortran")]
    NoRule { function: String, parameter: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_is_a_sentence() {
        let function = || "MPI_Send".to_owned();
        let cases = [
            (
                MpiError::NoSignature { function: function() },
                "functions.toml: MPI_Send has no signature",
            ),
            (MpiError::NoFunction { name: function() }, "fortran.toml: MPI_Send is no function"),
            (
                MpiError::NoRule { function: function(), parameter: "int tag".into() },
                "fortran.toml: MPI_Send: no rule makes 'int tag' Fortran",
            ),
        ];
        for (error, sentence) in cases {
            assert_eq!(error.to_string(), sentence);
        }
    }
}

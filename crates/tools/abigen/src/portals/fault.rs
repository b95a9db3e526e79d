//! Sentences about contradictions in `abi/portals/`.

/// A contradiction in the API.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum PortalsError {
    /// A function returns no code.
    #[error("{function} returns {code}, which is no code")]
    Code { function: String, code: String },
    /// A parameter or a word has no known type.
    #[error("{function}: {name} has the unknown type {kind}")]
    Parameter { function: String, name: String, kind: String },
    /// Words belong to a function that is generated.
    #[error("{function} has words, and is not written by hand")]
    Generated { function: String },
    /// A field has no known type.
    #[error("{structure} has a field of the unknown type {kind}")]
    Field { structure: String, kind: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_is_a_sentence() {
        let (function, kind) = (|| "PtlPut".to_owned(), || "word".to_owned());
        let cases = [
            (
                PortalsError::Code { function: function(), code: "PTL_NO".into() },
                "PtlPut returns PTL_NO, which is no code",
            ),
            (
                PortalsError::Parameter { function: function(), name: "md".into(), kind: kind() },
                "PtlPut: md has the unknown type word",
            ),
            (
                PortalsError::Generated { function: function() },
                "PtlPut has words, and is not written by hand",
            ),
            (
                PortalsError::Field { structure: "ptl_md_t".into(), kind: kind() },
                "ptl_md_t has a field of the unknown type word",
            ),
        ];
        for (error, sentence) in cases {
            assert_eq!(error.to_string(), sentence);
        }
    }
}

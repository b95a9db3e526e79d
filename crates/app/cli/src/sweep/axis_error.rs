//! Sentences about axes of a sweep.

use machine::models::UnknownParameter;
use machine::parameters::quantity::{ParameterError, ValueKind};

/// Reason for which a text or a table is no axis.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum AxisError {
    /// A text has no values.
    #[error("it must read NAME=VALUES, as in host.interrupt_entry=1us..5us:1us")]
    NoValues,
    /// A table has a value that is no text and no number.
    #[error("{name} is {value}; allowed are strings, numbers and lists of them")]
    Kind { name: String, value: String },
    /// A value is missing between commas.
    #[error("{name} has an empty value")]
    Empty { name: String },
    /// A value or range is wrong.
    #[error("{name} is \"{item}\": {why}")]
    Item { name: String, item: String, why: Box<ItemError> },
    /// A name has more values than a sweep has points.
    #[error("{name} has more than {most} values")]
    TooMany { name: String, most: usize },
    /// There is no such parameter, but one of nearly that name.
    #[error("{0}")]
    Misspelt(UnknownParameter),
    /// There is no such parameter.
    #[error("{told}; beside parameters there are arg.NAME, {others}")]
    Unknown { told: UnknownParameter, others: String },
    /// An argument of the program has a name that cannot stand in braces.
    #[error("{name}: after arg. stands a name of letters and digits")]
    Argument { name: String },
    /// An axis has no name.
    #[error("nothing is varied")]
    Nothing,
    /// Names that go in step have different numbers of values.
    #[error("{first} has {values} values and {other} has {others}, but they go in step")]
    Step { first: String, values: usize, other: String, others: usize },
}

/// Reason for which a text is no value or range of a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum ItemError {
    /// A range has no step.
    #[error("a range reads FIRST..LAST:STEP or FIRST..LAST:xFACTOR")]
    NoStep,
    /// The parameter does not take the value.
    #[error("{0}")]
    Value(ParameterError),
    /// The parameter does not take a value of the range.
    #[error("\"{text}\": {why}")]
    Within { text: String, why: ParameterError },
    /// The parameter has words for values.
    #[error("a range needs numbers; allowed is {0}")]
    Words(ValueKind),
    /// A step is no number of the parameter's unit.
    #[error("the step \"{text}\": {why}")]
    StepValue { text: String, why: ParameterError },
    /// A factor is no number, or leads nowhere.
    #[error("the factor \"{text}\" must be a number above 1, as in x2")]
    Factor { text: String },
    /// A range has no number.
    #[error("the end of the range lies before its start")]
    Backwards,
    /// A range never ends.
    #[error("the step must be more than nothing")]
    NoWay,
    /// A range with a factor never ends.
    #[error("a range with a factor must start above 0")]
    FromZero,
    /// A range has more numbers than a sweep has points.
    #[error("the range has more than {most} values")]
    TooMany { most: usize },
}

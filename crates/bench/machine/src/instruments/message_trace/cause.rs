//! Causes of the steps of a message, in words.

/// Cause of a step's time, and the parameters on which it depends.
#[derive(Debug)]
pub struct Cause {
    /// A sentence without its period.
    pub sentence: &'static str,
    /// Keys of the parameters on which it depends.
    pub parameters: &'static [&'static str],
    /// Function of the firmware that does the step, if firmware does.
    pub function: &'static str,
    /// True if it grows with the entries of the match list that are compared.
    pub walks: bool,
}

/// Cause that depends on parameters.
pub const fn cause(sentence: &'static str, parameters: &'static [&'static str]) -> Cause {
    Cause { sentence, parameters, function: "", walks: false }
}

/// Cause that is a function of the firmware.
pub const fn firmware(sentence: &'static str, function: &'static str) -> Cause {
    Cause { sentence, parameters: &[], function, walks: false }
}

/// Cause that is a function of the firmware, whose time grows with the entries that it compares.
pub const fn walk(sentence: &'static str, function: &'static str) -> Cause {
    Cause { sentence, parameters: &[], function, walks: true }
}

//! Causes of the steps of a message, in words.

/// The cause of a step's time, and what decides it.
#[derive(Debug)]
pub struct Cause {
    /// A sentence without its period.
    pub sentence: &'static str,
    /// Keys of parameters that are in it.
    pub parameters: &'static [&'static str],
    /// The firmware's function that does it, where firmware does.
    pub function: &'static str,
    /// It grows with the entries of the match list that are looked at.
    pub walks: bool,
}

/// One that parameters decide.
pub const fn cause(sentence: &'static str, parameters: &'static [&'static str]) -> Cause {
    Cause { sentence, parameters, function: "", walks: false }
}

/// One that a function of the firmware decides.
pub const fn firmware(sentence: &'static str, function: &'static str) -> Cause {
    Cause { sentence, parameters: &[], function, walks: false }
}

/// One that a function of the firmware decides by the entries of a list that it looks at.
pub const fn walk(sentence: &'static str, function: &'static str) -> Cause {
    Cause { sentence, parameters: &[], function, walks: true }
}

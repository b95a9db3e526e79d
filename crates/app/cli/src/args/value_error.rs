//! Sentences about values of options; the option and the value stand before them.

use machine::parameters::quantity::ParameterError;

/// Reason for which an option does not take a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum ValueError {
    /// A number is none, or too small or too large.
    #[error("allowed is a whole number from {first} to {last}")]
    Whole { first: String, last: String },
    /// A time has no number or unit, in the words of the machine files' reader.
    #[error("{0}")]
    Time(ParameterError),
    /// A time is zero.
    #[error("it must be more than nothing")]
    Nothing,
    /// A message has another name.
    #[error("a message is named NODE:NUMBER, as 0:17")]
    Message,
    /// A number of bytes is none.
    #[error("a size is a number of bytes, as 24 or 64K")]
    Size,
    /// A share is none.
    #[error("it is a number of percent, as 2%")]
    Percent,
    /// A node is none, where gdb is to be.
    #[error("in NODE[:PORT], NODE is the number of a node")]
    GdbNode,
    /// A port is none.
    #[error("in NODE[:PORT], PORT is a number up to 65535")]
    GdbPort,
    /// A node is none, where a monitor is to be.
    #[error("in NODE[:FILE], NODE is the number of a node")]
    MonitorNode,
    /// A file has no name, where a monitor's commands are to be.
    #[error("in NODE[:FILE], FILE is the name of a file")]
    MonitorFile,
    /// A file has no name, where a waveform is to be.
    #[error("in FILE[@NODE:NUMBER], FILE is the name of a file")]
    WaveFile,
    /// A word is no node, and not all of them.
    #[error("it is a number, or all")]
    Nodes,
    /// A message is none of the ping-pong's.
    #[error("allowed is 0 to {most}, the ping-pong's largest message")]
    Largest { most: u64 },
    /// A message is not of whole words.
    #[error("allowed is 8 to {most}, in steps of 8")]
    LargestOfWords { most: u64 },
    /// A number of ranks is odd, or too large.
    #[error("allowed is an even number from 2 to 1024")]
    Even,
    /// A date is none.
    #[error("it is now, or a date as 2026-01-31T12:00:00 (UTC)")]
    Date,
    /// A date is too early.
    #[error("it is 1971-01-01 or later")]
    EarlyDate,
}

//! Options of `sunstar explain`.

use super::heading;
use super::runs::RunOptions;
use super::value::{message, size, whole};
use clap::Args;

/// Choice of messages, ranks and calls to explain.
#[derive(Args, Clone, Debug)]
pub struct ExplainOptions {
    /// The N slowest messages, up to 32
    #[arg(long, value_name = "N", value_parser = whole(1..=32_usize))]
    #[arg(help_heading = heading::SELECTION)]
    pub slowest: Option<usize>,
    /// A message by its name, e.g. 0:17
    ///
    /// The sender's node, and the message's number there; traces and --json have names.
    #[arg(long, value_name = "NODE:NUMBER", value_parser = message)]
    #[arg(help_heading = heading::SELECTION)]
    pub message: Option<abi::MessageId>,
    /// All messages of about this size, e.g. 24, 64K
    #[arg(long, value_name = "BYTES", value_parser = size, help_heading = heading::SELECTION)]
    pub size: Option<u64>,
    /// A rank: its calls, its waits, and the waits of others for it
    #[arg(long, value_name = "RANK", value_parser = whole(0..=u32::MAX))]
    #[arg(help_heading = heading::SELECTION)]
    pub rank: Option<u32>,
    /// All calls of a function, e.g. MPI_Allreduce
    #[arg(long, value_name = "FUNCTION", help_heading = heading::SELECTION)]
    pub call: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub run: RunOptions,
}

//! Options of `sunstar explain`.

use super::value::{message, size, whole};
use super::RunOptions;
use clap::Args;

/// Choice of messages, ranks and calls to explain.
#[derive(Args, Clone, Debug)]
pub struct ExplainOptions {
    /// The N slowest messages, 32 at most
    #[arg(long, value_name = "N", value_parser = whole(1..=32_usize))]
    pub slowest: Option<usize>,
    /// A message by its name, the sender's node and its number there, e.g. 0:17 (traces and
    /// --json tell names)
    #[arg(long, value_name = "NODE:NUMBER", value_parser = message)]
    pub message: Option<abi::MessageId>,
    /// All messages of about this size, e.g. 24, 64K
    #[arg(long, value_name = "BYTES", value_parser = size)]
    pub size: Option<u64>,
    /// A rank: its calls, for whom it waited, and how long others waited for it
    #[arg(long, value_name = "RANK", value_parser = whole(0..=u32::MAX))]
    pub rank: Option<u32>,
    /// All calls of a function, e.g. MPI_Allreduce
    #[arg(long, value_name = "FUNCTION")]
    pub call: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub run: RunOptions,
}

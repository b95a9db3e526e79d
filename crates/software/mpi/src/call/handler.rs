//! Handlers of functions: arguments in, an answer out.

use crate::error::Result;
use crate::process::Process;
use crate::request::RequestId;
use abi::mpi::Function;

/// Result of a call: success, or an error for the error handler.
pub(crate) type Answer = Result<()>;
/// Result of a call that begins an operation.
pub(crate) type Begun = Result<RequestId>;

/// Does one function. The table reads the words of a call as the arguments that it takes.
pub(crate) type Direct = fn(&mut Process, &[u64]) -> Answer;
/// Begins an operation.
pub(crate) type Begin = fn(&mut Process, &[u64]) -> Begun;
/// Makes a persistent request.
pub(crate) type Keep = fn(&mut Process, Function, &[u64]) -> Answer;

/// Kind of handler of a function.
#[derive(Clone, Copy)]
pub(crate) enum Handler {
    /// A function that does all of it.
    Direct(Direct),
    /// This begins it, and it is waited for.
    Blocking(Begin),
    /// This begins it; the last argument is its request's handle.
    Starting(Begin),
    /// This keeps it, to be begun whenever it is started; the last argument is its request's handle.
    Persistent(Keep),
}

/// The handle of the request that a call makes: its last word, whatever the function.
pub(crate) fn request_of(words: &[u64]) -> u64 {
    words.last().copied().expect("the function has an argument for its request")
}

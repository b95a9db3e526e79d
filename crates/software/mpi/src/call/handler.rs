//! Handlers of functions: raw arguments in, an answer out.

use crate::error::Result;
use crate::process::Process;
use crate::request::RequestId;
use crate::side::persistent::Begin;

/// Result of a call: success, or an error for the error handler.
pub(crate) type Answer = Result<()>;
/// Result of a call that begins an operation.
pub(crate) type Begun = Result<RequestId>;

/// Does one function, or begins it.
pub(crate) type Direct = fn(&mut Process, &[u64]) -> Answer;

/// Kind of handler of a function.
#[derive(Clone, Copy)]
pub(crate) enum Handler {
    /// A function that does all of it.
    Direct(Direct),
    /// This begins it, and it is waited for.
    Blocking(Begin),
    /// This begins it; the last argument is its request's handle.
    Starting(Begin),
    /// This begins it whenever it is started; the last argument is its request's handle.
    Persistent(Begin),
    /// The same, of a collective operation.
    PersistentCollective(Begin),
}

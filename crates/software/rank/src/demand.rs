//! Demands of a rank's process.

use crate::channel::RECORD_ARGUMENTS;
use crate::exit::ExitStatus;
use crate::fabric::FabricNote;
use crate::lease::Deeds;
use crate::sockets::SocketCall;
use abi::mpi::{Function, ARGUMENTS_MAX};
use des::Duration;
use mpi::CALLBACK_ARGUMENTS;

/// Demand of a process. All but `Exited`, `Computed`, `Did`, `Fabric`, `CallbackLeft` and posted calls must
/// be answered before the next one is requested; after `Nothing` there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Demand {
    /// An MPI call.
    Call {
        /// The function.
        function: Function,
        /// Its raw C arguments: pointers and handles as they are, integers sign-extended to 64
        /// bits.
        args: [u64; ARGUMENTS_MAX],
        /// The process does not wait: give no answer.
        posted: bool,
    },
    /// A Portals call, which waits for its return code.
    Portals {
        /// The function.
        function: abi::portals::Function,
        /// Its raw C arguments: pointers and handles as they are, process ids node first.
        args: [u64; RECORD_ARGUMENTS],
    },
    /// A request for the time: [`crate::Process::reply_with_time`].
    Clock,
    /// The library has done this without asking, by the lease that the last answer gave: do the same, and
    /// give no answer.
    Did(Deeds),
    /// The program sleeps: let simulated time pass, then [`crate::Process::reply_with_time`].
    Sleep(Duration),
    /// The program has computed: let simulated time pass, and give no answer.
    Computed(Duration),
    /// The libfabric provider says something: give no answer.
    Fabric(FabricNote),
    /// A call of a socket, which waits for its answer.
    Socket(SocketCall),
    /// A callback has returned; the call during which it was started still waits for its answer.
    CallbackReturned {
        /// Its result register: use as many bits as its result type has.
        result: u64,
        /// Its arguments as it left them, including what it has stored through an indirect one.
        arguments: [u64; CALLBACK_ARGUMENTS],
    },
    /// A call of verbs; it waits for its answer.
    Verbs {
        /// Number of the call.
        call: u32,
        /// Its raw arguments.
        args: [u64; RECORD_ARGUMENTS],
    },
    /// The program has left the callback that was started last by `longjmp` or an exception, and with it the
    /// call during which it was started: give no answer to either.
    CallbackLeft,
    /// The program is in a loop that nothing ends. Its process was stopped.
    Nothing,
    /// The process has ended. Calls that it had posted and nobody had waited for are lost with it.
    Exited(ExitStatus),
}

//! Observer of the agent.

use crate::fabric::{FabricCall, FabricNote};
use abi::mpi::Function;
use des::{Duration, Time};

/// Time of a program outside of its calls of MPI, libfabric and Portals that is no computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// It looks at a clock.
    Clock,
    /// It sleeps.
    Sleep,
    /// It is in a call of a socket.
    Socket,
}

/// Observer of the agent; takes no simulated time.
pub trait Observer {
    /// The program's call has reached the library.
    fn call_entered(&self, at: Time, function: Function) {
        let _ = (at, function);
    }
    /// The call returns to the program.
    fn call_returned(&self, at: Time, function: Function) {
        let _ = (at, function);
    }
    /// A Portals call of the program has reached its bridge.
    fn portals_entered(&self, at: Time, function: abi::portals::Function) {
        let _ = (at, function);
    }
    /// It returns to the program.
    fn portals_returned(&self, at: Time, function: abi::portals::Function) {
        let _ = (at, function);
    }
    /// So much time has passed outside of calls.
    fn outside(&self, what: Outside, time: Duration) {
        let _ = (what, time);
    }
    /// The program has called libfabric.
    fn fabric_entered(&self, at: Time, call: FabricCall) {
        let _ = (at, call);
    }
    /// That call returns, or the program does something else; Portals calls are not reported in between.
    fn fabric_returned(&self, at: Time) {
        let _ = at;
    }
    /// The libfabric provider says something else, which has taken `time`.
    fn fabric_noted(&self, at: Time, note: FabricNote, time: Duration) {
        let _ = (at, note, time);
    }
    /// The program has computed for `time` of real time without any call.
    fn computes_for_long(&self, time: std::time::Duration) {
        let _ = time;
    }
    /// The program makes no call any more: it is in a loop that nothing ends.
    fn computes_for_ever(&self) {}
}

/// No observer.
impl Observer for () {}

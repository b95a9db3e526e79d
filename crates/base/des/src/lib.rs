//! Discrete-event kernel: simulated time, event queues, logical processes and the windows in which they run.
//! It knows nothing of the simulated machine.

#![forbid(unsafe_code)]

mod barrier;
mod hash;
mod horizon;
mod queue;
mod random;
mod repeat;
mod set;
mod share;
mod time;
mod window;

pub use hash::TraceHash;
pub use horizon::{Announced, Links};
pub use queue::{EventQueue, TieBreak};
pub use random::Random;
pub use repeat::{fitting, Offers, LAGS};
pub use time::{Clock, Duration, Interval, Time};
pub use window::{run, Bounds, Ending, Envelope, LogicalProcess, Lookahead, Outbox, Status, Stop};

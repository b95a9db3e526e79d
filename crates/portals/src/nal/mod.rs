//! The kernel's driver for the SeaStar in generic mode (pedretti2005 s4): every process's operations go
//! through one mailbox, and one interrupt handler drains one event queue.
//!
//! The kernel runs with interrupts masked and nothing else of its core runs meanwhile, and on a host of
//! several cores one lock keeps the others out, so a kernel section is atomic even where it lets time pass.
//! Only event queues, which are in the processes' own memory, are read beside it.

mod atomic;
mod costs;
mod dma_list;
mod issue;
mod kernel;
mod mailbox;
mod observe;
mod receive;
mod region;
mod tap;
mod transmit;
mod wire;

pub use costs::{Bridge, Config, Costs, Pools, System};
pub(crate) use issue::Call;
pub(crate) use kernel::Seat;
pub use kernel::{Counters, Kernel, PendingsMax};
pub use observe::{Mark, Observer, Unobserved};
pub use tap::{Asked, Fate, ObjectCall, Reaction, Returned, Told};

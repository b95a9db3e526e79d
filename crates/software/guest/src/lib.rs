//! Real Linux guests: a kernel in User-Mode Linux, its drivers and its programs, which run only at instants
//! that the simulator grants.
//!
//! ```text
//!  who simulates                      this crate                                     the guest, a process
//!  run(now) ──────────► Guest ── clock: RUN, REQUEST, WAIT, GET ── socket ── the kernel's time
//!  Act::Load, Store ◄──   │  ─── vhost: memory, queues, KICK ───── socket ── virtio: PCI accesses (virt-pci)
//!  answer(now, bytes) ──► │  ─── ring: commands, interrupts ────── shared memory
//!  interrupt ───────────► │  ─── memory: DMA ───────────────────── shared memory
//!                         └───── process: start, folder, end
//! ```
//!
//! A guest executes in no simulated time. It reports the time until which it sleeps; nothing happens in it
//! before, unless it is interrupted. An access to its device suspends it until the answer, and its clock then
//! shows the answer's time. So the behaviour of a guest is a function of its inputs alone.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod act;
mod alone;
mod clock;
mod confinement;
mod environment;
mod guest;
mod input;
mod kernel;
mod memory;
mod process;
mod ring;
mod start_error;
mod sys;
#[cfg(test)]
mod tests;
mod vhost;

pub use crate::act::{Act, Ending, Interrupt, Location, Space, Watch};
pub use crate::alone::alone;
pub use crate::guest::Guest;
pub use crate::input::{Input, Typist};
pub use crate::kernel::{Kernel, NoKernel};
pub use crate::memory::{GuestMemory, MESSAGES};
pub use crate::process::{Costs, Kept, Setup, Task, LIBRARIES};
pub use crate::start_error::{LastWords, StartError};

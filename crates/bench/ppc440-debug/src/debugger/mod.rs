//! gdb on the embedded processor of one node (`sunstar run --gdb NODE`).
//!
//! ```text
//! gdb ─TCP─► reader thread ─┐ bytes
//!                           ▼
//!                 gdb's thread: `Conversation` ─────── requests ───► the node's worker: `Debugger`
//!                           ▲        ▲                                   │
//!                           │        └──────────── replies ──────────────┤
//!                           └─────────────── it has stopped ─────────────┘
//! ```
//!
//! The node's worker asks `watch::Watch` before each instruction. If that says so, the worker
//! halts and does what gdb requests until it is told to go on; so nothing of the machine moves beyond the
//! present window, and no simulated time passes. While the node runs gdb's thread can only raise a flag.
//!
//! | module | what |
//! |---|---|
//! | `listener` | the port, and who waits behind it |
//! | `session` | gdb's thread: who connects, and who comes back |
//! | `framing` | packets out of bytes, and bytes of packets |
//! | `command` | the command in a packet, or why it is refused |
//! | `conversation` | the protocol's state: each packet has its answer |
//! | `arch` | registers of the PowerPC 440 in the protocol |
//! | `watch` | breakpoints and watchpoints, steps |
//! | `halted` | requests, carried out on the node |
//! | `gdb` | a processor's place for a debugger, who may leave and come back |
//!
//! A model has a [`GdbSlot`] for each processor, asks its [`Watch`] before each instruction while it is
//! taken, and says by [`Surroundings`] what else of the node can be seen and changed.

mod arch;
mod command;
mod conversation;
mod framing;
#[cfg(test)]
mod fuzz;
mod gdb;
mod halted;
mod listener;
mod session;
mod watch;

pub use gdb::{killed, GdbSlot, KILLED};
pub use halted::{Halted, Surroundings};
pub use listener::{Listener, Visit};
pub use watch::{Debugged, Watch};

use arch::Registers;
use des::Stop;
use machine::firmware::facts::Facts;
use session::Incoming;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender};
use std::sync::Arc;
use std::time::Duration;

/// Signals by gdb's numbers, which are not those of each system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A request to stop.
    Int = 2,
    /// Not an instruction.
    Ill = 4,
    /// A trap instruction.
    Trap = 5,
    /// The firmware or the machine has given up.
    Abort = 6,
    /// No answer on the bus, or a stale line.
    Bus = 10,
    /// Nothing is mapped there.
    Segv = 11,
}

/// Accesses that a watchpoint stops at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchKind {
    /// Stores.
    Write,
    /// Loads.
    Read,
    /// Both.
    ReadWrite,
}

/// Reason for which the processor is halted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// A signal as a process gets it.
    Signal(Signal),
    /// A breakpoint of software's kind.
    SwBreak,
    /// A breakpoint of hardware's kind.
    HwBreak,
    /// A watchpoint.
    Watch {
        /// Kind of the watchpoint.
        kind: WatchKind,
        /// The first byte of the access that is watched.
        addr: u32,
    },
    /// It has gone as far as it was to.
    DoneStep,
}

/// Way in which the processor goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Goes on to the next breakpoint.
    Continue,
    /// Goes on by one instruction.
    Step,
    /// Goes on until it leaves these addresses: the first, and that behind the last.
    Range(u32, u32),
}

/// Something to stop at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopPoint {
    /// An instruction; hardware's kind of breakpoint or software's, which differ in name only.
    Break { addr: u32, hardware: bool },
    /// An access to data.
    Watch { addr: u32, len: u32, kind: WatchKind },
}

/// Request of gdb to the node.
#[derive(Debug)]
pub(crate) enum Request {
    /// All registers that the protocol keeps together.
    Registers,
    SetRegisters(Box<Registers>),
    /// A register by its number in the target description.
    Register(usize),
    SetRegister(usize, u32),
    /// This many bytes from an effective address on, or as many as there are.
    Read(u32, usize),
    Write(u32, Vec<u8>),
    /// Adds a mark, or removes it.
    StopPoint(StopPoint, bool),
    /// `monitor` and its words.
    Monitor(String),
    Go(Pace),
    /// The debugger goes, the run goes on.
    Detach,
    /// The run is to end.
    Kill,
}

impl Request {
    /// True if the processor may do something else afterwards.
    fn changes(&self) -> bool {
        matches!(self, Request::SetRegisters(_) | Request::SetRegister(..) | Request::Write(..))
    }
}

/// The node's answer.
#[derive(Debug)]
pub(crate) enum Reply {
    Registers(Box<Registers>),
    Word(u32),
    Bytes(Vec<u8>),
    Text(String),
    Done,
    /// There is no such thing.
    Refused,
}

/// Way in which the node goes on after a halt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    Run,
    Detached,
    Killed,
}

/// A node's side of the debugger.
pub struct Debugger {
    pub(crate) watch: Watch,
    pub(crate) facts: Facts,
    /// True if the processor parks when nobody debugs it.
    pub(crate) park: bool,
    /// A warning of the next failure has been given: the processor was last halted before the instruction
    /// that fails, and nothing was changed there.
    pub(crate) warned: bool,
    requests: Receiver<Request>,
    replies: Sender<Reply>,
    events: SyncSender<Incoming>,
    interrupt: Arc<AtomicBool>,
    stop: Arc<Stop>,
}

/// Period at which a node that waits for gdb checks whether the run is to end.
const PATIENCE: Duration = Duration::from_millis(50);

impl Debugger {
    /// The processor has been halted: why.
    pub(crate) fn stands(&mut self) -> Why {
        self.watch.why()
    }

    /// gdb wants the processor to stop, or has come back.
    pub(crate) fn interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    /// Halts, and does what gdb requests, until it wants the processor to go on.
    pub(crate) fn talk(&mut self, why: Why, halted: &mut Halted) -> Then {
        let wrong = [Signal::Ill, Signal::Segv, Signal::Trap];
        self.warned = matches!(why, Why::Signal(signal) if wrong.contains(&signal));
        // If gdb has gone, its request to go on is there.
        self.events.send(Incoming::Stopped(why)).ok();
        loop {
            let request = match self.requests.recv_timeout(PATIENCE) {
                Ok(request) => request,
                Err(RecvTimeoutError::Timeout) if !self.stop.requested() => continue,
                Err(_) => return Then::Detached,
            };
            match request {
                Request::Go(pace) => {
                    self.watch.go(pace, halted.core.progress());
                    return Then::Run;
                }
                Request::Detach => {
                    self.watch.rest();
                    return Then::Detached;
                }
                Request::Kill => return Then::Killed,
                other => {
                    self.warned &= !other.changes();
                    let reply = halted.obey(other, &mut self.watch, &self.facts);
                    self.replies.send(reply).ok();
                }
            }
        }
    }
}

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
//! The node's worker asks `watch::Watch` before each instruction. Where that says so, the worker stands
//! still and does what gdb asks for until it is told to go on; so nothing of the machine moves beyond the
//! present window, and no simulated time passes. While the node runs gdb's thread can only raise a flag.
//!
//! | module | what |
//! |---|---|
//! | `door` | the port, and who waits behind it |
//! | `session` | gdb's thread: who connects, and who comes back |
//! | `framing` | packets out of bytes, and bytes of packets |
//! | `command` | what a packet asks for, or why it is refused |
//! | `conversation` | the protocol's state: each packet has its answer |
//! | `arch` | registers of the PowerPC 440 in the protocol |
//! | `watch` | breakpoints and watchpoints, steps |
//! | `halted` | requests, carried out on the node |

mod arch;
mod command;
mod conversation;
mod door;
mod framing;
#[cfg(test)]
mod fuzz;
mod halted;
mod session;
mod watch;

pub use door::Door;
pub(crate) use halted::Halted;
pub(crate) use watch::{Debugged, Watch};

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
pub(crate) enum Signal {
    Int = 2,
    Ill = 4,
    Trap = 5,
    Abort = 6,
    Bus = 10,
    Segv = 11,
}

/// Accesses that a watchpoint stops at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WatchKind {
    Write,
    Read,
    ReadWrite,
}

/// Why the processor stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    Signal(Signal),
    SwBreak,
    HwBreak,
    Watch {
        kind: WatchKind,
        /// The first byte of the access that is watched.
        addr: u32,
    },
    DoneStep,
}

/// How the processor goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// To the next breakpoint.
    Continue,
    /// By one instruction.
    Step,
    /// Until it leaves these addresses: the first, and that behind the last.
    Range(u32, u32),
}

/// Something to stop at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// An instruction; hardware's kind of breakpoint or software's, which differ in name only.
    Break { addr: u32, hardware: bool },
    /// An access to data.
    Watch { addr: u32, len: u32, kind: WatchKind },
}

/// What gdb asks of the node.
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
    Mark(Mark, bool),
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

/// How the node goes on after it stood still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    Run,
    Detached,
    Killed,
}

/// A node's side of the debugger.
pub(crate) struct Debugger {
    pub watch: Watch,
    pub facts: Facts,
    /// Whether the processor parks when nobody debugs it.
    pub park: bool,
    /// What is about to go wrong has been shown: the processor last stood still before the instruction that
    /// does, and nothing was changed there.
    pub warned: bool,
    requests: Receiver<Request>,
    replies: Sender<Reply>,
    events: SyncSender<Incoming>,
    interrupt: Arc<AtomicBool>,
    stop: Arc<Stop>,
}

/// How often one who waits for gdb looks whether the run is to end.
const PATIENCE: Duration = Duration::from_millis(50);

impl Debugger {
    /// The processor has been halted: why.
    pub fn stands(&mut self) -> Why {
        self.watch.why()
    }

    /// gdb wants the processor to stop, or has come back.
    pub fn interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    /// Stands still, and does what gdb asks for, until it wants the processor to go on.
    pub fn talk(&mut self, why: Why, halted: &mut Halted) -> Then {
        let wrong = [Signal::Ill, Signal::Segv, Signal::Trap];
        self.warned = matches!(why, Why::Signal(signal) if wrong.contains(&signal));
        // If nobody is there any more the request that says so is there.
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

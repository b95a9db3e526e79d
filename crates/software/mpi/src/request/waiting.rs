//! Reasons for which a process waits. They are recorded at every wait and seldom read, so they become words
//! only on request.

use super::Direction;
use crate::constant::{ANY_SOURCE, ANY_TAG, PROC_NULL};
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

/// Reason for which the process waits, if it does: for the report of a deadlock.
pub type Waiting = Rc<RefCell<Option<Wait>>>;

/// Reason for which a call of the program waits.
#[derive(Clone, Debug)]
pub struct Wait {
    function: &'static str,
    what: What,
}

/// Owner of the operation that a call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Its own: "MPI_Recv from rank 1".
    Own,
    /// One begun earlier: "MPI_Wait for a receive from rank 1".
    Earlier,
}

/// Missing event.
#[derive(Clone, Debug)]
pub(crate) enum What {
    /// Something that the call's name says.
    Something,
    /// The same, for a function of another library above.
    For(Rc<str>),
    /// The call's own message.
    Own(MessageKey),
    /// The message of a request begun earlier.
    Earlier(MessageKey),
    /// Some requests of several, the first of which has this message.
    Several { open: usize, all: usize, first: MessageKey },
    /// A message of a collective operation.
    Part(MessageKey),
    /// The receiver of a send, and the send if it is known.
    Receiver(Option<MessageKey>),
}

impl Wait {
    pub(crate) fn new(function: &'static str, what: What) -> Wait {
        Wait { function, what }
    }
    /// `function` waits for what its name says.
    pub fn in_call(function: &'static str) -> Wait {
        Wait::new(function, What::Something)
    }
    /// The same, as another library's function `caller` needs it.
    pub fn in_call_for(function: &'static str, caller: &str) -> Wait {
        Wait::new(function, What::For(caller.into()))
    }
}

impl fmt::Display for Wait {
    /// Formats the text after "waits in": `MPI_Recv from rank 1, tag 0, MPI_COMM_WORLD`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.function)?;
        match &self.what {
            What::Something => Ok(()),
            What::For(caller) => write!(f, ", for {caller}"),
            What::Own(message) => write!(f, "{message}"),
            What::Earlier(message) => write!(f, " for a {}{message}", message.noun()),
            What::Several { open, all, first } => {
                write!(f, " for {open} of {all} requests, the first a {}{first}", first.noun())
            }
            What::Part(message) if message.direction == Direction::Collective => {
                write!(f, ", {}: the network interface's part of it", message.communicator())
            }
            What::Part(message) => {
                let (name, way, peer) = (message.communicator(), message.way(), message.peer);
                write!(f, ", {name}: a message {way} rank {peer}")
            }
            What::Receiver(send) => {
                f.write_str(": a send that nobody has received")?;
                let Some(MessageKey { peer, tag, .. }) = send else { return Ok(()) };
                write!(f, " (to rank {peer}, tag {tag})")
            }
        }
    }
}

/// Properties that identify a message in a report.
#[derive(Clone, Debug)]
pub(crate) struct MessageKey {
    pub direction: Direction,
    pub peer: i32,
    pub tag: i32,
    /// Name of its communicator, unless that is freed.
    pub communicator: Option<Rc<str>>,
}

impl MessageKey {
    fn noun(&self) -> &'static str {
        if self.direction == Direction::Send {
            "send"
        } else {
            "receive"
        }
    }
    fn way(&self) -> &'static str {
        if self.direction == Direction::Send {
            "to"
        } else {
            "from"
        }
    }
    fn communicator(&self) -> &str {
        self.communicator.as_deref().unwrap_or("a freed communicator")
    }
}

impl fmt::Display for MessageKey {
    /// ` to rank 1, tag 0, MPI_COMM_WORLD`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way = self.way();
        match self.peer {
            ANY_SOURCE => write!(f, " {way} any rank")?,
            PROC_NULL => write!(f, " {way} MPI_PROC_NULL")?,
            rank => write!(f, " {way} rank {rank}")?,
        }
        match self.tag {
            ANY_TAG => f.write_str(", any tag")?,
            tag => write!(f, ", tag {tag}")?,
        }
        write!(f, ", {}", self.communicator())
    }
}

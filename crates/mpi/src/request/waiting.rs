//! What a process waits for. It is noted at every wait and told to hardly anybody, so words are made of it
//! only for those who ask.

use super::Direction;
use crate::constant::{ANY_SOURCE, ANY_TAG, PROC_NULL};
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

/// What the process waits for, while it waits: for the report of a deadlock.
pub type Waiting = Rc<RefCell<Option<Wait>>>;

/// What a call of the program waits for.
#[derive(Clone, Debug)]
pub struct Wait {
    function: &'static str,
    what: What,
}

/// What is missing.
#[derive(Clone, Debug)]
pub(crate) enum What {
    /// Something that the call's name says.
    Something,
    /// The call's own message.
    Own(Message),
    /// The message of a request begun earlier.
    Earlier(Message),
    /// Some requests of several, the first of which has this message.
    Several { open: usize, all: usize, first: Message },
    /// A message of a collective operation.
    Part(Message),
    /// That somebody receives a send, if one is known.
    Receiver(Option<Message>),
}

impl Wait {
    pub(crate) fn new(function: &'static str, what: What) -> Wait {
        Wait { function, what }
    }
    /// `function` waits for what its name says.
    pub fn in_call(function: &'static str) -> Wait {
        Wait::new(function, What::Something)
    }
}

impl fmt::Display for Wait {
    /// After "waits in": `MPI_Recv from rank 1, tag 0, MPI_COMM_WORLD`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.function)?;
        match &self.what {
            What::Something => Ok(()),
            What::Own(message) => write!(f, "{message}"),
            What::Earlier(message) => write!(f, " for a {}{message}", message.noun()),
            What::Several { open, all, first } => {
                write!(f, " for {open} of {all} requests, the first a {}{first}", first.noun())
            }
            What::Part(message) => {
                let (name, way, peer) = (message.communicator(), message.way(), message.peer);
                write!(f, ", {name}: a message {way} rank {peer}")
            }
            What::Receiver(send) => {
                f.write_str(": a send that nobody has received")?;
                let Some(Message { peer, tag, .. }) = send else { return Ok(()) };
                write!(f, " (to rank {peer}, tag {tag})")
            }
        }
    }
}

/// What a message is known by.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub direction: Direction,
    pub peer: i32,
    pub tag: i32,
    /// Name of its communicator, unless that is freed.
    pub communicator: Option<Rc<str>>,
}

impl Message {
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

impl fmt::Display for Message {
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

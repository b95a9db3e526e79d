//! Specification of a unit, without timing: an ordered list of which the first match wins and is deleted. It
//! judges the model and the RTL.

use crate::{Command, Entry, QueueKind, Request, Response};

/// The list and the mode. `command` and `request` are the two events. If both wait, the unit that is judged
/// may handle them in any order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Spec {
    kind: QueueKind,
    cells: usize,
    entries: Vec<Entry>,
    inserting: bool,
    held: Option<Request>,
}

impl Spec {
    /// An empty unit of `cells` cells, matching.
    pub fn new(kind: QueueKind, cells: usize) -> Spec {
        Spec { kind, cells, entries: Vec::new(), inserting: false, held: None }
    }

    /// The entries, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// True between START INSERT and STOP INSERT.
    pub fn inserting(&self) -> bool {
        self.inserting
    }

    /// The request that failed in insert mode and waits; no other is taken before it has its answer.
    pub fn held(&self) -> Option<Request> {
        self.held
    }

    /// Entries that fit.
    pub fn free(&self) -> usize {
        self.cells - self.entries.len()
    }

    /// Takes a command. Outside of insert mode only START INSERT and RESET have an effect, in it only INSERT
    /// and STOP INSERT; the rest is discarded (brightwell2005 s3.3, footnote 3).
    pub fn command(&mut self, command: Command) -> Option<Response> {
        match command {
            Command::StartInsert if !self.inserting => {
                self.inserting = true;
                return Some(Response::StartAcknowledge { free: self.free() as u32 });
            }
            Command::Reset if !self.inserting => self.entries.clear(),
            Command::Insert(entry) if self.inserting && self.free() > 0 => self.entries.push(entry),
            Command::StopInsert if self.inserting => self.inserting = false,
            _ => {}
        }
        None
    }

    /// Takes a request. There is no answer if it fails in insert mode: it is held, and `retry` gives the
    /// answer later.
    pub fn request(&mut self, request: Request) -> Option<Response> {
        assert!(self.held.is_none(), "a request is held; no other can be taken");
        self.held = Some(request);
        self.retry()
    }

    /// Tries the held request again, as the unit may do whenever it likes.
    pub fn retry(&mut self) -> Option<Response> {
        let request = self.held?;
        let found = self.entries.iter().position(|entry| self.kind.matches(entry, &request));
        let response = match found {
            Some(index) => Response::MatchSuccess { tag: self.entries.remove(index).tag },
            None if self.inserting => return None,
            None => Response::MatchFailure,
        };
        self.held = None;
        Some(response)
    }
}

//! Completion: waiting for requests, testing them, looking for messages.

use super::waiting::{MessageKey, Wait, What};
use super::{Direction, Request, RequestId, Status};
use crate::comm::CommId;
use crate::constant::PROC_NULL;
use crate::error::{Error, Result};
use crate::process::Process;
use crate::request::operation::Envelope;
use crate::transport::Found;

/// Owner of the operation that a call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Its own: "MPI_Recv from rank 1".
    Own,
    /// One begun earlier: "MPI_Wait for a receive from rank 1".
    Earlier,
}

impl Process {
    /// Waits until all of `ids` are complete; an error if the call is broken off before.
    pub(crate) fn wait_all(&mut self, ids: &[RequestId], whose: Whose) -> Result<()> {
        self.block(
            |process| ids.iter().all(|&id| process.requests.get(id).is_complete()),
            |process| process.missing(ids, whose),
        )
    }

    /// Waits until at least one of `ids` (which must not be empty) is complete.
    pub(crate) fn wait_some(&mut self, ids: &[RequestId]) -> Result<()> {
        self.block(
            |process| ids.iter().any(|&id| process.requests.get(id).is_complete()),
            |process| process.missing(ids, Whose::Earlier),
        )
    }

    /// Takes in what has arrived, without waiting. Costs at least one poll.
    pub(crate) fn progress(&mut self) {
        loop {
            while self.poll() {}
            if !self.run_ready() {
                return;
            }
        }
    }

    /// Waits until `done`; `what` says for what. An error if the call is broken off before.
    pub(crate) fn block(
        &mut self,
        mut done: impl FnMut(&mut Process) -> bool,
        what: impl FnOnce(&Process) -> What,
    ) -> Result<()> {
        if done(self) {
            return Ok(());
        }
        let wait = Wait::new(self.local.function, what(self));
        self.waiting.replace(Some(wait));
        while !done(self) && self.broken_off.is_none() {
            if !self.run_ready() {
                self.await_event();
            }
        }
        self.waiting.replace(None);
        self.go_on()
    }

    /// A completed request's outcome; the request is gone.
    pub(crate) fn take(&mut self, id: RequestId) -> (Status, Result<()>) {
        let request = self.requests.remove(id);
        assert!(request.is_complete(), "only a complete request is taken");
        (request.status, request.error.map_or(Ok(()), Err))
    }

    /// Gives up a request that nobody will use any more: it goes away when it is over.
    pub(crate) fn abandon(&mut self, id: RequestId) {
        if self.requests.get(id).is_complete() {
            self.requests.remove(id);
        } else {
            self.requests.get_mut(id).orphan = true;
        }
    }

    /// A request that has failed already, for a program that has its handle.
    pub(crate) fn failed_request(&mut self, comm: CommId, error: Error) -> RequestId {
        let mut request = Request::new(Direction::Send, comm, PROC_NULL, 0);
        request.complete = true;
        request.status.error = error.class;
        request.error = Some(error);
        self.requests.insert(request)
    }

    /// Waits for requests that nobody has a handle of: if the call is broken off before, they are abandoned.
    pub(crate) fn wait_for_own(&mut self, ids: &[RequestId], whose: Whose) -> Result<()> {
        self.wait_all(ids, whose).inspect_err(|_| ids.iter().for_each(|&id| self.abandon(id)))
    }

    /// Waits for one request and takes it.
    pub(crate) fn finish(&mut self, id: RequestId, whose: Whose) -> Result<Status> {
        self.wait_for_own(&[id], whose)?;
        let (status, result) = self.take(id);
        result.map(|()| status)
    }

    /// Looks for a message that could be received, without receiving it.
    pub(crate) fn look(&mut self, from: Envelope) -> Result<Option<Status>> {
        self.progress();
        let wanted = self.wanted(from)?;
        let found = self.transport.find(&mut self.local, wanted);
        Ok(found.map(|Found { source, tag, bytes }| Status { source, tag, bytes, ..Status::EMPTY }))
    }

    /// Waits for a message that could be received.
    pub(crate) fn look_until_found(&mut self, from: Envelope) -> Result<Status> {
        let wanted = self.wanted(from)?;
        self.block(
            |process| process.transport.has(&mut process.local, wanted),
            |process| {
                What::Own(process.message(Direction::Receive, from.comm, from.peer, from.tag))
            },
        )?;
        let found = self.look(from)?;
        Ok(found.expect("a message that was found stays"))
    }

    /// Reason for a wait for `ids` that are not all complete.
    fn missing(&self, ids: &[RequestId], whose: Whose) -> What {
        let mut open = ids.iter().filter(|&&id| !self.requests.get(id).is_complete());
        let Some(&id) = open.next() else { return What::Something };
        let (open, first) = (1 + open.count(), self.requests.get(id));
        if first.collective {
            return What::Part(self.message_of(self.open_child(id).unwrap_or(first)));
        }
        let message = self.message_of(first);
        match (open, whose) {
            (1, Whose::Own) => What::Own(message),
            (1, Whose::Earlier) => What::Earlier(message),
            _ => What::Several { open, all: ids.len(), first: message },
        }
    }

    pub(crate) fn message_of(&self, request: &Request) -> MessageKey {
        let Request { direction, comm, peer, tag, .. } = *request;
        self.message(direction, comm, peer, tag)
    }

    fn message(&self, direction: Direction, comm: CommId, peer: i32, tag: i32) -> MessageKey {
        let communicator = self.comm(comm).ok().map(|comm| comm.name.clone());
        MessageKey { direction, peer, tag, communicator }
    }
}

//! Completion: waiting for requests, looking for messages.

use crate::error::Result;
use crate::process::Process;
use crate::request::point_to_point::Envelope;
use crate::request::waiting::{What, Whose};
use crate::request::{Direction, RequestId, Status};

impl Process {
    /// Waits until all of `ids` are complete; an error if the call is broken off before.
    pub(crate) fn wait_all(&mut self, ids: &[RequestId], whose: Whose) -> Result<()> {
        self.block(
            |p2p| ids.iter().all(|&id| p2p.requests.get(id).is_complete()),
            |p2p| p2p.missing(ids, whose),
        )
    }

    /// Waits until at least one of `ids` (which must not be empty) is complete.
    pub(crate) fn wait_some(&mut self, ids: &[RequestId]) -> Result<()> {
        self.block(
            |p2p| ids.iter().any(|&id| p2p.requests.get(id).is_complete()),
            |p2p| p2p.missing(ids, Whose::Earlier),
        )
    }

    /// Waits for requests that nobody has a handle of: if the call is broken off before, they are abandoned.
    pub(crate) fn wait_for_own(&mut self, ids: &[RequestId], whose: Whose) -> Result<()> {
        self.wait_all(ids, whose).inspect_err(|_| ids.iter().for_each(|&id| self.p2p.abandon(id)))
    }

    /// Waits for one request and takes it.
    pub(crate) fn finish(&mut self, id: RequestId, whose: Whose) -> Result<Status> {
        self.wait_for_own(&[id], whose)?;
        let (status, result) = self.p2p.take(id);
        result.map(|()| status)
    }

    /// Waits for a message that could be received.
    pub(crate) fn look_until_found(&mut self, from: Envelope) -> Result<Status> {
        let wanted = self.p2p.wanted(from)?;
        self.block(
            |p2p| p2p.transport.has(&mut p2p.local, wanted),
            |p2p| What::Own(p2p.message(Direction::Receive, from.comm, from.peer, from.tag)),
        )?;
        let found = self.look(from)?;
        Ok(found.expect("a message that was found stays"))
    }

    /// Looks for a message that could be received, without receiving it.
    pub(crate) fn look(&mut self, from: Envelope) -> Result<Option<Status>> {
        self.progress();
        self.p2p.find(from)
    }
}

//! Completion: waiting for requests, testing them, looking for messages; and what the process says
//! meanwhile.

use crate::comm::CommId;
use crate::constant::{ANY_SOURCE, ANY_TAG, PROC_NULL};
use crate::error::{Error, Result};
use crate::matching;
use crate::process::Process;
use crate::request::{Direction, Request, RequestId, State, Status};
use crate::transport::Envelope;
use std::fmt::Write;

/// Whose operation a call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Its own: "MPI_Recv from rank 1".
    Own,
    /// One begun earlier: "MPI_Wait for a receive from rank 1".
    Earlier,
}

impl Process {
    /// Waits until all of `ids` are complete.
    pub(crate) fn wait_all(&mut self, ids: &[RequestId], whose: Whose) {
        self.block(
            |process| ids.iter().all(|&id| process.requests.get(id).is_complete()),
            |process, text| process.describe_wait(ids, whose, text),
        );
    }

    /// Waits until at least one of `ids` (which must not be empty) is complete.
    pub(crate) fn wait_some(&mut self, ids: &[RequestId]) {
        self.block(
            |process| ids.iter().any(|&id| process.requests.get(id).is_complete()),
            |process, text| {
                process.describe_wait(ids, Whose::Earlier, text);
            },
        );
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

    /// Waits until `done`; `describe` says for what.
    pub(crate) fn block(
        &mut self,
        done: impl Fn(&Process) -> bool,
        describe: impl FnOnce(&Process, &mut String),
    ) {
        if done(self) {
            return;
        }
        let mut text = std::mem::take(&mut self.spare_text);
        text.clear();
        describe(self, &mut text);
        *self.waiting.borrow_mut() = Some(text);
        while !done(self) {
            if !self.run_ready() {
                self.await_event();
            }
        }
        self.spare_text = self.waiting.borrow_mut().take().unwrap_or_default();
    }

    /// A completed request's outcome; the request is gone.
    pub(crate) fn take(&mut self, id: RequestId) -> (Status, Result<()>) {
        let request = self.requests.remove(id);
        assert!(request.is_complete(), "only a complete request is taken");
        (request.status, request.error.map_or(Ok(()), Err))
    }

    /// Nobody will ask for a request any more: it goes away when it is over.
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
        request.state = State::Complete;
        request.status.error = error.class;
        request.error = Some(error);
        self.requests.insert(request)
    }

    /// Waits for one request and takes it.
    pub(crate) fn finish(&mut self, id: RequestId, whose: Whose) -> Result<Status> {
        self.wait_all(&[id], whose);
        let (status, result) = self.take(id);
        result.map(|()| status)
    }

    /// Looks for a message that could be received, without receiving it.
    pub(crate) fn look(&mut self, from: Envelope) -> Result<Option<Status>> {
        self.progress();
        let pattern = self.pattern(from)?;
        let found = self.search(pattern, 0);
        Ok(found.map(|index| {
            let message = self.unexpected.peek(index);
            let bytes = if matching::is_rendezvous(message.bits) {
                matching::Announcement::unpack(message.hdr_data).length
            } else {
                message.length
            };
            let (source, tag) = (matching::source_of(message.bits), matching::tag_of(message.bits));
            Status { source, tag, bytes, ..Status::EMPTY }
        }))
    }

    /// Waits for a message that could be received.
    pub(crate) fn look_until_found(&mut self, from: Envelope) -> Result<Status> {
        let pattern = self.pattern(from)?;
        self.block(
            |process| process.unexpected.find(pattern, 0).is_some(),
            |process, text| {
                text.push_str(process.function);
                process.describe_envelope(Direction::Receive, from, text);
            },
        );
        let found = self.look(from)?;
        Ok(found.expect("a message that was found stays"))
    }

    fn describe_wait(&self, ids: &[RequestId], whose: Whose, text: &mut String) {
        let mut open = ids.iter().map(|&id| self.requests.get(id)).filter(|r| !r.is_complete());
        let Some(first) = open.next() else { return };
        let open = 1 + open.count();
        text.push_str(self.function);
        if first.collective {
            let at = ids.iter().copied().find(|&id| !self.requests.get(id).is_complete());
            let part = at.and_then(|id| self.open_child(id));
            let first = part.unwrap_or(first);
            let peer = first.peer;
            let name = self.comm(first.comm).map_or("a freed communicator", |comm| &comm.name);
            let way = if first.direction == Direction::Send { "to" } else { "from" };
            put(text, format_args!(", {name}: a message {way} rank {peer}"));
            return;
        }
        if whose == Whose::Earlier || open > 1 {
            match open {
                1 => text.push_str(" for a "),
                n => put(text, format_args!(" for {n} of {} requests, the first a ", ids.len())),
            }
            text.push_str(if first.direction == Direction::Send { "send" } else { "receive" });
        }
        let (comm, collective, peer, tag) = (first.comm, false, first.peer, first.tag);
        self.describe_envelope(first.direction, Envelope { comm, collective, peer, tag }, text);
    }

    /// What a message is known by: " to rank 1, tag 0, MPI_COMM_WORLD".
    pub(crate) fn describe_envelope(
        &self,
        direction: Direction,
        envelope: Envelope,
        text: &mut String,
    ) {
        let way = if direction == Direction::Send { "to" } else { "from" };
        match envelope.peer {
            ANY_SOURCE => put(text, format_args!(" {way} any rank")),
            PROC_NULL => put(text, format_args!(" {way} MPI_PROC_NULL")),
            rank => put(text, format_args!(" {way} rank {rank}")),
        }
        match envelope.tag {
            ANY_TAG => text.push_str(", any tag"),
            tag => put(text, format_args!(", tag {tag}")),
        }
        let name = self.comm(envelope.comm).map_or("a freed communicator", |comm| &comm.name);
        put(text, format_args!(", {name}"));
    }
}

fn put(text: &mut String, words: std::fmt::Arguments<'_>) {
    text.write_fmt(words).expect("a string takes everything");
}

//! Point-to-point operations: begun, taken back, ended.

use super::{Direction, Request, RequestId, Scattered, Status};
use crate::comm::CommId;
use crate::constant;
use crate::error::{Error, Result};
use crate::process::Process;
use crate::transport::{Address, Begun, Bytes, Ending, Found, Mode, Step, Taken, Wanted};

/// Destination or origin of a message: everything except its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Envelope {
    pub comm: CommId,
    pub collective: bool,
    /// Rank in `comm`, or MPI_ANY_SOURCE.
    pub peer: i32,
    /// Tag, or MPI_ANY_TAG.
    pub tag: i32,
}

impl Process {
    /// Starts sending `length` bytes at `va`, which `scattered` (if any) gathered.
    pub(crate) fn start_send(
        &mut self,
        to: Envelope,
        (va, length): (u64, u64),
        scattered: Option<Scattered>,
        mode: Mode,
    ) -> Result<RequestId> {
        self.charge(self.local.params.request);
        let comm = self.comms.get(to.comm)?;
        let context = if to.collective { comm.collective_context() } else { comm.context() };
        let target = comm.members[to.peer as usize];
        let address = Address { context, source: comm.rank, tag: to.tag, target };
        let mut request = Request::new(Direction::Send, to.comm, to.peer, to.tag);
        (request.collective, request.length) = (to.collective, length);
        request.scattered = scattered;
        let id = self.requests.insert(request);
        match self.transport.send(&mut self.local, id, address, Bytes { va, length }, mode) {
            Ok(false) => {}
            Ok(true) => self.sent(id),
            Err(error) => {
                self.requests.remove(id);
                return Err(error);
            }
        }
        Ok(id)
    }

    /// A send was over at once.
    fn sent(&mut self, id: RequestId) {
        let request = self.requests.get_mut(id);
        request.complete = true;
        if let Some(scattered) = request.scattered.take() {
            self.scratch.give(scattered.buffer);
        }
    }

    /// Starts receiving up to `length` bytes to `va`, from where `scattered` (if any) scatters them.
    pub(crate) fn start_receive(
        &mut self,
        from: Envelope,
        (va, length): (u64, u64),
        scattered: Option<Scattered>,
    ) -> Result<RequestId> {
        self.charge(self.local.params.request);
        self.check_buffer(va, length)?;
        let wanted = self.wanted(from)?;
        let mut request = Request::new(Direction::Receive, from.comm, from.peer, from.tag);
        (request.collective, request.length) = (from.collective, length);
        request.scattered = scattered;
        let id = self.requests.insert(request);
        let room = Bytes { va, length };
        loop {
            match self.transport.receive(&mut self.local, id, wanted, room) {
                Begun::UnderWay => return Ok(id),
                Begun::Ended(ending) => {
                    self.ended(ending);
                    return Ok(id);
                }
                Begun::Again(step) => drop(self.heard(step)),
            }
        }
    }

    /// Pattern that a receive or a probe looks for.
    pub(crate) fn wanted(&self, from: Envelope) -> Result<Wanted> {
        let comm = self.comms.get(from.comm)?;
        let context = if from.collective { comm.collective_context() } else { comm.context() };
        Ok(Wanted { context, source: from.peer, tag: from.tag })
    }

    /// Starts receiving a message that was taken before.
    pub(crate) fn start_matched(
        &mut self,
        comm: CommId,
        (message, found): (Taken, Found),
        (va, length): (u64, u64),
        scattered: Option<Scattered>,
    ) -> Result<RequestId> {
        self.charge(self.local.params.request);
        self.check_buffer(va, length)?;
        let mut request = Request::new(Direction::Receive, comm, found.source, found.tag);
        (request.length, request.scattered) = (length, scattered);
        let id = self.requests.insert(request);
        let room = Bytes { va, length };
        loop {
            match self.transport.receive_taken(&mut self.local, id, message, room) {
                Begun::UnderWay => return Ok(id),
                Begun::Ended(ending) => {
                    self.ended(ending);
                    return Ok(id);
                }
                Begun::Again(step) => drop(self.heard(step)),
            }
        }
    }

    /// Takes back a posted receive. False if a message has already matched it.
    pub(crate) fn withdraw(&mut self, id: RequestId) -> bool {
        let request = self.requests.get(id);
        let receives = request.direction == Direction::Receive && !request.is_complete();
        if !receives || !self.transport.cancel(&mut self.local, id) {
            return false;
        }
        let request = self.requests.get_mut(id);
        request.status = Status { cancelled: true, ..Status::EMPTY };
        request.scattered.iter_mut().for_each(|s| s.target = None);
        self.complete(id);
        true
    }

    /// Takes one piece of news, if there is any.
    pub(crate) fn poll(&mut self) -> bool {
        let step = self.transport.poll(&mut self.local);
        self.heard(step)
    }

    /// Waits for the next piece of news.
    pub(crate) fn await_event(&mut self) {
        let step = self.transport.wait(&mut self.local);
        self.heard(step);
    }

    /// Takes in news. False if there was none.
    fn heard(&mut self, step: Step) -> bool {
        match step {
            Step::Nothing => return false,
            Step::Event => {}
            Step::Failed(id, error) => self.unsendable(id, &error),
            Step::Ended(ending) => self.ended(ending),
            Step::Collected(id) => self.complete(id),
        }
        true
    }

    /// An operation has ended.
    fn ended(&mut self, Ending { id, found, error }: Ending) {
        let request = self.requests.get_mut(id);
        match (request.direction, error) {
            (Direction::Receive, error) => {
                let Found { source, tag, bytes } = found;
                let room = request.length;
                request.status.source = source;
                request.status.tag = tag;
                request.status.bytes = bytes.min(room);
                request.error = error;
                if bytes > room && request.error.is_none() {
                    let text = format!(
                        "the message of {bytes} bytes from rank {source} with tag {tag} does not fit \
                         in the receive buffer of {room} bytes"
                    );
                    request.error = Some(Error::new(constant::ERR_TRUNCATE, text));
                }
                if let Some(witness) = &self.local.witness {
                    witness.completed(id, &request.status, request.error.is_some());
                }
            }
            (_, Some(error)) => self.unsendable(id, &error),
            (_, None) => {}
        }
        self.complete(id);
    }

    /// A send's bytes have not left, and its receiver learns it, too. But this process may wait for an answer
    /// before it looks at its send: if errors are not handled here, the run ends now.
    fn unsendable(&mut self, id: RequestId, why: &Error) {
        let request = self.requests.get(id);
        let (comm, inner) = (self.comms.get(request.comm), request.collective);
        let name = comm.as_ref().map_or("a freed communicator", |comm| &*comm.name);
        let (length, peer) = (request.length, request.peer);
        let text = format!("{length} bytes for rank {peer} of {name} were not sent: {}", why.text);
        if inner || comm.is_ok_and(|comm| comm.on_error.is_fatal()) {
            let (rank, function) = (self.local.world.rank, self.local.function);
            self.local.cpu.fault(format!("rank {rank}: {function}: {text}"));
        }
        self.requests.get_mut(id).error = Some(Error::new(why.class, text));
    }

    /// Ends a request: frees what it held, scatters what it received.
    pub(crate) fn complete(&mut self, id: RequestId) {
        let request = self.requests.get_mut(id);
        request.complete = true;
        let (bytes, scattered) = (request.status.bytes, request.scattered.take());
        if let Some(scattered) = scattered {
            if let Some(target) = &scattered.target {
                let result = self.scatter(scattered.buffer.va, target, bytes);
                let request = self.requests.get_mut(id);
                request.error = request.error.take().or(result.err());
            }
            self.scratch.give(scattered.buffer);
        }
        let request = self.requests.get_mut(id);
        request.status.error = request.error.as_ref().map_or(constant::SUCCESS, |e| e.class);
        let (orphan, parent) = (request.orphan, request.parent);
        if orphan {
            self.requests.remove(id);
        }
        if let Some(parent) = parent {
            let operation = self.requests.get_mut(parent);
            operation.open -= 1;
            if operation.open == 0 {
                self.ready.push_back(parent);
            }
        }
    }
}

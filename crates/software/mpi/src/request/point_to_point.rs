//! Point-to-point operations: begun, taken back, ended. What a process has of them is here: its
//! communicators, its requests, and the transport that carries the messages.

use super::table::{Request, Requests, Scattered};
use super::waiting::{MessageKey, What, Whose};
use super::{Direction, RequestId, Status};
use crate::comm::{group_of, Comm, CommId, Comms, OnNicState};
use crate::constant::{self, ANY_SOURCE, PROC_NULL};
use crate::datatype::items::Items;
use crate::error::{Error, Result};
use crate::local::Local;
use crate::side::messages::Probed;
use crate::transport::message::{Address, Begun, Bytes, Ending, Found, Mode, Step, Wanted};
use crate::transport::Transport;
use std::collections::VecDeque;

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

/// Point-to-point communication of a process.
pub(crate) struct PointToPoint {
    /// Its time, its memory, its place among the ranks.
    pub local: Local,
    pub comms: Comms,
    pub requests: Requests,
    /// Carrier of the messages.
    pub transport: Box<dyn Transport>,
    /// Collective operations whose parts have ended: they can go on.
    pub ready: VecDeque<RequestId>,
}

impl PointToPoint {
    /// Nothing is under way yet.
    pub fn new(local: Local, transport: Box<dyn Transport>) -> PointToPoint {
        PointToPoint {
            comms: Comms::new(&local.world),
            requests: Requests::default(),
            ready: VecDeque::new(),
            local,
            transport,
        }
    }

    /// A communicator.
    pub fn comm(&self, id: CommId) -> Result<&Comm> {
        self.comms.get(id)
    }

    /// The program has freed a communicator: it goes when no operation uses it.
    pub fn free_comm(&mut self, comm: CommId) -> Result<()> {
        self.comms.get_mut(comm)?.freed = true;
        self.remove_freed_comms()
    }

    /// Removes communicators that were freed and that no operation uses any more.
    pub fn remove_freed_comms(&mut self) -> Result<()> {
        for comm in self.comms.freed() {
            if !self.requests.use_comm(comm) {
                self.close_groups(comm)?;
                self.comms.remove(comm)?;
            }
        }
        Ok(())
    }

    /// A communicator goes: its groups on the network interface are closed.
    fn close_groups(&mut self, comm: CommId) -> Result<()> {
        let number = self.comm(comm)?.number;
        for place in 0..2 {
            if self.comm(comm)?.groups[place].state == OnNicState::Open {
                self.transport.close_group(&mut self.local, group_of(number, place));
            }
        }
        Ok(())
    }

    /// Checks the root of a collective.
    pub fn check_root(&self, root: i32, comm: CommId) -> Result<u32> {
        let members = self.comm(comm)?;
        if members.has(root) {
            return Ok(root as u32);
        }
        Err(members.not_a_rank(constant::ERR_ROOT, "root", root))
    }

    // Checked, as a program begins them.

    /// Checks and starts a send.
    pub fn begin_send(
        &mut self,
        items: &Items,
        to: i32,
        tag: i32,
        comm: CommId,
        mode: Mode,
    ) -> Result<RequestId> {
        if !self.may_send(to, tag, comm)? {
            return Ok(self.nothing(Direction::Send, comm));
        }
        self.send_items(Envelope { comm, collective: false, peer: to, tag }, items, mode)
    }

    /// Checks where a send goes. False if that is MPI_PROC_NULL.
    pub fn may_send(&self, to: i32, tag: i32, comm: CommId) -> Result<bool> {
        let members = self.comm(comm)?;
        if to != PROC_NULL && !members.has(to) {
            return Err(members.not_a_rank(constant::ERR_RANK, "destination", to));
        }
        self.check_tag(tag)?;
        Ok(to != PROC_NULL)
    }

    /// Checks and starts a receive.
    pub fn begin_receive(
        &mut self,
        items: &Items,
        from: i32,
        tag: i32,
        comm: CommId,
    ) -> Result<RequestId> {
        let envelope = self.receive_envelope(from, tag, comm)?;
        if from == PROC_NULL {
            return Ok(self.nothing(Direction::Receive, comm));
        }
        self.receive_items(envelope, items)
    }

    /// Checks what a receive or a probe looks for.
    pub fn receive_envelope(&self, from: i32, tag: i32, comm: CommId) -> Result<Envelope> {
        let members = self.comm(comm)?;
        if from != ANY_SOURCE && from != PROC_NULL && !members.has(from) {
            return Err(members.not_a_rank(constant::ERR_RANK, "source", from));
        }
        if tag != constant::ANY_TAG {
            self.check_tag(tag)?;
        }
        Ok(Envelope { comm, collective: false, peer: from, tag })
    }

    /// Checks the tag of a message to be sent.
    fn check_tag(&self, tag: i32) -> Result<()> {
        let most = self.transport.tag_max();
        if (0..=most).contains(&tag) {
            return Ok(());
        }
        let text = format!("tag {tag} is not allowed (0 to {most})");
        Err(Error::new(constant::ERR_TAG, text))
    }

    /// A completed request of an operation with MPI_PROC_NULL.
    pub fn nothing(&mut self, direction: Direction, comm: CommId) -> RequestId {
        let mut request = Request::new(direction, comm, PROC_NULL, 0);
        request.complete = true;
        if direction == Direction::Receive {
            request.status = Status::PROC_NULL;
        }
        self.requests.insert(request)
    }

    // Of items.

    /// Starts sending items.
    pub fn send_items(&mut self, to: Envelope, items: &Items, mode: Mode) -> Result<RequestId> {
        if !to.collective {
            self.local.declare_send(items);
        }
        if items.is_contiguous() {
            let bytes = Bytes { va: items.va, length: items.bytes() };
            return self.start_send(to, bytes, None, mode);
        }
        self.send_copy(to, items, mode)
    }

    /// Starts sending a copy of items: they may be changed at once.
    pub fn send_copy(&mut self, to: Envelope, items: &Items, mode: Mode) -> Result<RequestId> {
        if !to.collective {
            self.local.declare_send(items);
        }
        let length = items.bytes();
        let buffer = self.local.take_buffer(length);
        if let Err(error) = items.gather(&mut self.local, buffer.va) {
            self.local.give_buffer(buffer);
            return Err(error);
        }
        let bytes = Bytes { va: buffer.va, length };
        self.start_send(to, bytes, Some(Scattered { buffer, target: None }), mode)
    }

    /// Starts receiving items.
    pub fn receive_items(&mut self, from: Envelope, items: &Items) -> Result<RequestId> {
        let (place, scattered) = self.landing(items)?;
        if !from.collective {
            self.local.declare_receive(items);
        }
        self.start_receive(from, place, scattered)
    }

    /// Starts receiving a message that was taken out of the list before.
    pub fn receive_matched(&mut self, message: Probed, items: &Items) -> Result<RequestId> {
        let (place, scattered) = self.landing(items)?;
        self.local.declare_receive(items);
        self.start_matched(message, place, scattered)
    }

    /// Address and bytes of the memory that a message for items is received into: theirs, or a buffer.
    fn landing(&mut self, items: &Items) -> Result<(Bytes, Option<Scattered>)> {
        let length = items.room();
        if items.is_contiguous() {
            return Ok((Bytes { va: items.va, length }, None));
        }
        items.check(&self.local)?;
        let buffer = self.local.take_buffer(length);
        let place = Bytes { va: buffer.va, length };
        Ok((place, Some(Scattered { buffer, target: Some(items.clone()) })))
    }

    // Of bytes.

    /// Starts sending bytes, which `scattered` (if any) gathered.
    pub fn start_send(
        &mut self,
        to: Envelope,
        bytes: Bytes,
        scattered: Option<Scattered>,
        mode: Mode,
    ) -> Result<RequestId> {
        self.local.charge(self.local.params.request);
        let comm = self.comms.get(to.comm)?;
        let context = if to.collective { comm.collective_context() } else { comm.context() };
        let target = comm.members[to.peer as usize];
        let address = Address { context, source: comm.rank, tag: to.tag, target };
        let mut request = Request::new(Direction::Send, to.comm, to.peer, to.tag);
        (request.collective, request.length) = (to.collective, bytes.length);
        request.scattered = scattered;
        let id = self.requests.insert(request);
        match self.transport.send(&mut self.local, id, address, bytes, mode) {
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
            self.local.give_buffer(scattered.buffer);
        }
    }

    /// Starts receiving at most so many bytes, which `scattered` (if any) scatters.
    pub fn start_receive(
        &mut self,
        from: Envelope,
        room: Bytes,
        scattered: Option<Scattered>,
    ) -> Result<RequestId> {
        self.local.charge(self.local.params.request);
        self.local.check_buffer(room.va, room.length)?;
        let wanted = self.wanted(from)?;
        let mut request = Request::new(Direction::Receive, from.comm, from.peer, from.tag);
        (request.collective, request.length) = (from.collective, room.length);
        request.scattered = scattered;
        let id = self.requests.insert(request);
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
    pub fn wanted(&self, from: Envelope) -> Result<Wanted> {
        let comm = self.comms.get(from.comm)?;
        let context = if from.collective { comm.collective_context() } else { comm.context() };
        Ok(Wanted { context, source: from.peer, tag: from.tag })
    }

    /// Starts receiving a message that was taken before.
    pub fn start_matched(
        &mut self,
        Probed { comm, message, found }: Probed,
        room: Bytes,
        scattered: Option<Scattered>,
    ) -> Result<RequestId> {
        self.local.charge(self.local.params.request);
        self.local.check_buffer(room.va, room.length)?;
        let mut request = Request::new(Direction::Receive, comm, found.source, found.tag);
        (request.length, request.scattered) = (room.length, scattered);
        let id = self.requests.insert(request);
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
    pub fn withdraw(&mut self, id: RequestId) -> bool {
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
    pub fn poll(&mut self) -> bool {
        let step = self.transport.poll(&mut self.local);
        self.heard(step)
    }

    /// Waits for the next piece of news.
    pub fn await_event(&mut self) {
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
    pub fn complete(&mut self, id: RequestId) {
        let request = self.requests.get_mut(id);
        request.complete = true;
        let (bytes, scattered) = (request.status.bytes, request.scattered.take());
        if let Some(scattered) = scattered {
            if let Some(target) = &scattered.target {
                let result = target.scatter(&mut self.local, scattered.buffer.va, bytes);
                let request = self.requests.get_mut(id);
                request.error = request.error.take().or(result.err());
            }
            self.local.give_buffer(scattered.buffer);
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

    // Outcome.

    /// A completed request's outcome; the request is gone.
    pub fn take(&mut self, id: RequestId) -> (Status, Result<()>) {
        let request = self.requests.remove(id);
        assert!(request.is_complete(), "only a complete request is taken");
        (request.status, request.error.map_or(Ok(()), Err))
    }

    /// Gives up a request that nobody will use any more: it goes away when it is over.
    pub fn abandon(&mut self, id: RequestId) {
        if self.requests.get(id).is_complete() {
            self.requests.remove(id);
        } else {
            self.requests.get_mut(id).orphan = true;
        }
    }

    /// A request that has failed already, for a program that has its handle.
    pub fn failed_request(&mut self, comm: CommId, error: Error) -> RequestId {
        let mut request = Request::new(Direction::Send, comm, PROC_NULL, 0);
        request.complete = true;
        request.status.error = error.class;
        request.error = Some(error);
        self.requests.insert(request)
    }

    /// A message that has come and could be received.
    pub fn find(&mut self, from: Envelope) -> Result<Option<Status>> {
        let wanted = self.wanted(from)?;
        let found = self.transport.find(&mut self.local, wanted);
        Ok(found.map(|Found { source, tag, bytes }| Status { source, tag, bytes, ..Status::EMPTY }))
    }

    /// Reason for a wait for `ids` that are not all complete.
    pub fn missing(&self, ids: &[RequestId], whose: Whose) -> What {
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

    pub fn message_of(&self, request: &Request) -> MessageKey {
        let Request { direction, comm, peer, tag, .. } = *request;
        self.message(direction, comm, peer, tag)
    }

    pub fn message(&self, direction: Direction, comm: CommId, peer: i32, tag: i32) -> MessageKey {
        let communicator = self.comm(comm).ok().map(|comm| comm.name.clone());
        MessageKey { direction, peer, tag, communicator }
    }

    /// The first message that a collective operation waits for.
    fn open_child(&self, id: RequestId) -> Option<&Request> {
        let schedule = self.requests.get(id).schedule.as_ref()?;
        let mut children = schedule.children().map(|child| self.requests.get(child));
        children.find(|child| !child.is_complete())
    }
}

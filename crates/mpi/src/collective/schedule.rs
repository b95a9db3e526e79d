//! Collective operations under way: each is a schedule of steps that an algorithm has planned from
//! the ranks' numbers alone, and that goes on whenever its process is in the library. A blocking
//! collective is a schedule that is waited for, a persistent one is planned anew at each start.

use super::on_nic::{OnNicOperation, Opening};
use crate::comm::numbering::Numbering;
use crate::comm::{CommId, Comms};
use crate::constant::{self, PROC_NULL};
use crate::datatype::items::Items;
use crate::error::{Error, Result};
use crate::process::Process;
use crate::reduction::Reduction;
use crate::request::operation::Envelope;
use crate::request::{Direction, Request, RequestId, Status};
use crate::scratch::Buffer;
use crate::transport::{Entries, Mode};
use std::rc::Rc;

/// One step. Sends and receives go on side by side until the next `Wait`; all other steps are done
/// at once.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Items to a rank.
    Send {
        to: u32,
        items: Items,
    },
    /// Items from a rank, which must send as many bytes if `exact`.
    Receive {
        from: u32,
        items: Items,
        exact: bool,
    },
    /// Items of a message of the program's own.
    MessageTo {
        to: i32,
        tag: i32,
        items: Items,
    },
    /// Room for one; its status is that of the whole.
    MessageFrom {
        from: i32,
        tag: i32,
        items: Items,
    },
    /// All that was begun is over.
    Wait,
    /// Items to where there is as much room.
    Copy {
        from: Items,
        to: Items,
    },
    /// `inout = input op inout` on packed items.
    Combine {
        reduction: Rc<Reduction>,
        input: u64,
        inout: u64,
        count: u64,
    },
    /// Numbers are offered for a new communicator; what comes then is planned when that is done.
    Offer(Numbering),
    /// All have offered.
    Settle(Numbering),
    /// All have said whether they have opened a group on the network interface; what comes then is planned.
    Opened(Opening),
    /// An operation of the network interface.
    OnNic {
        group: u16,
        entries: Option<Entries>,
    },
    /// Held back until all have agreed about the group of an operation, which is planned then.
    Held(usize),
    Choose(OnNicOperation),
}

/// A collective operation under way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schedule {
    steps: Vec<Step>,
    next: usize,
    /// Sends and receives begun since the last `Wait`; how many bytes a receive must get.
    children: Vec<(RequestId, Option<u64>)>,
    buffers: Vec<Buffer>,
    /// The datatype whose handle a function of the program gets.
    held: Option<u64>,
    /// The child whose status is that of the whole, and that status.
    speaker: Option<RequestId>,
    status: Option<Status>,
    error: Option<Error>,
}

impl Schedule {
    /// Offers numbers.
    pub fn offer(&mut self, numbering: Numbering) {
        self.steps.push(Step::Offer(numbering));
    }
}

/// A schedule that is being planned.
pub(crate) struct Plan<'a> {
    pub process: &'a mut Process,
    pub comm: CommId,
    pub rank: u32,
    pub size: u32,
    schedule: Schedule,
}

impl<'a> Plan<'a> {
    /// Nothing yet, on `comm`.
    pub fn new(process: &'a mut Process, comm: CommId) -> Result<Plan<'a>> {
        let (rank, size) = (process.comm(comm)?.rank, process.comm(comm)?.size());
        let schedule = process.spare_schedules.pop().unwrap_or_default();
        Ok(Plan { process, comm, rank, size, schedule })
    }
    /// More of a schedule that is being done.
    pub fn resumed(process: &'a mut Process, comm: CommId, schedule: Schedule) -> Result<Plan<'a>> {
        let (rank, size) = (process.comm(comm)?.rank, process.comm(comm)?.size());
        Ok(Plan { process, comm, rank, size, schedule })
    }
    /// The schedule, to go on with.
    pub fn suspended(self) -> Schedule {
        self.schedule
    }
    /// Offers numbers for a new communicator.
    pub fn offer(&mut self, numbering: Numbering) {
        self.schedule.offer(numbering);
    }
    /// All have offered.
    pub fn settle(&mut self, numbering: Numbering) {
        self.schedule.steps.push(Step::Settle(numbering));
    }
    /// All have said whether they have opened a group.
    pub fn opened(&mut self, opening: Opening) {
        self.schedule.steps.push(Step::Opened(opening));
    }
    /// Enters an operation of the network interface, and waits for its end.
    pub fn collect(&mut self, group: u16, entries: Option<Entries>) {
        self.schedule.steps.push(Step::OnNic { group, entries });
        self.wait();
    }
    /// Plans an operation once all have agreed about its group.
    pub fn hold(&mut self, operation: OnNicOperation) {
        self.schedule.steps.push(Step::Held(operation.place()));
        self.wait();
        self.schedule.steps.push(Step::Choose(operation));
    }
    /// Sends items.
    pub fn send(&mut self, to: u32, items: Items) {
        self.schedule.steps.push(Step::Send { to, items });
    }
    /// Receives items.
    pub fn receive(&mut self, from: u32, items: Items) {
        self.schedule.steps.push(Step::Receive { from, items, exact: true });
    }
    /// Receives items, or fewer.
    pub fn receive_up_to(&mut self, from: u32, items: Items) {
        self.schedule.steps.push(Step::Receive { from, items, exact: false });
    }
    /// Sends a message of the program's own.
    pub fn message_to(&mut self, to: i32, tag: i32, items: Items) {
        self.schedule.steps.push(Step::MessageTo { to, tag, items });
    }
    /// Receives one; its status is that of the whole operation.
    pub fn message_from(&mut self, from: i32, tag: i32, items: Items) {
        self.schedule.steps.push(Step::MessageFrom { from, tag, items });
    }
    /// Sends to one, receives from another, and waits for both.
    pub fn swap(&mut self, (to, out): (u32, Items), (from, into): (u32, Items)) {
        self.receive(from, into);
        self.send(to, out);
        self.wait();
    }
    /// Lets all that was begun end.
    pub fn wait(&mut self) {
        self.schedule.steps.push(Step::Wait);
    }
    /// Copies items.
    pub fn copy(&mut self, from: Items, to: Items) {
        self.schedule.steps.push(Step::Copy { from, to });
    }
    /// `inout = input op inout`.
    pub fn combine(&mut self, reduction: &Rc<Reduction>, input: u64, inout: u64, count: u64) {
        let reduction = reduction.clone();
        if reduction.needs_handle() && self.schedule.held.is_none() {
            self.process.hold(reduction.handle);
            self.schedule.held = Some(reduction.handle);
        }
        self.schedule.steps.push(Step::Combine { reduction, input, inout, count });
    }
    /// A library buffer that lives as long as the operation.
    pub fn buffer(&mut self, bytes: u64) -> u64 {
        let buffer = self.process.scratch.take(self.process.local.cpu.memory(), bytes);
        self.schedule.buffers.push(buffer);
        buffer.va
    }
    /// Bytes as items.
    pub fn bytes(&self, va: u64, count: u64) -> Items {
        self.process.bytes(va, count)
    }
    /// Runs of bytes, each at an offset from `va` with a length, as items.
    pub fn runs(&self, va: u64, runs: &[(i64, u64)]) -> Items {
        let bytes = self.bytes(va, 1);
        let datatype = bytes.datatype.indexed(runs).expect("the runs lie in a buffer");
        Items { va, count: 1, datatype: Rc::new(datatype) }
    }
    /// Begins the operation.
    pub fn begin(self) -> RequestId {
        let Plan { process, comm, schedule, .. } = self;
        let chosen = process.collective_tag.take();
        let tag = chosen.unwrap_or_else(|| process.comms.next_collective(comm));
        if let Some(comm) = process.comms.get(comm).ok().filter(|_| !Comms::is_passing(tag)) {
            process.local.observe(|observer| observer.joins(comm.identity, comm.size()));
        }
        let mut request = Request::new(Direction::Collective, comm, PROC_NULL, tag);
        request.collective = true;
        request.schedule = Some(Box::new(schedule));
        let id = process.requests.insert(request);
        process.advance(id);
        id
    }
}

impl Process {
    /// Goes on with the operations that can. False if there was none.
    pub(crate) fn run_ready(&mut self) -> bool {
        let mut ran = false;
        while let Some(id) = self.ready.pop_front() {
            self.advance(id);
            ran = true;
        }
        ran
    }

    /// Goes on with an operation as far as it can.
    fn advance(&mut self, id: RequestId) {
        let Some(request) = self.requests.find(id) else { return };
        let (comm, tag) = (request.comm, request.tag);
        let Some(mut schedule) = request.schedule.take() else { return };
        while schedule.error.is_none() && schedule.next < schedule.steps.len() {
            let step = schedule.steps[schedule.next].clone();
            if matches!(step, Step::Wait) && !self.all_over(id, &mut schedule) {
                self.requests.get_mut(id).schedule = Some(schedule);
                return;
            }
            schedule.next += 1;
            if let Err(error) = self.step(id, step, comm, tag, &mut schedule) {
                schedule.error = Some(error);
            }
        }
        if !self.all_over(id, &mut schedule) {
            self.requests.get_mut(id).schedule = Some(schedule);
            return;
        }
        let released = schedule.held.take().map_or(Ok(()), |handle| self.let_go(handle));
        let request = self.requests.get_mut(id);
        request.error = schedule.error.take().or(released.err());
        if let Some(status) = schedule.status.take() {
            request.status = status;
        }
        for buffer in schedule.buffers.drain(..) {
            self.scratch.give(buffer);
        }
        schedule.steps.clear();
        schedule.next = 0;
        self.spare_schedules.push(*schedule);
        self.complete(id);
    }

    fn step(
        &mut self,
        id: RequestId,
        step: Step,
        comm: CommId,
        tag: i32,
        schedule: &mut Schedule,
    ) -> Result<()> {
        let envelope = |peer: u32| Envelope { comm, collective: true, peer: peer as i32, tag };
        let (child, expected) = match step {
            Step::Wait => return Ok(()),
            Step::Copy { from, to } => return self.copy_items(&from, &to),
            Step::Combine { reduction, input, inout, count } => {
                return self.combine(&reduction, input, inout, count);
            }
            Step::Offer(numbering) => return self.offer_numbers(numbering, (comm, tag), schedule),
            Step::Settle(numbering) => return self.settle_number(numbering, (comm, tag), schedule),
            Step::Opened(opening) => return self.settle_group(opening, comm, schedule),
            Step::Choose(operation) => return self.choose(operation, comm, schedule),
            Step::Held(place) => (self.hold_back(comm, tag, place)?, None),
            Step::OnNic { group, entries } => (self.start_on_nic(comm, tag, group, entries), None),
            Step::Send { to, items } => {
                (self.send_items(envelope(to), &items, Mode::Standard)?, None)
            }
            Step::MessageTo { to, tag, items } => {
                (self.begin_send(&items, to, tag, comm, Mode::Standard)?, None)
            }
            Step::MessageFrom { from, tag, items } => {
                let child = self.begin_receive(&items, from, tag, comm)?;
                schedule.speaker = Some(child);
                (child, None)
            }
            Step::Receive { from, items, exact } => {
                let child = self.receive_items(envelope(from), &items)?;
                (child, exact.then_some(items.bytes()))
            }
        };
        let request = self.requests.get_mut(child);
        if !request.is_complete() {
            request.parent = Some(id);
            self.requests.get_mut(id).open += 1;
        }
        schedule.children.push((child, expected));
        Ok(())
    }

    /// True if all sends and receives are over; they are gone then.
    fn all_over(&mut self, id: RequestId, schedule: &mut Schedule) -> bool {
        if self.requests.get(id).open > 0 {
            return false;
        }
        for (child, expected) in schedule.children.drain(..) {
            let (status, result) = self.take(child);
            if schedule.speaker == Some(child) {
                (schedule.speaker, schedule.status) = (None, Some(status));
            }
            let result = result.and_then(|()| match expected {
                Some(bytes) if bytes != status.bytes => {
                    Err(unequal(status.source, status.bytes, bytes))
                }
                _ => Ok(()),
            });
            schedule.error = schedule.error.take().or(result.err());
        }
        true
    }

    /// The first message that a collective operation waits for.
    pub(crate) fn open_child(&self, id: RequestId) -> Option<&Request> {
        let schedule = self.requests.get(id).schedule.as_ref()?;
        let mut children = schedule.children.iter().map(|&(child, _)| self.requests.get(child));
        children.find(|child| !child.is_complete())
    }
}

fn unequal(from: i32, got: u64, wanted: u64) -> Error {
    let text = format!("rank {from} contributes {got} bytes where {wanted} are expected");
    Error::new(constant::ERR_COUNT, text)
}

//! Planning of collective operations: what an algorithm may say.

use super::algorithm::Algorithms;
use super::schedule::{Accumulator, Numbering, OnNicOperation, Opening, Schedule, Step};
use crate::comm::{CommId, Comms};
use crate::constant::PROC_NULL;
use crate::datatype::items::Items;
use crate::error::Result;
use crate::objects::Objects;
use crate::observe::{Exchange, Seat};
use crate::reduction::Reduction;
use crate::request::point_to_point::PointToPoint;
use crate::request::table::Request;
use crate::request::{Direction, RequestId};
use crate::transport::message::Entries;
use std::rc::Rc;

/// Knowledge of a process of collective operations, beside those under way.
pub(crate) struct Collectives {
    pub algorithms: Algorithms,
    /// Schedules of operations that are over, to be used again.
    pub spare: Vec<Schedule>,
    /// Tag of the operation that is begun next, if it was chosen before.
    pub tag: Option<i32>,
}

/// A schedule that is being planned.
pub(crate) struct Plan<'a> {
    pub p2p: &'a mut PointToPoint,
    pub objects: &'a mut Objects,
    pub collectives: &'a mut Collectives,
    pub comm: CommId,
    pub rank: u32,
    pub size: u32,
    schedule: Schedule,
}

/// An operation begins, for a witness.
fn joins(p2p: &PointToPoint, id: RequestId, comm: CommId, number: i32, exchange: Exchange) {
    if let (Some(witness), Ok(comm)) = (&p2p.local.witness, p2p.comm(comm)) {
        let (communicator, rank, members) = (comm.identity, comm.rank, comm.size());
        witness.joins(id, &Seat { communicator, number, rank, members }, exchange);
    }
}

impl<'a> Plan<'a> {
    /// Goes on with `schedule`, which may be empty, on `comm`.
    pub fn new(
        p2p: &'a mut PointToPoint,
        objects: &'a mut Objects,
        collectives: &'a mut Collectives,
        comm: CommId,
        schedule: Schedule,
    ) -> Result<Plan<'a>> {
        let (rank, size) = (p2p.comm(comm)?.rank, p2p.comm(comm)?.size());
        Ok(Plan { p2p, objects, collectives, comm, rank, size, schedule })
    }
    /// The schedule, to go on with.
    pub fn suspended(self) -> Schedule {
        self.schedule
    }
    /// Offers numbers for a new communicator.
    pub fn offer(&mut self, numbering: Numbering) {
        self.schedule.steps.push(Step::Offer(numbering));
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
    /// Sends a message of the program's own: these items, or a copy of them.
    pub fn message_to(&mut self, to: i32, tag: i32, items: Items, of: Items) {
        self.schedule.steps.push(Step::MessageTo { to, tag, items, of });
    }
    /// Receives one; its status is that of the whole operation.
    pub fn message_from(&mut self, from: i32, tag: i32, items: Items) {
        self.schedule.steps.push(Step::MessageFrom { from, tag, items });
    }
    /// Sends to one, receives from another, and waits for both.
    pub fn swap(&mut self, to: u32, out: Items, from: u32, into: Items) {
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
            self.objects.uses.hold(reduction.handle);
            self.schedule.held = Some(reduction.handle);
        }
        self.schedule.steps.push(Step::Combine { reduction, input, inout, count });
    }
    /// A library buffer that lives as long as the operation.
    pub fn buffer(&mut self, bytes: u64) -> u64 {
        let buffer = self.p2p.local.take_buffer(bytes);
        self.schedule.buffers.push(buffer);
        buffer.va
    }
    /// Bytes as items.
    pub fn bytes(&self, va: u64, count: u64) -> Items {
        self.objects.bytes(va, count)
    }
    /// Runs of bytes, each at an offset from `va` with a length, as items.
    pub fn runs(&self, va: u64, runs: &[(i64, u64)]) -> Items {
        let bytes = self.bytes(va, 1);
        let datatype = bytes.datatype.indexed(runs).expect("the runs lie in a buffer");
        Items { va, count: 1, datatype: Rc::new(datatype) }
    }
    /// Begins the operation: its first steps are the next that is done.
    pub fn begin(self) -> RequestId {
        let Plan { p2p, collectives, comm, schedule, .. } = self;
        let chosen = collectives.tag.take();
        let tag = chosen.unwrap_or_else(|| p2p.comms.next_collective(comm));
        if let Some(comm) = p2p.comms.get(comm).ok().filter(|_| !Comms::is_passing(tag)) {
            p2p.local.observe(|observer| observer.joins(comm.identity, comm.size()));
        }
        let mut request = Request::new(Direction::Collective, comm, PROC_NULL, tag);
        request.collective = true;
        request.schedule = Some(Box::new(schedule));
        let id = p2p.requests.insert(request);
        if let Some(exchange) = p2p.local.declared.exchange.take() {
            joins(p2p, id, comm, tag, exchange);
        }
        id
    }
    /// The accumulator's bytes.
    pub fn own(&self, acc: &Accumulator) -> Items {
        self.bytes(acc.va, acc.bytes)
    }
    /// Items that another rank sends.
    pub fn other(&self, acc: &Accumulator) -> Items {
        self.bytes(acc.received, acc.bytes)
    }
    /// Combines what was received from ranks `before` this rank's, or behind them, with the
    /// accumulator.
    pub fn take_in(&mut self, acc: &Accumulator, before: bool) {
        self.merge(&acc.reduction, acc.received, acc.va, acc.count, before);
    }
    /// `own = other op own` if `before`, else `own = own op other`; `other` is lost.
    pub fn merge(
        &mut self,
        reduction: &Rc<Reduction>,
        other: u64,
        own: u64,
        count: u64,
        before: bool,
    ) {
        if before || reduction.operator.commutes() {
            self.combine(reduction, other, own, count);
        } else {
            self.combine(reduction, own, other, count);
            let bytes = count * reduction.size();
            self.copy(self.bytes(other, bytes), self.bytes(own, bytes));
        }
    }
}

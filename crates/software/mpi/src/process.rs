//! One MPI process: the parts that it consists of, and what needs them all. The Rust interface that
//! built-in workloads use is in `api`.

use crate::callback::{Callbacks, Program};
use crate::collective::algorithm::Algorithms;
use crate::collective::execute::Executor;
use crate::collective::plan::{Collectives, Plan};
use crate::comm::{Comm, CommId, InitialErrors};
use crate::error::Result;
use crate::local::{Local, World};
use crate::objects::Objects;
use crate::observe::Observer;
use crate::params::Params;
use crate::reduction::{Operands, Reduction};
use crate::request::point_to_point::PointToPoint;
use crate::request::waiting::{Wait, Waiting, What};
use crate::request::RequestId;
use crate::side::Side;
use crate::transport::watched::Watched;
use crate::transport::Transport;
use des::{Duration, Time};
use host::{Cpu, SpaceId};
use std::rc::Rc;

/// Settings of the MPI library: all that the machine file says about it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Costs and limits.
    pub params: Params,
    /// Algorithm of each collective.
    pub algorithms: Algorithms,
}

/// One MPI process. Its calls are made from a fibre of the rank's host.
///
/// Each part owns its data and knows those before it; only what runs functions of the program, which may call
/// MPI again, takes the whole.
pub struct Process {
    /// Its time and memory, communicators, requests, and the transport.
    pub(crate) p2p: PointToPoint,
    /// Datatypes, operations, groups.
    pub(crate) objects: Objects,
    pub(crate) collectives: Collectives,
    /// The program, and its functions that are under way.
    pub(crate) callbacks: Callbacks,
    /// Handles and phase of the program.
    pub(crate) side: Side,
    waiting: Waiting,
}

impl Process {
    /// The process at `world`'s rank with memory `space`, over the transport that `open` makes. To be called
    /// in a fibre of the rank's host; from then on messages are accepted.
    pub fn new(
        cpu: Cpu,
        space: SpaceId,
        world: World,
        settings: Settings,
        open: impl FnOnce(&mut Local) -> Box<dyn Transport>,
    ) -> Process {
        assert!(world.rank < world.size, "a rank is one of the world's");
        let Settings { params, algorithms } = settings;
        let mut local = Local::new(cpu, space, world, params);
        let transport = open(&mut local);
        let transport: Box<dyn Transport> = match local.witness.clone() {
            Some(witness) => Box::new(Watched::new(transport, witness)),
            None => transport,
        };
        Process {
            p2p: PointToPoint::new(local, transport),
            objects: Objects::new(),
            collectives: Collectives { algorithms, spare: Vec::new(), tag: None },
            callbacks: Callbacks::default(),
            side: Side::default(),
            waiting: Rc::default(),
        }
    }

    // Its own, by the way that calls take most often.

    #[inline]
    pub(crate) fn charge(&mut self, time: Duration) {
        self.p2p.local.charge(time);
    }
    #[inline]
    pub(crate) fn settle(&mut self) {
        self.p2p.local.settle();
    }
    pub(crate) fn read(&self, va: u64, buf: &mut [u8]) -> Result<()> {
        self.p2p.local.read(va, buf)
    }
    pub(crate) fn write(&self, va: u64, data: &[u8]) -> Result<()> {
        self.p2p.local.write(va, data)
    }
    pub(crate) fn comm(&self, id: CommId) -> Result<&Comm> {
        self.p2p.comm(id)
    }

    /// Reason for which the process waits, if it does.
    pub fn waiting(&self) -> Waiting {
        self.waiting.clone()
    }

    /// Sets the observer of messages.
    pub fn set_observer(&mut self, observer: Rc<dyn Observer>) {
        self.p2p.local.observer = Some(observer);
    }

    /// The program whose calls come from now on.
    pub fn set_program(&mut self, program: Rc<dyn Program>) {
        self.callbacks.program = Some(program);
    }

    /// Sets the error handler of MPI_COMM_WORLD and MPI_COMM_SELF, before the program makes a call.
    pub fn set_initial_errors(&mut self, errors: InitialErrors) {
        for id in [CommId::WORLD, CommId::SELF] {
            let comm = self.p2p.comms.get_mut(id).expect("it is there from the beginning");
            comm.on_error = errors.into();
        }
    }

    // Public state.

    /// The simulated time.
    pub fn now(&self) -> Time {
        self.p2p.local.cpu.now()
    }
    /// The processor that it runs on.
    pub fn cpu(&self) -> &Cpu {
        &self.p2p.local.cpu
    }
    /// Its place in MPI_COMM_WORLD.
    pub fn world(&self) -> &World {
        &self.p2p.local.world
    }
    /// Its address space.
    pub fn space(&self) -> SpaceId {
        self.p2p.local.space
    }
    /// `bytes` zero bytes of memory for a workload without a process of its own; their address.
    pub fn allocate_buffer(&mut self, bytes: u64) -> u64 {
        self.p2p.local.allocate(bytes)
    }

    // Progress: the steps of collective operations may run functions of the program.

    /// Begins the collective operation that `plan` plans on `comm`.
    pub(crate) fn start(
        &mut self,
        comm: CommId,
        plan: impl FnOnce(&mut Plan<'_>) -> Result<()>,
    ) -> Result<RequestId> {
        let spare = self.collectives.spare.pop().unwrap_or_default();
        let (p2p, objects, collectives) = (&mut self.p2p, &mut self.objects, &mut self.collectives);
        let mut planned = Plan::new(p2p, objects, collectives, comm, spare)?;
        plan(&mut planned)?;
        let id = planned.begin();
        self.advance(id);
        Ok(id)
    }

    fn executor(&mut self) -> Executor<'_> {
        Executor {
            p2p: &mut self.p2p,
            objects: &mut self.objects,
            collectives: &mut self.collectives,
        }
    }

    /// Goes on with an operation as far as it can.
    fn advance(&mut self, id: RequestId) {
        let mut paused = self.executor().advance(id);
        while let Some(operation) = paused {
            let result = self.combine_by_user(&operation.combination);
            paused = self.executor().resume(operation, result);
        }
    }

    /// `inout = input op inout` on `count` packed items.
    pub(crate) fn combine(
        &mut self,
        reduction: Rc<Reduction>,
        operands: Operands,
        count: u64,
    ) -> Result<()> {
        match self.executor().combine(reduction, operands, count)? {
            Some(combination) => self.combine_by_user(&combination),
            None => Ok(()),
        }
    }

    /// Goes on with the operations that can. False if there was none.
    fn run_ready(&mut self) -> bool {
        let mut ran = false;
        while let Some(id) = self.p2p.ready.pop_front() {
            self.advance(id);
            ran = true;
        }
        ran
    }

    /// Takes in what has arrived, without waiting. Costs at least one poll.
    pub(crate) fn progress(&mut self) {
        loop {
            while self.p2p.poll() {}
            if !self.run_ready() {
                return;
            }
        }
    }

    /// Waits until `done`; `what` says for what. An error if the call is broken off before.
    pub(crate) fn block(
        &mut self,
        mut done: impl FnMut(&mut PointToPoint) -> bool,
        what: impl FnOnce(&PointToPoint) -> What,
    ) -> Result<()> {
        if done(&mut self.p2p) {
            return Ok(());
        }
        let wait = Wait::new(self.p2p.local.function, what(&self.p2p));
        self.waiting.replace(Some(wait));
        while !done(&mut self.p2p) && self.callbacks.broken_off.is_none() {
            if !self.run_ready() {
                self.p2p.await_event();
            }
        }
        self.waiting.replace(None);
        self.callbacks.go_on()
    }
}

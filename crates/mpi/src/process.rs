//! One MPI process: what it holds, how it begins, its time, its memory, its program. The Rust interface
//! that built-in workloads use is in `api`.

use crate::call::Side;
use crate::callback::{Callback, Program, Ran, Returned};
use crate::collective::schedule::Schedule;
use crate::comm::group::Groups;
use crate::comm::{Comm, CommId, Comms};
use crate::constant;
use crate::datatype::types::Types;
use crate::error::{Error, Result};
use crate::local::{Local, World};
use crate::observe::Observer;
use crate::params::Params;
use crate::reduction::{Lent, Ops};
use crate::request::waiting::Waiting;
use crate::request::{RequestId, Requests};
use crate::scratch::Scratch;
use crate::transport::watched::Watched;
use crate::transport::Transport;
use crate::uses::Uses;
use des::{Duration, Time};
use host::{Cpu, SpaceId};
use std::collections::VecDeque;
use std::rc::Rc;

/// Most functions of the program under way at a time: each has a part of the fibre's stack.
const CALLBACKS_MAX: u32 = 64;

/// One MPI process. Its calls are made from a fibre of the rank's host.
pub struct Process {
    pub(crate) local: Local,
    pub(crate) transport: Box<dyn Transport>,
    pub(crate) requests: Requests,
    pub(crate) comms: Comms,
    pub(crate) scratch: Scratch,
    pub(crate) types: Types,
    pub(crate) ops: Ops,
    pub(crate) groups: Groups,
    pub(crate) uses: Uses,
    /// Collective operations that can go on.
    pub(crate) ready: VecDeque<RequestId>,
    pub(crate) spare_schedules: Vec<Schedule>,
    /// Tag of the collective operation that is begun next, if it was chosen before.
    pub(crate) collective_tag: Option<i32>,
    /// The program, if there is one: a built-in workload has none.
    pub(crate) program: Option<Rc<dyn Program>>,
    /// The present call gets no answer: so ended a function of the program that the library ran.
    pub(crate) broken_off: Option<Ran>,
    /// Functions of the program that are under way, each within the one before.
    callbacks: u32,
    /// Number of them that reduce.
    reducing: u32,
    /// Buffers for the program's reductions that none of them uses.
    pub(crate) lent: Lent,
    pub(crate) side: Side,
    pub(crate) waiting: Waiting,
}

impl Process {
    /// The process at `world`'s rank with memory `space`, over the transport that `open` makes. To be called
    /// in a fibre of the rank's host; from then on messages are accepted.
    pub fn new(
        cpu: Cpu,
        space: SpaceId,
        world: World,
        params: Params,
        open: impl FnOnce(&mut Local) -> Box<dyn Transport>,
    ) -> Process {
        assert!(world.rank < world.size, "a rank is one of the world's");
        let mut local = Local::new(cpu, space, world, params);
        let transport = open(&mut local);
        let transport: Box<dyn Transport> = match local.witness.clone() {
            Some(witness) => Box::new(Watched::new(transport, witness)),
            None => transport,
        };
        Process {
            requests: Requests::default(),
            comms: Comms::new(&local.world),
            scratch: Scratch::new(space),
            waiting: Rc::default(),
            types: Types::new(),
            ops: Ops::default(),
            groups: Groups::default(),
            uses: Uses::default(),
            ready: VecDeque::new(),
            spare_schedules: Vec::new(),
            collective_tag: None,
            program: None,
            broken_off: None,
            callbacks: 0,
            reducing: 0,
            lent: Lent::default(),
            side: Side::default(),
            local,
            transport,
        }
    }

    // Its own, by the way that calls take most often.

    #[inline]
    pub(crate) fn charge(&mut self, time: Duration) {
        self.local.charge(time);
    }
    #[inline]
    pub(crate) fn settle(&mut self) {
        self.local.settle();
    }
    pub(crate) fn copy(&mut self, from: u64, to: u64, bytes: u64) -> Result<()> {
        self.local.copy(from, to, bytes)
    }
    pub(crate) fn read(&self, va: u64, buf: &mut [u8]) -> Result<()> {
        self.local.read(va, buf)
    }
    pub(crate) fn write(&self, va: u64, data: &[u8]) -> Result<()> {
        self.local.write(va, data)
    }
    pub(crate) fn check_buffer(&self, va: u64, bytes: u64) -> Result<()> {
        self.local.check_buffer(va, bytes)
    }

    /// Reason for which the process waits, if it does.
    pub fn waiting(&self) -> Waiting {
        self.waiting.clone()
    }

    /// Sets the observer of messages.
    pub fn set_observer(&mut self, observer: Rc<dyn Observer>) {
        self.local.observer = Some(observer);
    }

    // The program's own functions.

    /// The program whose calls come from now on.
    pub fn set_program(&mut self, program: Rc<dyn Program>) {
        self.program = Some(program);
    }

    /// Runs a function of the program, at a time when the program waits for this library.
    pub(crate) fn run_callback(&mut self, callback: &Callback) -> Result<Returned> {
        let program = self.program.clone().ok_or_else(|| {
            Error::new(constant::ERR_INTERN, "there is no program whose function could run")
        })?;
        self.go_on()?;
        if self.callbacks == CALLBACKS_MAX {
            let text = format!(
                "{CALLBACKS_MAX} functions of the program that MPI has called are under way, each \
                 in a call of the one before; no more are allowed"
            );
            return Err(Error::new(constant::ERR_OTHER, text));
        }
        self.settle();
        let (function, blame) = (self.local.function, self.side.blame);
        self.callbacks += 1;
        let ran = program.run(self, callback);
        self.callbacks -= 1;
        (self.local.function, self.side.blame) = (function, blame);
        match ran {
            Ran::Returned(returned) => Ok(returned),
            Ran::Left | Ran::Ended => {
                self.broken_off = Some(ran);
                Err(broken_off())
            }
        }
    }

    /// The same for one that reduces, in the middle of other work: it may not communicate.
    pub(crate) fn run_reduction(&mut self, callback: &Callback) -> Result<Returned> {
        self.reducing += 1;
        let returned = self.run_callback(callback);
        self.reducing -= 1;
        returned
    }

    /// True while a function of the program reduces.
    pub(crate) fn reduces(&self) -> bool {
        self.reducing > 0
    }

    /// An error if the present call gets no answer any more: it is to end soon.
    pub(crate) fn go_on(&self) -> Result<()> {
        self.broken_off.map_or(Ok(()), |_| Err(broken_off()))
    }

    // Public state.

    /// The simulated time.
    pub fn now(&self) -> Time {
        self.local.cpu.now()
    }
    /// The processor that it runs on.
    pub fn cpu(&self) -> &Cpu {
        &self.local.cpu
    }
    /// Its place in MPI_COMM_WORLD.
    pub fn world(&self) -> &World {
        &self.local.world
    }
    /// Its address space.
    pub fn space(&self) -> SpaceId {
        self.local.space
    }
    /// `bytes` zero bytes of memory for a workload without a process of its own; their address.
    pub fn allocate_buffer(&mut self, bytes: u64) -> u64 {
        self.local.allocate(bytes)
    }

    pub(crate) fn comm(&self, id: CommId) -> Result<&Comm> {
        self.comms.get(id)
    }

    /// Checks the tag of a message to be sent.
    pub(crate) fn check_tag(&self, tag: i32) -> Result<()> {
        let most = self.transport.tag_max();
        if (0..=most).contains(&tag) {
            return Ok(());
        }
        let text = format!("tag {tag} is not allowed (0 to {most})");
        Err(Error::new(constant::ERR_TAG, text))
    }
}

/// Ends a call that gets no answer; nobody reads it.
fn broken_off() -> Error {
    let text = "the program has left or ended one of its own functions, and the call with it";
    Error::new(constant::ERR_OTHER, text)
}

//! One MPI process: what it holds, how it begins, its time, its memory, its program. The Rust interface
//! that built-in workloads use stands in `api`.

use crate::call::Side;
use crate::callback::{Callback, Program, Ran, Returned};
use crate::collective::schedule::Schedule;
use crate::comm::group::Groups;
use crate::comm::{Comm, CommId, Comms};
use crate::constant;
use crate::datatype::types::Types;
use crate::error::{Error, Result};
use crate::params::Params;
use crate::reduction::{Lent, Ops};
use crate::request::waiting::Waiting;
use crate::request::{Owner, RequestId, Requests};
use crate::scratch::Scratch;
use crate::transport::matching::{self, MAX_RANKS, TAG_UPPER_BOUND};
use crate::transport::unexpected::{Block, Unexpected};
use crate::transport::MESSAGES;
use crate::uses::Uses;
use des::{Duration, Time};
use host::{Cpu, SpaceId, LIBRARY_BASE};
use portals::{
    option, Criteria, EqHandle, Error as PortalsError, Md, MdHandle, MeHandle, Ni, Polled,
    Position, ProcessId, Unlink,
};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

/// Most functions of the program under way at a time: each has a part of the fibre's stack.
const CALLBACKS_MAX: u32 = 64;

/// The ranks of MPI_COMM_WORLD and where they run.
#[derive(Clone, Debug)]
pub struct World {
    /// This process's rank.
    pub rank: u32,
    /// Processes in all.
    pub size: u32,
    /// Which of the run's programs this is: `MPI_APPNUM`.
    pub program: u32,
    /// The Portals process of each rank.
    pub map: Arc<[ProcessId]>,
}

/// An event queue for expected messages and sends.
pub(crate) struct Queue {
    pub eq: EqHandle,
    /// Events that operations under way may still post.
    pub reserved: u32,
}

/// Bytes that are moved or combined at a time: what is on its way takes no more of the simulator's memory,
/// and a process that has ended is missed after so many.
pub(crate) const PIECE: u64 = 1 << 20;

/// One MPI process over one Portals interface. Its calls are made from a fibre of the rank's host.
pub struct Process {
    pub(crate) cpu: Cpu,
    pub(crate) ni: Ni,
    pub(crate) space: SpaceId,
    pub(crate) params: Params,
    pub(crate) world: World,
    /// Time that was used and not yet spent.
    owed: Duration,
    /// The queue of the blocks and the empty entry.
    pub(crate) unexpected_queue: EqHandle,
    pub(crate) queues: Vec<Queue>,
    /// All queues, that of the unexpected first.
    pub(crate) poll_set: Vec<EqHandle>,
    /// Entry of no bytes that catches what is fetched; receives are posted before it.
    pub(crate) catcher: MeHandle,
    /// Descriptor of no bytes and no events.
    pub(crate) empty: MdHandle,
    /// Library buffers for copied sends: address and descriptor.
    pub(crate) copies: Vec<(u64, MdHandle)>,
    pub(crate) free_copies: Vec<u32>,
    pub(crate) unexpected: Unexpected,
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
    /// Those of them that reduce.
    reducing: u32,
    /// Buffers for the program's reductions that none of them uses.
    pub(crate) lent: Lent,
    pub(crate) side: Side,
    pub(crate) waiting: Waiting,
    /// The call that the program is in: "MPI_Send".
    pub(crate) function: &'static str,
    /// Bytes on their way from one place in memory to another.
    pub(crate) bounce: Vec<u8>,
}

impl Process {
    /// Rank and size of MPI_COMM_WORLD are `world`'s; `ni` is the process's own. To be called in a
    /// fibre of the rank's host; from then on messages are accepted.
    pub fn new(ni: Ni, cpu: Cpu, world: World, params: Params) -> Process {
        let space = ni.space();
        assert!(world.rank < world.size && world.size <= MAX_RANKS, "ranks fit in match bits");
        assert_eq!(world.map.len(), world.size as usize, "every rank has a place");
        assert!(params.unexpected_block_size > params.eager_limit, "a block holds a message");
        let faulty = |what, error: PortalsError| -> ! { cpu.fault(format!("{what}: {error}")) };
        let unexpected_queue = match ni.eq_alloc(params.unexpected_events) {
            Ok(eq) => eq,
            Err(error) => faulty("PtlEQAlloc", error),
        };
        let empty = match ni.md_bind(Md::new(0, 0, 0), Unlink::Retain) {
            Ok(md) => md,
            Err(error) => faulty("PtlMDBind", error),
        };
        let fetched = Criteria {
            match_id: ProcessId::ANY,
            match_bits: matching::FETCHED,
            ignore_bits: matching::IGNORE_ALL_BUT_FETCHED,
        };
        let catcher = match ni.me_attach(MESSAGES, fetched, Unlink::Retain, Position::After) {
            Ok(entry) => entry,
            Err(error) => faulty("PtlMEAttach", error),
        };
        let mut process = Process {
            owed: Duration::ZERO,
            poll_set: vec![unexpected_queue],
            queues: Vec::new(),
            copies: Vec::new(),
            free_copies: Vec::new(),
            unexpected: Unexpected::default(),
            requests: Requests::default(),
            comms: Comms::new(&world),
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
            function: "MPI",
            bounce: Vec::new(),
            cpu,
            ni,
            space,
            params,
            world,
            unexpected_queue,
            catcher,
            empty,
        };
        process.set_up();
        process
    }

    fn set_up(&mut self) {
        let caught = Md {
            user_ptr: Owner::Catcher.pack(),
            eq: Some(self.unexpected_queue),
            ..Md::new(0, 0, option::OP_PUT | option::TRUNCATE | option::ACK_DISABLE)
        };
        let attached = self.ni.md_attach(self.catcher, caught, Unlink::Retain);
        self.must(attached, "PtlMDAttach");
        let eq = self.ni.eq_alloc(self.params.events);
        let eq = self.must(eq, "PtlEQAlloc");
        self.add_queue(eq);
        for _ in 0..self.params.unexpected_blocks {
            let block = self.add_block();
            self.attach_block(block);
        }
        for index in 0..self.params.copy_buffers {
            let va = self.allocate(self.params.copy_limit);
            let md = Md {
                user_ptr: Owner::Copy(index).pack(),
                eq: Some(eq),
                ..Md::new(va, self.params.copy_limit, option::EVENT_START_DISABLE)
            };
            let md = self.ni.md_bind(md, Unlink::Retain);
            let md = self.must(md, "PtlMDBind");
            self.copies.push((va, md));
            self.queues[0].reserved += 1;
        }
        // The first buffer is used first.
        self.free_copies = (0..self.params.copy_buffers).rev().collect();
    }

    fn allocate(&self, bytes: u64) -> u64 {
        self.cpu.memory().borrow_mut().alloc_library(self.space, bytes)
    }

    pub(crate) fn add_queue(&mut self, eq: EqHandle) {
        self.queues.push(Queue { eq, reserved: 0 });
        self.poll_set.push(eq);
    }

    /// A new block for unexpected messages.
    pub(crate) fn add_block(&mut self) -> u32 {
        let va = self.allocate(self.params.unexpected_block_size);
        self.unexpected.blocks.push(Block { va, messages: 0, full: false, unlinked: false });
        self.unexpected.blocks.len() as u32 - 1
    }

    /// Puts a block for unexpected messages behind all others.
    pub(crate) fn attach_block(&mut self, index: u32) {
        let everything = Criteria {
            match_id: ProcessId::ANY,
            match_bits: (matching::Protocol::Eager as u64) << 60,
            ignore_bits: matching::IGNORE_ALL_BUT_PROTOCOL,
        };
        let md = Md {
            max_size: self.params.eager_limit,
            user_ptr: Owner::Block(index).pack(),
            eq: Some(self.unexpected_queue),
            ..Md::new(
                self.unexpected.blocks[index as usize].va,
                self.params.unexpected_block_size,
                option::OP_PUT | option::MAX_SIZE | option::ACK_DISABLE,
            )
        };
        self.settle();
        let entry = self.ni.me_attach(MESSAGES, everything, Unlink::Unlink, Position::After);
        let entry = self.must(entry, "PtlMEAttach");
        let attached = self.ni.md_attach(entry, md, Unlink::Unlink);
        self.must(attached, "PtlMDAttach");
    }

    // Time and trouble.

    /// `time` of work was done; it is spent before the next thing that anybody else could see.
    pub(crate) fn charge(&mut self, time: Duration) {
        self.owed += time;
    }

    /// Spends the time that is owed.
    pub(crate) fn settle(&mut self) {
        self.cpu.spend(std::mem::take(&mut self.owed));
    }

    /// The value of a Portals call that this library has no way to do without; else the rank's
    /// fault.
    pub(crate) fn must<T>(
        &self,
        result: std::result::Result<T, PortalsError>,
        call: &'static str,
    ) -> T {
        match result {
            Ok(value) => value,
            Err(error) => {
                let (rank, function) = (self.world.rank, self.function);
                self.cpu.fault(format!("rank {rank}: {function}: {call} failed: {error}"))
            }
        }
    }

    /// Deals with what a poll gave. False if there was nothing.
    pub(crate) fn take_event(&mut self, polled: std::result::Result<Polled, PortalsError>) -> bool {
        let polled = match polled {
            Err(PortalsError::EqEmpty) => return false,
            polled => self.must(polled, "PtlEQPoll"),
        };
        let Polled { event, dropped, which } = polled;
        if dropped {
            let rank = self.world.rank;
            let (what, key, events) = if self.poll_set[which] == self.unexpected_queue {
                ("unexpected messages", "unexpected_events", self.params.unexpected_events)
            } else {
                ("sends and receives under way", "events", self.params.events)
            };
            self.cpu.fault(format!(
                "rank {rank}: more {what} than its event queue holds (mpi.{key} = {events})"
            ));
        }
        self.dispatch(&event);
        true
    }

    /// What the process waits for while it waits.
    pub fn waiting(&self) -> Waiting {
        self.waiting.clone()
    }

    // Memory.

    /// Copies `bytes` within the process's memory.
    pub(crate) fn copy(&mut self, from: u64, to: u64, bytes: u64) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.charge(self.cpu.copy_cost(bytes));
        self.bounce.resize(bytes.min(PIECE) as usize, 0);
        let mut memory = self.cpu.memory().borrow_mut();
        for at in (0..bytes).step_by(PIECE as usize) {
            let piece = &mut self.bounce[..(bytes - at).min(PIECE) as usize];
            let read = memory.read(self.space, from.wrapping_add(at), piece);
            read.map_err(|_| outside(from, bytes))?;
            let written = memory.write(self.space, to.wrapping_add(at), piece);
            written.map_err(|_| outside(to, bytes))?;
        }
        Ok(())
    }

    /// Reads the process's memory. Takes no time.
    pub(crate) fn read(&self, va: u64, buf: &mut [u8]) -> Result<()> {
        let mut memory = self.cpu.memory().borrow_mut();
        memory.read(self.space, va, buf).map_err(|_| outside(va, buf.len() as u64))
    }

    /// Writes the process's memory. Takes no time.
    pub(crate) fn write(&self, va: u64, data: &[u8]) -> Result<()> {
        let mut memory = self.cpu.memory().borrow_mut();
        memory.write(self.space, va, data).map_err(|_| outside(va, data.len() as u64))
    }

    /// Reads runs (address and length), one after the other. Takes no time.
    pub(crate) fn read_runs(&self, runs: &[(u64, usize)], buf: &mut [u8]) -> Result<()> {
        let mut memory = self.cpu.memory().borrow_mut();
        memory.read_pieces(self.space, runs, buf).map_err(|error| no_such_run(runs, error.addr))
    }

    /// Writes runs, likewise.
    pub(crate) fn write_runs(&self, runs: &[(u64, usize)], data: &[u8]) -> Result<()> {
        let mut memory = self.cpu.memory().borrow_mut();
        memory.write_pieces(self.space, runs, data).map_err(|error| no_such_run(runs, error.addr))
    }

    /// Checks that the first and the last byte of a buffer are the program's now, wherever it was seen before.
    pub(crate) fn look_at_buffer(&self, va: u64, bytes: u64) -> Result<()> {
        let Some(rest) = bytes.checked_sub(1) else { return Ok(()) };
        let mut memory = self.cpu.memory().borrow_mut();
        let mut look = |address| memory.read(self.space, address, &mut [0]);
        look(va).and_then(|()| look(va.saturating_add(rest))).map_err(|_| outside(va, bytes))
    }

    /// The same for a buffer that is about to be used: what was seen lately is believed, and is found to be
    /// gone when it is used.
    pub(crate) fn check_buffer(&self, va: u64, bytes: u64) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let last = va.checked_add(bytes - 1).ok_or_else(|| outside(va, bytes))?;
        let mut memory = self.cpu.memory().borrow_mut();
        // The library's own are known at once, and a program may name an address among them by mistake.
        let mut probe = |address| {
            let there = match address {
                LIBRARY_BASE.. => memory.peek(self.space, address, &mut [0]),
                _ => memory.probe(self.space, address),
            };
            there.map_err(|_| outside(va, bytes))
        };
        probe(va)?;
        probe(last)
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
        let (function, blame) = (self.function, self.side.blame);
        self.callbacks += 1;
        let ran = program.run(self, callback);
        self.callbacks -= 1;
        (self.function, self.side.blame) = (function, blame);
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

    // What everybody may know.

    /// The simulated time.
    pub fn now(&self) -> Time {
        self.cpu.now()
    }
    /// The processor that it runs on.
    pub fn cpu(&self) -> &Cpu {
        &self.cpu
    }
    /// Its place in MPI_COMM_WORLD.
    pub fn world(&self) -> &World {
        &self.world
    }
    /// Its address space.
    pub fn space(&self) -> SpaceId {
        self.space
    }
    /// `bytes` zero bytes of memory for a workload without a process of its own; their address.
    pub fn allocate_buffer(&mut self, bytes: u64) -> u64 {
        self.allocate(bytes)
    }

    pub(crate) fn comm(&self, id: CommId) -> Result<&Comm> {
        self.comms.get(id)
    }

    /// Checks the tag of a message to be sent.
    pub(crate) fn check_tag(tag: i32) -> Result<()> {
        if tag >= 0 {
            return Ok(());
        }
        let text = format!("tag {tag} is not allowed (0 to {TAG_UPPER_BOUND})");
        Err(Error::new(constant::ERR_TAG, text))
    }
}

/// The error for one of several runs, in which this address is not the program's.
fn no_such_run(runs: &[(u64, usize)], address: u64) -> Error {
    let holds = |&&(va, bytes): &&(u64, usize)| address.wrapping_sub(va) < bytes as u64;
    let (va, bytes) = runs.iter().find(holds).copied().unwrap_or((address, 1));
    outside(va, bytes as u64)
}

/// The error for a buffer that is not the program's.
fn outside(va: u64, bytes: u64) -> Error {
    let text = match va {
        0 => format!("the buffer of {bytes} bytes is a null pointer"),
        constant::IN_PLACE => "MPI_IN_PLACE is not allowed for this buffer".into(),
        _ => format!("the buffer of {bytes} bytes at {va:#x} is not in the program's memory"),
    };
    Error::new(constant::ERR_BUFFER, text)
}

/// Ends a call that gets no answer; nobody reads it.
fn broken_off() -> Error {
    let text = "the program has left or ended one of its own functions, and the call with it";
    Error::new(constant::ERR_OTHER, text)
}

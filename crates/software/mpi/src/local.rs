//! State of a process that does not depend on its transport: its processor's time, its memory, its place
//! among the ranks.

use crate::constant;
use crate::datatype::items::Items;
use crate::error::{Error, Result};
use crate::observe::{Exchange, Observer, Witness};
use crate::params::Params;
use crate::scratch::{Buffer, Scratch};
use des::{Duration, Time};
use host::{Cpu, Memory, SpaceId, LIBRARY_BASE};
use std::rc::Rc;

/// The ranks of MPI_COMM_WORLD.
#[derive(Clone, Debug)]
pub struct World {
    /// This process's rank.
    pub rank: u32,
    /// Processes in all.
    pub size: u32,
    /// Number of its program in the run: `MPI_APPNUM`.
    pub program: u32,
}

/// Bytes that are moved or combined at a time: data on their way take no more of the simulator's memory,
/// and a process that has ended is missed after so many.
pub(crate) const PIECE: u64 = 1 << 20;

/// A process's own.
pub struct Local {
    pub(crate) cpu: Cpu,
    pub(crate) space: SpaceId,
    pub(crate) params: Params,
    pub(crate) world: World,
    /// Time that was used and not yet spent.
    owed: Duration,
    /// The call that the program is in: "MPI_Send".
    pub(crate) function: &'static str,
    /// Bytes on their way from one place in memory to another.
    pub(crate) bounce: Vec<u8>,
    /// Library buffers in the process's memory.
    scratch: Scratch,
    /// Observer of messages.
    pub(crate) observer: Option<Rc<dyn Observer>>,
    /// Observer of everything between requests and transport.
    pub(crate) witness: Option<Rc<dyn Witness>>,
    /// Items of the operation that begins next, for it.
    pub(crate) declared: Declared,
}

/// The program's items in the operation that begins next, for a witness.
#[derive(Default)]
pub(crate) struct Declared {
    pub sends: Option<Items>,
    pub receives: Option<Items>,
    pub exchange: Option<Exchange>,
}

impl Local {
    pub(crate) fn new(cpu: Cpu, space: SpaceId, world: World, params: Params) -> Local {
        Local {
            cpu,
            space,
            params,
            world,
            owed: Duration::ZERO,
            function: "MPI",
            bounce: Vec::new(),
            scratch: Scratch::new(space),
            observer: None,
            witness: None,
            declared: Declared::default(),
        }
    }

    /// The processor that the process runs on.
    pub fn cpu(&self) -> &Cpu {
        &self.cpu
    }
    /// Costs of the library's work.
    pub fn params(&self) -> &Params {
        &self.params
    }
    /// Its place in MPI_COMM_WORLD.
    pub fn world(&self) -> &World {
        &self.world
    }
    /// Its address space.
    pub fn space(&self) -> SpaceId {
        self.space
    }
    /// The call that the program is in.
    pub fn function(&self) -> &'static str {
        self.function
    }

    /// Sets the observer of everything between requests and transport. Must be called before the transport is
    /// made.
    pub fn set_witness(&mut self, witness: Rc<dyn Witness>) {
        self.witness = Some(witness);
    }

    /// Says which items of the program the next message carries, unless that was said before.
    pub(crate) fn declare_send(&mut self, items: &Items) {
        if self.witness.is_some() {
            self.declared.sends.get_or_insert_with(|| items.clone());
        }
    }

    /// Says which items of the program the next receive fills.
    pub(crate) fn declare_receive(&mut self, items: &Items) {
        if self.witness.is_some() {
            self.declared.receives = Some(items.clone());
        }
    }

    /// Says what the next collective operation exchanges.
    pub(crate) fn declare_exchange(&mut self, exchange: impl FnOnce(&'static str) -> Exchange) {
        if self.witness.is_some() {
            self.declared.exchange = Some(exchange(self.function));
        }
    }

    /// Calls the observer of the process, if there is one.
    pub fn observe(&self, tell: impl FnOnce(&dyn Observer)) {
        if let Some(observer) = &self.observer {
            tell(&**observer);
        }
    }

    // Time.

    /// `time` of work was done; it is spent before the next action that others could see.
    #[inline]
    pub fn charge(&mut self, time: Duration) {
        self.owed += time;
    }

    /// The time, including charges not yet spent.
    pub fn now(&self) -> Time {
        self.cpu.now() + self.owed
    }

    /// Spends the time that is owed.
    #[inline]
    pub fn settle(&mut self) {
        self.cpu.spend(std::mem::take(&mut self.owed));
    }

    // Memory.

    /// `bytes` zero bytes of library memory; their address.
    pub fn allocate(&self, bytes: u64) -> u64 {
        self.cpu.memory().borrow_mut().alloc_library(self.space, bytes)
    }

    /// A library buffer of at least `bytes` bytes, to be given back.
    pub(crate) fn take_buffer(&mut self, bytes: u64) -> Buffer {
        self.scratch.take(self.cpu.memory(), bytes)
    }

    /// A library buffer is no longer used.
    pub(crate) fn give_buffer(&mut self, buffer: Buffer) {
        self.scratch.give(buffer);
    }

    /// Copies `bytes` within the process's memory.
    pub fn copy(&mut self, from: u64, to: u64, bytes: u64) -> Result<()> {
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
            if let Err(error) = written {
                return Err(unwritten(&mut memory, self.space, Span { va: to, bytes }, error.addr));
            }
        }
        Ok(())
    }

    /// Reads the process's memory. Takes no time.
    pub fn read(&self, va: u64, buf: &mut [u8]) -> Result<()> {
        let mut memory = self.cpu.memory().borrow_mut();
        memory.read(self.space, va, buf).map_err(|_| outside(va, buf.len() as u64))
    }

    /// Writes the process's memory. Takes no time.
    pub fn write(&self, va: u64, data: &[u8]) -> Result<()> {
        let mut memory = self.cpu.memory().borrow_mut();
        let written = memory.write(self.space, va, data);
        let buffer = Span { va, bytes: data.len() as u64 };
        written.map_err(|error| unwritten(&mut memory, self.space, buffer, error.addr))
    }

    /// Reads runs (address and length), one after the other. Takes no time.
    pub(crate) fn read_runs(&self, runs: &[(u64, usize)], buf: &mut [u8]) -> Result<()> {
        let mut memory = self.cpu.memory().borrow_mut();
        memory.read_pieces(self.space, runs, buf).map_err(|error| {
            let (va, bytes) = run_of(runs, error.addr);
            outside(va, bytes as u64)
        })
    }

    /// Writes runs, likewise.
    pub(crate) fn write_runs(&self, runs: &[(u64, usize)], data: &[u8]) -> Result<()> {
        let mut memory = self.cpu.memory().borrow_mut();
        let written = memory.write_pieces(self.space, runs, data);
        written.map_err(|error| {
            let (va, bytes) = run_of(runs, error.addr);
            let run = Span { va, bytes: bytes as u64 };
            unwritten(&mut memory, self.space, run, error.addr)
        })
    }

    /// Checks that the first and the last byte of a buffer are the program's now, wherever it was before.
    pub fn look_at_buffer(&self, va: u64, bytes: u64) -> Result<()> {
        let Some(rest) = bytes.checked_sub(1) else { return Ok(()) };
        let mut memory = self.cpu.memory().borrow_mut();
        let mut look = |address| memory.read(self.space, address, &mut [0]);
        look(va).and_then(|()| look(va.saturating_add(rest))).map_err(|_| outside(va, bytes))
    }

    /// The same for a buffer that is about to be used: what was seen lately is believed, and is found to be
    /// gone when it is used.
    pub fn check_buffer(&self, va: u64, bytes: u64) -> Result<()> {
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
}

/// The one of several runs that has this address.
fn run_of(runs: &[(u64, usize)], address: u64) -> (u64, usize) {
    let holds = |&&(va, bytes): &&(u64, usize)| address.wrapping_sub(va) < bytes as u64;
    runs.iter().find(holds).copied().unwrap_or((address, 1))
}

/// Address and bytes of a buffer.
struct Span {
    va: u64,
    bytes: u64,
}

/// The error for a buffer of which the byte at `address` could not be written: it may be there to be read.
fn unwritten(memory: &mut Memory, space: SpaceId, buffer: Span, address: u64) -> Error {
    let Span { va, bytes } = buffer;
    if memory.read(space, address, &mut [0]).is_err() {
        return outside(va, bytes);
    }
    let text = format!("the buffer of {bytes} bytes at {va:#x} may not be written");
    Error::new(constant::ERR_BUFFER, text)
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

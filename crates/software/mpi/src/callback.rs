//! Functions of the program that the library calls: reductions, attribute copies, error handlers.

use crate::collective::execute::Combination;
use crate::constant;
use crate::datatype::items::Items;
use crate::error::{Error, Result};
use crate::process::Process;
use abi::rank::service;
use std::rc::Rc;

/// Most functions of the program under way at a time: each has a part of the fibre's stack.
const CALLBACKS_MAX: u32 = 64;

/// Arguments of a function of the program.
pub const CALLBACK_ARGUMENTS: usize = 6;

/// A function of the program that is to run in its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Callback {
    /// Its address, or an `abi::rank::service`.
    pub function: u64,
    /// Its arguments.
    pub arguments: [u64; CALLBACK_ARGUMENTS],
    /// Bit `i` set: not argument `i` is passed, but the address of a word that holds it.
    pub indirect: u32,
}

/// Result of a function of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Returned {
    /// Its result register: as many bits count as its result type has.
    pub result: u64,
    /// Its arguments as it left them, including what it stored through an indirect one.
    pub arguments: [u64; CALLBACK_ARGUMENTS],
}

/// Outcome of a function of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// It has returned.
    Returned(Returned),
    /// The program has left it by `longjmp` or an exception, and with it the call in progress, which gets
    /// no answer.
    Left,
    /// The program has ended in it, and the call that is under way must end, too.
    Ended,
}

/// The program, as the library sees it while the program is in a call.
pub trait Program {
    /// Runs a function in the program's process; calls that it makes go to `mpi`.
    fn run(&self, mpi: &mut Process, callback: &Callback) -> Ran;
}

impl Callback {
    /// `function` with up to six arguments, none of them indirect.
    pub fn new(function: u64, arguments: &[u64]) -> Callback {
        let mut words = [0; CALLBACK_ARGUMENTS];
        words[..arguments.len()].copy_from_slice(arguments);
        Callback { function, arguments: words, indirect: 0 }
    }

    /// A user's reduction function on `len` elements.
    pub fn operation(
        function: u64,
        invec: u64,
        inoutvec: u64,
        len: u64,
        datatype: u64,
    ) -> Callback {
        Callback { indirect: 0b1100, ..Callback::new(function, &[invec, inoutvec, len, datatype]) }
    }

    /// Allocates `len` bytes of the program's own memory; the result is the address, 0 if there is
    /// none.
    pub fn allocate(len: u64) -> Callback {
        Callback::new(service::ALLOCATE, &[len])
    }

    /// Gives allocated memory back.
    pub fn release(address: u64) -> Callback {
        Callback::new(service::RELEASE, &[address])
    }
}

/// The program of a process, and those of its functions that are under way.
#[derive(Default)]
pub(crate) struct Callbacks {
    /// The program, if there is one: a built-in workload has none.
    pub program: Option<Rc<dyn Program>>,
    /// The present call gets no answer: so ended a function of the program that the library ran.
    pub broken_off: Option<Ran>,
    /// Functions of the program that are under way, each within the one before.
    under_way: u32,
    /// Number of them that reduce.
    reducing: u32,
    /// Buffers for the program's reductions that none of them uses.
    lent: Lent,
}

impl Callbacks {
    /// An error if the present call gets no answer any more: it is to end soon.
    pub fn go_on(&self) -> Result<()> {
        self.broken_off.map_or(Ok(()), |_| Err(broken_off()))
    }

    /// True while a function of the program reduces.
    pub fn reduces(&self) -> bool {
        self.reducing > 0
    }

    /// The program, if one more of its functions may run.
    fn program(&self) -> Result<Rc<dyn Program>> {
        let program = self.program.clone().ok_or_else(|| {
            Error::new(constant::ERR_INTERN, "there is no program whose function could run")
        })?;
        self.go_on()?;
        if self.under_way < CALLBACKS_MAX {
            return Ok(program);
        }
        let text = format!(
            "{CALLBACKS_MAX} functions of the program that MPI has called are under way, each \
             in a call of the one before; no more are allowed"
        );
        Err(Error::new(constant::ERR_OTHER, text))
    }
}

/// Buffers in the program's memory for its reductions; none at first.
#[derive(Default)]
pub(crate) struct Lent {
    /// Their addresses.
    buffers: [u64; 2],
    /// Bytes of each.
    size: u64,
}

impl Process {
    /// Runs a function of the program, at a time when the program waits for this library.
    pub(crate) fn run_callback(&mut self, callback: &Callback) -> Result<Returned> {
        let program = self.callbacks.program()?;
        self.settle();
        let (function, blame) = (self.p2p.local.function, self.side.blame);
        self.callbacks.under_way += 1;
        let ran = program.run(self, callback);
        self.callbacks.under_way -= 1;
        (self.p2p.local.function, self.side.blame) = (function, blame);
        match ran {
            Ran::Returned(returned) => Ok(returned),
            Ran::Left | Ran::Ended => {
                self.callbacks.broken_off = Some(ran);
                Err(broken_off())
            }
        }
    }

    /// The same for one that reduces, in the middle of other work: it may not communicate.
    fn run_reduction(&mut self, callback: &Callback) -> Result<Returned> {
        self.callbacks.reducing += 1;
        let returned = self.run_callback(callback);
        self.callbacks.reducing -= 1;
        returned
    }

    /// Reduces items. The program's function finds them in its own memory, laid out as their type says. That
    /// takes no time, because a library in the program's process would not do it.
    pub(crate) fn combine_by_user(&mut self, combination: &Combination) -> Result<()> {
        let Combination { user, reduction, input, inout, count } = combination;
        let (datatype, count) = (&reduction.datatype, *count);
        let (low, high) = datatype.span(count);
        let lent = self.lend(high.abs_diff(low))?;
        let place =
            |va: u64| Items { va: va.wrapping_add_signed(-low), count, datatype: datatype.clone() };
        let (left, right) = (place(lent.buffers[0]), place(lent.buffers[1]));
        left.unpack(&mut self.p2p.local, *input, left.bytes())?;
        right.unpack(&mut self.p2p.local, *inout, right.bytes())?;
        let (a, b) = (left.va, right.va);
        self.run_reduction(&Callback::operation(user.function, a, b, count, reduction.handle))?;
        right.pack(&mut self.p2p.local, *inout)?;
        self.take_back(lent)
    }

    /// Two buffers of at least `bytes` bytes in the program's memory. They are the caller's until they are
    /// taken back: a reduction within the program's function gets others.
    fn lend(&mut self, bytes: u64) -> Result<Lent> {
        let kept = std::mem::take(&mut self.callbacks.lent);
        if kept.size >= bytes {
            return Ok(kept);
        }
        self.release(kept)?;
        let size = bytes.checked_next_power_of_two().unwrap_or(bytes).max(4096);
        let mut buffers = [0; 2];
        for buffer in &mut buffers {
            *buffer = self.run_callback(&Callback::allocate(size))?.result;
            if *buffer == 0 {
                self.release(Lent { buffers, size })?;
                let text = format!("the program has no {size} bytes left for a reduction");
                return Err(Error::new(constant::ERR_NO_MEM, text));
            }
        }
        Ok(Lent { buffers, size })
    }

    /// Keeps buffers for the next reduction, unless it has larger ones.
    fn take_back(&mut self, lent: Lent) -> Result<()> {
        let (kept, other) = match self.callbacks.lent.size >= lent.size {
            true => (std::mem::take(&mut self.callbacks.lent), lent),
            false => (lent, std::mem::take(&mut self.callbacks.lent)),
        };
        self.callbacks.lent = kept;
        self.release(other)
    }

    fn release(&mut self, lent: Lent) -> Result<()> {
        for buffer in lent.buffers.into_iter().filter(|&buffer| buffer != 0) {
            self.run_callback(&Callback::release(buffer))?;
        }
        Ok(())
    }
}

/// Ends a call that gets no answer; nobody reads it.
fn broken_off() -> Error {
    let text = "the program has left or ended one of its own functions, and the call with it";
    Error::new(constant::ERR_OTHER, text)
}

//! Functions of the program that the library calls: reductions, attribute copies, error handlers.

use crate::process::Process;
use abi::rank::service;

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

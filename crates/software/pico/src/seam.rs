//! The functions that the library in C calls (`lib/pico/seam.c`). It sees to it that one thread at a time
//! does.

use crate::channels::{Calls, Channels};
use crate::Library;
use abi::mpi::Function;
use abi::rank::service;
use mpi::{Callback, Outcome, Process, Program, Ran, Returned, World};
use std::cell::Cell;
use std::ptr::null_mut;
use std::rc::Rc;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The library of this process: made once, never dropped.
static LIBRARY: AtomicPtr<Begun> = AtomicPtr::new(null_mut());

struct Begun {
    library: Library<Channels>,
    calls: Calls,
    /// The process, while the program is in a function that MPI has called.
    inner: Rc<Cell<*mut Process>>,
}

/// The program, in whose process this is.
struct Own(Rc<Cell<*mut Process>>);

/// A function of the program. Its result comes back in a register whatever its type, surplus arguments do no
/// harm, and error handlers are declared with an ellipsis.
type Called = unsafe extern "C" fn(u64, ...) -> u64;

impl Program for Own {
    fn run(&self, mpi: &mut Process, callback: &Callback) -> Ran {
        let mut words = callback.arguments;
        let result = match callback.function {
            // SAFETY: of the C library.
            service::ALLOCATE => unsafe { libc::malloc(words[0] as usize) as u64 },
            service::RELEASE => {
                // SAFETY: memory that was allocated above.
                unsafe { libc::free(words[0] as *mut libc::c_void) };
                0
            }
            service::FLUSH => 0,
            function => {
                let outer = self.0.replace(mpi);
                let base = words.as_mut_ptr();
                let at = |i: usize| match callback.indirect >> i & 1 {
                    1 => base.wrapping_add(i) as u64,
                    // SAFETY: one of six words, which nobody changes before the call.
                    _ => unsafe { *base.wrapping_add(i) },
                };
                let [a, b, c, d, e, f] = [0, 1, 2, 3, 4, 5].map(at);
                // SAFETY: the program has given this address to MPI as that of a function of this kind.
                let result = unsafe {
                    let function = std::mem::transmute::<*const (), Called>(function as *const ());
                    function(a, b, c, d, e, f)
                };
                self.0.set(outer);
                result
            }
        };
        Ran::Returned(Returned { result, arguments: words })
    }
}

/// Begins MPI as that rank. Ends the program if it cannot be.
///
/// # Safety
/// `calls` is a table of functions that stay.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pico_begin(rank: u32, ranks: u32, program: u32, calls: *const Calls) {
    // SAFETY: as promised.
    let calls = unsafe { *calls };
    let world = World { rank, size: ranks, program };
    let channels = Channels::open(rank, ranks, calls);
    let library = channels.and_then(|channels| Library::new(world, channels));
    let mut library = library.unwrap_or_else(|why| calls.fail(&why.to_string()));
    let inner = Rc::new(Cell::new(null_mut()));
    library.mpi.process().set_program(Rc::new(Own(inner.clone())));
    // When all are here, all have their channels.
    if let Err(why) = library.mpi.process().barrier(Process::WORLD) {
        calls.fail(&format!("rank {rank}: MPI_Init: {why}"));
    }
    LIBRARY.store(Box::into_raw(Box::new(Begun { library, calls, inner })), Ordering::Release);
}

/// Does a call: an MPI error code.
///
/// # Safety
/// MPI has begun; the arguments are as many as the function has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pico_call(function: u32, arguments: *const u64) -> i32 {
    let begun = LIBRARY.load(Ordering::Acquire);
    let function = Function::from_id(function as u16).expect("a number of functions.h");
    let arguments = match function.arguments() {
        0 => &[],
        // SAFETY: as promised.
        count => unsafe { std::slice::from_raw_parts(arguments, count) },
    };
    // SAFETY: it was made by pico_begin, and one thread at a time is here. A function that MPI has called may
    // call again: the process lent to it is then used, and by nobody else until that returns.
    let (outcome, calls, rank) = unsafe {
        let inner = (*begun).inner.get();
        let process = match inner.is_null() {
            true => std::ptr::from_mut((*begun).library.mpi.process()),
            false => inner,
        };
        ((*process).call(function, arguments), (*begun).calls, (*process).world().rank)
    };
    match outcome {
        Outcome::Ok(code) => {
            if function == Function::Finalize && code == abi::mpi::SUCCESS {
                // SAFETY: as above.
                unsafe { (*begun).library.messages.borrow_mut().close() };
            }
            code
        }
        Outcome::Fatal(sentence) => calls.fail(&sentence),
        Outcome::Abort(code) => {
            eprintln!("sunstar: rank {rank} called MPI_Abort with code {code}");
            // A shell sees the low byte, and no success.
            (calls.end)((code & 0xFF).max(1))
        }
        Outcome::Unimplemented => {
            calls.fail(&format!("rank {rank} called {}, which is not in Pico-MPI", function.name()))
        }
        Outcome::Ended | Outcome::Left => unreachable!("functions of the program return"),
    }
}

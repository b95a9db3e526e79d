//! The PowerPC 440 processor core: semantics, caches, TLB and timing over a [`bus::Bus`].
//!
//! The bench calls [`Core::run`]; the core executes ahead of the rest of its node until it reaches
//! `until`, or needs the bus at or after the bus's horizon, or stops with a recorded [`Fault`].
//!
//! # Structure
//!
//! | module | what |
//! |---|---|
//! | `instructions` | the table: one row an instruction with encoding, operands, timing, semantics |
//! | `decode` | from a word to an `Op`, its fields taken apart, by the table |
//! | `code` | decoded lines, shared by all cores that execute them |
//! | `fetch` | instruction fetch |
//! | `semantics` | the functions that the table names: integers, branches, loads and stores, caches, system |
//! | `registers`, `special` | user registers; system registers, time base and timers |
//! | `exception`, `fault` | vectors, what they save, pending interrupts; what stops the core for good |
//! | `storage::tlb` | 64 entries, the shadow entry of reset, the map of recent translations |
//! | `storage::arrays` | the two cache arrays, with data and, for instructions, their decoded form |
//! | `storage::unit` | the load and store unit: slow path, fills, write-backs, uncached accesses |
//! | `storage::coherence` | what others do to memory behind the data cache |
//! | `storage::gather`, `slots` | stores that become one write; transactions under way |
//! | `timing`, `timing::predictor` | when instructions issue; branch prediction |
//! | `timing::pipeline_state` | pipeline state relative to the present cycle |
//! | `translate` | frequent code, translated to the host's; `untranslated` where there is none |
//! | `idle_loop` | polling loops that are skipped instead of executed, exactly (`iteration`, `analysis`) |
//! | `core`, `run`, `attend`, `clock` | state; main loop; events between instructions; cycles and time |
//! | `core::blocks`, `core::loops` | the core as `translate` and `idle_loop` see it, their only way |
//! | `outside::probe` | observers: the cause of every cycle |
//! | `outside::debug` | what a debugger stops before, and how it sees memory |
//! | `outside::inspect`, `twin` | what the bench, debuggers and tests see; cores that have booted alike |
//!
//! An instruction is defined in one place, its row, and both decoder and executor are generated
//! from the rows. Execution is one jump table over the decoded kind, inlined into the loop.
//!
//! # Caches are where code and data come from
//!
//! Decoded instructions are kept in the line of the instruction cache that holds their words, and go
//! with it: `icbi`, `iccci`, a replaced line or [`Core::memory_changed`] forget both at once, and
//! nothing else does. So code that was changed in memory is executed in its old form until it is
//! invalidated, as on the machine. The instruction cache has virtual tags (address space, process
//! id), the data cache real ones; neither is coherent with the bus. From a caching-inhibited page
//! a line is fetched into the line fetch buffer and executed from there; it is fetched again after
//! another such line or a context synchronisation.
//!
//! # Time
//!
//! The core counts cycles; time is the clock's edge of that number and is only computed for the
//! bus. The rules of issue and all latencies are in `timing` ([`Timing`] holds the parameters), so
//! that a deeper model replaces that file: `Pipeline::place` says where an instruction would issue
//! and changes nothing, `Pipeline::issue` takes that place, `late` and `stall` are what caches, bus
//! and predictor add. A load that misses, or is not cached, delays its uses, not the core; a write
//! waits only for one of the write slots, and stores that follow one another in a quadword are
//! gathered into one write.
//!
//! An instruction that may not use the bus now is left as if it had not begun, and is executed
//! again later. What it has done already is remembered and not repeated; no interrupt is taken
//! before it has completed. Where runs are cut has no effect on the result.
//!
//! # What stops the core and what does not
//!
//! Exceptions that software can handle (TLB misses, storage, alignment, program by trap or
//! privilege, system call, external, decrementer, fixed interval) go to their vectors. An illegal
//! instruction, a register that does not exist, a DCR access and a bus error do not: no firmware
//! here handles them, so they are recorded as a [`Fault`] and stop the core. There is no FPU;
//! floating-point instructions are illegal.
//!
//! Not modelled: debug exceptions and the watchdog (their registers are kept), critical input,
//! parity, cache locking beyond the victim limits' floor, transient regions, `dcread` and `icread`
//! (illegal), the page attribute U0 to U3. `isel` exists, as in the PPC440x5 manual; GCC does not
//! emit it for the 440. Where the manual leaves a result undefined it is documented at the
//! function.
//!
//! Out of reset the top 4 KB are mapped by a shadow entry (caching inhibited, big-endian, no
//! writes) until the first context synchronisation.
//!
//! # Tests
//!
//! `tests/oracles` compares random programs with QEMU: its 440 in user mode and, for system
//! instructions and exceptions, on a board, both big-endian; its 7400 in little-endian mode. It has
//! the properties of byte order, which no QEMU models, and runs little-endian C against the same C
//! compiled here; docs/reference/ppc440-coverage.md says which instruction is judged by what.
//! `tests/endian.rs` has byte order by example; `tests/timing.rs` is the table of small loops;
//! `tests/horizon.rs` the contract with the bench; `tests/coherence.rs` has the faults of stale
//! lines; `tests/idle_loop.rs` compares fast-forwarded loops with executed ones, `tests/translate.rs`
//! translated code with interpreted. `cargo bench` prints the speed.

mod attend;
mod clock;
mod code;
mod core;
mod decode;
mod exception;
mod fault;
mod fetch;
mod idle_loop;
mod instructions;
mod outside;
mod registers;
mod run;
mod semantics;
mod special;
mod storage;
mod timing;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod translate;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
#[path = "untranslated.rs"]
mod translate;

pub use crate::code::Code;
pub use crate::core::{Config, Core, Counters, Stop};
pub use decode::mnemonic;
pub use fault::{Fault, FaultKind};
pub use outside::debug::{DataAccess, Located, Trouble, Upcoming};
pub use outside::probe::{Cause, Jump, Observation, Off, Probe};
pub use outside::twin::Copies;
pub use registers::{MSR_CE, MSR_DE, MSR_DS, MSR_EE, MSR_IS, MSR_ME, MSR_PR, MSR_WE};
pub use special::spr;
pub use storage::tlb::{
    TlbEntry, TLB_E, TLB_G, TLB_I, TLB_SUPERVISOR, TLB_TS, TLB_USER, TLB_VALID, TLB_W,
};
pub use timing::Timing;
pub use translate::set_room_for_translations;

//! The LANai processor core: the instruction set that clang's `lanai` target emits, with its timing, over a
//! [`Board`].
//!
//! The bench calls [`Core::run`]; the core executes ahead of the rest of its card until it reaches `until`
//! or the board's horizon, or stops with a recorded [`Fault`].
//!
//! # Structure
//!
//! | module | what |
//! |---|---|
//! | `instructions` | the table: one row an instruction, with all there is to it |
//! | `decode` | from a word to an `Op`, its fields taken apart, by the table |
//! | `disassemble` | from a word to text, in the syntax of LLVM's assembler |
//! | `code` | decoded instructions, a page of 256 words at a time |
//! | `semantics` | the functions that the table names: integers, memory, branches |
//! | `flags` | the four flags and the sixteen conditions |
//! | `core` | state, the main loop, cycles |
//! | `polling` | the proof that a loop only polls; its iterations are booked, not executed |
//! | `board` | what the processor asks its card for: memory, registers, contention |
//! | `probe` | observers: the cause of every cycle |
//! | `fault` | what stops the core for good |
//!
//! # What the processor does
//!
//! 32 registers of 32 bits, big-endian. `r0` reads as 0 and `r1` as all ones; `r2` is the program counter,
//! which reads as the instruction's own address. The status word of the vendor's processors has no number
//! here: clang takes `r3` for a register like any other. A branch, and whatever else writes `r2`, takes
//! effect after one more instruction; a load into `r2` after two more. A branch that is taken in such a
//! slot is a fault: nothing that was published says what it does.
//!
//! # Time
//!
//! An instruction issues a cycle. A loaded register is there one cycle late: the next instruction waits
//! for it if it reads it. Loads and stores of bytes and halfwords with an immediate offset take two
//! cycles. Memory gives two accesses of 8 bytes a cycle; the processor comes last, after DMA and links,
//! and waits when what they leave is not enough ([`Board::taken`]): an instruction takes half an access to
//! be fetched, a load or store one more.
//!
//! # Not modelled
//!
//! The second context, with its interrupts: `punt` is decoded, because the vendor's table of 1995 has it,
//! and is a fault. Control programs poll.
//!
//! # Tests
//!
//! `tests/oracles` holds decoding against `llvm-mc` and compiled programs against QEMU's PowerPC;
//! docs/reference/lanai-coverage.md says which instruction is judged by what. `tests/timing.rs` is the
//! table of small loops, `tests/faults.rs` has what stops the core. `cargo bench -p lanai` prints the
//! speed.

#![forbid(unsafe_code)]

mod board;
mod code;
mod core;
mod decode;
mod disassemble;
mod fault;
mod flags;
mod instructions;
mod polling;
mod probe;
mod semantics;

pub use crate::core::{Config, Core, Counters, Stop};
pub use board::{Board, SLOTS_A_CYCLE, SLOT_UNIT};
pub use decode::{describe, rows, Description, Source};
pub use disassemble::{disassemble, REGISTERS};
pub use fault::{Fault, FaultKind};
pub use polling::Spent;
pub use probe::{Off, Probe, Step};

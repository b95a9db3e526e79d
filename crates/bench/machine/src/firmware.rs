//! Firmware on a network interface's processor, independent of the kind of processor.
//!
//! ```text
//!   symbols: functions, lines, sections of its ELF
//!   recorder: what the processor does ─► profile: cycles by function, line and call path
//!   facts: what a debugger can be told of the run
//!   work: how much of the time it did more than poll
//! ```

pub mod facts;
pub mod profile;
pub mod recorder;
pub mod symbols;
pub mod work;

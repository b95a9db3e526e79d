//! What is known of the firmware on a network interface's processor, whichever that is.
//!
//! ```text
//!   symbols: functions, lines, sections of its ELF
//!   recorder: what the processor does ─► profile: cycles by function, line and call path
//!   facts: what a debugger can be told of the run
//! ```

pub mod facts;
pub mod profile;
pub mod recorder;
pub mod symbols;

//! The `sunstar` command from end to end: real programs, the real firmware, the real command line.
//!
//! Needs what `make build` makes beside the command: the MPI library and the firmware.

mod json;
mod mistakes;
mod programs;
mod runner;
mod wrong;

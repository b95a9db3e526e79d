//! Options of `sunstar guest`.

use super::heading;
use super::processes::Date;
use super::value::whole;
use clap::Args;
use std::ffi::OsString;

/// Memory of a guest, in MB: what its kernel needs, and what it may name below its devices.
const MEMORY: std::ops::RangeInclusive<u32> = 32..=2048;

/// Options of `sunstar guest`.
#[derive(Args, Clone, Debug)]
pub struct GuestOptions {
    /// Build the kernel of guests, unless it is there (5 min)
    ///
    /// From Debian's source package linux-source-6.12; 150 MB are fetched.
    #[arg(long, help_heading = heading::PROGRAM)]
    pub prepare: bool,
    /// Run the program on a node of this machine
    ///
    /// NODE stands before the program, and a shell runs if there is none. The other nodes wait.
    #[arg(short, long, value_name = "NAME|FILE", help_heading = heading::MACHINE)]
    pub machine: Option<String>,
    /// Nodes of the machine (default: two, or as NODE needs)
    #[arg(long, value_name = "N", requires = "machine", value_parser = whole(1..=u32::MAX))]
    #[arg(help_heading = heading::MACHINE)]
    pub nodes: Option<u32>,
    /// Override a parameter of the machine; may be repeated
    ///
    /// E.g. --set guest.memory="128 MiB".
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "machine")]
    #[arg(help_heading = heading::MACHINE)]
    pub overrides: Vec<String>,
    /// Memory of the guest, in MB (default: 64)
    #[arg(long, value_name = "MB", conflicts_with = "machine", value_parser = whole(MEMORY))]
    #[arg(help_heading = heading::PROGRAM)]
    pub memory: Option<u32>,
    /// Seed of the guest's random numbers
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(0..=u64::MAX))]
    #[arg(help_heading = heading::SIMULATION)]
    pub seed: u64,
    /// Start date of the guest
    ///
    /// A date as 2026-01-31 or 2026-01-31T12:00:00 (UTC), or now, which makes runs differ.
    #[arg(long, value_name = "now|DATE", default_value_t, help_heading = heading::SIMULATION)]
    pub date: Date,
    /// Environment variable for the program; may be repeated
    ///
    /// NAME=VALUE, or NAME for one with the command's value; the program has no other of the command's.
    #[arg(short = 'x', long = "env", value_name = "NAME[=VALUE]", help_heading = heading::PROGRAM)]
    pub env: Vec<OsString>,
    /// Program and its arguments; with --machine, NODE stands before it
    ///
    /// It is looked for on PATH, as a shell does.
    #[arg(value_name = "PROGRAM", required_unless_present = "prepare", num_args = 1..)]
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<OsString>,
}

//! Options of `sunstar guest`.

use super::value::whole;
use super::Date;
use clap::Args;
use std::ffi::OsString;

/// Memory of a guest, in MB: what its kernel needs, and what it may name below its devices.
const MEMORY: std::ops::RangeInclusive<u32> = 32..=2048;

/// Options of `sunstar guest`.
#[derive(Args, Clone, Debug)]
pub struct GuestOptions {
    /// Build the kernel of guests from Debian's source package linux-source-6.12, unless it is there (5 min;
    /// 150 MB are fetched)
    #[arg(long)]
    pub prepare: bool,
    /// Run the program on a node of this machine: NODE stands before it, and a shell runs if there is none.
    /// The other nodes are there, and wait
    #[arg(short, long, value_name = "NAME|FILE")]
    pub machine: Option<String>,
    /// Nodes of the machine: two, or as many as NODE needs, if not given
    #[arg(long, value_name = "N", requires = "machine", value_parser = whole(1..=u32::MAX))]
    pub nodes: Option<u32>,
    /// Override a parameter of the machine, e.g. --set guest.memory="128 MiB"; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "machine")]
    pub overrides: Vec<String>,
    /// Its memory, in MB; 64 if not given
    #[arg(long, value_name = "MB", conflicts_with = "machine", value_parser = whole(MEMORY))]
    pub memory: Option<u32>,
    /// Seed of its random numbers
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(0..=u64::MAX))]
    pub seed: u64,
    /// What its calendar tells when it boots: a date as 2026-01-31 or 2026-01-31T12:00:00 (UTC), or now,
    /// which makes runs differ
    #[arg(long, value_name = "now|DATE", default_value_t)]
    pub date: Date,
    /// Variable for the program's environment, which has none of the command's: NAME=VALUE, or NAME for one
    /// with the command's value; may be repeated
    #[arg(short = 'x', long = "env", value_name = "NAME[=VALUE]")]
    pub env: Vec<OsString>,
    /// Program and its arguments, looked for on PATH as a shell does; with --machine, NODE stands before it
    #[arg(value_name = "PROGRAM", required_unless_present = "prepare", num_args = 1..)]
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<OsString>,
}

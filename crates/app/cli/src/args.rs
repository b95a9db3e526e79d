//! Command line of `sunstar`: commands, options, their help texts.

// Most comments are the text of `--help`: brackets are what may be left out, not links.
#![allow(rustdoc::broken_intra_doc_links)]

mod again;
mod bench;
mod explain;
#[cfg(test)]
mod fuzz;
mod guest;
mod habits;
mod heading;
pub mod mistake;
mod names;
mod parts;
mod processes;
pub mod queues;
mod report;
mod runs;
mod spelling;
mod strays;
mod sweep;
mod value;
mod value_error;

use crate::{run, terminal};
pub use bench::{
    BenchCommand, DpOptions, LadderOptions, LatencyOptions, MeasureOptions, RdmaOptions,
    SuiteOptions, LARGEST_MAX,
};
pub use explain::ExplainOptions;
pub use guest::GuestOptions;
pub use names::with_verb;
pub use parts::Part;
pub use processes::{variables, Date};
pub use report::ReportOptions;
pub use runs::{FirmwareOptions, MachineOptions, ProfileOptions, RunOptions, TraceOptions};
pub use spelling::plain;
pub use sweep::{DiffOptions, SweepOptions};

use crate::disk::DiskOptions;
use crate::faults::FaultsOptions;
use crate::nic::NicOptions;
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use queues::QueuesOptions;
use std::ffi::OsString;
use std::path::PathBuf;
use sunstar::usage_error::UsageError;
pub use value::{Console, Gdb, Monitored, RtlMode};

/// Runs ordinary MPI programs on a simulated cluster whose network interfaces execute real firmware.
#[derive(Debug, Parser)]
#[command(name = "sunstar", version, max_term_width = 100, subcommand_required = true)]
#[command(arg_required_else_help = true)]
pub struct Arguments {
    /// Command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// The definition of the command line. Manual pages leave nothing out, and are made of [`Arguments`] itself.
pub fn command() -> clap::Command {
    heading::say_what_is_left_out(Arguments::command())
}

/// Parses a command line. For help, prints it and ends the command.
pub fn parse(words: Vec<OsString>) -> Result<Arguments, UsageError> {
    let parsed = command().try_get_matches_from(&words);
    let parsed = parsed.and_then(|matches| Arguments::from_arg_matches(&matches));
    let mut arguments = parsed.map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => end(&error),
        _ => {
            let taken = sweep::run_taken_by_json(&error, &words);
            taken.unwrap_or_else(|| mistake::refused(command(), &error, &words))
        }
    })?;
    match &mut arguments.command {
        Command::Run(run)
        | Command::Trace(TraceOptions { run, .. })
        | Command::Profile(ProfileOptions { run, .. })
        | Command::Explain(ExplainOptions { run, .. })
        | Command::Queues(QueuesOptions { run, .. })
        | Command::Report(ReportOptions { run, .. }) => run.separate()?,
        Command::Sweep(options) => parts::only_one(&options.command)?,
        _ => {}
    }
    Ok(arguments)
}

/// Prints help, and ends the command; it is a mistake if nobody has asked for it.
fn end(error: &clap::Error) -> ! {
    if error.use_stderr() {
        error.exit();
    }
    let said = error.render();
    let said = if terminal::Terminal::of_stdout().colour {
        said.ansi().to_string()
    } else {
        said.to_string()
    };
    let written = terminal::write(&said);
    std::process::exit(run::unless_written(0, written).into())
}

/// Commands of `sunstar`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run an MPI program on a simulated machine; print where the time went
    ///
    /// Exit status: the program's own (of the first rank that failed; 128 + number for a signal), 1 for a
    /// fault of the simulated machine, a deadlock or results that could not be written, 2 for a mistake on
    /// the command line or in a file, 124 if --until ended the run.
    Run(RunOptions),
    /// Run a program in a Linux guest, alone or on a node of a machine; or build its kernel
    ///
    /// The guest has a real Linux kernel of its own, on simulated time; --machine amata 0 opens a shell on a
    /// node.
    ///
    /// Standard input is read to its end before the guest boots. If it is a terminal, the guest has a
    /// terminal, too: its clock does not get ahead of yours, runs differ, and Ctrl-] leaves it. A guest finds
    /// the files of this computer, which it can only read; what it writes is in memory, and gone
    /// when it ends. Exit status: the program's own (128 + number for a signal), 1 if the guest is lost, 2
    /// for a mistake.
    Guest(GuestOptions),
    /// Compile C for the simulated machines, as gcc
    ///
    /// With Sunstar's mpi.h and MPI library.
    #[command(disable_help_flag = true)]
    Cc {
        /// Arguments for the compiler; -show prints the command instead of running it
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Compile C++ for the simulated machines, as g++
    ///
    /// With Sunstar's mpi.h and MPI library.
    #[command(disable_help_flag = true)]
    Cxx {
        /// Arguments for the compiler; -show prints the command instead of running it
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Compile Fortran for the simulated machines, as gfortran
    ///
    /// With mpif.h and the modules of MPI.
    #[command(disable_help_flag = true)]
    Fc {
        /// Arguments for the compiler; -show prints the command instead of running it
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Run a program and print the firmware's trace ring of one node
    ///
    /// The ring is in the node's SRAM. One line a trace point: time stamp, user value, raw record, function
    /// and offset, time to the next point. The firmware is built with trace points, which cost it some 30 ns
    /// each. A LANai has none: the functions are listed that it entered, which costs it nothing.
    Trace(TraceOptions),
    /// Run a program and profile the firmware, by function and line of its source
    ///
    /// Cycles in which instructions issue are separated from stalls, and stalls by their cause; polling that
    /// finds nothing is separate, too. --flame draws the call paths.
    Profile(ProfileOptions),
    /// Run a program and explain the time of its messages and calls
    ///
    /// Each step of a message with its cause and the parameters or the firmware's function that decide it.
    /// If nothing is asked for, the program's largest costs, its calls, and the three slowest messages.
    Explain(ExplainOptions),
    /// Run a program with many settings of machine and arguments, into a table (CSV)
    ///
    /// Settings are of the machine, its firmware and the program's arguments; runs go on all cores.
    /// Points that were run before are not run again, unless what they were made of has changed. A point that
    /// fails is a row like any other. Exit status: 0 if all points ended with 0, 1 if one did not, 2 for a
    /// mistake, 130 after Ctrl-C.
    Sweep(SweepOptions),
    /// Compare two runs: their parameters, and where the time went
    ///
    /// Exit status: 0 if the runs are equal, 1 if they differ, 2 for a mistake.
    Diff(DiffOptions),
    /// Run a program and measure its queues of posted receives and unexpected messages
    ///
    /// Their depths, entries walked in each search, and the time of that, of each rank and of all; on a
    /// machine with matching units once for each size of these, with what it saves. --page draws the depths
    /// over time.
    Queues(QueuesOptions),
    /// Write a page (HTML) about a run, or about the machine itself
    ///
    /// A browser opens it without a network.
    ///
    /// With a program: where its messages' time went, depths of queues, loads of links, beside the machine's
    /// curves of latency and bandwidth. Without one: the same of the ping-pong, and the curves beside
    /// everything that is published about them. Exit status as of `sunstar run`.
    Report(ReportOptions),
    /// Show size and sections of the firmware's image, or copy the sources of all firmware
    ///
    /// Also how much of the processor's memory it takes. Copied sources can be changed.
    Fw(FirmwareOptions),
    /// Link clang's objects for the LANai into an image
    ///
    /// The image begins at address 0.
    LanaiLink(lanai_link::command::Options),
    /// Run benchmarks on several machines or builds of the firmware, side by side
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Compare the machine's published results with simulated ones
    ///
    /// Runs `sunstar bench ladder` and examples/portals_getadd.c. What is more than 10 % off is a miss; that
    /// is a result, not a failure.
    Validate(LadderOptions),
    /// List the machines, or every parameter of one with unit and source
    Machines {
        /// A machine's name or file
        #[arg(value_name = "NAME|FILE")]
        name: Option<String>,
    },
    /// Check the installation: other programs, this computer's kernel, a run
    ///
    /// Lists which programs of others are there, what to install for those that are not, and what the kernel
    /// of this computer allows; then tries a run.
    ///
    /// Exit status: 0 if programs run, 1 if they do not.
    Doctor,
    /// List the faults that `sunstar run --fault` injects, with their expected effects
    Faults(FaultsOptions),
    /// Test RDMA NICs in stages, and diagnose their bugs by their debugging aids alone
    ///
    /// Exit status: 0 if nothing is found, 1 if something is, 2 for a mistake.
    Nic(NicOptions),
    /// Serve the remote disk of RDMA NICs to NBD clients, through the simulated cards
    ///
    /// Eight disks in memory, striped, behind the target's card. Simulated time stands still while no client
    /// wants anything.
    Disk(DiskOptions),
    /// Print the completion script of a shell
    ///
    /// E.g. for ~/.local/share/bash-completion/completions/sunstar. It completes names of machines,
    /// parameters, faults and programs, too.
    Completions {
        /// Shell that completes
        shell: clap_complete::Shell,
    },
    /// Print what may stand at the place of the last word of a command line, for scripts of shells
    #[command(hide = true)]
    Complete {
        /// Words of the command line, the last one up to the cursor
        #[arg(last = true)]
        words: Vec<OsString>,
    },
    /// Write the manual pages into a folder
    Manual {
        /// Folder, e.g. /usr/local/share/man/man1
        folder: PathBuf,
    },
}

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;

//! Command line of `sunstar`: commands, options, their help texts.

// Most comments are the text of `--help`: brackets are what may be left out, not links.
#![allow(rustdoc::broken_intra_doc_links)]

mod bench;
mod explain;
#[cfg(test)]
mod fuzz;
mod guest;
mod habits;
mod names;
mod parts;
mod processes;
pub mod queues;
mod report;
mod spelling;
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
pub use processes::{variables, AllProcesses, Date, Processes};
pub use report::ReportOptions;
pub use spelling::plain;
pub use sweep::{DiffOptions, SweepOptions};

use crate::disk::DiskOptions;
use crate::faults::FaultsOptions;
use crate::nic::NicOptions;
use clap::{Args, Parser, Subcommand};
use des::Duration;
use machine::programs::guests::Input;
use queues::QueuesOptions;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use sunstar::usage_error::UsageError;
use value::{time, whole};
pub use value::{Console, Gdb, Monitored, Nodes, RtlMode, RtlWave};

/// Runs ordinary MPI programs on a simulated cluster whose network interfaces execute real firmware.
#[derive(Debug, Parser)]
#[command(name = "sunstar", version, max_term_width = 100, subcommand_required = true)]
#[command(arg_required_else_help = true)]
pub struct Arguments {
    /// Command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// Parses a command line. For help, and for most errors, clap prints the text itself and ends the command.
pub fn parse(words: Vec<OsString>) -> Result<Arguments, UsageError> {
    let mut arguments = Arguments::try_parse_from(&words).map_err(|error| {
        let said = sweep::run_taken_by_json(&error, &words).or_else(|| value::refused(&error));
        said.unwrap_or_else(|| end(&error))
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

/// Prints what clap says, which is help or a mistake, and ends the command.
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
    /// Run a program in a real Linux kernel of its own, on simulated time, alone or on a node of a machine
    /// (--machine amata 0 opens a shell there); or build that kernel
    ///
    /// Standard input is read to its end before the guest boots. If it is a terminal, the guest has a
    /// terminal, too: its clock does not get ahead of yours, runs differ, and Ctrl-] leaves it. A guest finds
    /// the files of this computer, which it can only read; what it writes is in memory, and gone
    /// when it ends. Exit status: the program's own (128 + number for a signal), 1 if the guest is lost, 2
    /// for a mistake.
    Guest(GuestOptions),
    /// Compile C for the simulated machines (as gcc, with Sunstar's mpi.h and MPI library)
    #[command(disable_help_flag = true)]
    Cc {
        /// Arguments for the compiler; -show prints the command instead of running it
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Compile C++ for the simulated machines (as g++, with Sunstar's mpi.h and MPI library)
    #[command(disable_help_flag = true)]
    Cxx {
        /// Arguments for the compiler; -show prints the command instead of running it
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Compile Fortran for the simulated machines (as gfortran, with mpif.h and the modules of MPI)
    #[command(disable_help_flag = true)]
    Fc {
        /// Arguments for the compiler; -show prints the command instead of running it
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Run a program and print the trace ring that the firmware of one node leaves in its SRAM
    ///
    /// One line a trace point: time stamp, user value, raw record, function and offset, time to the next
    /// point. The firmware is built with trace points, which cost it some 30 ns each. A LANai has none: the
    /// functions are listed that it entered, which costs it nothing.
    Trace(TraceOptions),
    /// Run a program and tell where the firmware's cycles went, by function and line of its source
    ///
    /// Cycles in which instructions issue are told from stalls, and stalls by their cause; polling that finds
    /// nothing is told apart. --flame draws the call paths.
    Profile(ProfileOptions),
    /// Run a program and say why its messages and calls took as long as they did
    ///
    /// Each step of a message with its cause and the parameters or the firmware's function that decide it.
    /// If nothing is asked for, the program's largest costs, its calls, and the three slowest messages.
    Explain(ExplainOptions),
    /// Run a program at many points of machine, firmware and arguments, on all cores, into a table (CSV)
    ///
    /// Points that were run before are not run again, unless what they were made of has changed. A point that
    /// fails is a row like any other. Exit status: 0 if all points ended with 0, 1 if one did not, 2 for a
    /// mistake, 130 after Ctrl-C.
    Sweep(SweepOptions),
    /// Tell what differs between two runs: in parameters, and in where the time went
    ///
    /// Exit status: 0 if the runs are equal, 1 if they differ, 2 for a mistake.
    Diff(DiffOptions),
    /// Run a program and tell what its queues of posted receives and unexpected messages do, and what they
    /// cost
    ///
    /// Their depths, entries walked in each search, and the time of that, of each rank and of all; on a
    /// machine with matching units once for each size of these, with what it saves. --page draws the depths
    /// over time.
    Queues(QueuesOptions),
    /// Write a page (HTML) about a run or the machine itself, which a browser opens without a network
    ///
    /// With a program: where its messages' time went, depths of queues, loads of links, beside the machine's
    /// curves of latency and bandwidth. Without one: the same of the ping-pong, and the curves beside
    /// everything that is published about them. Exit status as of `sunstar run`.
    Report(ReportOptions),
    /// Show the firmware's image: size, sections, and what it takes of the processor's memory; or copy the
    /// sources of all firmware out, to be changed
    Fw(FirmwareOptions),
    /// Link clang's objects for the LANai into an image that begins at address 0
    LanaiLink(lanai_link::command::Options),
    /// Measure programs on several machines or builds of the firmware, side by side
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Hold everything that is published about the machine against what is simulated
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
    /// Tell which programs of others are there, what to install for those that are not, and what this
    /// computer's kernel allows; then try a run
    ///
    /// Exit status: 0 if programs run, 1 if they do not.
    Doctor,
    /// List what `sunstar run --fault` can let go wrong, and what is to be expected then
    Faults(FaultsOptions),
    /// Bring RDMA NICs up in stages, and find what is wrong with them by their debugging aids alone
    ///
    /// Exit status: 0 if nothing is found, 1 if something is, 2 for a mistake.
    Nic(NicOptions),
    /// Serve the remote disk of RDMA NICs to clients of NBD, through the simulated cards
    ///
    /// Eight disks in memory, striped, behind the target's card. Simulated time stands still while no client
    /// wants anything.
    Disk(DiskOptions),
    /// Print completions for a shell, e.g. for ~/.local/share/bash-completion/completions/sunstar
    Completions {
        /// Shell that completes
        shell: clap_complete::Shell,
    },
    /// Write the manual pages into a folder
    Manual {
        /// Folder, e.g. /usr/local/share/man/man1
        folder: PathBuf,
    },
}

/// Machine, and the parameters that override those of its file.
#[derive(Args, Clone, Debug)]
pub struct MachineOptions {
    /// Machine: a name (see `sunstar machines`) or a file
    #[arg(short, long, value_name = "NAME|FILE", default_value = "redstorm")]
    pub machine: String,
    /// Override a parameter of the machine, e.g. --set host.kernel_entry="200 ns"; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub overrides: Vec<String>,
}

/// Options of a run.
#[derive(Args, Clone, Debug)]
pub struct RunOptions {
    /// Number of ranks
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = whole(1..=u32::MAX))]
    pub ranks: u32,
    /// Ranks on each node, with a core each (short for --set host.ranks_per_node=N): 1 is Catamount's
    /// single node mode (SN), 2 its virtual node mode (VN); ranks with neighbouring numbers share a node
    #[arg(long, visible_alias = "ppn", value_name = "N")]
    #[arg(value_parser = whole(1..=u32::MAX))]
    pub ranks_per_node: Option<u32>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub machine: MachineOptions,
    /// Worker threads of the simulator: two take about half the time with many nodes; the simulated result
    /// is the same for any number, what ranks print may come in another order
    #[arg(short, long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = whole(1..=1024_u16))]
    pub threads: u16,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(0..=u64::MAX))]
    pub seed: u64,
    /// Simulated time of the program's own computation: none (but what it asks for itself, see
    /// include/sunstar.h), or scale=FACTOR times the processor time that it uses; then runs differ
    #[arg(long, value_name = "none|scale=FACTOR", default_value_t)]
    pub compute: rank::Compute,
    /// Let something go wrong, by the seed: KIND=VALUE[@NODE][@TIME], e.g. link.drop=0.001,
    /// host.slow=2@3 or interrupt.lost=#10; `sunstar faults` lists all; may be repeated
    #[arg(long = "fault", value_name = "FAULT")]
    pub faults: Vec<String>,
    /// End the run at this simulated time after the program's launch, e.g. 5ms, as a program needs that
    /// polls for ever: what is known then is told and written, and the exit status is 124
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub until: Option<Duration>,
    /// Execute every turn of the firmware's polling loop; the result is the same, later
    #[arg(long)]
    pub no_park: bool,
    /// Interpret all of the firmware, also what is executed often, instead of translating that to code of the
    /// host's own; the result is the same, later
    #[arg(long)]
    pub no_translate: bool,
    /// Carry out every packet of long messages, also where they repeat what the last ones did; the result is
    /// the same, later
    #[arg(long)]
    pub no_merge: bool,
    /// Boot the firmware on every node instead of once for all; the result is the same, later
    #[arg(long)]
    pub cold_boot: bool,
    /// Write every packet that enters or leaves the network to FILE (pcapng), for Wireshark and tshark with
    /// wireshark/sunstar.lua; implies --no-merge (the result is the same, later)
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Write what happens on all nodes over time to FILE (Perfetto's protobuf format), for ui.perfetto.dev:
    /// calls, kernel, firmware functions, DMA, links, queues; implies --no-merge (the result is the same,
    /// later)
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Write a row for each message that came to its end to FILE (Parquet), for polars, pandas, DuckDB and
    /// others: who sent it to whom, how, and the time of each step (docs/reference/tables.md)
    #[arg(long, value_name = "FILE")]
    pub messages: Option<PathBuf>,
    /// Write a row for each call of MPI or Portals to FILE (Parquet): who, what, and what its time went into
    #[arg(long, value_name = "FILE")]
    pub calls: Option<PathBuf>,
    /// Print what the console of the switch says on its serial line, when the run is over
    ///
    /// Its processor executes firmware/crossbar, which takes the switch's counters again and again; `--set
    /// console.baud=N` makes the line faster. The result is the same, later.
    #[arg(long, value_name = "PART")]
    pub console: Option<Console>,
    /// Let gdb debug the processor of node NODE's network interface: the run begins when gdb has connected
    /// to PORT of this computer (one that is free if not given), at the firmware's first instruction
    ///
    /// The run tells how to connect, e.g. gdb-multiarch seastar.elf -ex 'target remote :PORT'. Nothing
    /// simulated changes as long as gdb only looks (docs/reference/gdb.md). Implies --no-merge, and on that
    /// node --cold-boot and --no-park.
    #[arg(long, value_name = "NODE[:PORT]")]
    pub gdb: Option<Gdb>,
    /// Look at the LANai of node NODE's card, which no gdb knows, by commands from FILE (standard input if
    /// not given), of which `help` lists all; nothing simulated changes (docs/reference/monitor.md)
    #[arg(long, value_name = "NODE[:FILE]")]
    pub monitor: Option<Monitored>,
    /// Run the RTL of network interfaces, switch and matching units in place of their models (parameters
    /// nic.rtl, switch.rtl and alpu.rtl choose one); the result is the same, later. Verilator compiles it
    /// first, once
    ///
    /// check, on machine alpu: runs the model beside it, and ends the run at the first cycle that differs;
    /// units of --rtl-dir are judged by the specification instead, and may take their own time. exact: units
    /// of --rtl-dir are compared with the model in every cycle, too.
    #[arg(long, value_name = "on|check|exact", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "on")]
    pub rtl: Option<RtlMode>,
    /// Run the SystemVerilog unit in FOLDER in place of the matching units of machine alpu
    /// (docs/your-own-unit.md)
    #[arg(long, value_name = "FOLDER", requires = "rtl")]
    pub rtl_dir: Option<PathBuf>,
    /// Write a waveform of the RTL to FILE (VCD): of a card around its trigger (--rtl-trigger); of a matching
    /// unit around the first cycle that is wrong (--rtl=check), or around the arrival of a message's header
    #[arg(long, value_name = "FILE[@NODE:NUMBER]", requires = "rtl")]
    pub rtl_wave: Option<RtlWave>,
    /// Event that the waveform of a card shows: crc, parity, bond, overflow, credits, frozen, interrupt,
    /// stop, fault, time=TIME, or PORT=VALUE (docs/waveforms.md); the first of all nodes, or of NODE
    #[arg(long, value_name = "[NODE:]EVENT", requires = "rtl_wave")]
    pub rtl_trigger: Option<String>,
    /// Cycles of the bus's clock that the waveform of a card has before its trigger
    #[arg(long, value_name = "CYCLES", requires = "rtl_trigger", default_value_t = 1000)]
    #[arg(value_parser = clap::value_parser!(u64).range(0..=1_000_000))]
    pub rtl_before: u64,
    /// Cycles of the bus's clock that it has after its trigger
    #[arg(long, value_name = "CYCLES", requires = "rtl_trigger", default_value_t = 1000)]
    #[arg(value_parser = clap::value_parser!(u64).range(0..=1_000_000))]
    pub rtl_after: u64,
    /// Hold library and firmware against the specification of Portals 3.3 while they run; the first
    /// disagreement ends the run with status 1 (the result is the same, later)
    #[arg(long)]
    pub judge: bool,
    /// Compare the datatypes of both sides of each message, and of all members in collective calls; the first
    /// mismatch ends the run with status 1 (with --judge alone it is a warning)
    #[arg(long)]
    pub check_types: bool,
    /// Write the summary to FILE as JSON, for other programs ("-": standard output, and all else that is
    /// printed, also by the program, goes to standard error)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Tell in the JSON what each function of the firmware cost (the result is the same, later)
    #[arg(long, requires = "json")]
    pub functions: bool,
    /// Print the program's own output only
    #[arg(short, long)]
    pub quiet: bool,
    /// Print a summary of five lines
    #[arg(long, conflicts_with_all = ["quiet", "full"])]
    pub brief: bool,
    /// Print the whole summary: all steps of a message, the firmware's work, all counters
    #[arg(long, conflicts_with = "quiet")]
    pub full: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub processes: Processes,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub all: AllProcesses,
    /// MPI program and its arguments: a binary of the MPI 5.0 ABI, source in C, C++ or Fortran, a script
    ///
    /// Source is compiled first, as by `sunstar cc -O2 -g` (cxx, fc); FILE.py is run by python3. Launchers
    /// may stand before the program (env, timeout, sh -c, valgrind, gdb --args): a rank is the first process
    /// that is linked with MPI or calls it. All that follows the program is the program's, up to a lone ':',
    /// behind which another follows with its own -n, --env and --wdir, for the next ranks.
    /// builtin:NAME runs a workload without processes: pingpong, allreduce, alltoall, halo, exchange,
    /// traffic, incast ([BYTES] [TIMES]), barrier ([TIMES]).
    #[arg(value_name = "PROGRAM", required = true, num_args = 1..)]
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<OsString>,
    /// The other programs, of which `ranks` counts the ranks, too.
    #[arg(skip)]
    pub others: Vec<Part>,
    /// Standard input of one rank's guest.
    #[arg(skip)]
    pub input: Option<(u32, Input)>,
}

impl RunOptions {
    /// The machine, with all that was set.
    pub fn machine(&self) -> MachineOptions {
        let mut machine = self.machine.clone();
        let per_node = self.ranks_per_node.map(|number| format!("host.ranks_per_node={number}"));
        machine.overrides.extend(per_node);
        machine
    }
    /// The program as the user named it.
    pub fn program(&self) -> &Path {
        Path::new(&self.command[0])
    }
    /// The program's own arguments.
    pub fn arguments(&self) -> &[OsString] {
        &self.command[1..]
    }
}

/// Options of `sunstar trace`.
#[derive(Args, Clone, Debug)]
pub struct TraceOptions {
    /// Node whose trace ring, or of a LANai whose functions, are printed
    #[arg(long, value_name = "NID", default_value_t = 0, value_parser = whole(0..=u32::MAX))]
    pub node: u32,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub run: RunOptions,
}

/// Options of `sunstar profile`.
#[derive(Args, Clone, Debug)]
pub struct ProfileOptions {
    /// Node whose firmware is looked at, or all
    #[arg(long, value_name = "NID|all", default_value = "all")]
    pub node: Nodes,
    /// Lines of the source that are listed, the most expensive first
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = whole(0..=usize::MAX))]
    pub lines: usize,
    /// Draw a flame graph of the call paths into FILE, which a browser opens ("-": standard output, as
    /// with --json)
    #[arg(long, value_name = "FILE.svg")]
    pub flame: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub run: RunOptions,
}

/// Options that choose a build of the firmware.
#[derive(Args, Clone, Debug)]
pub struct FirmwareOptions {
    /// Copy the sources of all firmware, and all that a run reads beside them, into a new FOLDER: with
    /// SUNSTAR_ROOT=FOLDER runs take it from there, and build what has changed
    #[arg(long, value_name = "FOLDER")]
    pub copy: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub machine: MachineOptions,
}

#[cfg(test)]
mod tests;

//! Options of runs: of `sunstar run`, and of all commands that run a program to tell something of it.

use super::heading;
use super::parts::Part;
use super::processes::{variables, AllProcesses, Processes};
use super::value::{time, whole};
use super::value::{Console, Gdb, Monitored, Nodes, RtlMode, RtlWave};
use clap::Args;
use des::Duration;
use machine::programs::guests::Input;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use sunstar::usage_error::UsageError;

/// Machine, and the parameters that override those of its file.
#[derive(Args, Clone, Debug)]
pub struct MachineOptions {
    /// Machine: a name (see `sunstar machines`) or a file
    #[arg(short, long, value_name = "NAME|FILE", default_value = "redstorm")]
    #[arg(help_heading = heading::MACHINE)]
    pub machine: String,
    /// Override a parameter of the machine; may be repeated
    ///
    /// E.g. --set host.kernel_entry="200 ns"; `sunstar machines NAME` lists all.
    #[arg(long = "set", value_name = "KEY=VALUE", help_heading = heading::MACHINE)]
    pub overrides: Vec<String>,
}

/// Options of a run.
#[derive(Args, Clone, Debug)]
pub struct RunOptions {
    /// Number of ranks
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = whole(1..=u32::MAX), help_heading = heading::PROGRAM)]
    pub ranks: u32,
    /// Ranks on each node, with a core each
    ///
    /// Short for --set host.ranks_per_node=N: 1 is Catamount's single node mode (SN), 2 its virtual node mode
    /// (VN); ranks with neighbouring numbers share a node.
    #[arg(long, visible_alias = "ppn", value_name = "N")]
    #[arg(value_parser = whole(1..=u32::MAX), help_heading = heading::PROGRAM)]
    pub ranks_per_node: Option<u32>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub processes: Processes,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub machine: MachineOptions,
    /// Seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(0..=u64::MAX))]
    #[arg(help_heading = heading::SIMULATION)]
    pub seed: u64,
    /// Simulated time of the program's own computation
    ///
    /// none (but what it asks for itself, see include/sunstar.h), or scale=FACTOR times the processor time
    /// that it uses; then runs differ.
    #[arg(long, value_name = "none|scale=FACTOR", default_value_t)]
    #[arg(help_heading = heading::SIMULATION)]
    pub compute: rank::Compute,
    /// End the run at this simulated time, e.g. 5ms
    ///
    /// The time counts from the program's launch. A program that polls for ever needs it. The results up to
    /// then are printed and written, and the exit status is 124.
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = heading::SIMULATION)]
    pub until: Option<Duration>,
    /// Worker threads of the simulator (same result)
    ///
    /// Two take about half the time with many nodes. The simulated result is the same for any number; what
    /// ranks print may come in another order.
    #[arg(short, long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = whole(1..=1024_u16), help_heading = heading::SIMULATION)]
    pub threads: u16,
    /// Inject a fault, e.g. link.drop=0.001; may be repeated
    ///
    /// KIND=VALUE[@NODE][@TIME], e.g. link.drop=0.001, host.slow=2@3 or interrupt.lost=#10; what is random is
    /// decided by --seed. `sunstar faults` lists all kinds.
    #[arg(long = "fault", value_name = "FAULT", help_heading = heading::FAULTS)]
    pub faults: Vec<String>,
    /// Check library and firmware against the specification of Portals (slower)
    ///
    /// The specification of Portals 3.3 runs beside them; the first violation ends the run with status 1.
    /// (slower; same result)
    #[arg(long, help_heading = heading::FAULTS)]
    pub judge: bool,
    /// Check that datatypes match at both sides of each message
    ///
    /// Also those of all members in collective calls. The first mismatch ends the run with status 1; with
    /// --judge alone it is a warning.
    #[arg(long, help_heading = heading::FAULTS)]
    pub check_types: bool,
    /// Print the program's own output only
    #[arg(short, long, help_heading = heading::OUTPUT)]
    pub quiet: bool,
    /// Print a summary of five lines
    #[arg(long, conflicts_with_all = ["quiet", "full"], help_heading = heading::OUTPUT)]
    pub brief: bool,
    /// Print the whole summary, with all steps, work and counters
    ///
    /// All steps of a message, the firmware's work, all counters.
    #[arg(long, conflicts_with = "quiet", help_heading = heading::OUTPUT)]
    pub full: bool,
    /// Write the summary to FILE as JSON ("-": standard output)
    ///
    /// With "-" all else that is printed, also by the program, goes to standard error.
    #[arg(long, value_name = "FILE", help_heading = heading::OUTPUT)]
    pub json: Option<PathBuf>,
    /// Add the cost of each function of the firmware to the JSON
    ///
    /// (slower; same result)
    #[arg(long, requires = "json", help_heading = heading::OUTPUT)]
    pub functions: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub all: AllProcesses,
    /// Print the output of the switch's console after the run
    ///
    /// Its processor executes firmware/crossbar, which takes the switch's counters again and again; `--set
    /// console.baud=N` makes the serial line faster. (slower; same result)
    #[arg(long, value_name = "PART", hide_possible_values = true, help_heading = heading::OUTPUT)]
    pub console: Option<Console>,
    /// Write a row for each message to FILE (Parquet)
    ///
    /// For polars, pandas, DuckDB and others: sender, receiver, protocol, and the time of each step of the
    /// messages that came to their end (docs/reference/tables.md).
    #[arg(long, value_name = "FILE", help_heading = heading::TRACES)]
    pub messages: Option<PathBuf>,
    /// Write a row for each call of MPI or Portals to FILE (Parquet)
    ///
    /// Rank, function, and what its time went into.
    #[arg(long, value_name = "FILE", help_heading = heading::TRACES)]
    pub calls: Option<PathBuf>,
    /// Write a timeline of all nodes to FILE, for ui.perfetto.dev
    ///
    /// In Perfetto's protobuf format: calls, kernel, firmware functions, DMA, links, queues. Implies
    /// --no-merge. (slower; same result)
    #[arg(long, value_name = "FILE", help_heading = heading::TRACES)]
    pub trace: Option<PathBuf>,
    /// Write each packet on the network to FILE (pcapng), for Wireshark
    ///
    /// Wireshark and tshark take it with wireshark/sunstar.lua. Implies --no-merge. (slower; same result)
    #[arg(long, value_name = "FILE", help_heading = heading::TRACES)]
    pub pcap: Option<PathBuf>,
    /// Run NICs, switch and matching units as RTL (slower)
    ///
    /// The RTL takes the place of their models (parameters nic.rtl, switch.rtl and alpu.rtl choose one).
    /// Verilator compiles it first, once. (slower; same result)
    ///
    /// check, on machine alpu: runs the model beside it, and ends the run at the first cycle that differs;
    /// units of --rtl-dir are judged by the specification instead, and may take their own time. exact: units
    /// of --rtl-dir are compared with the model in every cycle, too.
    #[arg(long, value_name = "on|check|exact", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "on", hide_possible_values = true, help_heading = heading::RTL)]
    pub rtl: Option<RtlMode>,
    /// Run the matching unit in FOLDER on machine alpu
    ///
    /// A unit in SystemVerilog, in place of the machine's own (docs/your-own-unit.md).
    #[arg(long, value_name = "FOLDER", requires = "rtl", help_heading = heading::RTL)]
    pub rtl_dir: Option<PathBuf>,
    /// Write a waveform of the RTL to FILE (VCD)
    ///
    /// Of a card around its trigger (--rtl-trigger); of a matching unit around the first cycle that is wrong
    /// (--rtl=check), or around the arrival of the header of message NODE:NUMBER.
    #[arg(long, value_name = "FILE[@NODE:NUMBER]", requires = "rtl", help_heading = heading::RTL)]
    pub rtl_wave: Option<RtlWave>,
    /// Event that triggers the waveform of a card
    ///
    /// crc, parity, bond, overflow, credits, frozen, interrupt, stop, fault, time=TIME, or PORT=VALUE
    /// (docs/waveforms.md); the first of all nodes, or of NODE.
    #[arg(long, value_name = "[NODE:]EVENT", requires = "rtl_wave", help_heading = heading::RTL)]
    pub rtl_trigger: Option<String>,
    /// Cycles of the waveform before its trigger
    ///
    /// Of a card, in cycles of the bus's clock.
    #[arg(long, value_name = "CYCLES", requires = "rtl_trigger", default_value_t = 1000)]
    #[arg(value_parser = whole(0..=1_000_000_u64), help_heading = heading::RTL)]
    pub rtl_before: u64,
    /// Cycles of the waveform after its trigger
    ///
    /// Of a card, in cycles of the bus's clock.
    #[arg(long, value_name = "CYCLES", requires = "rtl_trigger", default_value_t = 1000)]
    #[arg(value_parser = whole(0..=1_000_000_u64), help_heading = heading::RTL)]
    pub rtl_after: u64,
    /// Let gdb debug the firmware of node NODE, over PORT
    ///
    /// The run begins when gdb has connected to PORT of this computer (a free one if not given), at the
    /// firmware's first instruction. The run prints how to connect, e.g. gdb-multiarch seastar.elf -ex
    /// 'target remote :PORT'. Nothing simulated changes as long as gdb only looks (docs/reference/gdb.md).
    /// Implies --no-merge, and on that node --cold-boot and --no-park.
    #[arg(long, value_name = "NODE[:PORT]", help_heading = heading::DEBUGGING)]
    pub gdb: Option<Gdb>,
    /// Examine the LANai of node NODE by commands from FILE
    ///
    /// Commands come from standard input if FILE is not given; `help` lists all. It is for the LANai, which
    /// no gdb knows. Nothing simulated changes (docs/reference/monitor.md).
    #[arg(long, value_name = "NODE[:FILE]", help_heading = heading::DEBUGGING)]
    pub monitor: Option<Monitored>,
    /// Execute every turn of the firmware's polling loop (slower; same result)
    #[arg(long, help_heading = heading::DEVELOPERS, hide_short_help = true)]
    pub no_park: bool,
    /// Interpret all of the firmware (slower; same result)
    ///
    /// Otherwise frequently executed code is translated to code of the host's processor.
    #[arg(long, help_heading = heading::DEVELOPERS, hide_short_help = true)]
    pub no_translate: bool,
    /// Simulate every packet of long messages (slower; same result)
    ///
    /// Otherwise packets that repeat what the last ones did are simulated together.
    #[arg(long, help_heading = heading::DEVELOPERS, hide_short_help = true)]
    pub no_merge: bool,
    /// Boot the firmware on every node instead of once for all (slower; same result)
    #[arg(long, help_heading = heading::DEVELOPERS, hide_short_help = true)]
    pub cold_boot: bool,
    /// MPI program and its arguments: a binary, C, C++ or Fortran, a script, builtin:NAME
    ///
    /// A binary is one of the MPI 5.0 ABI. Source is compiled first, as by `sunstar cc -O2 -g` (cxx, fc);
    /// FILE.py is run by python3. Launchers may stand before the program (env, timeout, sh -c, valgrind, gdb
    /// --args): a rank is the first process that is linked with MPI or calls it. All that follows the program
    /// is the program's, up to a lone ':', behind which another follows with its own -n, --env and --wdir,
    /// for the next ranks. builtin:NAME runs a workload without processes: pingpong, allreduce, alltoall,
    /// halo, exchange, traffic, incast ([BYTES] [TIMES]), barrier ([TIMES]).
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
    /// Node whose trace ring is printed, or of a LANai its functions
    #[arg(long, value_name = "NODE", default_value_t = 0, value_parser = whole(0..=u32::MAX))]
    #[arg(help_heading = heading::SELECTION)]
    pub node: u32,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub run: RunOptions,
}

/// Options of `sunstar profile`.
#[derive(Args, Clone, Debug)]
pub struct ProfileOptions {
    /// Node whose firmware is profiled, or all
    #[arg(long, value_name = "NODE|all", default_value = "all", help_heading = heading::SELECTION)]
    pub node: Nodes,
    /// Number of source lines to list, the most expensive first
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = whole(0..=usize::MAX))]
    #[arg(help_heading = heading::SELECTION)]
    pub lines: usize,
    /// Draw a flame graph of the call paths into FILE
    ///
    /// A browser opens it. "-": standard output, as with --json.
    #[arg(long, value_name = "FILE.svg", help_heading = heading::OUTPUT)]
    pub flame: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub run: RunOptions,
}

/// Options that choose a build of the firmware.
#[derive(Args, Clone, Debug)]
pub struct FirmwareOptions {
    /// Copy the sources of all firmware into a new FOLDER
    ///
    /// With them goes all that a run reads beside them: with SUNSTAR_ROOT=FOLDER runs take it from there, and
    /// build what has changed.
    #[arg(long, value_name = "FOLDER", help_heading = heading::OUTPUT)]
    pub copy: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub machine: MachineOptions,
}

impl RunOptions {
    /// The environment that the ranks of each program have beside the command's.
    pub fn environments(&self) -> Result<Vec<Vec<(OsString, OsString)>>, UsageError> {
        let global = variables(&self.all.genv)?;
        let of = |part: &Part| {
            let own = variables(&part.processes.env)?;
            Ok(global.iter().cloned().chain(own).collect())
        };
        self.parts().iter().map(of).collect()
    }
}

//! Headings of options in help texts and manual pages, and what a short help leaves out.

use clap::Command;

/// Program, ranks and their processes.
pub const PROGRAM: &str = "Program and ranks";
/// Machine and its parameters.
pub const MACHINE: &str = "Machine";
/// Seed, simulated time and the simulator itself.
pub const SIMULATION: &str = "Simulation";
/// Messages, ranks and calls to explain; studies and sizes to measure.
pub const SELECTION: &str = "Selection";
/// Faults, and checks of the run.
pub const FAULTS: &str = "Faults and checks";
/// Output for people and programs.
pub const OUTPUT: &str = "Output";
/// Files about packets, messages, calls and time.
pub const TRACES: &str = "Tables and traces";
/// Hardware as SystemVerilog.
pub const RTL: &str = "RTL";
/// Debuggers.
pub const DEBUGGING: &str = "Debugging";
/// Options for who works on the simulator; a short help leaves them out, and says so.
pub const DEVELOPERS: &str = "Developers";

/// Most options that a command has without headings.
#[cfg(test)]
pub const WITHOUT_MAX: usize = 8;

/// Adds to the short help of each command which options only its long help has.
pub fn say_what_is_left_out(mut command: Command) -> Command {
    let hidden: Vec<String> = command
        .get_arguments()
        .filter(|arg| arg.is_hide_short_help_set())
        .filter_map(|arg| Some(format!("--{}", arg.get_long()?)))
        .collect();
    if !hidden.is_empty() {
        let said = format!("Options for developers are in --help: {}.", hidden.join(", "));
        command = command.after_help(said).after_long_help("");
    }
    let names: Vec<String> =
        command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    names.iter().fold(command, |command, name| command.mut_subcommand(name, say_what_is_left_out))
}

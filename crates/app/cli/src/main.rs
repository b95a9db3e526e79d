//! The `sunstar` command: runs MPI programs on a simulated machine and prints a breakdown of the time.

// What is printed must not end us where it cannot be written: `machine::console` prints.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod bench;
mod child;
mod compiler;
mod complete;
mod diff;
mod disk;
mod doctor;
mod explain;
mod faults;
mod firmware;
mod guest;
mod interrupt;
mod keyboard;
mod machines;
mod manual;
#[cfg(test)]
mod named;
mod nic;
mod outputs;
mod profile;
mod progress;
mod queues;
mod report;
mod run;
mod stack;
mod streams;
mod summary;
mod sweep;
mod terminal;
mod trace;

use args::Command;
use machine::console;
use std::process::ExitCode;
use sunstar::compiler::Language;
use sunstar::root::Root;
use sunstar::usage_error::UsageError;

/// Exit status of a usage error.
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    interrupt::clean_up_if_asked();
    interrupt::begin();
    interrupt::let_writes_fail();
    stack::with_enough(command).unwrap_or_else(|usage_error| {
        console::say(&usage_error.to_string());
        ExitCode::from(EXIT_USAGE)
    })
}

/// Does what the command line says.
fn command() -> ExitCode {
    let words = args::plain(args::with_verb(std::env::args_os())).map(|plain| {
        if !plain.ignored.is_empty() {
            let options = plain.ignored.join(", ");
            console::say(&format!("{options}: ignored, as nodes are simulated here"));
        }
        if let Some(stray) = plain.strays {
            console::say(&format!(
                "{stray} stands behind the program and is the program's, as with mpirun; options \
                 of sunstar stand before it"
            ));
        }
        plain.words
    });
    let obeyed = words.and_then(args::parse).and_then(|arguments| obey(arguments.command));
    interrupt::go_on();
    match obeyed {
        Ok(code) => ExitCode::from(code),
        Err(usage_error) => {
            ExitCode::from(interrupt::instead_of_usage_error().unwrap_or_else(|| {
                console::say(&usage_error.to_string());
                EXIT_USAGE
            }))
        }
    }
}

/// Runs one command; returns its exit status.
fn obey(command: Command) -> Result<u8, UsageError> {
    // These are made of the command line itself and need nothing of the installation.
    match command {
        Command::Completions { shell } => return complete::script(shell),
        Command::Complete { words } => return complete::complete(&words),
        Command::Manual { folder } => return manual::pages(&folder),
        Command::Faults(options) => return faults::faults(&options),
        Command::Nic(options) => return nic::nic(&options),
        Command::Disk(options) => return disk::disk(&options),
        Command::Diff(options) => return diff::diff(&options),
        Command::LanaiLink(options) => return firmware::link(&options),
        Command::Doctor => return doctor::doctor(),
        _ => {}
    }
    let root = Root::find()?;
    match command {
        Command::Run(options) => run::run(&root, &options),
        Command::Guest(options) => guest::guest(&root, &options),
        Command::Trace(options) => trace::trace(&root, &options),
        Command::Profile(options) => profile::profile(&root, &options),
        Command::Explain(options) => explain::explain(&root, &options),
        Command::Queues(options) => queues::queues(&root, &options),
        Command::Sweep(options) => sweep::sweep(&root, &options),
        Command::Report(options) => report::report(&root, &options),
        Command::Fw(options) => firmware::show(&root, &options),
        Command::Bench(command) => bench::bench(&root, &command),
        Command::Validate(options) => bench::validate(&root, &options),
        Command::Machines { name } => machines::machines(&root, name.as_deref()),
        Command::Cc { arguments } => compiler::pass_through(&root, Language::C, &arguments),
        Command::Cxx { arguments } => compiler::pass_through(&root, Language::Cxx, &arguments),
        Command::Fc { arguments } => compiler::pass_through(&root, Language::Fortran, &arguments),
        Command::Completions { .. }
        | Command::Complete { .. }
        | Command::Manual { .. }
        | Command::Faults(_)
        | Command::Nic(_)
        | Command::LanaiLink(_)
        | Command::Doctor
        | Command::Disk(_)
        | Command::Diff(_) => {
            unreachable!("obeyed above")
        }
    }
}

//! A program in a Linux guest by itself; and the guests' kernel.

use crate::args::{self, Command as Verb, GuestOptions, MachineOptions};
use crate::keyboard::{self, Raw};
use crate::{machines, run};
use guest::{Costs, Ending, Guest, Setup, Task};
use machine::console;
use std::ffi::OsString;
use std::io::IsTerminal;
use sunstar::guest::{kernel, prepare};
use sunstar::root::Root;
use sunstar::usage_error::UsageError;

/// Time at which the program begins, in ns: some programs take a clock below one second for none.
const BEGINS: u64 = 1_000_000_000;

/// Memory of a guest by itself, in MB.
const MEMORY_MB: u32 = 64;

/// Exit status where the guest itself is lost.
const LOST: u8 = 1;

/// Runs `sunstar guest`.
pub fn guest(root: &Root, options: &GuestOptions) -> Result<u8, UsageError> {
    if options.prepare {
        prepare(root)?;
    }
    if options.command.is_empty() {
        return Ok(0);
    }
    if let Some(machine) = &options.machine {
        return on_machine(root, machine, options);
    }
    let kernel = kernel(root)?;
    let (input, _raw) = keyboard::input()?;
    let folder =
        std::env::current_dir().map_err(|why| UsageError::sentence(format!("no folder: {why}")))?;
    let task = Task {
        number: 0,
        guests: 1,
        memory_mb: options.memory.unwrap_or(MEMORY_MB),
        seed: options.seed,
        costs: Costs::default(),
        date: options.date.0 * 1_000_000_000,
        begins: BEGINS,
        device: false,
        arguments: options.command.clone(),
        variables: args::variables(&given(options))?,
        folder,
        libraries: None,
        input,
        setup: Setup::default(),
    };
    let begun = Guest::start(&kernel, &task);
    let mut guest =
        begun.map_err(|why| UsageError::sentence(format!("the guest cannot begin: {why}")))?;
    let mut unwritten = None;
    let (ending, _) = guest::alone(&mut guest, |_, guest| {
        unwritten = unwritten.take().or_else(|| pass_on(guest).err());
    });
    unwritten = unwritten.take().or_else(|| pass_on(&mut guest).err());
    if let Some(error) = unwritten {
        return Err(error);
    }
    Ok(match ending {
        Ending::Exited(status) => status as u8,
        Ending::Killed(signal) => 128 + signal as u8,
        Ending::Lost(why) => {
            console::say(&format!("the guest {why}"));
            LOST
        }
    })
}

/// Variables that the program is given: those of the options, and the kind of terminal, if there is one.
fn given(options: &GuestOptions) -> Vec<OsString> {
    let terminal = std::io::stdin().is_terminal().then(|| OsString::from("TERM"));
    terminal.into_iter().chain(options.env.iter().cloned()).collect()
}

/// Program of a node if there is none, and of the nodes beside it.
const SHELL: &str = "bash";
const WAITS: [&str; 3] = ["--server", "sleep", "infinity"];

/// Runs a program on a node of a machine: a run whose other nodes wait.
fn on_machine(root: &Root, machine: &str, options: &GuestOptions) -> Result<u8, UsageError> {
    let (node, program) = options.command.split_first().expect("a command is required");
    let node: u32 = node.to_str().and_then(|word| word.parse().ok()).ok_or_else(|| {
        let word = node.to_string_lossy();
        UsageError::sentence(format!(
            "{word}: with --machine the number of a node stands before the program"
        ))
    })?;
    let nodes = options.nodes.unwrap_or_else(|| node.saturating_add(1).max(2).next_multiple_of(2));
    if node >= nodes {
        return Err(UsageError::sentence(format!("there is no node {node}: --nodes is {nodes}")));
    }
    let of = MachineOptions { machine: machine.into(), overrides: options.overrides.clone() };
    if !machines::chosen(root, &of)?.model().guests {
        let those = machines::with_guests(root)?.join(", ");
        return Err(UsageError::sentence(format!(
            "machine {machine} runs no Linux guests; these do: {those}"
        )));
    }
    let mut words: Vec<OsString> = ["sunstar", "run", "-q", "-m", machine].map(Into::into).into();
    words.extend(["--seed".into(), options.seed.to_string().into()]);
    words.extend(["--date".into(), options.date.to_string().into()]);
    options.overrides.iter().for_each(|set| words.extend(["--set".into(), set.into()]));
    for (ranks, own) in [(node, false), (1, true), (nodes - node - 1, false)] {
        if ranks == 0 {
            continue;
        }
        if words.iter().any(|word| word == "-n") {
            words.push(":".into());
        }
        words.extend(["-n".into(), ranks.to_string().into()]);
        if own {
            given(options).into_iter().for_each(|variable| words.extend(["-x".into(), variable]));
        }
        match (own, program) {
            (false, _) => words.extend(WAITS.map(Into::into)),
            (true, []) => words.push(SHELL.into()),
            (true, program) => words.extend_from_slice(program),
        }
    }
    let Verb::Run(mut run) = args::parse(words)?.command else {
        unreachable!("the verb is run");
    };
    let (input, _raw): (_, Option<Raw>) = keyboard::input()?;
    run.input = Some((node, input));
    run::run(root, &run)
}

/// Prints the output of the guest's program.
fn pass_on(guest: &mut Guest) -> Result<(), UsageError> {
    let unread = |why| UsageError::sentence(format!("cannot read what a guest writes: {why}"));
    let [out, err] = guest.take_output().map_err(unread)?;
    console::pass_on_bytes(&err);
    Ok(console::print_bytes(&out)?)
}

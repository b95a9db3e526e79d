//! A program in a Linux guest with nothing around it; and the guests' kernel.

use crate::args::GuestOptions;
use crate::mistake::Mistake;
use crate::root::Root;
use guest::{Costs, Ending, Guest, Kernel, Task};
use machine::console;
use std::process::Command;

/// When the program begins, in ns: programs take a clock that has not counted a second for none.
const BEGINS: u64 = 1_000_000_000;

/// Exit status where the guest itself is lost.
const LOST: u8 = 1;

/// Obeys `sunstar guest`.
pub fn guest(root: &Root, options: &GuestOptions) -> Result<u8, Mistake> {
    if options.prepare {
        prepare(root)?;
    }
    if options.command.is_empty() {
        return Ok(0);
    }
    let kernel = Kernel::find(&root.guests()).map_err(Mistake)?;
    let folder = std::env::current_dir().map_err(|why| Mistake(format!("no folder: {why}")))?;
    let task = Task {
        number: 0,
        guests: 1,
        memory_mb: options.memory,
        seed: options.seed,
        costs: Costs::default(),
        date: options.date.0 * 1_000_000_000,
        begins: BEGINS,
        device: false,
        arguments: options.command.clone(),
        variables: std::env::vars_os().collect(),
        folder,
    };
    let mut guest = Guest::start(&kernel, &task).map_err(Mistake)?;
    let mut unwritten = None;
    let (ending, _) = guest::alone(&mut guest, |_, guest| {
        unwritten = unwritten.take().or_else(|| pass_on(guest).err());
    });
    unwritten = unwritten.take().or_else(|| pass_on(&mut guest).err());
    if let Some(why) = unwritten {
        return Err(Mistake(why));
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

/// Prints what the guest's program has written.
fn pass_on(guest: &mut Guest) -> Result<(), String> {
    let [out, err] =
        guest.take_output().map_err(|why| format!("cannot read what a guest writes: {why}"))?;
    console::pass_on_bytes(&err);
    console::print_bytes(&out)
}

/// Builds the guests' kernel, or finds that it is there.
fn prepare(root: &Root) -> Result<(), Mistake> {
    let script = root.path().join("linux/kernel/prepare");
    let ended = Command::new(&script).arg(root.guests()).status();
    match ended.map_err(|why| Mistake::with_file("run", &script, why))? {
        status if status.success() => Ok(()),
        // The script has said why.
        _ => Err(Mistake("there is no kernel for guests".into())),
    }
}

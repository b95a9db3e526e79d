//! `sunstar trace`: the firmware's trace ring, read through the RAS back door and decoded with the image's
//! symbols.

use crate::args::{RunOptions, TraceOptions};
use crate::mistake::Mistake;
use crate::root::Root;
use crate::run::{self, Observers};
use crate::streams::Output;
use crate::{firmware, machines, terminal};
use machine::firmware::symbols::Symbols;
use machine::models::Processor;
use machine::seastar::firmware::tracedump;

/// Runs the program with a firmware that has trace points and prints one node's ring.
pub fn trace(root: &Root, options: &TraceOptions) -> Result<u8, Mistake> {
    let mut run_options = options.run.clone();
    check_not_off(root, &run_options)?;
    run_options.machine.overrides.push("firmware.trace=on".into());
    run::check_node(root, &run_options, options.node)?;
    let json = Output::of("--json", run_options.json.as_deref())?;
    let run = run::execute(root, &run_options, Observers::default())?;
    let sram = &run.outcome.sram[options.node as usize];
    let symbols =
        Symbols::load(&run.firmware.join("seastar.elf")).map_err(|why| Mistake(why.to_string()))?;
    let clock = run.parameters.clock("ppc440.clock");
    let points = tracedump::of(sram, &clock);
    let printed = terminal::write(&tracedump::dump(&points, &symbols));
    Ok(run::finish(&run_options, &run, &json, printed))
}

/// Machines come without trace points and get them here; who sets them off would see another
/// firmware.
fn check_not_off(root: &Root, options: &RunOptions) -> Result<(), Mistake> {
    let parameters = machines::chosen(root, &options.machine())?;
    firmware::required_on(&parameters, "sunstar trace", Processor::PowerPc)?;
    let mut set = parameters.overrides().iter();
    if set.any(|set| set.starts_with("firmware.trace=")) && !parameters.switch("firmware.trace") {
        let why = "--set firmware.trace=off: sunstar trace prints trace points, and needs them on";
        return Err(Mistake(why.into()));
    }
    Ok(())
}

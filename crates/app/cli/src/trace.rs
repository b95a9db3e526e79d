//! `sunstar trace`: the firmware's trace ring, read through the RAS back door and decoded with the image's
//! symbols; for firmware without a ring, the functions that it has entered.

use crate::args::TraceOptions;
use crate::run::{self, Observers, Run};
use crate::streams::Output;
use crate::{firmware, machines, terminal};
use des::Clock;
use functions::Functions;
use machine::firmware::symbols::Symbols;
use machine::parameters::Parameters;
use models::seastar::firmware::tracedump;
use models::seastar::rows::Firmware;
use std::sync::Arc;
use sunstar::root::Root;
use sunstar::usage_error::UsageError;

mod functions;

/// Runs the program and prints the trace of one node's network interface.
pub fn trace(root: &Root, options: &TraceOptions) -> Result<u8, UsageError> {
    let mut run_options = options.run.clone();
    let parameters = machines::chosen(root, &run_options.machine())?;
    let firmware = firmware::required(&parameters, "sunstar trace")?;
    if firmware.ring {
        check_not_off(&parameters)?;
        // Machines come without trace points and get them here.
        run_options.machine.overrides.push("firmware.trace=on".into());
    }
    run::check_node(root, &run_options, options.node)?;
    let json = Output::of("--json", run_options.json.as_deref())?;
    let functions = Functions::of(options.node);
    let mut observers = Observers::default();
    if !firmware.ring {
        observers.watchers.push(Arc::new(functions.clone()));
    }
    let run = run::execute(root, &run_options, observers)?;
    let clock = (firmware.clock)(&run.parameters);
    let dump = match firmware.ring {
        true => ring(&run, options.node, &clock)?,
        false => functions.dump(&clock),
    };
    let printed = terminal::write(&dump);
    Ok(run::finish(&run_options, &run, &json, printed))
}

/// The trace ring of a node.
fn ring(run: &Run, node: u32, clock: &Clock) -> Result<String, UsageError> {
    let sram = &run.outcome.sram[node as usize];
    let symbols = Symbols::load(&run.firmware.join("seastar.elf"))?;
    Ok(tracedump::dump(&tracedump::of(sram, clock), &symbols))
}

/// Refuses `firmware.trace=off`, which would trace another firmware.
fn check_not_off(parameters: &Parameters) -> Result<(), UsageError> {
    let mut set = parameters.overrides().iter();
    if set.any(|set| set.starts_with("firmware.trace=")) && !Firmware::of(parameters).trace {
        let why = "--set firmware.trace=off: sunstar trace prints trace points, and needs them on";
        return Err(UsageError::sentence(why));
    }
    Ok(())
}

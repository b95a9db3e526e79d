//! `--rtl`, `--rtl-dir`, `--rtl-wave` and `--rtl-trigger`.

use crate::args::{RtlMode, RunOptions};
use machine::parameters::Parameters;
use machine::{Rtl, Wave};
use sunstar::usage_error::UsageError;

/// Parameters that are on or off.
const SWITCHES: [&str; 2] = ["nic.rtl", "switch.rtl"];

/// The same parameter of matching units, which has more values.
const UNITS: &str = "alpu.rtl";

/// Chooses all that a machine has as RTL.
pub fn choose(options: &RunOptions, parameters: &mut Parameters) -> Result<Rtl, UsageError> {
    let Some(mode) = options.rtl else { return Ok(Rtl::default()) };
    let has = |key: &str| parameters.iter().any(|parameter| parameter.key == key);
    let switches = SWITCHES.map(|key| has(key).then_some(key));
    let (machine, model) = (parameters.name().to_owned(), parameters.model().name);
    let mut sets: Vec<String> = Vec::new();
    let wave = options.rtl_wave.as_ref();
    let message = wave.and_then(|wave| wave.message);
    if has(UNITS) {
        check_units(options, mode)?;
        sets.push(format!("{UNITS}={mode}"));
    } else if switches.iter().all(Option::is_none) {
        return Err(UsageError::sentence(format!(
            "--rtl: model {model} has no RTL; machines alpu, forth and forth-switch have"
        )));
    } else {
        let asked = [
            (mode != RtlMode::On, format!("--rtl={mode} holds")),
            (options.rtl_dir.is_some(), "--rtl-dir replaces".into()),
            (message.is_some(), "--rtl-wave FILE@NODE:NUMBER shows".into()),
        ];
        if let Some((_, what)) = asked.into_iter().find(|(asked, _)| *asked) {
            return Err(UsageError::sentence(format!(
                "{what} matching units, and machine {machine} has none; machine alpu has"
            )));
        }
        sets.extend(switches.iter().flatten().map(|key| format!("{key}=on")));
    }
    for set in sets {
        parameters.set(&set)?;
    }
    let folder = options.rtl_dir.as_ref().map(std::path::absolute).transpose();
    let folder = folder.map_err(|why| UsageError::sentence(format!("--rtl-dir: {why}")))?;
    if let Some(folder) = folder.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(UsageError::sentence(format!(
            "--rtl-dir {}: there is no such folder",
            folder.display()
        )));
    }
    let wave = wave.map(|wave| Wave {
        file: wave.file.clone(),
        message,
        trigger: options.rtl_trigger.clone(),
        cycles: [options.rtl_before, options.rtl_after],
    });
    Ok(Rtl { folder, wave })
}

/// Refuses waveforms that matching units do not have.
fn check_units(options: &RunOptions, mode: RtlMode) -> Result<(), UsageError> {
    let wave = options.rtl_wave.as_ref();
    if options.rtl_trigger.is_some() {
        return Err(UsageError::sentence(
            "--rtl-trigger is an event of the RDMA NIC (machines forth and forth-switch); of \
             matching units --rtl-wave FILE shows the first wrong cycle, and FILE@0:17 a \
             message's header",
        ));
    }
    if wave.is_some_and(|wave| wave.message.is_none()) && mode == RtlMode::On {
        return Err(UsageError::sentence(
            "--rtl-wave FILE shows the first cycle that is wrong, which --rtl=check looks for; \
             name a message, as FILE@0:17, to see its header",
        ));
    }
    Ok(())
}

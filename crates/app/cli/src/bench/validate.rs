//! `sunstar validate`: published results beside simulated ones.

use super::cards;
use super::dp;
use super::ladder::{self, Plan};
use super::measure::{self, Job, Program};
use super::published::{compare, Published};
use super::queues;
use super::rungs::{Rung, FULL};
use super::table;
use crate::args::LadderOptions;
use crate::machines;
use machine::parameters::Parameters;
use std::collections::BTreeMap;
use sunstar::root::Root;
use sunstar::usage_error::UsageError;

/// Runs the workloads of the published results and prints both; returns the exit status. A miss is a result,
/// not a failure.
pub fn validate(root: &Root, options: &LadderOptions) -> Result<u8, UsageError> {
    let machine = machines::chosen(root, &options.machine)?;
    if dp::has_cards(&machine) {
        return dp::validate(root, options, &machine);
    }
    if !machine.model().processes {
        return cards::validate(root, options, &machine);
    }
    if queues::has_units(&machine) {
        return queues::validate(root, options, &machine);
    }
    let published = Published::of_machine(root, &machine)?;
    if published.is_empty() {
        return Err(Published::none_of(root, &machine)?);
    }
    let mut plan = Plan::new(root, options)?;
    let add = Rung { title: "atomic add", ..FULL };
    plan.jobs.push(Job::of_rung(&options.machine, &add, Program::GetAdd, false));
    let accelerated = (plan.machine.model().accelerated)(&plan.machine);
    if accelerated {
        plan.jobs.extend([Program::Latency { largest: 0 }, Program::GetAdd].map(|program| Job {
            title: "accelerated processes".into(),
            machine: options.machine.machine.clone(),
            settings: options.machine.overrides.clone(),
            program,
            trace: false,
        }));
    }
    let mut measured = match measure::measure(root, &plan.jobs, plan.side_by_side) {
        Ok(measured) => measured,
        Err(broken) => return Ok(broken.tell()),
    };
    let on_nic = if accelerated { measured.pop().and_then(|run| run.add_us) } else { None };
    let empty = if accelerated { measured.pop() } else { None };
    let add = measured.pop().and_then(|run| run.add_us);
    let mut named = ladder::measurements(&plan.ladder(&measured)?);
    named.extend(add.map(|us| ("getadd.host".to_string(), us)));
    named.extend(on_nic.map(|us| ("accelerated.getadd".to_string(), us)));
    let empty = empty.and_then(|run| Some(run.curve.first()?.latency_us));
    named.extend(empty.map(|us| ("accelerated.latency".to_string(), us)));
    tell(options, &plan.machine, &published, &named)?;
    Ok(0)
}

/// Prints published results beside measured ones, as the options say.
pub(super) fn tell(
    options: &LadderOptions,
    machine: &Parameters,
    published: &[Published],
    measured: &BTreeMap<String, f64>,
) -> Result<(), UsageError> {
    let results = compare(published, measured, machine);
    options
        .measure
        .tell(&results, |terminal| table::validation(machine, published, &results, terminal))
}

//! `sunstar bench latency`: the ping-pong on several machines, side by side.

use super::measure::{self, Job, Point, Program};
use super::table;
use crate::args::{LatencyOptions, MachineOptions};
use crate::{firmware, machines};
use serde::Serialize;
use sunstar::root::Root;
use sunstar::usage_error::UsageError;

/// One machine's column.
#[derive(Serialize)]
struct Column<'a> {
    machine: &'a str,
    overrides: &'a [String],
    points: &'a [Point],
}

/// Runs the ping-pong on each machine and prints the table; returns the exit status.
pub fn latency(root: &Root, options: &LatencyOptions) -> Result<u8, UsageError> {
    let mut jobs = Vec::new();
    for name in &options.machines {
        let chosen = MachineOptions { machine: name.clone(), overrides: options.overrides.clone() };
        // What is wrong with a machine is told before anything runs.
        let parameters = machines::chosen(root, &chosen)?;
        options.measure.check(&parameters)?;
        firmware::folder_if_any(root, &parameters)?;
        jobs.push(Job {
            title: name.clone(),
            machine: name.clone(),
            settings: options.overrides.clone(),
            program: Program::Latency { largest: options.largest },
            trace: false,
        });
    }
    let measured = match measure::measure(root, &jobs, options.measure.side_by_side()) {
        Ok(measured) => measured,
        Err(broken) => return Ok(broken.tell()),
    };
    let columns = options.machines.iter().zip(&measured);
    let told = columns.clone().map(|(machine, run)| Column {
        machine,
        overrides: &options.overrides,
        points: &run.curve,
    });
    options.measure.tell(&told.collect::<Vec<_>>(), |terminal| {
        let columns: Vec<(String, Vec<Point>)> =
            columns.map(|(name, run)| (name.clone(), run.curve.clone())).collect();
        table::latency(&columns, terminal)
    })?;
    Ok(0)
}

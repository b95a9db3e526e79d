//! `sunstar bench queues`: figures 5 and 6 of brightwell2005. Figure 5 is the latency over the queue of
//! posted receives, by its length and by the part that is walked, figure 6 that over the length of the queue
//! of unexpected messages; on a machine with matching units, without units and with units of several sizes.

mod drawn;
mod measured;
mod page;

use super::measure::{self, Broken, Job, Measured, Program, Queued};
use super::published::Published;
use super::validate::tell;
use crate::args::queues::{BenchQueuesOptions, LONGEST_MAX};
use crate::args::{LadderOptions, MachineOptions, MeasureOptions};
use crate::report::published::{overlaid, Overlaid};
use crate::terminal::Terminal;
use crate::{firmware, machines, outputs, report};
use machine::parameters::Parameters;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use sunstar::root::Root;
use sunstar::usage_error::UsageError;

/// Parameter with the number of cells of the matching units.
pub const UNITS: &str = "nic.alpu";
/// Its values in the paper.
const SIZES: [&str; 3] = ["off", "128", "256"];
/// Number of posted receives for which an accelerated process's match list has room, beside the entries of
/// the MPI library; it is one of the measured lengths.
const ROOM_ON_NIC: u64 = 300;
/// Parts of the queue that are walked, in percent.
const PERCENTS: [u64; 6] = [0, 20, 40, 60, 80, 100];

/// True if a machine's network interface can have matching units.
pub fn has_units(machine: &Parameters) -> bool {
    machine.iter().any(|parameter| parameter.key == UNITS)
}

/// A machine with one size of units, or as it is if it can have none.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Variant {
    /// Column's title.
    name: String,
    /// Settings of this variant.
    settings: Vec<String>,
}

impl Variant {
    /// Variants of a machine; only one if the user has chosen a size.
    fn of(machine: &Parameters, overrides: &[String]) -> Vec<Variant> {
        let chosen = |setting: &String| setting.trim_start().starts_with(UNITS);
        if !has_units(machine) || overrides.iter().any(chosen) {
            return vec![Variant { name: "as it is".into(), settings: Vec::new() }];
        }
        let variant = |size: &&str| Variant {
            name: match *size {
                "off" => "no unit".into(),
                cells => format!("{cells} cells"),
            },
            settings: vec![format!("{UNITS}={size}")],
        };
        SIZES.iter().map(variant).collect()
    }
}

/// A curve: a benchmark on a variant.
#[derive(Debug, Serialize)]
struct Curve {
    /// Number of the variant.
    variant: usize,
    /// Part of the queue that is walked; absent for unexpected messages, which are all searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    percent: Option<u64>,
    points: Vec<Queued>,
    /// The command that measures it again.
    command: String,
}

impl Curve {
    fn at(&self, length: u64) -> Option<f64> {
        self.points.iter().find(|point| point.length == length).map(|point| point.ns)
    }
}

/// All curves and numbers, as they are written.
#[derive(Debug, Serialize)]
struct Figures<'a> {
    sunstar: &'static str,
    machine: &'a str,
    overrides: &'a [String],
    /// Size of the message.
    bytes: u64,
    /// Length of the longest queue of posted receives, if there is no room for the requested length.
    #[serde(skip)]
    cut: Option<u64>,
    variants: Vec<Variant>,
    posted: Vec<Curve>,
    unexpected: Vec<Curve>,
    /// Numbers derived from the curves, by their names in published/brightwell2005.toml.
    measured: BTreeMap<String, f64>,
}

/// Runs to be made: on each variant a job for each part of the queue that is walked, and one for unexpected
/// messages.
struct Plan {
    variants: Vec<Variant>,
    cut: Option<u64>,
    jobs: Vec<Job>,
}

impl Plan {
    fn new(
        machine: &MachineOptions,
        parameters: &Parameters,
        variants: Vec<Variant>,
        bytes: u64,
        longest: u64,
    ) -> Plan {
        let mut jobs = Vec::new();
        let on_nic = (parameters.model().accelerated)(parameters);
        let cut = Some(ROOM_ON_NIC).filter(|room| on_nic && *room < longest);
        for variant in &variants {
            let most = cut.unwrap_or(longest);
            let posted = PERCENTS.map(|percent| Program::Posted { bytes, percent, longest: most });
            let programs = posted.into_iter().chain([Program::Unexpected { bytes, longest }]);
            jobs.extend(programs.map(|program| Job {
                title: program.words(std::path::Path::new("")).join(" "),
                machine: machine.machine.clone(),
                settings: [&machine.overrides[..], &variant.settings].concat(),
                program,
                trace: false,
            }));
        }
        Plan { variants, cut, jobs }
    }

    /// Runs all jobs.
    fn measure(&self, root: &Root, options: &MeasureOptions) -> Result<Vec<Measured>, Broken> {
        measure::measure(root, &self.jobs, options.side_by_side())
    }

    fn figures<'a>(
        self,
        machine: &'a Parameters,
        overrides: &'a [String],
        bytes: u64,
        runs: Vec<Measured>,
    ) -> Figures<'a> {
        let mut all = self.jobs.iter().zip(runs);
        let (mut posted, mut unexpected) = (Vec::new(), Vec::new());
        for variant in 0..self.variants.len() {
            let parts = PERCENTS.map(Some).into_iter().chain([None]);
            for (percent, (job, run)) in parts.zip(all.by_ref()) {
                let curve = Curve { variant, percent, points: run.queued, command: job.command() };
                percent.map_or(&mut unexpected, |_| &mut posted).push(curve);
            }
        }
        let (sunstar, machine) = (env!("CARGO_PKG_VERSION"), machine.name());
        let measured = measured::measurements(&self.variants, &posted, &unexpected);
        let Plan { variants, cut, .. } = self;
        Figures { sunstar, machine, overrides, bytes, cut, variants, posted, unexpected, measured }
    }
}

/// Runs it, prints tables, and returns the exit status.
pub fn queues(root: &Root, options: &BenchQueuesOptions) -> Result<u8, UsageError> {
    let chosen =
        MachineOptions { machine: options.machine.clone(), overrides: options.overrides.clone() };
    let machine = machines::chosen(root, &chosen)?;
    if !machine.model().processes {
        return Err(UsageError::sentence(format!(
            "machine {} runs no MPI programs, and so has none of MPI's queues",
            machine.name()
        )));
    }
    options.measure.check(&machine)?;
    firmware::folder_if_any(root, &machine)?;
    if let Some(page) = &options.page {
        let inputs: Vec<outputs::Named> = outputs::files_of(&machine).collect();
        outputs::check(&[("--page", page)], &inputs)?;
        report::check_page(page)?;
    }
    let variants = Variant::of(&machine, &options.overrides);
    // What is published tells of units beside none.
    let published = Published::of_machine(root, &machine)?;
    let published = if variants.len() > 1 { published } else { Vec::new() };
    let plan = Plan::new(&chosen, &machine, variants, options.bytes, options.longest);
    let runs = match plan.measure(root, &options.measure) {
        Ok(runs) => runs,
        Err(broken) => return Ok(broken.tell()),
    };
    let figures = plan.figures(&machine, &options.overrides, options.bytes, runs);
    options.measure.tell(&figures, |terminal| text(&figures, terminal))?;
    if let Some(file) = &options.page {
        let compared: Vec<Overlaid> = overlaid(published, &figures.measured, &machine);
        let text = page::page(&figures, options, file, &compared);
        report::page::write(file, &text, false)?;
    }
    Ok(0)
}

/// `sunstar validate` on a machine with matching units: statements of brightwell2005 about its figures;
/// returns the exit status.
pub fn validate(
    root: &Root,
    options: &LadderOptions,
    machine: &Parameters,
) -> Result<u8, UsageError> {
    let published = Published::of_machine(root, machine)?;
    let overrides = &options.machine.overrides;
    let variants = Variant::of(machine, overrides);
    let plan = Plan::new(&options.machine, machine, variants, 0, LONGEST_MAX);
    let runs = match plan.measure(root, &options.measure) {
        Ok(runs) => runs,
        Err(broken) => return Ok(broken.tell()),
    };
    let figures = plan.figures(machine, overrides, 0, runs);
    tell(options, machine, &published, &figures.measured)?;
    Ok(0)
}

fn text(figures: &Figures, terminal: &Terminal) -> String {
    let mut out = String::new();
    write_text(&mut out, figures, terminal).expect("a string takes everything");
    out
}

fn write_text(out: &mut String, figures: &Figures, terminal: &Terminal) -> fmt::Result {
    let Figures { machine, sunstar, bytes, variants, posted, unexpected, .. } = figures;
    let title = format!("MPI's queues on machine {machine}, sunstar {sunstar}");
    writeln!(out, "{}", terminal.bold(title))?;
    for setting in figures.overrides {
        writeln!(out, "  set {setting}")?;
    }
    for (number, variant) in variants.iter().enumerate() {
        let of = if variants.len() > 1 { format!(", {}", variant.name) } else { String::new() };
        let title = format!("Latency in ns of {bytes} bytes over posted receives{of}");
        writeln!(out, "\n{} (brightwell2005 Fig. 5)", terminal.bold(title))?;
        let own: Vec<&Curve> = posted.iter().filter(|curve| curve.variant == number).collect();
        let head = own.iter().map(|curve| format!("{:>9} %", curve.percent.unwrap_or_default()));
        let head = format!("{:>8}{}", "walked", head.collect::<String>());
        writeln!(out, "{}", terminal.dim(head))?;
        rows(out, &own)?;
    }
    if let Some(cut) = figures.cut {
        let room = "the match list on the network interface has room for no more";
        writeln!(out, "  Up to {cut} receives: {room}.")?;
    }
    let title = format!("Latency in ns of {bytes} bytes over unexpected messages");
    writeln!(out, "\n{} (brightwell2005 Fig. 6)", terminal.bold(title))?;
    let head = variants.iter().map(|variant| format!("{:>11}", variant.name));
    writeln!(out, "{}", terminal.dim(format!("{:>8}{}", "", head.collect::<String>())))?;
    rows(out, &unexpected.iter().collect::<Vec<_>>())?;
    let told = measured::TOLD
        .iter()
        .filter_map(|(name, what, unit)| Some((what, figures.measured.get(*name)?, unit)));
    let told: Vec<_> = told.collect();
    if !told.is_empty() {
        writeln!(out, "\n{}", terminal.bold("What follows from them"))?;
    }
    for (what, value, unit) in told {
        writeln!(out, "  {what:<58}{:>9} {unit}", short(*value))?;
    }
    Ok(())
}

fn rows(out: &mut String, curves: &[&Curve]) -> fmt::Result {
    for (index, point) in curves[0].points.iter().enumerate() {
        write!(out, "{:>8}", point.length)?;
        for curve in curves {
            write!(out, "{:>11.0}", curve.points[index].ns)?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Number with three digits, or with all of a whole number.
fn short(number: f64) -> String {
    match number.abs() {
        size if size >= 100.0 => format!("{number:.0}"),
        size if size >= 10.0 => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    }
}

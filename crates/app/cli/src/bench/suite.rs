//! `sunstar bench suite`: the benchmarks of brightwell2007, matched by the host's kernel (generic) and by the
//! network interface (accelerated), with one process a node (SN) and two (VN).

mod page;
mod studies;

use super::measure::{self, Job, Measured, Program};
use crate::args::{MachineOptions, SuiteOptions};
use crate::machines::wrapped;
use crate::terminal::Terminal;
use crate::{firmware, machines, outputs, report};
use machine::parameters::Parameters;
use serde::Serialize;
use std::fmt::{self, Write};
use std::path::PathBuf;
#[cfg(test)]
pub use studies::find;
pub use studies::STUDIES;
use studies::{Study, World};
use sunstar::root::Root;
use sunstar::usage_error::UsageError;

/// A way to run a study: a curve of its chart.
#[derive(Serialize)]
struct Mode {
    title: String,
    machine: String,
    settings: Vec<String>,
    ranks: u32,
    ranks_per_node: u32,
}

/// A study with a mode's numbers.
#[derive(Serialize)]
struct Series {
    #[serde(flatten)]
    mode: Mode,
    /// Interrupts that all network interfaces raised.
    interrupts: Option<u64>,
    /// The command that measures it again.
    command: String,
    #[serde(flatten)]
    table: Table,
}

/// Output of a program: a line of names, and lines of as many numbers.
#[derive(Debug, Default, PartialEq, Serialize)]
struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<f64>>,
}

/// All series of a study.
#[derive(Serialize)]
struct Outcome {
    name: &'static str,
    title: &'static str,
    source: &'static str,
    /// True if the abscissae grow by factors.
    #[serde(skip)]
    grows: bool,
    /// Part of the original that the numbers are, if they are not all of it.
    part: Option<String>,
    series: Vec<Series>,
    /// Outputs of the program that took the study's place, a text for each mode.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    originals: Vec<Original>,
}

/// Output of a program of the user's.
#[derive(Serialize)]
struct Original {
    title: String,
    command: String,
    output: String,
}

#[derive(Serialize)]
struct Suite<'a> {
    sunstar: &'static str,
    overrides: &'a [String],
    studies: Vec<Outcome>,
}

impl Table {
    /// Reads the numbers of a study; `None` if there are none.
    fn read(text: &str) -> Option<Table> {
        let mut lines = text.lines().skip_while(|line| line.split_whitespace().count() < 2);
        let columns: Vec<String> = lines.next()?.split_whitespace().map(str::to_owned).collect();
        let numbers = |line: &str| -> Option<Vec<f64>> {
            line.split_whitespace().map(|word| word.parse().ok()).collect()
        };
        let rows: Vec<Vec<f64>> = lines.map_while(numbers).collect();
        let right = !rows.is_empty() && rows.iter().all(|row| row.len() == columns.len());
        right.then_some(Table { columns, rows })
    }
}

/// Name of a column with its unit: `latency_us` is `latency (us)`.
fn named(column: &str) -> String {
    column.rsplit_once('_').map_or(column.to_owned(), |(name, unit)| format!("{name} ({unit})"))
}

/// Runs the suite, prints its tables, and returns the exit status.
pub fn suite(root: &Root, options: &SuiteOptions) -> Result<u8, UsageError> {
    let chosen = chosen(&options.only)?;
    let originals = originals(&options.originals)?;
    let machines = options.machines.iter().map(|name| {
        let of = MachineOptions { machine: name.clone(), overrides: options.overrides.clone() };
        let machine = machines::chosen(root, &of)?;
        options.measure.check(&machine)?;
        if let Some(page) = &options.page {
            let inputs: Vec<outputs::Named> = outputs::files_of(&machine).collect();
            outputs::check(&[("--page", page)], &inputs)?;
            report::check_page(page)?;
        }
        firmware::folder_if_any(root, &machine)?;
        Ok((name.as_str(), machine))
    });
    let machines = machines.collect::<Result<Vec<_>, UsageError>>()?;
    let mut jobs = Vec::new();
    let mut planned = Vec::new();
    for study in chosen {
        let modes = modes(study, &machines, options);
        let original = originals.iter().find(|(name, _)| name == study.name).map(|(_, file)| file);
        jobs.extend(modes.iter().map(|mode| job(study, mode, original, options)));
        planned.push((study, modes, original.is_some()));
    }
    let measured = match measure::measure(root, &jobs, options.measure.side_by_side()) {
        Ok(measured) => measured,
        Err(broken) => return Ok(broken.tell()),
    };
    let mut runs = jobs.iter().zip(measured);
    let studies = planned.into_iter().map(|(study, modes, original)| {
        let mut result = Outcome {
            name: study.name,
            title: study.title,
            source: study.source,
            grows: study.grows,
            part: study.part(options),
            series: Vec::new(),
            originals: Vec::new(),
        };
        for (mode, (job, run)) in modes.into_iter().zip(&mut runs) {
            if original {
                let (title, command, output) = (mode.title, job.command(), run.text);
                result.originals.push(Original { title, command, output });
            } else {
                result.series.push(series(mode, job, &run)?);
            }
        }
        Ok(result)
    });
    let suite = Suite {
        sunstar: env!("CARGO_PKG_VERSION"),
        overrides: &options.overrides,
        studies: studies.collect::<Result<_, UsageError>>()?,
    };
    options.measure.tell(&suite, |terminal| text(&suite, terminal))?;
    if let Some(file) = &options.page {
        report::page::write(file, &page::page(&suite, options, file), false)?;
    }
    Ok(0)
}

/// The studies that are wanted: all if none is named.
fn chosen(only: &[String]) -> Result<Vec<&'static Study>, UsageError> {
    for name in only {
        studies::find(name)?;
    }
    let wanted = |study: &&Study| only.is_empty() || only.iter().any(|name| name == study.name);
    Ok(STUDIES.iter().filter(wanted).collect())
}

/// Programs of the user's that take a study's place: the study's name, and an absolute path.
fn originals(given: &[String]) -> Result<Vec<(String, PathBuf)>, UsageError> {
    let read = |text: &String| {
        let (name, file) = text.split_once('=').ok_or_else(|| {
            UsageError::sentence(format!(
                "--original {text}: wanted is STUDY=PROGRAM, e.g. streaming=./osu_bw"
            ))
        })?;
        studies::find(name)?;
        let file = std::path::absolute(file).ok().filter(|file| file.is_file());
        let file = file.ok_or_else(|| {
            UsageError::sentence(format!("--original {text}: there is no such program"))
        })?;
        Ok((name.to_owned(), file))
    };
    given.iter().map(read).collect()
}

/// The ways in which a study is run.
fn modes(study: &Study, machines: &[(&str, Parameters)], options: &SuiteOptions) -> Vec<Mode> {
    let mut modes = Vec::new();
    for (name, machine) in machines {
        let mode = |title: String, settings: &[&str], ranks_per_node: u32| {
            let own = settings.iter().map(|set| (*set).to_owned());
            Mode {
                title,
                machine: (*name).to_owned(),
                settings: options.overrides.iter().cloned().chain(own).collect(),
                ranks: study.world.ranks(options.ranks),
                ranks_per_node,
            }
        };
        let on_nic = has_matching(machine);
        match study.world {
            World::Pair => modes.push(mode((*name).to_owned(), &[], 1)),
            World::Nodes => {
                modes.push(mode(format!("{name}, SN"), &[], 1));
                modes.push(mode(format!("{name}, VN"), &[], 2));
            }
            World::Collective => {
                modes.push(mode((*name).to_owned(), &[], 1));
                if on_nic {
                    let settings = ["mpi.barrier=nic", "mpi.allreduce=nic"];
                    modes.push(mode(format!("{name}, by firmware"), &settings, 1));
                }
            }
        }
    }
    modes
}

/// True if the firmware of a machine matches, and so can do collectives.
fn has_matching(machine: &Parameters) -> bool {
    (machine.model().accelerated)(machine)
}

/// The run of a study, or of the program in its place.
fn job(study: &Study, mode: &Mode, original: Option<&PathBuf>, options: &SuiteOptions) -> Job {
    let (file, arguments) = match original {
        Some(file) => (file.clone(), Vec::new()),
        None => (study.file(), study.arguments(options)),
    };
    Job {
        title: format!("{}, {}", study.name, mode.title),
        machine: mode.machine.clone(),
        settings: mode.settings.clone(),
        program: Program::Other {
            file,
            arguments,
            ranks: mode.ranks,
            ranks_per_node: mode.ranks_per_node,
        },
        trace: false,
    }
}

fn series(mode: Mode, job: &Job, run: &Measured) -> Result<Series, UsageError> {
    let table = Table::read(&run.text)
        .ok_or_else(|| UsageError::sentence(format!("{} printed no table", job.command())))?;
    let counts = run.report["nodes"].as_array().into_iter().flatten();
    let counts = counts.filter_map(|node| node["counters"]["nic.interrupts"].as_u64());
    let interrupts = counts.reduce(|sum, count| sum + count);
    Ok(Series { mode, interrupts, command: job.command(), table })
}

/// The tables, for people.
fn text(suite: &Suite, terminal: &Terminal) -> String {
    let mut out = String::new();
    write(&mut out, suite, terminal).expect("a string takes everything");
    out
}

fn write(out: &mut String, suite: &Suite, terminal: &Terminal) -> fmt::Result {
    for (number, study) in suite.studies.iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{} ({})", terminal.bold(study.title), study.name)?;
        writeln!(out, "{}", terminal.dim(wrapped(study.source, 2, 78)))?;
        if let Some(part) = &study.part {
            writeln!(out, "{}", wrapped(part, 2, 78))?;
        }
        for original in &study.originals {
            writeln!(out, "  {}: {}\n{}", original.title, original.command, original.output)?;
        }
        if study.shares_abscissae() {
            let columns = study.series.first().map_or(0, |series| series.table.columns.len());
            for column in 1..columns {
                side_by_side(out, study, column, terminal)?;
            }
        } else {
            for series in &study.series {
                alone(out, series, terminal)?;
            }
        }
        interrupts(out, study)?;
    }
    Ok(())
}

impl Outcome {
    /// The first columns of all series are the same.
    fn shares_abscissae(&self) -> bool {
        let first =
            |series: &Series| -> Vec<f64> { series.table.rows.iter().map(|row| row[0]).collect() };
        self.series.windows(2).all(|pair| first(&pair[0]) == first(&pair[1]))
    }
}

/// Digits after the point of a column: none of whole or large numbers.
fn places(values: impl Iterator<Item = f64>) -> usize {
    let (mut whole, mut most) = (true, 0.0_f64);
    for value in values {
        whole &= value.fract() == 0.0;
        most = most.max(value.abs());
    }
    match most {
        _ if whole => 0,
        _ if most < 1.0 => 6,
        _ if most < 1000.0 => 3,
        _ => 1,
    }
}

/// Number of a column; there is no negative zero.
fn number(value: f64, places: usize) -> String {
    let text = format!("{value:.places$}");
    let zero = text.trim_start_matches('-').chars().all(|letter| matches!(letter, '0' | '.'));
    if zero {
        text.trim_start_matches('-').to_owned()
    } else {
        text
    }
}

/// One column of all series.
fn side_by_side(
    out: &mut String,
    study: &Outcome,
    column: usize,
    terminal: &Terminal,
) -> fmt::Result {
    let Some(first) = study.series.first() else { return Ok(()) };
    let width = study.series.iter().map(|series| series.mode.title.chars().count() + 2).max();
    let width = width.unwrap_or(0).max(12);
    let names: String =
        study.series.iter().map(|series| format!("{:>width$}", series.mode.title)).collect();
    let (across, up) = (&first.table.columns[0], named(&first.table.columns[column]));
    writeln!(out, "  {}", terminal.bold(&up))?;
    writeln!(out, "{}", terminal.dim(format!("{across:>12}{names}")))?;
    let rows = || study.series.iter().flat_map(|series| &series.table.rows);
    let left = places(rows().map(|row| row[0]));
    let places = places(rows().map(|row| row[column]));
    for (index, row) in first.table.rows.iter().enumerate() {
        write!(out, "{:>12}", number(row[0], left))?;
        for series in &study.series {
            write!(out, "{:>width$}", number(series.table.rows[index][column], places))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// All columns of a series.
fn alone(out: &mut String, series: &Series, terminal: &Terminal) -> fmt::Result {
    writeln!(out, "  {}", terminal.bold(&series.mode.title))?;
    let names = series.table.columns.iter().map(|column| format!("{:>16}", named(column)));
    writeln!(out, "{}", terminal.dim(names.collect::<String>()))?;
    let column = |index: usize| places(series.table.rows.iter().map(|row| row[index]));
    let places: Vec<usize> = (0..series.table.columns.len()).map(column).collect();
    for row in &series.table.rows {
        let numbers = row.iter().zip(&places);
        let numbers: String =
            numbers.map(|(value, places)| format!("{:>16}", number(*value, *places))).collect();
        writeln!(out, "{numbers}")?;
    }
    Ok(())
}

fn interrupts(out: &mut String, study: &Outcome) -> fmt::Result {
    let told =
        study.series.iter().filter_map(|series| Some((&series.mode.title, series.interrupts?)));
    let told: Vec<String> = told.map(|(title, count)| format!("{title} {count}")).collect();
    if told.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", wrapped(&format!("Interrupts of all nodes: {}", told.join("; ")), 2, 78))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read() {
        let text =
            "     bytes   put_us  get_us\n         8    8.647   8.611\n        16  11.3  11.4\n";
        let table = Table::read(text).unwrap();
        assert_eq!(table.columns, ["bytes", "put_us", "get_us"]);
        assert_eq!(table.rows, [[8.0, 8.647, 8.611], [16.0, 11.3, 11.4]]);
        assert_eq!(named("put_us"), "put (us)");
        assert_eq!(named("MB/s"), "MB/s");
        // A line with a number too few, and no numbers at all.
        assert_eq!(Table::read("a b\n1 2\n3\n"), None);
        assert_eq!(Table::read("nothing\n"), None);
        assert_eq!(Table::read("a b\n"), None);
    }

    #[test]
    fn columns_have_as_many_digits_as_they_need() {
        let column = |values: &[f64]| -> Vec<String> {
            let places = places(values.iter().copied());
            values.iter().map(|value| number(*value, places)).collect()
        };
        assert_eq!(column(&[0.0, 4.0, 1048576.0]), ["0", "4", "1048576"]);
        assert_eq!(column(&[4.94, 449.0]), ["4.940", "449.000"]);
        assert_eq!(column(&[0.0617, 0.09]), ["0.061700", "0.090000"]);
        assert_eq!(column(&[-0.0, 52.25]), ["0.000", "52.250"]);
        assert_eq!(column(&[2311.91, 63.28]), ["2311.9", "63.3"]);
    }
}

//! `sunstar bench dp`: Table 1 of vorakosit2001. Ping-pongs between Linux guests over Directed Point, over
//! UDP on the same card, and over UDP on Fast Ethernet, beside what is published. GM cannot be had: beside
//! its published column stands a library of ours that bypasses the kernel, too. Where packets have ids, the
//! table tells where each microsecond of them went.

mod page;
mod steps;

use super::measure::{self, Broken, Job, Measured, Program};
use super::published::Published;
use super::validate::tell;
use crate::args::{DpOptions, LadderOptions, MachineOptions, MeasureOptions};
use crate::machines;
use crate::outputs;
use crate::report;
use crate::terminal::Terminal;
use machine::parameters::Parameters;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use steps::Steps;
use sunstar::root::Root;
use sunstar::usage_error::UsageError;

/// The paper whose table it is.
const PAPER: &str = "vorakosit2001";
/// Round trips of each size, behind one that is not counted.
const TRIPS: u32 = 20;
/// Machine with the same hosts and Fast Ethernet.
const ETHERNET: &str = "ethernet";

/// A column of the table: its name in published/vorakosit2001.toml, and for people; and what is simulated.
const COLUMNS: [(&str, &str, &str); 4] = [
    ("udp-ethernet", "UDP, Fast Ethernet", "UDP on Fast Ethernet"),
    ("udp-myrinet", "UDP, Myrinet", "UDP on Myrinet"),
    ("dp", "Directed Point", "Directed Point"),
    ("gm", "GM | bypass library", "the bypass library"),
];

/// True if a machine has the cards of that paper.
pub fn has_cards(machine: &Parameters) -> bool {
    machine.model().workloads.iter().any(|kind| kind.name == "myrinet-pingpong")
}

/// A cell of the table. Times in microseconds.
#[derive(Clone, Copy, Debug, Serialize)]
struct Cell {
    bytes: u64,
    published: Option<f64>,
    /// One way; absent where nothing measures it.
    simulated: Option<f64>,
    /// Simulated to published, if what is published is one way.
    ratio_one_way: Option<f64>,
    /// The same if it is a round trip.
    ratio_round_trip: Option<f64>,
}

#[derive(Serialize)]
struct Column {
    name: &'static str,
    title: &'static str,
    cells: Vec<Cell>,
    /// The command that measures it again; absent where nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
}

/// All of it.
#[derive(Serialize)]
struct Table<'a> {
    sunstar: &'static str,
    machine: &'a str,
    overrides: &'a [String],
    columns: Vec<Column>,
    steps: Vec<Steps>,
}

/// The runs, each with the column that it measures.
struct Plan(Vec<(&'static str, Job)>);

impl Plan {
    fn new(root: &Root, machine: &MachineOptions) -> Result<Plan, UsageError> {
        let ethernet = machines::chosen(
            root,
            &MachineOptions { machine: ETHERNET.into(), overrides: Vec::new() },
        )?;
        // The hosts are the same, so what is set of them is set there, too.
        let is_hosts = |set: &&String| {
            let key = set.split('=').next().unwrap_or_default().trim();
            ethernet.iter().any(|parameter| parameter.key == key)
        };
        let hosts: Vec<String> = machine.overrides.iter().filter(is_hosts).cloned().collect();
        let job = |machine: &str, settings: &[String], program: Program| Job {
            title: program.words(std::path::Path::new("")).join(" "),
            machine: machine.to_owned(),
            settings: settings.to_vec(),
            program,
            trace: false,
        };
        let (own, settings) = (&*machine.machine, &machine.overrides);
        let bypass = [settings.as_slice(), &["card.module=bypass".to_owned()]].concat();
        Ok(Plan(vec![
            ("udp-ethernet", job(ETHERNET, &hosts, Program::Udp { trips: TRIPS })),
            ("udp-myrinet", job(own, settings, Program::Udp { trips: TRIPS })),
            ("dp", job(own, settings, Program::DirectedPoint { trips: TRIPS })),
            ("gm", job(own, &bypass, Program::Bypass { trips: TRIPS })),
        ]))
    }

    fn measure(&self, root: &Root, options: &MeasureOptions) -> Result<Vec<Measured>, Broken> {
        let runs: Vec<Job> = self.0.iter().map(|(_, job)| job.clone()).collect();
        measure::measure(root, &runs, options.side_by_side())
    }

    /// One-way times by the names that published/vorakosit2001.toml has for them.
    fn named(&self, runs: &[Measured]) -> BTreeMap<String, f64> {
        let columns = self.0.iter().zip(runs);
        let points = columns.flat_map(|((column, _), run)| {
            run.curve
                .iter()
                .map(move |point| (format!("{column}.{}", point.bytes), point.latency_us))
        });
        points.collect()
    }

    fn columns(&self, published: &[Published], measured: &BTreeMap<String, f64>) -> Vec<Column> {
        let column = |(name, title, _)| {
            let id = format!("{PAPER}.{name}-");
            let cells = published.iter().filter_map(|result| {
                let bytes: u64 = result.id.strip_prefix(&id)?.parse().ok()?;
                let simulated = measured.get(&format!("{name}.{bytes}")).copied();
                let ratio = |times: f64| Some(times * simulated? / result.value?);
                Some(Cell {
                    bytes,
                    published: result.value,
                    simulated,
                    ratio_one_way: ratio(1.0),
                    ratio_round_trip: ratio(2.0),
                })
            });
            let job = self.0.iter().find(|(of, _)| *of == name);
            let command = job.map(|(_, job)| job.command());
            Column { name, title, cells: cells.collect(), command }
        };
        COLUMNS.map(column).into()
    }

    /// Steps of a column's packets, into which their time went, if its run tells of them.
    fn steps(&self, runs: &[Measured], columns: &[Column]) -> Vec<Steps> {
        let runs = self.0.iter().zip(runs);
        let of_column = |((of, _), run): (&(&'static str, Job), &Measured)| {
            let (name, _, simulated) = COLUMNS.into_iter().find(|(name, ..)| name == of)?;
            let column = columns.iter().find(|column| column.name == name)?;
            let lengths: Vec<u64> = column.cells.iter().map(|cell| cell.bytes).collect();
            Steps::of(name, simulated, run, &lengths)
        };
        runs.filter_map(of_column).collect()
    }
}

/// Runs it, prints the table, and gives the exit status.
pub fn table(root: &Root, options: &DpOptions) -> Result<u8, UsageError> {
    let chosen =
        MachineOptions { machine: options.machine.clone(), overrides: options.overrides.clone() };
    let machine = machines::chosen(root, &chosen)?;
    if !has_cards(&machine) {
        return Err(UsageError::sentence(format!(
            "machine {} has no Myrinet cards; amata has them (--machine amata)",
            machine.name()
        )));
    }
    options.measure.check(&machine)?;
    if let Some(page) = &options.page {
        let inputs: Vec<outputs::Named> = outputs::files_of(&machine).collect();
        outputs::check(&[("--page", page)], &inputs)?;
        report::check_page(page)?;
    }
    let published = Published::of_paper(root, PAPER)?;
    let plan = Plan::new(root, &chosen)?;
    let runs = match plan.measure(root, &options.measure) {
        Ok(runs) => runs,
        Err(broken) => return Ok(broken.tell()),
    };
    let columns = plan.columns(&published, &plan.named(&runs));
    let table = Table {
        sunstar: env!("CARGO_PKG_VERSION"),
        machine: machine.name(),
        overrides: &options.overrides,
        steps: plan.steps(&runs, &columns),
        columns,
    };
    options.measure.tell(&table, |terminal| text(&table, terminal))?;
    if let Some(file) = &options.page {
        report::page::write(file, &page::page(&table, options, file), false)?;
    }
    Ok(0)
}

/// `sunstar validate` on such a machine; gives the exit status.
pub fn validate(
    root: &Root,
    options: &LadderOptions,
    machine: &Parameters,
) -> Result<u8, UsageError> {
    let published = Published::of_machine(root, machine)?;
    let plan = Plan::new(root, &options.machine)?;
    match plan.measure(root, &options.measure) {
        Ok(runs) => {
            tell(options, machine, &published, &plan.named(&runs))?;
            Ok(0)
        }
        Err(broken) => Ok(broken.tell()),
    }
}

fn text(table: &Table, terminal: &Terminal) -> String {
    let mut out = String::new();
    write_text(&mut out, table, terminal).expect("a string takes everything");
    out
}

fn write_text(out: &mut String, table: &Table, terminal: &Terminal) -> fmt::Result {
    let Table { machine, sunstar, columns, .. } = table;
    let title = format!("Directed Point and others on machine {machine}, sunstar {sunstar}");
    writeln!(out, "{}", terminal.bold(title))?;
    for setting in table.overrides {
        writeln!(out, "  set {setting}")?;
    }
    let heading = "One way in us (vorakosit2001 Table 1): published, simulated";
    writeln!(out, "\n{}", terminal.bold(heading))?;
    rows(out, columns, terminal, |cell| [cell.published, cell.simulated])?;
    let heading = "Simulated to published, read as one way and as round trip";
    writeln!(out, "\n{}", terminal.bold(heading))?;
    rows(out, columns, terminal, |cell| [cell.ratio_one_way, cell.ratio_round_trip])?;
    let what = "GM, a library of the card's vendor, cannot be had: simulated is the bypass library";
    writeln!(out, "\n  {what}, which is ours (docs/bypass.md).")?;
    let names = [("published", "GM"), ("simulated", "the bypass library")];
    for (which, (kind, other)) in names.into_iter().enumerate() {
        let of = |name: &str| columns.iter().find(|column| column.name == name);
        let (Some(dp), Some(bypass)) = (of("dp"), of("gm")) else { continue };
        let times = |column: &Column| -> Vec<Option<f64>> {
            column.cells.iter().map(|cell| [cell.published, cell.simulated][which]).collect()
        };
        let faster: Vec<bool> =
            times(dp).iter().zip(times(bypass)).map(|(dp, other)| *dp < other).collect();
        let crossing = faster.iter().rposition(|faster| !faster).map_or(0, |last| last + 1);
        match dp.cells.get(crossing) {
            Some(cell) => {
                writeln!(
                    out,
                    "  Directed Point is faster than {other} from {} bytes on ({kind}).",
                    cell.bytes
                )?;
            }
            None => writeln!(
                out,
                "  Directed Point is faster than {other} at no size of these ({kind})."
            )?,
        }
    }
    table.steps.iter().try_for_each(|steps| steps.write(out, terminal))
}

fn rows(
    out: &mut String,
    columns: &[Column],
    terminal: &Terminal,
    pair: fn(&Cell) -> [Option<f64>; 2],
) -> fmt::Result {
    let titles: String = columns.iter().map(|column| format!("{:>20}", column.title)).collect();
    writeln!(out, "{}", terminal.dim(format!("{:>8}{titles}", "bytes")))?;
    for (row, first) in columns[0].cells.iter().enumerate() {
        write!(out, "{:>8}", first.bytes)?;
        for column in columns {
            let shown = pair(&column.cells[row])
                .map(|number| number.map_or("-".into(), |number| format!("{number:.2}")));
            write!(out, "{:>11}{:>9}", shown[0], shown[1])?;
        }
        writeln!(out)?;
    }
    Ok(())
}

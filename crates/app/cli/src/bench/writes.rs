//! `sunstar bench rdma`: figures 3 and 4 of marazakis2006. Figure 3 is the throughput of streams and
//! ping-pongs over the size of messages, figure 4 the time of a small message by the counters of the cards;
//! both with descriptors written word by word, and combined to a burst.

pub mod account;
mod page;

use super::measure::{self, Job, Measured, Program};
use super::published::Published;
use crate::args::{MachineOptions, RdmaOptions};
use crate::report::published::{overlaid, Overlaid};
use crate::terminal::Terminal;
use crate::{machines, outputs, report};
use account::Account;
use machine::parameters::Parameters;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use sunstar::root::Root;
use sunstar::usage_error::UsageError;

/// Way in which the host writes descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Combining {
    /// Word by word.
    Off,
    /// In bursts.
    On,
}

impl Combining {
    /// Setting of the parameter, as for `--set`.
    pub fn setting(self) -> String {
        format!("pcix.combining={}", if self == Combining::On { "on" } else { "off" })
    }
}

/// Run of two nodes of the user's machine, with one parameter more.
pub fn job(machine: &MachineOptions, setting: &str, program: Program) -> Job {
    let own = machine.overrides.iter().cloned();
    Job {
        title: program.words(std::path::Path::new("")).join(" "),
        machine: machine.machine.clone(),
        settings: own.chain([setting.to_owned()]).collect(),
        program,
        trace: false,
    }
}

/// A curve of figure 3.
#[derive(Serialize)]
struct Curve {
    /// `stream` (one way) or `pingpong`.
    workload: &'static str,
    combining: Combining,
    points: Vec<Point>,
}

#[derive(Serialize)]
struct Point {
    bytes: u64,
    #[serde(flatten)]
    message: measure::Message,
    /// The command that measures it again.
    command: String,
}

/// A bar of figure 4. Times are in ns, except cycles.
#[derive(Serialize)]
struct Bar {
    combining: Combining,
    messages: u32,
    /// Parts as the paper counts them; their sum is the whole bar.
    parts: [Part; 5],
    sum_ns: f64,
    /// Time from the call to the first message in the other host's memory, as that host sees it.
    seen_ns: f64,
    /// Part of that time that no counter of the paper has: cards, lanes, and the host's poll of its memory.
    beside_ns: f64,
    command: String,
}

#[derive(Clone, Copy, Serialize)]
struct Part {
    name: &'static str,
    cycles: f64,
    ns: f64,
}

/// All curves and bars, as they are written.
#[derive(Serialize)]
struct Figures<'a> {
    sunstar: &'static str,
    machine: &'a str,
    overrides: &'a [String],
    curves: Vec<Curve>,
    bars: Vec<Bar>,
    /// Numbers that the bars give, by their names in published/marazakis2006.toml.
    #[serde(skip)]
    measured: BTreeMap<String, f64>,
}

/// Runs it, prints tables, and returns the exit status.
pub fn writes(root: &Root, options: &RdmaOptions) -> Result<u8, UsageError> {
    let chosen =
        MachineOptions { machine: options.machine.clone(), overrides: options.overrides.clone() };
    let machine = machines::chosen(root, &chosen)?;
    if !machine.model().workloads.iter().any(|kind| kind.name == "rdma-latency") {
        return Err(UsageError::sentence(format!(
            "machine {} has no RDMA NICs; forth and forth-switch have them (--machine forth)",
            machine.name()
        )));
    }
    options.measure.check(&machine)?;
    if let Some(page) = &options.page {
        let inputs: Vec<outputs::Named> = outputs::files_of(&machine).collect();
        outputs::check(&[("--page", page)], &inputs)?;
        report::check_page(page)?;
    }
    let published = Published::of_machine(root, &machine)?;
    let plan = Plan::new(&chosen, options.largest);
    let runs = match measure::measure(root, &plan.jobs, options.measure.side_by_side()) {
        Ok(runs) => runs,
        Err(broken) => return Ok(broken.tell()),
    };
    let figures = plan.figures(&machine, options, &runs);
    options.measure.tell(&figures, |terminal| table(&figures, terminal))?;
    if let Some(file) = &options.page {
        let compared = compared(published, &figures.measured, &machine);
        let text = page::page(&figures, options, file, &compared);
        report::page::write(file, &text, false)?;
    }
    Ok(0)
}

/// Published numbers of the figures: rates that none passes, and what the bars measure.
fn compared(
    published: Vec<Published>,
    measured: &BTreeMap<String, f64>,
    machine: &Parameters,
) -> Vec<Overlaid> {
    let (rates, others): (Vec<_>, Vec<_>) =
        published.into_iter().partition(|result| result.unit == "MiB/s");
    let rates = rates.into_iter().filter_map(|published| {
        Some(Overlaid { comparison: published.compare(measured, machine)?, published })
    });
    rates.chain(overlaid(others, measured, machine)).collect()
}

/// Bytes that a run of a curve moves, so that the rate is steady; and least and most messages.
const MOVED: u64 = 512 << 10;
const TIMES: (u64, u64) = (20, 200);

/// The curves, in the order of the legend.
const CURVES: [(&str, Combining); 4] = [
    ("stream", Combining::On),
    ("stream", Combining::Off),
    ("pingpong", Combining::On),
    ("pingpong", Combining::Off),
];
/// The bars: Fig. 4a, Fig. 4b.
const BARS: [(Combining, u32); 2] = [(Combining::Off, 1), (Combining::On, 2)];

/// Runs to be made: a job for each size of each curve, then one for each bar.
struct Plan {
    sizes: Vec<u64>,
    jobs: Vec<Job>,
}

impl Plan {
    fn new(machine: &MachineOptions, largest: u64) -> Plan {
        let powers = std::iter::successors(Some(8), |bytes| Some(2 * bytes));
        let mut sizes: Vec<u64> = powers.take_while(|bytes| *bytes < largest).collect();
        sizes.push(largest);
        let mut jobs = Vec::new();
        for (workload, combining) in CURVES {
            for &bytes in &sizes {
                let times = (MOVED / bytes).clamp(TIMES.0, TIMES.1) as u32;
                let program = Program::Rdma { workload, bytes, times };
                jobs.push(job(machine, &combining.setting(), program));
            }
        }
        for (combining, times) in BARS {
            let program = Program::Rdma { workload: "latency", bytes: 8, times };
            jobs.push(job(machine, &combining.setting(), program));
        }
        Plan { sizes, jobs }
    }

    fn figures<'a>(
        &self,
        machine: &'a Parameters,
        options: &'a RdmaOptions,
        runs: &[Measured],
    ) -> Figures<'a> {
        let mut all = self.jobs.iter().zip(runs);
        let curves = CURVES.map(|(workload, combining)| {
            let point = |(bytes, (job, run)): (&u64, (&Job, &Measured))| Point {
                bytes: *bytes,
                message: run.message.expect("each workload tells its messages"),
                command: job.command(),
            };
            let points = self.sizes.iter().zip(all.by_ref()).map(point).collect();
            Curve { workload, combining, points }
        });
        let cycle = Account::cycle_ns(machine);
        let counted: Vec<Account> =
            runs[runs.len() - BARS.len()..].iter().map(|run| Account::of(&run.report)).collect();
        let measured = Account::of_figure(&counted[0], &counted[1], cycle);
        let measured = measured.map(|(name, value)| (name.to_owned(), value)).into();
        let bars = BARS.iter().zip(all.by_ref());
        let bars = bars.map(|(&(combining, messages), (job, run))| {
            bar(combining, messages, cycle, job.command(), run)
        });
        let bars = bars.collect();
        Figures {
            sunstar: env!("CARGO_PKG_VERSION"),
            machine: machine.name(),
            overrides: &options.overrides,
            curves: curves.into(),
            bars,
            measured,
        }
    }
}

fn bar(combining: Combining, messages: u32, cycle: f64, command: String, run: &Measured) -> Bar {
    let account = Account::of(&run.report);
    let part = |name, cycles: f64| Part { name, cycles, ns: cycles * cycle };
    let seen_ns = run.message.expect("the receiver tells its time").ns;
    // The paper's number for a burst ends with its last cycle, that for single words with the tenth of each.
    let initiation = match combining {
        Combining::On => account.posting(),
        Combining::Off => account.initiation,
    };
    // What the first message waited for: the other's read goes on beside its way.
    let first = account.initiation + account.fetch + account.deposit / f64::from(messages);
    Bar {
        combining,
        messages,
        parts: [
            part("send-initiation", initiation),
            part("arbitration behind it", account.initiation - initiation),
            part("send-DMA", account.fetch),
            part("send-DMA, second message", account.fetch_more),
            part("recv-DMA", account.deposit),
        ],
        sum_ns: account.sum() * cycle,
        seen_ns,
        beside_ns: seen_ns - first * cycle,
        command,
    }
}

fn way(workload: &str) -> &'static str {
    if workload == "stream" {
        "one-way"
    } else {
        "ping-pong"
    }
}

fn how(combining: Combining) -> &'static str {
    match combining {
        Combining::On => "combined",
        Combining::Off => "single writes",
    }
}

fn table(figures: &Figures, terminal: &Terminal) -> String {
    let mut out = String::new();
    write_table(&mut out, figures, terminal).expect("a string takes everything");
    out
}

fn write_table(out: &mut String, figures: &Figures, terminal: &Terminal) -> fmt::Result {
    let heading =
        format!("RDMA writes on machine {}, sunstar {}", figures.machine, figures.sunstar);
    writeln!(out, "{}", terminal.bold(heading))?;
    for setting in figures.overrides {
        writeln!(out, "  set {setting}")?;
    }
    writeln!(out, "\n{}", terminal.bold("Throughput in MiB/s (marazakis2006 Fig. 3)"))?;
    // The curves come in pairs, one a workload.
    let ways = figures.curves.iter().step_by(2).map(|curve| format!("{:>30}", way(curve.workload)));
    writeln!(out, "{}", terminal.dim(format!("{:>8}{}", "", ways.collect::<String>())))?;
    let how = figures.curves.iter().map(|curve| format!("{:>15}", how(curve.combining)));
    writeln!(out, "{}", terminal.dim(format!("{:>8}{}", "bytes", how.collect::<String>())))?;
    for (index, point) in figures.curves[0].points.iter().enumerate() {
        write!(out, "{:>8}", point.bytes)?;
        for curve in &figures.curves {
            write!(out, "{:>15.1}", curve.points[index].message.mib_per_s)?;
        }
        writeln!(out)?;
    }
    writeln!(out, "\n{}", terminal.bold("Time of 8-byte messages (marazakis2006 Fig. 4)"))?;
    let title = |bar: &Bar| format!("{:>24}", bar_title(bar));
    let titles: String = figures.bars.iter().map(title).collect();
    writeln!(out, "{}", terminal.dim(format!("  {:28}{titles}", "by counters of both cards")))?;
    for part in 0..figures.bars[0].parts.len() {
        write!(out, "  {:28}", figures.bars[0].parts[part].name)?;
        for bar in &figures.bars {
            let Part { ns, .. } = bar.parts[part];
            write!(out, "{:>12.0} ns{:>7.1} %", ns, 100.0 * ns / bar.sum_ns)?;
        }
        writeln!(out)?;
    }
    let line = |out: &mut String, name: &str, of: fn(&Bar) -> f64| {
        write!(out, "  {name:28}")?;
        figures.bars.iter().try_for_each(|bar| write!(out, "{:>12.0} ns{:9}", of(bar), ""))?;
        // No line ends in spaces.
        out.truncate(out.trim_end().len());
        writeln!(out)
    };
    line(out, "sum", |bar| bar.sum_ns)?;
    line(out, "cards and lanes, beside it", |bar| bar.beside_ns)?;
    line(out, "until the first is seen", |bar| bar.seen_ns)
}

fn bar_title(bar: &Bar) -> String {
    match (bar.messages, bar.combining) {
        (1, Combining::Off) => "8 B, single writes".into(),
        (messages, _) => format!("{messages} x 8 B, combined"),
    }
}

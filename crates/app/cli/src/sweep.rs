//! `sunstar sweep`: the same program at many points of machine, firmware and arguments, into a table.
//!
//! ```text
//! axis ─► plan ─► prepare ─► execute (a run each, on every core) ─► record ─► table
//!         points   what all need, held still                         a file    CSV
//! ```

mod axis;
mod axis_error;
mod columns;
mod estimate;
mod execute;
mod plan;
mod prepare;
mod record;
mod table;

use crate::args::SweepOptions;
use crate::interrupt::{self, Reins};
use crate::outputs::{self, Named};
use crate::{bench, run, terminal};
#[cfg(test)]
pub use axis::axis_of;
pub use axis::NAMES;
use des::Stop;
use estimate::{span, Estimate};
use execute::Children;
use indicatif::{ProgressBar, ProgressStyle};
use machine::{console, suggestion};
use plan::Plan;
use prepare::Prepared;
use record::{Record, Records};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use sunstar::root::Root;
use sunstar::usage_error::UsageError;
use table::{Absent, Columns};

/// Exit status if a point failed.
const EXIT_FAILED: u8 = 1;
/// Period at which the table is written while runs end.
const TABLE_PERIOD: Duration = Duration::from_secs(1);
/// Period at which the time left is printed.
const TOLD_PERIOD: Duration = Duration::from_millis(100);
/// Period at which signals are looked for.
const TICK: Duration = Duration::from_millis(50);
/// Points whose time is estimated one by one.
const ESTIMATED_MAX: usize = 1000;
/// Number of failures that are printed in full at the end; all of them are in the table.
const FAILURES_TOLD: usize = 5;
/// Memory of a run by itself, and of a rank, in KiB (docs/performance.md, memory; rounded up).
const RUN_KIB: u64 = 128 << 10;
const RANK_KIB: u64 = 3 << 10;

/// Run to be made, for one or more points that are the same.
struct Job {
    id: String,
    identity: Value,
    points: Vec<usize>,
    /// True unless something is known that keeps it from running.
    possible: bool,
}

/// Reason for which a sweep does not go on.
enum Broken {
    /// A mistake: the same command would meet it again.
    Mistake(UsageError),
    /// A result cannot be written, though runs are done.
    Unwritten(UsageError),
}

/// Present state of the sweep.
struct State {
    /// Rows of finished points, by point.
    rows: Vec<Option<Vec<String>>>,
    /// Points that failed, with their sentences.
    failed: BTreeMap<usize, String>,
    absent: BTreeSet<Absent>,
    /// Number of points that are done.
    done: usize,
    estimate: Estimate,
    written: Instant,
    broken: Option<Broken>,
}

struct Sweep<'a> {
    options: &'a SweepOptions,
    plan: &'a Plan,
    columns: Columns,
    records: Records,
    prepared: Prepared,
    jobs: Vec<Job>,
    side_by_side: usize,
    stop: Arc<Stop>,
    children: Children,
    bar: ProgressBar,
    state: Mutex<State>,
}

/// Runs all points that have not been run, writes the table, and returns the exit status.
pub fn sweep(root: &Root, options: &SweepOptions) -> Result<u8, UsageError> {
    let plan = Plan::of(options)?;
    let columns = Columns::of(&plan)?;
    let plan_file = options.plan.as_deref().map(|file| ("the plan", file));
    check_table(&options.out, plan_file.as_slice())?;
    let reins = Reins::default();
    interrupt::watch_signals(reins.clone())?;
    let mut prepared = Prepared::new(root)?;
    let (jobs, ranks) = jobs(root, options, &plan, &mut prepared)?;
    check_table(&options.out, &prepared.inputs())?;
    let records = Records::beside(&options.out)?;
    let cores = || {
        let runs = bench::side_by_side(RUN_KIB + RANK_KIB * u64::from(ranks));
        (runs / usize::from(options.threads)).max(1)
    };
    let side_by_side = options.jobs.map_or_else(cores, usize::from);
    let state = State {
        rows: vec![None; plan.len()],
        failed: BTreeMap::new(),
        absent: BTreeSet::new(),
        done: 0,
        estimate: Estimate::new(&plan.lengths()),
        written: Instant::now(),
        broken: None,
    };
    let mut sweep = Sweep {
        options,
        plan: &plan,
        columns,
        records,
        prepared,
        jobs,
        side_by_side,
        stop: reins.stop,
        children: Children::default(),
        bar: ProgressBar::hidden(),
        state: Mutex::new(state),
    };
    let found = sweep.take_over();
    if options.dry_run {
        let (points, open) = (plan.len(), sweep.jobs.len());
        let counts = format!("{points} points, {found} done already, {open} runs to do\n");
        return terminal::write(&counts).map(|()| 0);
    }
    reins.begun.store(true, Ordering::Relaxed);
    sweep.run_all()?;
    sweep.end(found)
}

/// Checks now that the table can be written later, and that it is none of the inputs.
fn check_table(table: &Path, inputs: &[Named]) -> Result<(), UsageError> {
    if table.as_os_str() == "-" {
        return Err(UsageError::sentence("--out names a file, not standard output"));
    }
    outputs::check(&[("--out", table)], inputs)
}

/// The runs that the points ask for, each once, and the largest number of ranks.
fn jobs(
    root: &Root,
    options: &SweepOptions,
    plan: &Plan,
    prepared: &mut Prepared,
) -> Result<(Vec<Job>, u32), UsageError> {
    let mut jobs: Vec<Job> = Vec::new();
    let mut by_id: BTreeMap<String, usize> = BTreeMap::new();
    let (mut ranks, mut impossible) = (1, None);
    for index in 0..plan.len() {
        let point = plan.point(options, index);
        ranks = ranks.max(point.ranks);
        let parameters = prepared.add(root, &point)?;
        let identity = prepared.identity(&point, &parameters, options);
        let id = machine::digest(identity.to_string().as_bytes());
        let next = jobs.len();
        let job = *by_id.entry(id.clone()).or_insert(next);
        if job == next {
            let checked = prepared.check(&point, &parameters);
            let possible = checked.is_ok();
            impossible = impossible.or(checked.err());
            jobs.push(Job { id, identity, points: Vec::new(), possible });
        }
        jobs[job].points.push(index);
    }
    // A corner of the sweep that cannot be is a row; if nothing can be, that is a mistake.
    match impossible.filter(|_| jobs.iter().all(|job| !job.possible)) {
        Some(why) => Err(why),
        None => Ok((jobs, ranks)),
    }
}

impl Sweep<'_> {
    /// Takes over earlier runs; returns the number of their points.
    fn take_over(&mut self) -> usize {
        let mut open = Vec::new();
        for job in std::mem::take(&mut self.jobs) {
            let record = self.records.find(&job.id, &job.identity);
            match record.filter(|record| record.exit == 0 || !self.options.retry) {
                Some(record) => self.enter(&mut self.state(), &job, &record),
                None => open.push(job),
            }
        }
        self.jobs = open;
        self.state().done
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread panics with the lock")
    }

    /// Enters a finished run into the table.
    fn enter(&self, state: &mut State, job: &Job, record: &Record) {
        for &point in &job.points {
            let (row, absent) = self.columns.row(&self.plan.values(point), &job.id, record);
            state.rows[point] = Some(row);
            // What failed may well have printed nothing.
            if record.exit == 0 {
                state.absent.extend(absent);
            } else {
                state.failed.insert(point, record.sentence.clone());
            }
            state.done += 1;
        }
        state.estimate.add(self.plan.position(job.points[0]), record.wall_seconds);
    }

    /// Runs the remaining points on all cores.
    fn run_all(&mut self) -> Result<(), UsageError> {
        if !self.options.quiet {
            self.bar = ProgressBar::new(self.plan.len() as u64);
        }
        let style = ProgressStyle::with_template("{bar:24} {pos}/{len}  {msg}");
        self.bar.set_style(style.expect("the template is right"));
        self.bar.set_position(self.state().done as u64);
        let this = &*self;
        let (next, first) = (AtomicUsize::new(0), rank::processor_now());
        let over = AtomicBool::new(false);
        let work = |slot| {
            // Or two runs might choose the same core, and stay there.
            if this.options.threads == 1 {
                rank::keep_thread_on(first, slot);
            }
            this.work(slot, &next);
        };
        std::thread::scope(|scope| {
            let started = |work| std::thread::Builder::new().spawn_scoped(scope, work);
            let watch: Box<dyn FnOnce() + Send> = Box::new(|| this.watch(&next, &over));
            if let Err(why) = started(watch) {
                return Err(UsageError::sentence(format!(
                    "the system refuses a thread to watch the sweep: {why}"
                )));
            }
            let slots = 0..this.side_by_side.min(this.jobs.len());
            // The system may grant fewer threads: then it takes longer.
            let worker = |slot| started(Box::new(move || work(slot))).ok();
            let workers: Vec<_> = slots.map_while(worker).collect();
            let none = workers.is_empty() && !this.jobs.is_empty();
            for worker in workers {
                worker.join().expect("a worker does not panic");
            }
            over.store(true, Ordering::Relaxed);
            let refused = || UsageError::sentence("the system refuses a thread to run points");
            if none {
                Err(refused())
            } else {
                Ok(())
            }
        })?;
        self.bar.finish_and_clear();
        Ok(())
    }

    /// Passes a signal on, and prints the time left.
    fn watch(&self, next: &AtomicUsize, over: &AtomicBool) {
        let mut told = Instant::now() - TOLD_PERIOD;
        while !over.load(Ordering::Relaxed) {
            if self.stop.requested() {
                next.store(self.jobs.len(), Ordering::Relaxed);
                self.children.end();
                return;
            }
            if told.elapsed() >= TOLD_PERIOD {
                told = Instant::now();
                let begun = next.load(Ordering::Relaxed).min(self.jobs.len());
                self.bar.set_message(self.time_left(begun));
            }
            std::thread::sleep(TICK);
        }
    }

    /// Text with the expected time of the remaining runs; runs under way count half.
    fn time_left(&self, begun: usize) -> String {
        let position = |job: &Job| self.plan.position(job.points[0]);
        // Of very many some are as good as all.
        let every = self.jobs[begun..].len() / ESTIMATED_MAX + 1;
        let under_way = begun.saturating_sub(self.side_by_side)..begun;
        let mut state = self.state();
        let open = state.estimate.of(self.jobs[begun..].iter().step_by(every).map(position));
        let open = open.map(|seconds| seconds * every as f64);
        let half = state.estimate.of(self.jobs[under_way].iter().map(position));
        match open.zip(half) {
            Some((open, half)) => {
                let cores = self.side_by_side.min(self.jobs.len()).max(1) as f64;
                format!("about {} left", span((open + half / 2.0) / cores))
            }
            None => "the first runs".to_string(),
        }
    }

    /// Runs one job after the other.
    fn work(&self, slot: usize, next: &AtomicUsize) {
        loop {
            let Some(job) = self.jobs.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
            if let Err(broken) = self.run(slot, job) {
                self.state().broken.get_or_insert(broken);
                next.store(self.jobs.len(), Ordering::Relaxed);
                return;
            }
        }
    }

    fn run(&self, slot: usize, job: &Job) -> Result<(), Broken> {
        let mistake = |why: String| Broken::Mistake(UsageError::sentence(why));
        let point = self.plan.point(self.options, job.points[0]);
        let record = execute::run(&self.prepared, self.options, &point, slot, &self.children);
        let mut record =
            record.map_err(|why| mistake(format!("cannot start sunstar for a point: {why}")))?;
        if self.stop.requested() {
            return Ok(());
        }
        if let Some(program) = self.prepared.changed(&point) {
            let program = program.display();
            return Err(mistake(format!(
                "{program} was changed while the sweep ran; the same command runs what is open"
            )));
        }
        let values = self.plan.values(job.points[0]);
        let values = values.iter().map(|(v, value)| (v.name.clone(), value.text.clone().into()));
        record.point = values.collect::<Map<String, Value>>();
        record.identity = job.identity.clone();
        if record.is_final(job.possible) {
            self.records.keep(&job.id, &record).map_err(Broken::Unwritten)?;
        }
        let mut state = self.state();
        self.enter(&mut state, job, &record);
        self.bar.inc(job.points.len() as u64);
        if state.written.elapsed() >= TABLE_PERIOD {
            let written = self.columns.write(self.plan, &state.rows, &self.options.out);
            written.map_err(Broken::Unwritten)?;
            state.written = Instant::now();
        }
        Ok(())
    }

    /// Writes the table, prints the errors, and returns the exit status.
    fn end(self, found: usize) -> Result<u8, UsageError> {
        let state = self.state.into_inner().expect("no thread panics with the lock");
        let written = self.columns.write(self.plan, &state.rows, &self.options.out);
        match (state.broken, written) {
            (Some(Broken::Mistake(why)), _) => return Err(why),
            (Some(Broken::Unwritten(why)), _) | (None, Err(why)) => {
                return Ok(run::unless_written(0, Err(why)));
            }
            (None, Ok(())) => {}
        }
        let (points, done, failed) = (self.plan.len(), state.done, state.failed.len());
        let table = self.options.out.display();
        for (point, sentence) in state.failed.iter().take(FAILURES_TOLD) {
            console::say(&format!("{}: {sentence}", named(self.plan, *point)));
        }
        if failed > FAILURES_TOLD {
            console::say(&format!(
                "{} more points failed; {table} has them",
                failed - FAILURES_TOLD
            ));
        }
        let mut told = BTreeSet::new();
        for absent in &state.absent {
            match absent {
                Absent::Output(name) => {
                    console::say(&format!("column {name} is empty where its --take found nothing"));
                }
                // Runs on different machines have different keys.
                Absent::Key(name, meant) if told.insert(name) => {
                    let meant = suggestion::question(meant);
                    let meant = meant.map_or(String::new(), |asked| format!("; {asked}"));
                    console::say(&format!(
                        "column {name} is empty where the run's JSON has no such key{meant} \
                         (docs/reference/run-json.md)"
                    ));
                }
                Absent::Key(..) => {}
            }
        }
        let is_of =
            |absent: &Absent, name: &str| matches!(absent, Absent::Key(of, _) if of == name);
        let absent = |name: &&str| state.absent.iter().any(|absent| is_of(absent, name));
        for name in self.columns.empty(self.plan, &state.rows).filter(|name| !absent(name)) {
            console::say(&format!("column {name} is empty: no run has a value there"));
        }
        if let Some(status) = interrupt::exit_status() {
            console::say(&format!("{done} of {points} points are done; the same command goes on"));
            return Ok(u8::try_from(status).unwrap_or(EXIT_FAILED));
        }
        let ran = done - found;
        let counts =
            format!("{table}: {points} points, {ran} run now, {found} before, {failed} failed\n");
        let printed = if self.options.quiet { Ok(()) } else { terminal::write(&counts) };
        Ok(run::unless_written(if failed > 0 { EXIT_FAILED } else { 0 }, printed))
    }
}

/// `net.flit=2ns arg.size=8`.
fn named(plan: &Plan, point: usize) -> String {
    let values = plan.values(point);
    let words = values.iter().map(|(variable, value)| format!("{}={}", variable.name, value.text));
    words.collect::<Vec<_>>().join(" ")
}

//! `sunstar bench ladder`: the effect of each optimisation of the firmware, compared with published results
//! (pedretti2005 s5).

use super::measure::{self, gb_per_s, saving_us, Job, Measured, Point, Program};
use super::published::{compare, Comparison, Published};
use super::rungs::{Rung, ASIDE, CLIMB, FULL};
use super::table;
use crate::args::LadderOptions;
use crate::{firmware, machines};
use abi::seastar::TRACE_COUNT;
use indicatif::ProgressBar;
use machine::parameters::Parameters;
use models::seastar::firmware::image::FirmwareImage;
use models::seastar::probe;
use models::seastar::rows::Firmware;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use sunstar::root::Root;
use sunstar::usage_error::UsageError;

/// Size of the messages whose rate counts as the asymptote, in bytes.
pub const ASYMPTOTE: u64 = 1 << 20;

/// A rung that was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// Build of the firmware.
    #[serde(flatten)]
    pub rung: Rung,
    /// Bytes of the flat image.
    pub image_bytes: u32,
    /// The ping-pong's table.
    pub points: Vec<Point>,
}

/// Cost of a trace point.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TracePoint {
    /// Firmware time, in nanoseconds.
    pub ns: f64,
    /// Number of points that a message hits on a node.
    pub a_message: f64,
    /// Median time from one point to the next, of the ring's records.
    pub between_ns: f64,
}

/// Sizes of the firmware in SRAM.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Sizes {
    /// Bytes of the ELF file, debug data included.
    pub elf_bytes: u64,
    /// Of the flat image.
    pub image_bytes: u32,
    /// Source structures, and bytes of each.
    pub sources: [u32; 2],
    /// Pendings of all processes, and bytes of each.
    pub pendings: [u32; 2],
    /// Sources and the generic process's pendings, in bytes.
    pub occupancy_bytes: u32,
}

/// All results of the ladder.
#[derive(Clone, Debug, Serialize)]
pub struct Ladder {
    /// Version of Sunstar.
    pub sunstar: &'static str,
    /// Name of the machine.
    pub machine: String,
    /// Parameters set on the command line.
    pub overrides: Vec<String>,
    /// Parameters by role.
    pub parameters: BTreeMap<String, usize>,
    /// The full firmware, and builds that differ from it in one option.
    pub aside: Vec<Step>,
    /// From the original firmware upwards, the full one last.
    pub climb: Vec<Step>,
    /// Cost of a trace point; absent if the trace ring was too small for the run.
    pub trace_point: Option<TracePoint>,
    /// Time to read a word of local SRAM, in nanoseconds.
    pub sram_read_ns: f64,
    /// Time to read a word of host memory, in nanoseconds.
    pub host_read_ns: f64,
    /// Processor time that an interrupt takes from its host, its handler included, in microseconds; absent if
    /// the full firmware raised none.
    pub interrupt_us: Option<f64>,
    /// Sizes of the full firmware.
    pub sizes: Sizes,
    /// Each published result that the ladder measures.
    pub published: Vec<Comparison>,
}

/// Runs the ladder and prints it; returns the exit status.
pub fn ladder(root: &Root, options: &LadderOptions) -> Result<u8, UsageError> {
    let mut published = Published::of_paper(root, "pedretti2005")?;
    // Only what the ladder measures.
    published.retain(|result| result.measurement.is_some());
    let plan = Plan::new(root, options)?;
    let measured = match measure::measure(root, &plan.jobs, plan.side_by_side) {
        Ok(measured) => measured,
        Err(broken) => return Ok(broken.tell()),
    };
    let mut ladder = plan.ladder(&measured)?;
    ladder.published = compare(&published, &measurements(&ladder), &plan.machine);
    options.measure.tell(&ladder, |terminal| table::ladder(&ladder, terminal))?;
    Ok(0)
}

/// Ladder that is about to be measured; its options have been checked.
pub struct Plan {
    /// The machine, with what was set.
    pub machine: Parameters,
    /// The runs.
    pub jobs: Vec<Job>,
    /// Number of runs at a time.
    pub side_by_side: usize,
    rungs: Vec<Rung>,
    images: Vec<FirmwareImage>,
}

impl Plan {
    /// Reads the machine and builds its firmware, once for each rung.
    pub fn new(root: &Root, options: &LadderOptions) -> Result<Plan, UsageError> {
        let machine = machines::chosen(root, &options.machine)?;
        options.measure.check(&machine)?;
        if let Some(set) = machine.overrides().iter().find(|set| set.starts_with("firmware.")) {
            return Err(UsageError::sentence(format!(
                "--set {set}: the ladder chooses the firmware itself"
            )));
        }
        // Rungs are settings of parameters that only this firmware has.
        if FULL.settings().iter().any(|setting| machine.clone().set(setting).is_err()) {
            return Err(UsageError::sentence(format!(
                "the ladder compares builds of the SeaStar's firmware, which machine {} (model {}) \
                 does not have",
                machine.name(),
                machine.model().name
            )));
        }
        let rungs: Vec<Rung> = ASIDE.into_iter().chain(CLIMB).collect();
        let images = build(root, &machine, &rungs)?;
        let jobs = jobs(options, &rungs);
        let side_by_side = options.measure.side_by_side();
        Ok(Plan { machine, jobs, side_by_side, rungs, images })
    }

    /// Ladder from the runs, one for each job; still without published results.
    pub fn ladder(&self, measured: &[Measured]) -> Result<Ladder, UsageError> {
        let Plan { machine, rungs, images, .. } = self;
        let (runs, traces) = measured.split_at(rungs.len());
        let steps: Vec<Step> = rungs
            .iter()
            .zip(images)
            .zip(runs)
            .map(|((rung, image), run)| Step {
                rung: *rung,
                image_bytes: image.budget.image,
                points: run.curve.clone(),
            })
            .collect();
        let (aside, climb) = steps.split_at(ASIDE.len());
        let cycle_ns =
            (machine.model().firmware.expect("it has firmware").clock)(machine).cycles(1).as_ns();
        let reads = probe::read_times(machine)?;
        let roles = machine.roles().map(|(role, count)| (role.to_string(), count));
        Ok(Ladder {
            sunstar: env!("CARGO_PKG_VERSION"),
            machine: machine.name().to_string(),
            overrides: machine.overrides().to_vec(),
            parameters: roles.into(),
            climb: climb.iter().chain([&aside[0]]).cloned().collect(),
            aside: aside.to_vec(),
            trace_point: trace_point(&traces[0], &traces[1], cycle_ns),
            sram_read_ns: reads.sram.as_ns(),
            host_read_ns: reads.host.as_ns(),
            interrupt_us: interrupt_us(&runs[0]),
            sizes: sizes(&images[0])?,
            published: Vec::new(),
        })
    }
}

/// Builds the firmware of every rung, so that no run waits for it or fails by it.
fn build(
    root: &Root,
    machine: &Parameters,
    rungs: &[Rung],
) -> Result<Vec<FirmwareImage>, UsageError> {
    let bar = ProgressBar::new(rungs.len() as u64).with_message("firmware");
    let images = rungs.iter().map(|rung| {
        let mut machine = machine.clone();
        for setting in rung.settings() {
            machine.set(&setting)?;
        }
        bar.inc(1);
        let folder = firmware::folder(root, &machine)?;
        Ok(FirmwareImage::load(&folder)?)
    });
    let images = images.collect();
    bar.finish_and_clear();
    images
}

/// A run of each rung, and two short ones with and without trace points.
fn jobs(options: &LadderOptions, rungs: &[Rung]) -> Vec<Job> {
    let job = |rung: &Rung, largest, trace| {
        Job::of_rung(&options.machine, rung, Program::Latency { largest }, trace)
    };
    let mut jobs: Vec<Job> = rungs.iter().map(|rung| job(rung, options.largest, false)).collect();
    jobs.push(job(&FULL, 0, false));
    jobs.push(job(&Rung { trace: true, title: "trace points", ..FULL }, 0, true));
    jobs
}

/// Processor time of an interrupt: what the hosts spent in interrupts, by the number that the NICs raised.
fn interrupt_us(run: &Measured) -> Option<f64> {
    let nodes = run.report["nodes"].as_array()?;
    let sum = |of: &dyn Fn(&Value) -> Option<f64>| nodes.iter().filter_map(of).sum::<f64>();
    let ns = sum(&|node| node["host_ns"]["interrupt"].as_f64());
    let count = sum(&|node| node["counters"]["nic.interrupts"].as_f64());
    (count > 0.0).then_some(ns / count / 1e3)
}

/// Time of a trace point: the difference of the firmware's busy time with and without them, divided by the
/// number of points hit.
fn trace_point(without: &Measured, with: &Measured, cycle_ns: f64) -> Option<TracePoint> {
    let points = with.trace.len();
    // A ring that has wrapped does not tell how many there were.
    if points == 0 || points >= TRACE_COUNT as usize {
        return None;
    }
    let counters = &with.report["nodes"][0]["counters"];
    let count = |name: &str| counters[name].as_f64();
    let messages = count("niccb.tx_complete")? + count("niccb.rx_complete")?;
    let a_message = points as f64 / messages;
    let cycles = with.firmware_cycles()? - without.firmware_cycles()?;
    let mut times: Vec<f64> = with.trace.iter().copied().flatten().collect();
    times.sort_by(f64::total_cmp);
    let between_ns = *times.get(times.len() / 2)?;
    Some(TracePoint { ns: cycles * cycle_ns / a_message, a_message, between_ns })
}

fn sizes(image: &FirmwareImage) -> Result<Sizes, UsageError> {
    let elf = std::fs::metadata(&image.elf)
        .map_err(|why| UsageError::with_file("read", &image.elf, why))?;
    let budget = &image.budget;
    Ok(Sizes {
        elf_bytes: elf.len(),
        image_bytes: budget.image,
        sources: [budget.sources.count, budget.sources.size],
        pendings: [budget.pendings.count, budget.pendings.size],
        occupancy_bytes: budget.occupancy(1),
    })
}

impl Step {
    /// Latency of messages of `bytes`, in microseconds.
    pub fn latency(&self, bytes: u64) -> Option<f64> {
        self.points.iter().find(|point| point.bytes == bytes).map(|point| point.latency_us)
    }
    /// Rate of long messages, in 10^6 bytes a second.
    pub fn asymptote(&self) -> Option<f64> {
        self.points.iter().find(|point| point.bytes == ASYMPTOTE)?.rate
    }
}

/// Largest message before the greatest jump of latency among small ones, in bytes.
fn inline_limit(full: &Step) -> Option<f64> {
    let small: Vec<&Point> = full.points.iter().filter(|point| point.bytes <= 64).collect();
    let jump = |pair: &&[&Point]| pair[1].latency_us - pair[0].latency_us;
    let greatest = small.windows(2).max_by(|a, b| jump(a).total_cmp(&jump(b)))?;
    Some(greatest[0].bytes as f64)
}

/// Everything that was measured, by name; published/pedretti2005.toml uses these names.
pub fn measurements(ladder: &Ladder) -> BTreeMap<String, f64> {
    let mut named = BTreeMap::new();
    let full = &ladder.aside[0];
    // The last of the climb is the full firmware again.
    for step in ladder.aside.iter().chain(&ladder.climb) {
        let key = step.rung.key;
        for Point { bytes, latency_us, .. } in &step.points {
            named.insert(format!("latency.{key}.{bytes}"), *latency_us);
            if let Some(full) = full.latency(*bytes) {
                named.insert(format!("saving.{key}.{bytes}"), saving_us(*latency_us, full));
            }
        }
        if let Some(rate) = step.asymptote() {
            named.insert(format!("bandwidth.{key}"), gb_per_s(rate));
        }
    }
    if let Some(point) = ladder.trace_point {
        named.insert("trace.point".into(), point.ns);
        named.insert("trace.between".into(), point.between_ns);
    }
    if let Some(limit) = inline_limit(full) {
        named.insert("inline.limit".into(), limit);
    }
    if let Some(us) = ladder.interrupt_us {
        named.insert("interrupt.processor".into(), us);
    }
    named.insert("reads.ratio".into(), ladder.host_read_ns / ladder.sram_read_ns);
    named.insert("size.elf".into(), ladder.sizes.elf_bytes as f64 / 1e3);
    named.insert("size.image".into(), f64::from(ladder.sizes.image_bytes) / 1e3);
    named
}

/// The rung that has the firmware of a machine.
pub fn rung_of(machine: &Parameters) -> Option<Rung> {
    let Firmware { cache, inline, shadow_fifos, pinned_regs, trace, .. } = Firmware::of(machine);
    let same = |rung: &&Rung| {
        cache == rung.cache
            && inline == rung.inline
            && shadow_fifos == rung.shadow_fifos
            && pinned_regs == rung.pinned_regs
            && trace == rung.trace
    };
    ASIDE.iter().chain(&CLIMB).find(same).copied()
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use std::path::Path;

    fn step(rung: Rung, latencies: [f64; 5]) -> Step {
        let sizes = [0, 8, 12, 13, ASYMPTOTE];
        let points = sizes.iter().zip(latencies).map(|(&bytes, latency_us)| Point {
            bytes,
            latency_us,
            rate: (bytes > 0).then(|| bytes as f64 / latency_us),
        });
        Step { rung, image_bytes: 10_000, points: points.collect() }
    }

    /// A ladder without published results.
    pub fn example() -> Ladder {
        let full = step(FULL, [4.0, 4.1, 4.1, 6.9, 640.0]);
        let none = step(ASIDE[2], [9.0, 9.1, 9.1, 14.0, 650.0]);
        let original = step(CLIMB[0], [16.0, 17.0, 17.0, 17.0, 660.0]);
        Ladder {
            sunstar: "0",
            machine: "redstorm".into(),
            overrides: vec!["net.route=20 ns".into()],
            parameters: BTreeMap::from([("assumed".into(), 3)]),
            aside: vec![full.clone(), none],
            climb: vec![original, full],
            trace_point: Some(TracePoint { ns: 12.0, a_message: 6.0, between_ns: 80.0 }),
            sram_read_ns: 30.0,
            host_read_ns: 300.0,
            interrupt_us: Some(1.7),
            sizes: Sizes {
                elf_bytes: 166_000,
                image_bytes: 10_000,
                sources: [1024, 32],
                pendings: [3822, 32],
                occupancy_bytes: 73_536,
            },
            published: Vec::new(),
        }
    }

    #[test]
    fn measurements_have_the_names_that_the_published_results_use() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).unwrap();
        let text = std::fs::read_to_string(root.join("published/pedretti2005.toml")).unwrap();
        let keys: Vec<&str> = ASIDE.iter().chain(&CLIMB).map(|rung| rung.key).collect();
        let file: toml::Table = toml::from_str(&text).unwrap();
        let mut count = 0;
        for result in file["result"].as_array().unwrap() {
            let Some(name) = result.get("measurement") else { continue };
            let words: Vec<&str> = name.as_str().unwrap().split('.').collect();
            let known = match words[..] {
                ["latency" | "saving", key, bytes] => {
                    keys.contains(&key) && ["0", "8", "16"].contains(&bytes)
                }
                ["bandwidth", key] => keys.contains(&key),
                ["trace", "point" | "between"] | ["inline", "limit"] | ["reads", "ratio"] => true,
                ["interrupt", "processor"] => true,
                ["size", "elf" | "image"] | ["accelerated", "latency" | "getadd"] => true,
                _ => false,
            };
            assert!(known, "{name}");
            count += 1;
        }
        assert!(count >= 10, "{count}");
    }

    #[test]
    fn savings_are_against_the_full_firmware() {
        let measured = measurements(&example());
        let near = |name: &str, value: f64| {
            assert!((measured[name] - value).abs() < 1e-9, "{name}: {measured:?}");
        };
        near("latency.full.0", 4.0);
        near("saving.cache-none.8", 5.0);
        assert_eq!(measured["saving.original.13"], 10.1, "not 10.100000000000001");
        near("saving.full.8", 0.0);
        near("inline.limit", 12.0);
        near("reads.ratio", 10.0);
        near("bandwidth.full", 1.048576e6 / 640.0 / 1e3);
        near("trace.point", 12.0);
        near("interrupt.processor", 1.7);
    }

    #[test]
    fn an_interrupt_is_what_hosts_spent_by_what_was_raised() {
        let node = |ns: f64, count: u32| {
            let counters = serde_json::json!({ "nic.interrupts": count });
            serde_json::json!({ "host_ns": { "interrupt": ns }, "counters": counters })
        };
        let run = |nodes: [serde_json::Value; 2]| Measured {
            report: serde_json::json!({ "nodes": nodes }),
            ..Measured::default()
        };
        assert_eq!(interrupt_us(&run([node(6000.0, 2), node(2000.0, 2)])), Some(2.0));
        assert_eq!(interrupt_us(&run([node(0.0, 0), node(0.0, 0)])), None);
        assert_eq!(interrupt_us(&Measured::default()), None);
    }

    #[test]
    fn a_trace_point_is_a_difference_over_what_was_hit() {
        let run = |cycles: f64, points: usize| Measured {
            trace: vec![Some(80.0); points],
            report: serde_json::json!({
                "firmware": { "cycles_per_message": cycles },
                "nodes": [{ "counters": { "niccb.tx_complete": 50, "niccb.rx_complete": 50 } }],
            }),
            ..Measured::default()
        };
        let point = trace_point(&run(500.0, 0), &run(530.0, 600), 2.0).unwrap();
        assert_eq!((point.ns, point.a_message, point.between_ns), (10.0, 6.0, 80.0));
        assert!(trace_point(&run(500.0, 0), &run(530.0, 0), 2.0).is_none());
        let wrapped = run(530.0, TRACE_COUNT as usize);
        assert!(trace_point(&run(500.0, 0), &wrapped, 2.0).is_none());
    }
}

//! Measurements for the curves: the ping-pong on the machine as it is, and with those builds of the firmware
//! for which results over the size of messages are published.

use super::published::{overlaid, Overlaid};
use crate::args::{MachineOptions, ReportOptions};
use crate::bench::ladder::rung_of;
use crate::bench::measure::{self, gb_per_s, saving_us, Broken, Job, Point, Program};
use crate::bench::published::Published;
use crate::bench::rungs::{Rung, ASIDE, CLIMB};
use crate::{firmware, machines};
use machine::parameters::hosts::Cores;
use machine::parameters::Parameters;
use std::collections::BTreeMap;
use sunstar::root::Root;
use sunstar::usage_error::UsageError;

/// Size of the messages whose rate counts as the asymptote (published/*.toml: `bandwidth.*`).
pub use crate::bench::ladder::ASYMPTOTE;

/// One curve.
#[derive(Clone, Debug)]
pub struct Series {
    /// Name in measurements; `as-set` if there are no published results for the machine's firmware.
    pub key: &'static str,
    /// Title, for people.
    pub title: String,
    /// The command that measures it.
    pub command: String,
    /// Measured points.
    pub points: Vec<Point>,
}

impl Series {
    /// Measured point of a size.
    pub fn at(&self, bytes: u64) -> Option<Point> {
        self.points.iter().find(|point| point.bytes == bytes).copied()
    }
}

/// Kind of a published result over the size of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot<'a> {
    /// A latency with a build.
    Latency(&'a str, u64),
    /// Time that the full firmware is quicker than a build.
    Saving(&'a str, u64),
    /// The rate of long messages with a build.
    Bandwidth(&'a str),
}

impl Spot<'_> {
    /// Kind of a measurement, by its name.
    pub fn of(measurement: &str) -> Option<Spot<'_>> {
        let words: Vec<&str> = measurement.split('.').collect();
        match words[..] {
            ["latency", key, bytes] => Some(Spot::Latency(key, bytes.parse().ok()?)),
            ["saving", key, bytes] => Some(Spot::Saving(key, bytes.parse().ok()?)),
            ["bandwidth", key] => Some(Spot::Bandwidth(key)),
            _ => None,
        }
    }
    /// The build.
    pub fn key(&self) -> &str {
        match self {
            Spot::Latency(key, _) | Spot::Saving(key, _) | Spot::Bandwidth(key) => key,
        }
    }
}

impl Overlaid {
    /// Position of the result among the curves.
    pub fn spot(&self) -> Spot<'_> {
        let name = self.published.measurement.as_deref().unwrap_or_default();
        Spot::of(name).expect("only such were kept")
    }
}

/// All curves; the machine as it is comes first.
pub struct Curves {
    /// The curves.
    pub series: Vec<Series>,
    /// Published results about them.
    pub published: Vec<Overlaid>,
}

/// The firmware that all savings are relative to.
pub const FULL: &str = crate::bench::rungs::FULL.key;

/// Curves that are about to be measured; their options have been checked.
pub struct Plan {
    machine: Parameters,
    published: Vec<Published>,
    jobs: Vec<(&'static str, Job)>,
    side_by_side: usize,
}

impl Plan {
    /// Plan for these options; `compared`: with the published builds.
    pub fn new(root: &Root, options: &ReportOptions, compared: bool) -> Result<Plan, UsageError> {
        // Two nodes, whatever the program's ranks are placed like.
        let mut chosen = options.run.machine.clone();
        chosen.overrides.retain(|set| !set.starts_with(Cores::ranks_per_node));
        let machine = machines::chosen(root, &chosen)?;
        if Cores::find(&machine).is_some_and(|cores| cores.ranks_per_node != 1) {
            chosen.overrides.push(format!("{}=1", Cores::ranks_per_node));
        }
        let chosen_by_parameters =
            machine.model().firmware.is_some_and(|firmware| firmware.built.is_none());
        let own = if chosen_by_parameters { rung_of(&machine) } else { None };
        let mut published = Published::of_machine(root, &machine)?;
        published.retain(|result| result.measurement.as_deref().and_then(Spot::of).is_some());
        // Who chooses the firmware wants to see that one.
        let chosen_firmware = machine.overrides().iter().any(|set| set.starts_with("firmware."));
        let others = ASIDE.iter().chain(&CLIMB).filter(|rung| {
            let told = published.iter().any(|result| {
                let spot = result.measurement.as_deref().and_then(Spot::of);
                spot.is_some_and(|spot| spot.key() == rung.key)
            });
            compared && !chosen_firmware && told && own.is_none_or(|own| own.key != rung.key)
        });
        let largest = options.largest;
        let job = |rung: &Rung| {
            let job = Job::of_rung(&chosen, rung, Program::Latency { largest }, false);
            (rung.key, job)
        };
        let otherwise =
            machine.model().firmware.map_or("the machine as it is", |_| "firmware as set");
        let title = own.map_or(otherwise, |own| own.title).to_owned();
        let as_it_is = Job {
            title,
            machine: chosen.machine.clone(),
            settings: chosen.overrides.clone(),
            program: Program::Latency { largest },
            trace: false,
        };
        let own_key = own.map_or("as-set", |own| own.key);
        // Where no process can call MPI there are no curves.
        let own = machine.model().processes.then_some((own_key, as_it_is));
        let jobs: Vec<_> = own.into_iter().chain(others.map(job)).collect();
        for (_, job) in &jobs {
            let overrides = job.settings.clone();
            let built = MachineOptions { machine: job.machine.clone(), overrides };
            firmware::folder_if_any(root, &machines::chosen(root, &built)?)?;
        }
        let side_by_side =
            options.jobs.map_or_else(|| measure::side_by_side(measure::RUN_KIB), usize::from);
        Ok(Plan { machine, published, jobs, side_by_side })
    }

    /// Runs them, with a progress bar.
    pub fn measure(self, root: &Root) -> Result<Curves, Broken> {
        let (keys, jobs): (Vec<_>, Vec<_>) = self.jobs.into_iter().unzip();
        let measured = measure::measure(root, &jobs, self.side_by_side)?;
        let series: Vec<Series> = keys
            .into_iter()
            .zip(jobs)
            .zip(measured)
            .map(|((key, job), run)| Series {
                key,
                command: job.command(),
                title: job.title,
                points: run.curve,
            })
            .collect();
        let measured = measurements(&series);
        let published = overlaid(self.published, &measured, &self.machine);
        Ok(Curves { series, published })
    }
}

/// Measurements by the names that published/*.toml uses.
fn measurements(series: &[Series]) -> BTreeMap<String, f64> {
    let full = series.iter().find(|series| series.key == FULL);
    let mut named = BTreeMap::new();
    for series in series {
        let key = series.key;
        for point in &series.points {
            let bytes = point.bytes;
            named.insert(format!("latency.{key}.{bytes}"), point.latency_us);
            if let Some(full) = full.and_then(|full| full.at(bytes)) {
                let saving = saving_us(point.latency_us, full.latency_us);
                named.insert(format!("saving.{key}.{bytes}"), saving);
            }
        }
        if let Some(rate) = series.at(ASYMPTOTE).and_then(|point| point.rate) {
            named.insert(format!("bandwidth.{key}"), gb_per_s(rate));
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spots_are_found_by_the_names_of_measurements() {
        assert_eq!(Spot::of("latency.full.0"), Some(Spot::Latency("full", 0)));
        assert_eq!(Spot::of("saving.cache-none.8"), Some(Spot::Saving("cache-none", 8)));
        assert_eq!(Spot::of("bandwidth.full"), Some(Spot::Bandwidth("full")));
        assert_eq!([Spot::of("reads.ratio"), Spot::of("latency.full.x")], [None, None]);
    }

    #[test]
    fn measurements_are_named_as_the_ladder_names_them() {
        let series = |key, latency_us| Series {
            key,
            title: String::new(),
            command: String::new(),
            points: [0, ASYMPTOTE]
                .map(|bytes| {
                    let rate = (bytes > 0).then(|| bytes as f64 / latency_us);
                    Point { bytes, latency_us, rate }
                })
                .into(),
        };
        let named = measurements(&[series("full", 5.0), series("inline-off", 7.5)]);
        assert_eq!((named["latency.full.0"], named["saving.inline-off.0"]), (5.0, 2.5));
        assert_eq!(named["bandwidth.full"], ASYMPTOTE as f64 / 5.0 / 1e3);
    }
}

//! Numbers about queues, taken from a run's account.

use crate::bench::queues::{has_units, UNITS};
use crate::profile::WALKERS;
use crate::run::{self, Run};
use crate::summary::account::{walkers, Walkers};
use machine::instruments::account::Rank;
use machine::report::NodeReport;
use serde_json::Value;
use std::path::Path;
use sunstar::usage_error::UsageError;

/// Counters of matching units.
const UNIT_COUNTERS: [&str; 4] = [
    "alpu.posted_requests",
    "alpu.posted_matches",
    "alpu.unexpected_requests",
    "alpu.unexpected_matches",
];

/// One of the two queues of a rank, or of all ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Queue {
    /// Entries that were ever in it.
    pub entries: u64,
    /// Most entries at a time, of any rank.
    pub most: u64,
    /// Length over time, in entries times picoseconds.
    pub time: u64,
    /// Number of searches.
    pub searches: u64,
    /// Entries that were compared, and the most in one search.
    pub walked: u64,
    pub walked_most: u64,
    /// Time of the searches, in picoseconds, if it is known of each rank.
    pub ps: Option<u64>,
}

impl Queue {
    /// Mean number of entries that a search compares.
    pub fn each(&self) -> f64 {
        self.walked as f64 / self.searches.max(1) as f64
    }
    fn add(&mut self, other: &Queue) {
        self.entries += other.entries;
        self.most = self.most.max(other.most);
        self.time += other.time;
        self.searches += other.searches;
        self.walked += other.walked;
        self.walked_most = self.walked_most.max(other.walked_most);
        self.ps = self.ps.zip(other.ps).map(|(one, another)| one + another);
    }
}

/// The queues of a rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Own {
    pub rank: u32,
    /// Time from the launch to the return of its last call, in picoseconds.
    pub total_ps: u64,
    pub posted: Queue,
    pub unexpected: Queue,
}

/// Numbers of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// Setting of this run.
    pub setting: Option<String>,
    pub simulated_ns: f64,
    pub ranks: Vec<Own>,
    /// Searches of which it is not known whether they were of posted receives.
    pub untold: u64,
    /// Part that walks the lists.
    pub walkers: Walkers,
    /// Requests and matches of the matching units, where the machine can have such: posted receives,
    /// unexpected messages.
    pub units: Option<[u64; 4]>,
    /// Set if the firmware walks lists of posted receives, for which there is no time of each rank: the time
    /// on all nodes, in nanoseconds, if it was recorded.
    pub firmware: Option<Option<f64>>,
}

impl Figures {
    /// Numbers of a run in this process.
    pub fn of_run(setting: Option<String>, run: &Run) -> Result<Figures, UsageError> {
        let report = &run.outcome.report;
        let walkers = walkers(report);
        let firmware = match walkers.timed {
            true => None,
            false => Some(walking_ns(run)?),
        };
        let own = |rank: &Rank| Own {
            rank: rank.rank,
            total_ps: rank.total_ps,
            posted: Queue {
                entries: rank.posted,
                most: rank.posted_most,
                time: rank.posted_time,
                searches: rank.walks,
                walked: rank.walked,
                walked_most: rank.walked_most.into(),
                ps: firmware.is_none().then_some(rank.walking_ps),
            },
            unexpected: Queue {
                entries: rank.unexpected,
                most: rank.unexpected_most,
                time: rank.unexpected_time,
                searches: rank.searches,
                walked: rank.searched,
                walked_most: rank.searched_most,
                ps: Some(rank.searching_ps),
            },
        };
        Ok(Figures {
            setting,
            simulated_ns: report.simulated_ns,
            ranks: report.account.iter().map(own).collect(),
            untold: report.account.iter().map(|rank| rank.walks_untold).sum(),
            walkers,
            units: has_units(&run.parameters).then(|| {
                UNIT_COUNTERS.map(|name| {
                    let of = |node: &NodeReport| node.counters.get(name).copied();
                    report.nodes.iter().filter_map(of).sum()
                })
            }),
            firmware,
        })
    }

    /// Numbers of a run that has written its JSON.
    pub fn of_file(setting: &str, file: &Path) -> Result<Figures, UsageError> {
        let text = std::fs::read(file).map_err(|why| UsageError::with_file("read", file, why))?;
        let report: Value = serde_json::from_slice(&text).unwrap_or_default();
        Figures::of_json(setting, &report).ok_or_else(|| {
            UsageError::sentence(format!("with {setting}: the run told nothing of its queues"))
        })
    }

    fn of_json(setting: &str, report: &Value) -> Option<Figures> {
        let accelerated = &report["machine"]["values"]["firmware.accelerated"]["value"];
        let firmware = accelerated.as_str().is_some_and(|value| value != "0").then_some(None);
        let own = |rank: &Value| {
            let number = |key: &str| rank[key].as_u64();
            let queue = |keys: [&str; 7]| {
                let [entries, most, time, searches, walked, walked_most, ps] = keys.map(number);
                Some(Queue {
                    entries: entries?,
                    most: most?,
                    time: time?,
                    searches: searches?,
                    walked: walked?,
                    walked_most: walked_most?,
                    ps: Some(ps?),
                })
            };
            let mut posted = queue([
                "posted",
                "posted_most",
                "posted_time",
                "walks",
                "walked",
                "walked_most",
                "walking_ps",
            ])?;
            posted.ps = posted.ps.filter(|_| firmware.is_none());
            let unexpected = queue([
                "unexpected",
                "unexpected_most",
                "unexpected_time",
                "searches",
                "searched",
                "searched_most",
                "searching_ps",
            ])?;
            let rank = u32::try_from(number("rank")?).ok()?;
            Some(Own { rank, total_ps: number("total_ps")?, posted, unexpected })
        };
        let account = report["account"].as_array()?;
        let has_units = report["machine"]["values"].get(UNITS).is_some();
        let nodes = report["nodes"].as_array();
        let units = has_units.then(|| {
            UNIT_COUNTERS.map(|name| {
                let counters = nodes.into_iter().flatten().map(|node| &node["counters"][name]);
                counters.filter_map(Value::as_u64).sum()
            })
        });
        let untold = account.iter().filter_map(|rank| rank["walks_untold"].as_u64()).sum();
        Some(Figures {
            setting: Some(setting.to_owned()),
            simulated_ns: report["simulated_ns"].as_f64()?,
            ranks: account.iter().map(own).collect::<Option<_>>()?,
            untold,
            walkers: Walkers::of(firmware.is_some(), has_units),
            units,
            firmware,
        })
    }

    /// All ranks together: posted receives, unexpected messages.
    pub fn all(&self) -> [Queue; 2] {
        let empty = Queue { ps: Some(0), ..Queue::default() };
        let mut all = [empty; 2];
        for rank in &self.ranks {
            all[0].add(&rank.posted);
            all[1].add(&rank.unexpected);
        }
        all
    }

    /// The mean length of a queue of a rank over time.
    pub fn mean(&self, of: fn(&Own) -> &Queue) -> f64 {
        let time: f64 = self.ranks.iter().map(|rank| of(rank).time as f64).sum();
        let total: f64 = self.ranks.iter().map(|rank| rank.total_ps as f64).sum();
        time / total.max(1.0)
    }

    /// The time of all searches of posted receives in nanoseconds, in kernel or firmware, if it is known.
    pub fn walking_ns(&self) -> Option<f64> {
        match self.firmware {
            Some(known) => known,
            None => self.all()[0].ps.map(|ps| ps as f64 / 1e3),
        }
    }
}

/// The firmware's time in functions that walk, on all nodes.
fn walking_ns(run: &Run) -> Result<Option<f64>, UsageError> {
    let firmware = run.parameters.model().firmware;
    let cycles = run::cycles_of(run, &WALKERS)?;
    let spent = cycles.zip(firmware);
    Ok(spent.map(|(cycles, firmware)| cycles as f64 * firmware.cycle_ns(&run.parameters)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rank(number: u32, scale: u64) -> Value {
        json!({
            "rank": number, "total_ps": 1000, "posted": scale, "posted_most": 2 * scale,
            "posted_time": 500 * scale, "walks": 4, "walked": 10 * scale, "walked_most": 5 * scale,
            "walking_ps": 7000 * scale, "unexpected": 3, "unexpected_most": 1, "unexpected_time": 0,
            "searches": 2, "searched": 2, "searched_most": 1, "searching_ps": 30,
            "walks_untold": number,
        })
    }

    #[test]
    fn ranks_add_up_and_the_most_is_that_of_any() {
        let report = json!({
            "simulated_ns": 12.5, "account": [rank(0, 1), rank(1, 3)], "machine": { "values": {} },
        });
        let figures = Figures::of_json("a=b", &report).unwrap();
        let [posted, unexpected] = figures.all();
        assert_eq!((posted.entries, posted.most, posted.walked), (4, 6, 40));
        assert_eq!((posted.searches, posted.walked_most, posted.ps), (8, 15, Some(28_000)));
        assert_eq!((posted.each(), unexpected.searches), (5.0, 4));
        assert_eq!(figures.mean(|own| &own.posted), 1.0);
        assert_eq!((figures.walking_ns(), figures.untold), (Some(28.0), 1));
        // What the firmware walks takes a time that this run has not taken down.
        let mut report = report;
        report["machine"]["values"]["firmware.accelerated"] = json!({ "value": "1" });
        let figures = Figures::of_json("a=b", &report).unwrap();
        assert_eq!((figures.walking_ns(), figures.all()[0].ps), (None, None));
        report["account"][0]["walks"] = Value::Null;
        assert!(Figures::of_json("a=b", &report).is_none());
    }
}

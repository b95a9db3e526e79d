//! `sunstar validate` for machines without MPI: the workloads of marazakis2006, measured by the counters of
//! the cards.

use super::measure::{self, Broken, Program};
use super::published::Published;
use super::validate::tell;
use super::writes::account::{Account, ARBITRATION};
use super::writes::{job, Combining};
use crate::args::LadderOptions;
use machine::parameters::Parameters;
use std::collections::BTreeMap;
use sunstar::root::Root;
use sunstar::usage_error::UsageError;

/// Runs the workloads of the published results and prints both; returns the exit status.
pub fn validate(
    root: &Root,
    options: &LadderOptions,
    machine: &Parameters,
) -> Result<u8, UsageError> {
    let published = Published::of_machine(root, machine)?;
    if published.is_empty() {
        return Err(Published::none_of(root, machine)?);
    }
    let measured = match measurements(root, options, machine) {
        Ok(measured) => measured,
        Err(broken) => return Ok(broken.tell()),
    };
    tell(options, machine, &published, &measured)?;
    Ok(0)
}

/// Measured numbers, by their names in published/*.toml.
fn measurements(
    root: &Root,
    options: &LadderOptions,
    machine: &Parameters,
) -> Result<BTreeMap<String, f64>, Broken> {
    let latency = |combining: Combining, bytes, times| {
        let program = Program::Rdma { workload: "latency", bytes, times };
        job(&options.machine, &combining.setting(), program)
    };
    let stream = |estimate: &str| {
        let program = Program::Rdma { workload: "stream", bytes: 4096, times: 200 };
        job(&options.machine, &format!("nic.estimate={estimate}"), program)
    };
    let sampled = |estimate: &str| {
        let program = Program::Rdma { workload: "sampled", bytes: 65536, times: 40 };
        job(&options.machine, &format!("nic.estimate={estimate}"), program)
    };
    let disk = |writes, protocol: &str| {
        let program = Program::Disk { writes, bytes: 1 << 20, times: 8 };
        job(&options.machine, &format!("block.protocol={protocol}"), program)
    };
    let jobs = [
        latency(Combining::Off, 8, 1),
        latency(Combining::On, 8, 1),
        latency(Combining::On, 8, 2),
        latency(Combining::On, 4096, 1),
        stream("fine"),
        stream("conservative"),
        sampled("fine"),
        sampled("conservative"),
        disk(false, "flags"),
        disk(false, "tails"),
        disk(true, "flags"),
        disk(true, "tails"),
    ];
    let runs = measure::measure(root, &jobs, options.measure.side_by_side())?;
    let [single, one, two, page] = [0, 1, 2, 3].map(|index| Account::of(&runs[index].report));
    let rate = |index: usize| runs[index].message.map_or(f64::NAN, |message| message.mib_per_s);
    // Of a run over the one behind it.
    let gain = |index: usize| 100.0 * (rate(index) / rate(index + 1) - 1.0);
    let cycle = Account::cycle_ns(machine);
    let own = [
        ("post.one", one.posting() * cycle),
        ("read.page", page.fetch + page.fetch_more + ARBITRATION),
        ("estimate", gain(4)),
        ("estimate.sampled", gain(6)),
        ("flags", gain(8).max(gain(10))),
    ];
    let named = Account::of_figure(&single, &two, cycle).into_iter().chain(own);
    Ok(named.map(|(name, value)| (name.to_string(), value)).collect())
}

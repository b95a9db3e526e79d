//! Time of a message of eight bytes, from the sender's call to the receiver's return, on three machines, and
//! on one with a kernel that is entered in half the time.

use sunstar::{Error, Machine, Program, Report};

fn main() -> Result<(), Error> {
    for (name, time) in times()? {
        println!("{name:40} {time:8.1} ns");
    }
    Ok(())
}

pub(crate) fn times() -> Result<Vec<(String, f64)>, Error> {
    let program = Program::new("builtin:pingpong").args(["8", "20"]).ranks(2);
    let mut times = Vec::new();
    for name in ["redstorm", "redstorm-accelerated", "ideal"] {
        let report = Machine::load(name)?.run(&program)?;
        times.push((name.to_owned(), mean(&report)));
    }
    let quick = "host.kernel_entry=125 ns";
    let report = Machine::load("redstorm")?.set(quick)?.run(&program)?;
    times.push((format!("redstorm, {quick}"), mean(&report)));
    Ok(times)
}

/// The mean of all messages, which are of one class.
fn mean(report: &Report) -> f64 {
    let class = &report.breakdowns[0];
    class.sum_ps as f64 / 1e3 / class.messages as f64
}

//! Speed of the core: millions of simulated instructions a second over compiled C, caches and
//! timing on.
#![allow(clippy::unwrap_used)]

#[path = "../tests/support/program.rs"]
mod program;
#[path = "../tests/support/mod.rs"]
mod support;

use std::time::Instant;

fn main() {
    let program = program::Program::compile("kernels.c", &["-O2"]);
    for (name, rounds, attributes) in [
        ("caches on", 100, 0),
        ("caches off", 5, ppc440::TLB_I),
        ("write-through", 50, ppc440::TLB_W),
    ] {
        // The best of three: other work on the machine only slows down.
        let runs = (0..3).map(|_| {
            let (mut core, mut flat) = program.load(rounds, attributes);
            let start = Instant::now();
            support::run_to_fault(&mut core, &mut flat, 60_000_000);
            (start.elapsed().as_secs_f64(), core.counters())
        });
        let (seconds, c) = runs.min_by(|a, b| a.0.total_cmp(&b.0)).expect("three runs");
        println!(
            "{name:14} {:6.1} MIPS  {:9} instructions  {:.2} cycles each  {} line fills",
            c.instructions as f64 / seconds / 1e6,
            c.instructions,
            c.cycles as f64 / c.instructions as f64,
            c.icache_misses + c.dcache_misses,
        );
    }
}

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
        print_best(name, || {
            let (mut core, mut flat) = program.load(rounds, attributes);
            let start = Instant::now();
            support::run_to_fault(&mut core, &mut flat, 60_000_000);
            (start.elapsed().as_secs_f64(), core.counters())
        });
    }
    match firmware() {
        Some(memory) => print_best("firmware polls", || poll(&memory)),
        None => println!("firmware polls: build/firmware is not built (make firmware)"),
    }
}

/// The best of three: other work on the machine only slows down.
fn print_best(name: &str, run: impl Fn() -> (f64, ppc440::Counters)) {
    let runs = (0..3).map(|_| run());
    let (seconds, c) = runs.min_by(|a, b| a.0.total_cmp(&b.0)).expect("three runs");
    println!(
        "{name:14} {:6.1} MIPS  {:9} instructions  {:.2} cycles each  {} line fills",
        c.instructions as f64 / seconds / 1e6,
        c.instructions,
        c.cycles as f64 / c.instructions as f64,
        c.icache_misses + c.dcache_misses,
    );
}

/// Local bus addresses from the device registers to the end.
const LOCAL: (u64, usize) = (0xffe0_0000, 0x20_0000);

/// The NIC's real firmware in a plain memory that stands for SRAM and registers: the image at its
/// entry, the shim at the end of the address space, where reset begins.
fn firmware() -> Option<bus::Memory> {
    use object::Object;
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../build/firmware");
    let read = |name: &str| std::fs::read(folder.join(name)).ok();
    let elf = read("seastar.elf")?;
    let entry = object::File::parse(&*elf).ok()?.entry();
    let shim = read("shim.bin")?;
    let mut memory = bus::Memory::new(LOCAL.0, LOCAL.1);
    memory.write(entry, &read("seastar.bin")?).ok()?;
    memory.write((1 << 32) - shim.len() as u64, &shim).ok()?;
    Some(memory)
}

/// Runs the firmware from reset, through its boot code, into its main loop, which polls registers and SRAM
/// and beats.
fn poll(memory: &bus::Memory) -> (f64, ppc440::Counters) {
    let mut core = support::core(0xffff_fffc);
    let mut flat = support::Flat::new(LOCAL.0, LOCAL.1);
    flat.memory = memory.clone();
    let start = Instant::now();
    let end = des::Time::ZERO + des::Duration::from_us(100_000);
    assert_eq!(core.run(&mut flat, end), ppc440::Stop::Until, "{:?}", core.fault());
    (start.elapsed().as_secs_f64(), core.counters())
}

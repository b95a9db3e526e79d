//! Speed of the core: millions of simulated instructions a second of processor time over compiled C, timing
//! included.
#![allow(clippy::unwrap_used)]

#[path = "../tests/support/mod.rs"]
mod support;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let mut inputs = support::runtime(folder.path());
    for name in ["lanai.c", "kernels.c"] {
        inputs.push(support::compile(&support::programs().join(name), folder.path(), &["-O2"]));
    }
    let image = support::link(&inputs);
    for (name, taken) in [("alone", 0), ("beside DMA and two links", 320)] {
        let best = (0..3).map(|_| run(&image, taken)).max_by(f64::total_cmp);
        println!("{name:26} {:6.1} MIPS", best.unwrap() / 1e6);
    }
}

/// Instructions a second.
fn run(image: &lanai_link::Image, taken: u32) -> f64 {
    let (mut core, mut flat) = (support::core(), support::load(image));
    flat.taken = taken;
    let start = seconds();
    support::run(&mut core, &mut flat, 1 << 32).unwrap();
    core.counters().instructions as f64 / (seconds() - start)
}

/// Processor time of this thread: what else runs on the machine counts less than in wall time.
fn seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse::<f64>().unwrap() * 1e-9
}

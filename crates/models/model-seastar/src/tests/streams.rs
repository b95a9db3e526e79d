//! Skipping spans of long messages that repeat themselves changes nothing but the work: whole
//! runs with and without, on one thread and on two, are the same run, to the trace hash, every
//! counter of every node, and every byte of local memory. The workloads check what they receive.

use super::{root, MODELS};
use des::Random;
use machine::effort::Events;
use machine::parameters::Parameters;
use machine::{Observers, Options, Places, Program, Shortcuts};

/// A run to be made.
#[derive(Clone, Debug)]
struct Case {
    ranks: u32,
    workload: &'static str,
    arguments: [String; 2],
    settings: Vec<String>,
    faults: Vec<&'static str>,
}

impl Case {
    fn new(ranks: u32, workload: &'static str, bytes: u64, times: u64) -> Case {
        let arguments = [bytes.to_string(), times.to_string()];
        Case { ranks, workload, arguments, settings: Vec::new(), faults: Vec::new() }
    }
    fn with(mut self, setting: String) -> Case {
        self.settings.push(setting);
        self
    }
    fn failing(mut self, fault: &'static str) -> Case {
        self.faults.push(fault);
        self
    }
    /// All that a run leaves, and what it took.
    fn run(&self, merge: bool, threads: usize) -> (String, Vec<bus::Memory>, Events) {
        let root = root();
        let mut parameters =
            Parameters::load(&MODELS, &root.join("machines/redstorm.toml")).unwrap();
        self.settings.iter().for_each(|setting| parameters.set(setting).unwrap());
        let arguments = self.arguments.clone().map(Into::into);
        let builtin = rank::Builtin::parse(self.workload, &arguments, self.ranks).unwrap();
        let program = Program::Builtin(builtin);
        let options = Options::new(parameters, program, self.ranks, Places::of_repository(root));
        let outcome = machine::run(&Options {
            threads,
            faults: self.faults.iter().map(ToString::to_string).collect(),
            shortcuts: Shortcuts { merge, ..Shortcuts::default() },
            observers: Observers { judge: true, ..Observers::default() },
            ..options
        });
        let mut outcome = outcome.expect("make parts builds the firmware");
        outcome.report.wall_seconds = 0.0;
        (format!("{:#?}", outcome.report), outcome.sram, outcome.effort.events)
    }
    /// Compares with, on any of so many threads, and without; returns what it took with.
    fn check(&self, threads: &[usize]) -> Events {
        let plain = self.run(false, 1);
        assert_eq!(plain.2.skipped, 0);
        let merged: Vec<_> = threads.iter().map(|&threads| self.run(true, threads)).collect();
        for (report, sram, events) in &merged {
            let lines = report.lines().zip(plain.0.lines());
            let other = lines.clone().find(|(merged, plain)| merged != plain);
            assert_eq!(other, None, "with, without: {self:?}");
            assert!(*report == plain.0 && *sram == plain.1, "{self:?}");
            assert_eq!(events.carried_out + events.skipped, plain.2.carried_out, "{self:?}");
            assert_eq!(*events, merged[0].2, "{self:?}");
        }
        merged[0].2
    }
}

#[test]
fn a_long_message_alone_is_hardly_carried_out() {
    let events = Case::new(2, "pingpong", 1 << 20, 2).check(&[1, 2]);
    assert!(events.carried_out * 12 < events.skipped, "{events:?}");
}

#[test]
fn flows_that_meet_or_share_a_link_are_the_same() {
    // All in a row, so that ways overlap.
    for topology in ["net.topology=row", "net.topology=mesh", "net.topology=torus"] {
        let case = |workload, bytes| Case::new(6, workload, bytes, 1).with(topology.to_string());
        case("exchange", 250_000).check(&[1, 2]);
        case("halo", 60_001).check(&[1]);
        case("alltoall", 50_000).check(&[1]);
    }
}

#[test]
fn back_pressure_is_the_same() {
    // Memory that takes less than the links bring, links that take less than memory gives, and
    // little room everywhere.
    for setting in [
        "nic.rx_packet=50 ns",
        "net.flit=9 ns",
        "nic.rx_buffers=2",
        "ht.bandwidth=700 MB/s",
        "ht.dma_rate=300 MB/s",
        "ht.dma_rate=3 GB/s",
        "net.credit_batch=80",
    ] {
        let events = Case::new(2, "pingpong", 200_000, 1).with(setting.to_string()).check(&[1]);
        assert!(events.skipped > 0, "{setting}: {events:?}");
        Case::new(5, "traffic", 150_000, 1).with(setting.to_string()).check(&[1]);
    }
}

/// Links that may fail carry packet by packet, and others go on as they would.
#[test]
fn faults_strike_the_same_packets() {
    for fault in ["link.delay=0.001:2us", "link.biterror=1e-9", "link.dead=1-2@900us"] {
        let case = Case::new(4, "traffic", 200_000, 1).with("net.topology=row".to_string());
        case.failing(fault).check(&[1]);
    }
    // Far from the dead link.
    let case = Case::new(8, "pingpong", 200_000, 1).with("net.topology=row".to_string());
    case.clone().check(&[1]);
    case.failing("link.dead=6-7@600us").check(&[1, 2]);
}

/// A random machine and random messages, of `most` bytes or a little more.
fn any(seed: u64, most: u64) -> Case {
    let mut random = Random::new(seed);
    let mut below = |n: u64| random.below(n);
    let ranks = 2 + below(7) as u32;
    let workload = ["traffic", "traffic", "halo", "exchange", "pingpong"][below(5) as usize];
    let bytes = 20_000 + below(most);
    let mut case = Case::new(ranks, workload, bytes, 1 + below(2));
    let topology = ["row", "mesh", "torus"][below(3) as usize];
    case = case.with(format!("net.topology={topology}"));
    let all = [
        format!("net.input_queue={}", 40 + below(90)),
        format!("net.output_queue={}", 10 + below(30)),
        format!("net.node_queue={}", 10 + below(600)),
        format!("net.credit_batch={}", 1 + below(15)),
        format!("nic.rx_buffers={}", 1 + below(90)),
        format!("nic.tx_buffers={}", 1 + below(16)),
        format!("nic.tx_packet={} ns", 5 + below(60)),
        format!("nic.rx_packet={} ns", 5 + below(60)),
        format!("ht.bandwidth={} MB/s", 500 + below(4_000)),
        format!("ht.dma_rate={} MB/s", 300 + below(3_000)),
        format!("net.flit={} ps", 1_000 + below(7_000)),
        format!("net.port_flit={} ps", 1_000 + below(7_000)),
        format!("mpi.eager_limit={} KiB", 1 + below(256)),
    ];
    all.into_iter().filter(|_| below(3) == 0).fold(case, Case::with)
}

/// Random cases; how many events were skipped of how many.
fn random_cases(seeds: std::ops::Range<u64>, most: u64) {
    let (mut skipped, mut all) = (0, 0);
    for seed in seeds {
        let Events { skipped: some, carried_out } =
            any(seed, most).check(if seed % 4 == 0 { &[1, 2] } else { &[1] });
        skipped += some;
        all += some + carried_out;
    }
    assert!(skipped * 10 > all, "{skipped} events of {all} were skipped");
}

#[test]
fn random_traffic_on_random_machines_is_the_same() {
    random_cases(0..12, 200_000);
}

#[test]
#[ignore = "minutes: make soak"]
fn much_random_traffic_on_random_machines_is_the_same() {
    random_cases(100..200, 1_000_000);
}

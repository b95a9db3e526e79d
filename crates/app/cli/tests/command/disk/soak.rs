//! Random requests with faults: none is lost, none is wrong.

use super::losses::{counter, run, SOON};
use super::{random_log, side_by_side, Ask, Operation};
use crate::seeds::chosen;

/// Requests that the block layer makes of one, of so many bytes each: reads and writes are cut.
fn cut(ask: &Ask, request: u64) -> u64 {
    match ask.operation {
        Operation::Read | Operation::Write => ask.length.div_ceil(request),
        _ => 1,
    }
}

/// A random log with faults: all of its answers, and its bytes. The rate is told. Gives the requests of the
/// block layer, and the times that cards began anew.
fn soak(asks: u64, seed: u64, faults: &[&str]) -> (u64, u64) {
    let begun = std::time::Instant::now();
    let (log, reads) = random_log(seed, asks, 8192);
    let seeded = seed.to_string();
    // Requests of a sector: many are under way at a time.
    let one = ["--set", "block.request=512 B", "--set", "block.merge=512 B"];
    let own = [&["--seed", &seeded][..], &one].concat();
    let options = [&own[..], &SOON, faults].concat();
    // Half of them are under way side by side. What is tried again may come behind what was asked for later.
    let sums = faults.contains(&"block.sums=on");
    let log = match (seed + seed / 10) % 2 == 0 && !sums {
        true => side_by_side(&log, 24, seed),
        false => log,
    };
    let (mut answers, report) = run(&log, &options);
    answers.sort_by_key(|(ask, ..)| ask.number);
    let [losses, _] = counter(&report, "host.card_restarts");
    assert_eq!(answers.len() as u64, asks, "nothing is lost (seed {seed})");
    assert!(answers.iter().all(|(_, answer, _)| !answer.failed), "seed {seed}, {options:?}");
    let requests: u64 = answers.iter().map(|(ask, ..)| cut(ask, 512)).sum();
    let read = answers.into_iter().filter(|(ask, ..)| ask.operation == Operation::Read);
    assert!(read.map(|(.., data)| data).eq(reads), "nothing is wrong (seed {seed}, {options:?})");
    let rate = requests as f64 / begun.elapsed().as_secs_f64();
    println!(
        "seed {seed}, {faults:?}: {asks} asks, {requests} requests, {losses} losses made good, \
         {rate:.0} a second"
    );
    (requests, losses)
}

/// Faults that a storage system lives with, each for a part of the requests.
const FAULTS: [&[&str]; 10] = [
    &[],
    &["--fault", "host.slow=3@1"],
    &["--fault", "host.pause=100us:2ms@0"],
    &["--fault", "interrupt.late=0.05:200us"],
    &["--fault", "interrupt.lost=0.002"],
    &[
        "--fault",
        "interrupt.lost=0.002",
        "--fault",
        "lane.credit=0.001",
        "--set",
        "block.protocol=tails",
    ],
    &["--set", "disk.kind=drives", "--fault", "interrupt.late=0.1:50us@1"],
    &["--fault", "lane.biterror=2e-5"],
    &["--fault", "lane.biterror=2e-5", "--set", "block.protocol=tails"],
    &["--fault", "lane.biterror=2e-5", "--set", "block.stop=off", "--set", "block.sums=on"],
];

#[test]
fn requests_with_faults_are_neither_lost_nor_wrong() {
    for (seed, faults) in (1..).zip(FAULTS) {
        soak(50, seed, faults);
    }
}

/// Each seed is some 11,000 requests; SOAK_FIRST and SOAK_SEEDS choose others.
#[test]
#[ignore = "long: a million requests; make soak"]
fn a_million_requests_with_faults_are_neither_lost_nor_wrong() {
    let one = |seed| soak(1_200, seed, FAULTS[seed as usize % FAULTS.len()]);
    let sum = |(all, lost), (requests, losses)| (all + requests, lost + losses);
    let (requests, losses) = chosen(100).map(one).fold((0, 0), sum);
    println!("{requests} requests, none lost, none wrong; {losses} losses were made good");
    assert!(losses > 0, "lanes have spoilt something");
}

//! Programs of the tables: what a machine runs follows from the row of its model.

use super::row::Bench;
use machine::faults::FaultKind;
use machine::models::Model;

/// Programs with MPI, and ranks for them.
const MPI: [&str; 15] = [
    "-n 2 builtin:pingpong 8 20",
    "-n 2 builtin:pingpong 100000 3",
    "-n 64 builtin:barrier 2",
    "-n 8 --ranks-per-node 2 builtin:allreduce 64 5",
    "-n 8 builtin:alltoall 3000 2",
    "-n 8 builtin:halo 4096 2",
    "-n 3 builtin:exchange 300000 2",
    "-n 5 builtin:traffic 20000 3",
    "-n 9 builtin:incast 3000 2",
    "-n 4 tests/soak/random.c 1",
    "-n 6 --ranks-per-node 2 tests/soak/random.c 2",
    "-n 4 tests/soak/types.c 1",
    "-n 5 tests/mpi/collectives.c",
    "-n 4 tests/mpi/messages.c",
    "-n 3 tests/soak/endings.c 1",
];

/// Programs with Portals.
const PORTALS: [&str; 3] = [
    "-n 3 tests/soak/portals.c 1",
    "-n 2 examples/portals_getadd.c",
    "-n 4 --ranks-per-node 2 tests/soak/portals.c 2",
];

/// Programs with verbs, and with the request queue mapped.
const VERBS: [&str; 10] = [
    "-n 2 tests/verbs/bytes.c",
    "-n 2 tests/verbs/large.c 40 4096",
    "-n 2 tests/verbs/events.c 4",
    "-n 2 tests/verbs/events.c 4 poll",
    "-n 2 tests/verbs/misuse.c",
    "-n 2 tests/verbs/gone.c pages",
    "-n 2 examples/rdma/verbs_write.c 20 4099",
    "-n 2 examples/rdma/mapped_queue.c plain 40 8",
    "-n 2 examples/rdma/mapped_queue.c none 20 64",
    "-n 2 examples/rdma/barrier.c 20",
];

/// The models whose machines have MPI and no Portals.
const NO_PORTALS: [&str; 2] = ["offload", "offload-mesh"];

/// All programs of a machine, but those in guests.
pub fn all(bench: &Bench) -> Vec<String> {
    let model = bench.machine.model();
    let mut all: Vec<String> = Vec::new();
    if model.processes {
        all.extend(MPI.map(String::from));
        let portals = PORTALS.iter().filter(|_| !NO_PORTALS.contains(&model.name));
        all.extend(portals.map(|program| (*program).to_string()));
    }
    if model.verbs {
        all.extend(VERBS.map(String::from));
    }
    all.extend(workloads(bench, model));
    all.retain(|words| bench.suited(words).is_some());
    all
}

/// The model's own workloads, each as it is, and with more ranks, another size and another number.
fn workloads(bench: &Bench, model: &Model) -> Vec<String> {
    let mut all = Vec::new();
    for kind in model.workloads {
        let name = format!("builtin:{}", kind.name);
        // Of a size in between: neither a word nor as much as there may be.
        let bytes = (kind.bytes * 5 / 2).min(kind.bytes_max) / kind.word * kind.word;
        let bytes = if bytes > 1 << 20 { 4 << 20 } else { bytes };
        let more = [16, 8, 3].map(|ranks| format!("-n {ranks} --until 5ms {name} {bytes} 3"));
        let more = more.into_iter().find(|words| bench.suited(words).is_some());
        let sizes = kind.bytes <= 1 << 20;
        let plain = format!("-n {} --until 5ms {name}", kind.ranks);
        all.extend(sizes.then(|| plain.clone()));
        all.push(more.unwrap_or_else(|| format!("{plain} {bytes} 3")));
    }
    all
}

/// Programs of remote disks, without losses and with some.
const BLOCKS: [&str; 4] = [
    "-n 2 builtin:disk-write 65536 3",
    "-n 2 builtin:disk-read 65536 3",
    "-n 2 --set block.sums=on --set block.stop=off builtin:disk-write 65536 2",
    "-n 2 --set block.timeout=100us --set block.resend=1ms --until 4ms --fault lane.biterror=2e-3 \
     builtin:disk-write 65536 1",
];

/// Programs of disks that take the time of drives.
const DRIVES: [&str; 2] = [
    "-n 2 --set disk.kind=drives builtin:disk-read 65536 2",
    "-n 2 --set disk.kind=drives --until 12ms builtin:disk 4194304",
];

/// Options of a program, and the program with its words.
pub fn parted(words: &str) -> Option<(&str, &str)> {
    let begins = [" builtin:", " tests/", " examples/"];
    let at = begins.iter().find_map(|begin| words.find(begin))?;
    Some((&words[..at], &words[at + 1..]))
}

/// True if these are a program's words with one setting more.
pub fn changed(program: &str, words: &str) -> bool {
    match (parted(program), parted(words)) {
        (Some((options, rest)), Some((more, same))) => {
            rest == same && more.rsplit_once(" --set ").is_some_and(|(before, _)| before == options)
        }
        _ => false,
    }
}

/// Programs in which a parameter of a machine may show: the first in which it does is taken.
pub fn of_parameters(model: &Model, key: &str) -> Vec<&'static str> {
    let (section, _) = key.split_once('.').expect("keys have sections");
    match (model.verbs, section) {
        (true, "block") => return BLOCKS.to_vec(),
        (true, "disk") => return DRIVES.to_vec(),
        (true, "crossbar" | "switch") => {
            return vec!["-n 3 --set lanes.topology=crossbar builtin:rdma-incast 4096 8"];
        }
        (true, _) => {
            return vec![
                "-n 2 builtin:rdma-stream 12296 20",
                "-n 2 tests/verbs/bytes.c",
                "-n 2 --set nic.rx_fifo=4120B builtin:rdma-stream 12296 20",
                "-n 2 --set nic.estimate=conservative builtin:rdma-incast 264 40",
            ];
        }
        (_, "linux") => return vec!["-n 4 --set host.os=linux tests/soak/random.c 1"],
        _ => {}
    }
    let mut all = Vec::new();
    if model.processes {
        all.extend(["-n 3 builtin:exchange 300000 2", "-n 5 builtin:traffic 20000 3"]);
        let mpi = [
            "-n 4 tests/soak/random.c 1",
            "-n 5 tests/mpi/collectives.c",
            "-n 4 --ranks-per-node 2 tests/soak/random.c 2",
        ];
        let portals = "-n 3 tests/soak/portals.c 1";
        match NO_PORTALS.contains(&model.name) {
            true => all.extend([
                "-n 2 tests/alpu/lists.c",
                "-n 2 --set nic.alpu=32 --set alpu.threshold=4 tests/alpu/lists.c",
            ]),
            false => all.extend(mpi.into_iter().chain([portals])),
        }
    }
    if model.packets {
        all.extend([
            "-n 4 --set firmware.overflow=host --fault pool.rx_pendings=2 tests/soak/random.c 1",
            "-n 4 --set firmware.accelerated=2 tests/soak/portals.c 1",
            "-n 2 --set mpi.unexpected_events=64 tests/network/flood.c 60",
        ]);
    }
    if !model.workloads.is_empty() {
        all.extend([
            "-n 2 builtin:myrinet-stream 3000 3",
            "-n 9 builtin:myrinet-incast 1024 2",
            "-n 2 --fault cable.dead=1@33us builtin:myrinet-pingpong 8 100",
        ]);
    }
    all
}

/// Programs in which a kind of faults shows.
pub fn of_faults(model: &Model, kind: &FaultKind) -> Vec<String> {
    let mut all: Vec<&str> = Vec::new();
    if model.packets {
        all.push("-n 4 --set net.topology=row --until 5ms tests/soak/random.c 1");
    } else if model.processes {
        all.push("-n 5 --until 5ms builtin:traffic 20000 3");
    }
    // Bugs of cards are found in stages, which their descriptions name.
    let stage = ["config", "dma", "loopback", "link", "switch"]
        .into_iter()
        .find(|stage| kind.expected.contains(&format!("`{stage}`")));
    if let Some(stage) = stage {
        let ranks = if stage == "switch" { 3 } else { 2 };
        return vec![format!("-n {ranks} --until 20ms builtin:nic-{stage}")];
    }
    if model.verbs {
        all.extend([
            "-n 2 --until 5ms builtin:rdma-stream 4096 30",
            "-n 2 --until 5ms builtin:disk-write 65536 3",
        ]);
    } else if !model.workloads.is_empty() {
        all.push("-n 3 --until 5ms builtin:myrinet-incast 3000 5");
    }
    all.into_iter().map(String::from).collect()
}

/// Programs in which a machine recovers from what runs out or gets lost, or gives it up.
pub fn of_recovery(bench: &Bench) -> Vec<String> {
    let (model, mut all) = (bench.machine.model(), Vec::new());
    if model.packets {
        // Accelerated processes do without their host.
        let accelerated = bench.machine.number::<u32>("firmware.accelerated") > 0;
        for overflow in ["nic", "host"].into_iter().take(2 - usize::from(accelerated)) {
            for program in [
                "-n 6 --fault pool.streams=1 tests/mpi/messages.c",
                "-n 9 --fault pool.streams=4 tests/network/flood.c 20",
                "-n 6 --fault pool.rx_pendings=8 tests/network/flood.c 20",
                "-n 6 --fault pool.sources=3 tests/mpi/collectives.c",
                "-n 20 --fault pool.streams=2 builtin:incast 3000 2",
            ] {
                all.push(format!("--until 20ms --set firmware.overflow={overflow} {program}"));
            }
        }
    }
    if model.packets {
        // Messages wait for a stream; and what is given up: a line that is stuck.
        all.push("-n 9 --fault pool.streams=2 builtin:incast 8 20".into());
        let stuck = "--set portals.empty_interrupts=50 --fault interrupt.stuck=high@1@10us";
        all.push(format!("-n 3 {stuck} builtin:traffic 20000 3"));
    }
    if model.verbs {
        // A disk whose messages are lost again and again.
        let times = "--set block.retries=1 --set block.timeout=100us --set block.resend=1ms";
        all.push(format!(
            "-n 2 {times} --until 20ms --fault lane.biterror=5e-2 builtin:disk-write 65536 1"
        ));
        for protocol in ["flags", "tails"] {
            for fault in ["lane.biterror=1e-5", "lane.biterror=#900@0", "interrupt.lost=#2"] {
                let program = "builtin:disk-write 65536 6";
                all.push(format!(
                    "-n 2 --set block.protocol={protocol} --set block.resend=2ms \
                     --set block.timeout=200us --until 50ms --fault {fault} {program}"
                ));
            }
        }
    }
    all
}

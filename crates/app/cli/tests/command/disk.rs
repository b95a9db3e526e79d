//! The remote disk of the RDMA NIC: clients of NBD, and logs of requests.

mod client;
#[cfg(target_arch = "x86_64")]
mod clocked;
mod endings;
mod losses;
mod safety;
mod soak;

use crate::runner::{command, ended, root, Ended};
use block::{Answer, Ask, Operation, ANSWER_BYTES};
use client::Client;
use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// True if a tool is installed; a sentence otherwise.
fn has(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok();
    if !found {
        println!("left out: {tool} is not installed");
    }
    found
}

/// True if a tool is on the search path, whatever it says about itself.
fn installed(tool: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {tool}")]).output();
    found.is_ok_and(|found| found.status.success())
}

fn served(folder: &Path, options: &[&str], shell: &str) -> Ended {
    served_with("4194304", folder, options, shell)
}

/// The same, of so many bytes.
fn served_with(size: &str, folder: &Path, options: &[&str], shell: &str) -> Ended {
    let socket = folder.join("disk");
    let mut sunstar = command();
    sunstar.args(["disk", "--size", size, "--socket"]).arg(socket).args(options);
    ended(sunstar.args(["--run", shell]))
}

/// Runs a log; all that comes back.
fn replayed(workload: &str, log: &[u8], threads: &str) -> Vec<u8> {
    replayed_with(&["-q", "-t", threads], workload, log)
}

/// The same, with options.
fn replayed_with(options: &[&str], workload: &str, log: &[u8]) -> Vec<u8> {
    let mut sunstar = command();
    sunstar.args(["run", "-m", "forth", "-n", "2"]).args(options).args([workload, "4194304"]);
    let mut child = sunstar.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let log = log.to_vec();
    let writer = std::thread::spawn(move || input.write_all(&log));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "{output:?}");
    output.stdout
}

/// Requests over all of a disk, and the bytes that it must hold at last.
pub fn log() -> (Vec<u8>, Vec<u8>) {
    let (mut log, mut shadow) = (Vec::new(), vec![0; 4 << 20]);
    let mut ask = |operation, offset: usize, data: &[u8], length: usize| {
        let (offset, length) = (offset as u64, length as u64);
        log.extend(Ask::new(operation, offset, length).emit());
        log.extend(data);
    };
    for turn in 0..12_usize {
        let (offset, length) =
            (turn * 345_600 % (3 << 20) / 512 * 512, (1 + turn * 37 % 150) * 512);
        let data: Vec<u8> = (0..length).map(|at| (at / 3 + turn) as u8).collect();
        ask(Operation::Write, offset, &data, length);
        shadow[offset..offset + length].copy_from_slice(&data);
    }
    ask(Operation::Zero, 512, &[], 70_144);
    shadow[512..512 + 70_144].fill(0);
    ask(Operation::Flush, 0, &[], 0);
    ask(Operation::Read, 0, &[], 4 << 20);
    (log, shadow)
}

fn answers(mut bytes: &[u8]) -> (Vec<Answer>, &[u8]) {
    let mut answers = Vec::new();
    for _ in 0..15 {
        let (first, rest) = bytes.split_first_chunk::<ANSWER_BYTES>().unwrap();
        answers.push(Answer::parse(first).unwrap());
        bytes = rest;
    }
    (answers, bytes)
}

#[test]
fn a_log_gives_the_bytes_that_were_written_and_the_same_times_again() {
    let (log, shadow) = log();
    let back = replayed("builtin:disk", &log, "1");
    let (flags, data) = answers(&back);
    assert!(data == shadow, "the disk holds what was written");
    assert!(flags.iter().all(|answer| !answer.failed && answer.took > 0));
    assert!(replayed("builtin:disk", &log, "2") == back, "on two threads, too");
    let back = replayed("builtin:disk-tails", &log, "1");
    let (tails, data) = answers(&back);
    assert!(data == shadow);
    let time = |answers: &[Answer]| answers.iter().map(|answer| answer.took).sum::<u64>();
    assert!(time(&tails) > time(&flags), "messages for heads and tails take time");
}

#[test]
fn clients_of_nbd_read_what_they_wrote() {
    let folder = tempfile::tempdir().unwrap();
    if has("nbdinfo") {
        let info = served(folder.path(), &[], "nbdinfo \"$uri\"");
        assert_eq!(info.code, 0, "{info:?}");
        for line in ["export-size: 4194304", "can_flush: true", "block_size_minimum: 512"] {
            assert!(info.stdout.contains(line), "{line}: {info:?}");
        }
    }
    if has("qemu-io") {
        let script = "qemu-io -f raw -c 'write -P 7 4k 100k' -c 'write -z 8k 8k' -c 'flush' \
                      -c 'read -P 7 4k 4k' -c 'read -P 0 8k 8k' -c 'read -P 7 16k 88k' \
                      -c 'discard 64k 64k' -c 'read -P 0 64k 64k' \"$uri\"";
        let run = served(folder.path(), &[], script);
        assert_eq!(run.code, 0, "{run:?}");
        assert!(!run.stdout.contains("failed"), "{run:?}");
    }
    if has("nbdcopy") {
        let data: Vec<u8> = (0..1_048_576_u32).map(|at| (at / 7 % 253) as u8).collect();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        std::fs::write(&from, &data).unwrap();
        let record = folder.path().join("log");
        let options = ["--record", record.to_str().unwrap()];
        let script =
            format!("nbdcopy {} \"$uri\" && nbdcopy \"$uri\" {}", from.display(), to.display());
        let run = served(folder.path(), &options, &script);
        assert_eq!(run.code, 0, "{run:?}");
        assert!(std::fs::read(&to).unwrap()[..data.len()] == data);
        let log = std::fs::read(record).unwrap();
        assert!(replayed("builtin:disk", &log, "1") == replayed("builtin:disk", &log, "1"));
    }
}

/// A request's bytes in a log.
fn asked(operation: Operation, offset: u64, length: u64, data: &[u8]) -> Vec<u8> {
    [&Ask::new(operation, offset, length).emit(), data].concat()
}

/// Answers with the data of reads; the log says which those are.
fn all_answers(log: &[u8], mut bytes: &[u8]) -> Vec<(Ask, Answer, Vec<u8>)> {
    let (mut all, mut numbered) = (Vec::new(), HashMap::new());
    let mut waiting = asks_of(log).into_iter();
    // Without a number a request has the next answer; others have it in any order.
    while let Some((answer, rest)) = bytes.split_first_chunk::<ANSWER_BYTES>() {
        let answer = Answer::parse(answer).unwrap();
        let ask = loop {
            match waiting.next() {
                Some(ask) if ask.number > 0 => drop(numbered.insert(ask.number, ask)),
                Some(ask) if ask.operation == Operation::Wait && answer.number > 0 => {
                    break numbered.remove(&answer.number).unwrap();
                }
                Some(ask) => break ask,
                None => break numbered.remove(&answer.number).unwrap(),
            }
        };
        let reads = ask.operation == Operation::Read && !answer.failed;
        let (data, rest) = rest.split_at(if reads { ask.length as usize } else { 0 });
        if ask.operation != Operation::Wait {
            all.push((ask, answer, data.to_vec()));
        }
        bytes = rest;
    }
    assert!(waiting.next().is_none() && numbered.is_empty());
    all
}

/// The requests of a log.
fn asks_of(mut log: &[u8]) -> Vec<Ask> {
    let mut asks = Vec::new();
    while let Some((ask, rest)) = log.split_first_chunk() {
        let ask = Ask::parse(ask).unwrap();
        let writes = ask.operation == Operation::Write;
        log = &rest[if writes { ask.length as usize } else { 0 }..];
        asks.push(ask);
    }
    assert!(log.is_empty());
    asks
}

/// The log with requests that are under way side by side: numbered, and up to `most` at a time.
fn side_by_side(mut log: &[u8], most: u64, seed: u64) -> Vec<u8> {
    let (mut state, mut number, mut open, mut all) = (seed, 0, 0, Vec::new());
    let wait = |state: &mut u64| {
        // Some waits end before a request does.
        let time = if random(state, 3) == 0 { random(state, 30_000_000) } else { u64::MAX };
        (Ask::new(Operation::Wait, 0, time).emit(), time == u64::MAX)
    };
    while let Some((ask, rest)) = log.split_first_chunk() {
        let ask = Ask::parse(ask).unwrap();
        let writes = ask.operation == Operation::Write;
        let (data, rest) = rest.split_at(if writes { ask.length as usize } else { 0 });
        (number, open, log) = (number + 1, open + 1, rest);
        all.extend(Ask { number, ..ask }.emit());
        all.extend(data);
        while open > random(&mut state, most) {
            let (bytes, ends) = wait(&mut state);
            all.extend(bytes);
            open -= u64::from(ends);
        }
    }
    all
}

#[test]
fn requests_side_by_side_give_what_they_give_one_after_the_other() {
    let (log, reads) = random_log(9, 120, 8192);
    let log = side_by_side(&log, 40, 3);
    let hash = |threads: &str, set: &str| {
        let options = ["-t", threads, "--set", set];
        let (mut answers, report) = losses::run(&log, &options);
        assert_eq!(answers.len(), 120);
        assert!(answers.iter().all(|(_, answer, _)| !answer.failed));
        let order: Vec<u32> = answers.iter().map(|(_, answer, _)| answer.number).collect();
        answers.sort_by_key(|(ask, ..)| ask.number);
        let read = answers.iter().filter(|(ask, ..)| ask.operation == Operation::Read);
        assert!(read.map(|(.., data)| data).eq(&reads), "{set}: nothing is old, nothing is new");
        (report["trace_hash"].clone(), order)
    };
    for set in ["disk.kind=memory", "disk.kind=drives", "block.protocol=tails"] {
        let (one, order) = hash("1", set);
        assert_eq!((&one, &order), (&hash("2", set).0, &order), "{set}");
        let sorted = order.is_sorted();
        assert!(
            !sorted || set != "disk.kind=drives",
            "what a drive has done is answered: {order:?}"
        );
    }
}

#[test]
fn drives_take_the_time_of_seeks_and_rotation() {
    let reads = |order: &dyn Fn(u64) -> u64| {
        let ask = |number| asked(Operation::Read, order(number) * 8192, 8192, &[]);
        let log: Vec<u8> = (0..48).flat_map(ask).collect();
        let back = replayed_with(&["-q", "--set", "disk.kind=drives"], "builtin:disk", &log);
        let took = all_answers(&log, &back).into_iter().map(|(_, answer, _)| answer.took);
        took.collect::<Vec<u64>>()
    };
    let (ordered, scattered) = (reads(&|number| number), reads(&|number| number * 309 % 512));
    let sum = |took: &[u64]| took.iter().sum::<u64>();
    assert!(sum(&scattered) > 2 * sum(&ordered), "{ordered:?} {scattered:?}");
    // Two requests, each of a seek to the next tracks and a revolution at most.
    let most = 2 * (3_000_000_000 + 2_000_000_000 + 8_333_333_333) + 1_000_000_000;
    assert!(scattered.iter().all(|took| *took < most), "{scattered:?}");
}

#[test]
fn the_time_of_a_request_is_told_from_client_to_disk_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.json");
    let log: Vec<u8> = (0..4_u64)
        .flat_map(|number| asked(Operation::Read, number * 1_000_448, 4096, &[]))
        .chain(asked(Operation::Write, 8192, 4096, &[7; 4096]))
        .collect();
    for (kind, disk) in [("disk.kind=drives", true), ("disk.kind=memory", false)] {
        let options = ["-q", "--set", kind, "--json", file.to_str().unwrap()];
        let back = replayed_with(&options, "builtin:disk", &log);
        let took: Vec<u64> =
            all_answers(&log, &back).iter().map(|(_, answer, _)| answer.took).collect();
        let text = std::fs::read_to_string(&file).unwrap();
        let report: serde_json::Value = serde_json::from_str(&text).unwrap();
        let calls = report["account"][0]["calls"].as_array().unwrap();
        let reads = calls.iter().find(|call| call["call"] == "disk_read").unwrap();
        assert_eq!(reads["total_ps"].as_u64(), Some(took[..4].iter().sum()), "{reads}");
        let part = |name: &str| reads[name].as_u64().unwrap_or(0);
        let parts = ["library_ps", "kernel_ps", "nic_ps", "network_ps", "late_sender_ps"];
        assert_eq!(parts.map(part).iter().sum::<u64>(), part("total_ps"));
        assert_eq!(part("disk_ps") > 1_000_000_000, disk, "{reads}");
        let breakdowns = report["breakdowns"].as_array().unwrap();
        let gets = breakdowns.iter().find(|sizes| sizes["kind"] == "get").unwrap();
        assert_eq!(
            (gets["protocol"].as_str(), gets["bytes"].as_u64()),
            (Some("reply"), Some(4096))
        );
        let steps = gets["segments"].as_array().unwrap().iter();
        let names: Vec<&str> = steps.filter_map(|step| step["name"].as_str()).collect();
        for step in
            ["block layer", "lanes", "interrupt", "disk", "reply: block layer", "reply: lanes"]
        {
            assert!(names.contains(&step), "{step}: {names:?}");
        }
    }
}

/// Numbers that look random.
fn random(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

/// A random log over so many sectors, with what it makes of a disk of zeroes: data of its reads.
fn random_log(seed: u64, requests: u64, sectors: u64) -> (Vec<u8>, Vec<Vec<u8>>) {
    let mut state = seed;
    let (mut log, mut reads) = (Vec::new(), Vec::new());
    let mut shadow = vec![0; (sectors * 512) as usize];
    for _ in 0..requests {
        let sector = random(&mut state, sectors);
        let count = 1 + random(&mut state, (sectors - sector).min(24));
        let (offset, length) = (sector * 512, count * 512);
        let part = &mut shadow[offset as usize..(offset + length) as usize];
        match random(&mut state, 8) {
            0 => log.extend(asked(Operation::Flush, 0, 0, &[])),
            1 => {
                part.fill(0);
                log.extend(asked(Operation::Zero, offset, length, &[]));
            }
            2..=4 => {
                reads.push(part.to_vec());
                log.extend(asked(Operation::Read, offset, length, &[]));
            }
            _ => {
                part.fill_with(|| random(&mut state, 256) as u8);
                log.extend(asked(Operation::Write, offset, length, part));
            }
        }
    }
    (log, reads)
}

/// The log's requests through a server of NBD; data of its reads.
fn through(client: &mut Client, mut log: &[u8]) -> Vec<Vec<u8>> {
    let mut reads = Vec::new();
    while let Some((ask, rest)) = log.split_first_chunk() {
        let ask = Ask::parse(ask).unwrap();
        let writes = ask.operation == Operation::Write;
        let (data, rest) = rest.split_at(if writes { ask.length as usize } else { 0 });
        let read = client.carry_out(&ask, data);
        if ask.operation == Operation::Read {
            reads.push(read);
        }
        log = rest;
    }
    reads
}

/// A process that ends with its owner.
struct Owned(Child);

impl Drop for Owned {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_recorded_log_gives_the_bytes_that_other_disks_give() {
    let folder = tempfile::tempdir().unwrap();
    let (wanted, reads) = random_log(5, 150, 8192);
    let (socket, record) = (folder.path().join("ours"), folder.path().join("log"));
    let mut sunstar = command();
    sunstar.args(["disk", "--size", "4194304", "--socket"]).arg(&socket);
    let ours = Owned(sunstar.arg("--record").arg(&record).spawn().unwrap());
    let live = through(&mut Client::connect(&socket), &wanted);
    drop(ours);
    assert!(live == reads, "the shadow disk");
    // What was recorded is what was asked, and gives the same again, from drives, too.
    let log = std::fs::read(record).unwrap();
    let recorded = asks_of(&log).into_iter().filter(|ask| ask.operation != Operation::Wait);
    assert!(recorded.map(|ask| Ask { number: 0, ..ask }).eq(asks_of(&wanted)));
    for kind in ["disk.kind=memory", "disk.kind=drives", "block.protocol=tails"] {
        let back = replayed_with(&["-q", "--set", kind], "builtin:disk", &log);
        let again = all_answers(&log, &back).into_iter();
        let again = again.filter(|(ask, ..)| ask.operation == Operation::Read);
        assert!(again.map(|(.., data)| data).eq(reads.iter().cloned()), "{kind}");
    }
    if has("nbdkit") {
        let socket = folder.path().join("theirs");
        let mut nbdkit = Command::new("nbdkit");
        nbdkit.args(["--foreground", "--unix"]).arg(&socket).args(["memory", "4194304"]);
        let theirs = Owned(nbdkit.spawn().unwrap());
        assert!(through(&mut Client::connect(&socket), &wanted) == reads, "nbdkit memory");
        drop(theirs);
    }
}

#[test]
fn fio_verifies_what_it_wrote() {
    if !has("fio") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for rw in ["randwrite", "randrw"] {
        let job = format!(
            "cd {} && fio --name=job --ioengine=nbd --uri=\"$uri\" --rw={rw} --bsrange=512-16k \
             --size=1m --verify=crc32c --verify_fatal=1 --iodepth=8 --output-format=terse",
            folder.path().display()
        );
        let run = served(folder.path(), &[], &job);
        assert_eq!(run.code, 0, "{run:?}");
        assert!(!run.stderr.contains("verify:"), "{run:?}");
    }
}

#[test]
fn a_file_system_on_it_is_clean() {
    if !["nbdfuse", "mkfs.ext4", "debugfs", "e2fsck"].iter().all(|tool| installed(tool)) {
        return println!("left out: a file system, since nbdfuse or e2fsprogs is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let work = tempfile::tempdir().unwrap();
    let script = root().join("tests/disk/filesystem.sh");
    let files = root().join("docs/reference");
    let shell = ["sh", &script.to_string_lossy(), &work.path().to_string_lossy()].join(" ");
    let shell = format!("{shell} {}", files.display());
    let run = served_with("16777216", folder.path(), &[], &shell);
    println!("{}", run.stdout);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains("checked") || run.stdout.contains("left out"), "{run:?}");
}

#[test]
fn initiator_and_target_agree_over_the_administration_network() {
    // A target's disks are too small for what the initiator wants.
    let mut sunstar = command();
    sunstar.args(["run", "-m", "forth", "-n", "2", "--set", "disk.kind=drives"]);
    let small =
        ended(sunstar.args(["--set", "disk.capacity=1 MiB", "builtin:disk-read", "16777216"]));
    small.said(1, &["the association: the target's disks have 8388608 bytes, and 167772160"]);
    let run = |latency: &str| {
        let mut sunstar = command();
        let latency = format!("admin.latency={latency}");
        sunstar.args(["run", "-q", "-m", "forth", "-n", "2", "--set", &latency, "--json", "-"]);
        let run = ended(sunstar.args(["builtin:disk-read", "4096", "1"]));
        let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        report["simulated_ns"].as_f64().unwrap()
    };
    let more = run("150 us") - run("50 us");
    // Two to connect, two to agree, and one or two to part.
    assert!((500_000.0..=601_000.0).contains(&more), "{more} ns for five or six times 100 us");
}

#[test]
fn what_is_read_ahead_saves_time_and_is_never_old() {
    let ask = |number: u64| asked(Operation::Read, number * 4096, 4096, &[]);
    let log: Vec<u8> = (0..32).flat_map(ask).collect();
    let took = |ahead: &str| {
        let back = replayed_with(&["-q", "--set", ahead], "builtin:disk", &log);
        all_answers(&log, &back).iter().map(|(_, answer, _)| answer.took).sum::<u64>()
    };
    assert!(3 * took("block.read_ahead=64 KiB") < 2 * took("block.read_ahead=0 B"));
    let (mut log, mut wanted) = (Vec::new(), Vec::new());
    let mut shadow = vec![0; 4 << 20];
    for number in 0..60_u64 {
        let at = number * 2048;
        if number % 3 == 1 {
            let (at, value) = (at + 512 * (number % 7), number as u8);
            log.extend(asked(Operation::Write, at, 1024, &[value; 1024]));
            shadow[at as usize..][..1024].fill(value);
        }
        log.extend(asked(Operation::Read, at, 2048, &[]));
        wanted.push(shadow[at as usize..][..2048].to_vec());
    }
    let options = ["-q", "--set", "block.read_ahead=16 KiB"];
    let answers = all_answers(&log, &replayed_with(&options, "builtin:disk", &log)).into_iter();
    let read = answers.filter(|(ask, ..)| ask.operation == Operation::Read);
    assert!(read.map(|(.., data)| data).eq(wanted));
}

#[test]
fn a_size_that_is_none_is_refused() {
    let run = ended(command().args(["disk", "--size", "1000", "--socket", "/nowhere/disk"]));
    run.said(2, &["whole sectors of 512 bytes"]);
}

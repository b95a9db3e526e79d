//! The remote disk of the RDMA NIC: clients of NBD, and logs of requests.

use crate::runner::{command, ended, Ended};
use block::{Answer, Ask, Operation, ANSWER_BYTES};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// True if a tool is installed; a sentence otherwise.
fn has(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok();
    if !found {
        println!("left out: {tool} is not installed");
    }
    found
}

fn served(folder: &Path, options: &[&str], shell: &str) -> Ended {
    let socket = folder.join("disk");
    let mut sunstar = command();
    sunstar.args(["disk", "--size", "4194304", "--socket"]).arg(socket).args(options);
    ended(sunstar.args(["--run", shell]))
}

/// Runs a log; all that comes back.
fn replayed(workload: &str, log: &[u8], threads: &str) -> Vec<u8> {
    let mut sunstar = command();
    sunstar.args(["run", "-q", "-m", "forth", "-n", "2", "-t", threads, workload, "4194304"]);
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
fn log() -> (Vec<u8>, Vec<u8>) {
    let (mut log, mut shadow) = (Vec::new(), vec![0; 4 << 20]);
    let mut ask = |operation, offset: usize, data: &[u8], length: usize| {
        let (offset, length) = (offset as u64, length as u64);
        log.extend(Ask { operation, offset, length }.emit());
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

#[test]
fn a_size_that_is_none_is_refused() {
    let run = ended(command().args(["disk", "--size", "1000", "--socket", "/nowhere/disk"]));
    run.said(2, &["whole sectors of 512 bytes"]);
}

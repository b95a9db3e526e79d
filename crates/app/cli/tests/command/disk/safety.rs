//! Contents of the disk when power goes, and holes as a client is told of them.

use super::client::Client;
use super::{all_answers, asked, asks_of, command, has, replayed_with, served, Owned};
use block::{Ask, Operation};

#[test]
fn power_that_goes_while_a_log_runs_loses_nothing_that_was_flushed_or_written_with_fua() {
    power_goes(false);
    power_goes(true);
}

/// Power goes while a log runs, of which each write is flushed, or has FUA.
fn power_goes(fua: bool) {
    let data = |value: u8| vec![value; 40_960];
    let mut log = Vec::new();
    for value in 1..=3_u8 {
        log.extend(Ask { fua, ..Ask::new(Operation::Write, 60_416, 40_960) }.emit());
        log.extend(data(value));
        if !fua {
            log.extend(asked(Operation::Flush, 0, 0, &[]));
        }
    }
    let (writes, each) = if fua { (3, 1) } else { (6, 2) };
    log.extend(asked(Operation::Read, 0, 512, &[]));
    log.extend(asked(Operation::Read, 60_416, 40_960, &[]));
    let run = |cut_us: u64| {
        let cut = format!("disk.power_cut={cut_us} us");
        let options = ["-q", "--set", "disk.kind=drives", "--set", &cut];
        all_answers(&log, &replayed_with(&options, "builtin:disk", &log))
    };
    let took: u64 = run(0).iter().map(|(_, answer, _)| answer.took).sum();
    let end_us = took / 1_000_000 + 1;
    let mut lost = 0;
    for step in 1..=24 {
        let answers = run(end_us * step / 24);
        let (_, answer, read) = answers.last().unwrap();
        if answer.failed {
            continue; // Power went last.
        }
        // The last value that was flushed, or one that came later.
        let flushed = answers.iter().take(writes).skip(each - 1).step_by(each);
        let safe = flushed.take_while(|(_, answer, _)| !answer.failed).count() as u8;
        for sector in read.chunks(512) {
            let old =
                sector[0] < safe && answers.iter().take(writes).any(|(_, answer, _)| answer.failed);
            assert!(sector.iter().all(|byte| *byte == sector[0]), "a torn sector");
            assert!(!old && sector[0] <= 3, "step {step}: {} of {safe}", sector[0]);
        }
        lost += u32::from(answers.iter().any(|(_, answer, _)| answer.failed));
    }
    assert!(lost > 10, "power went while requests ran: {lost}");
}

#[test]
fn what_a_client_writes_with_fua_is_asked_for_with_fua() {
    let folder = tempfile::tempdir().unwrap();
    let (socket, record) = (folder.path().join("disk"), folder.path().join("log"));
    let mut sunstar = command();
    sunstar.args(["disk", "--size", "4194304", "--socket"]).arg(&socket);
    let ours = Owned(sunstar.arg("--record").arg(&record).spawn().unwrap());
    let mut client = Client::connect(&socket);
    for operation in [Operation::Write, Operation::Zero] {
        for fua in [false, true] {
            let ask = Ask { fua, ..Ask::new(operation, 4096, 1024) };
            client.carry_out(&ask, if operation == Operation::Write { &[7; 1024] } else { &[] });
        }
    }
    client.trim(8192, 1024, true);
    drop(ours);
    let asks = asks_of(&std::fs::read(record).unwrap()).into_iter();
    let asks = asks.filter(|ask| ask.operation != Operation::Wait);
    let told: Vec<(Operation, bool)> = asks.map(|ask| (ask.operation, ask.fua)).collect();
    let (write, zero) = (Operation::Write, Operation::Zero);
    let both = [(write, false), (write, true), (zero, false), (zero, true), (zero, true)];
    assert_eq!(told, both);
}

#[test]
fn copies_skip_holes() {
    if !has("nbdcopy") || !has("nbdinfo") || !has("qemu-io") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (to, record) = (folder.path().join("to"), folder.path().join("log"));
    let writes = "qemu-io -f raw -c 'write -P 7 1m 192k' -c 'discard 1088k 64k' \"$uri\"";
    let shell = format!("{writes} && nbdinfo --map \"$uri\" && nbdcopy \"$uri\" {}", to.display());
    let run = served(folder.path(), &["--record", record.to_str().unwrap()], &shell);
    assert_eq!(run.code, 0, "{run:?}");
    let map: Vec<Vec<&str>> = run
        .stdout
        .lines()
        .map(|line| line.split_whitespace().collect())
        .filter(|words: &Vec<&str>| words.len() == 4 && words[2].len() == 1)
        .collect();
    let parts: Vec<[&str; 3]> = map.iter().map(|words| [words[0], words[1], words[2]]).collect();
    let wanted = [
        ["0", "1048576", "3"],
        ["1048576", "65536", "0"],
        ["1114112", "65536", "3"],
        ["1179648", "65536", "0"],
        ["1245184", "2949120", "3"],
    ];
    assert_eq!(parts, wanted, "{run:?}");
    let asks = asks_of(&std::fs::read(record).unwrap()).into_iter();
    let read = asks.filter(|ask| ask.operation == Operation::Read).map(|ask| ask.length);
    assert!(read.sum::<u64>() < 400_000, "what is a hole is not read");
    let mut shadow = vec![0; 4 << 20];
    shadow[1 << 20..][..196_608].fill(7);
    shadow[1_114_112..][..65_536].fill(0);
    assert!(std::fs::read(to).unwrap() == shadow);
}

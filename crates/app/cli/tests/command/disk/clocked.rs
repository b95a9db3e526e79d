//! `sunstar disk --clocked`: a client whose clocks tell simulated time.

use super::{command, ended, has, served, served_with, Ended};
use crate::runner::compiled_by_gcc;
use std::path::Path;

fn clocked(folder: &Path, client: &str) -> Ended {
    served(folder, &["--clocked"], client)
}

#[test]
fn each_clock_and_each_wait_of_a_client_has_simulated_time() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled_by_gcc(folder.path(), &["tests/disk/clocks.c", "-pthread"]);
    let run = clocked(folder.path(), program.to_str().unwrap());
    assert_eq!(run.code, 0, "{run:?}");
    let mut lines = run.stdout.lines();
    for line in [
        "nanosleep 0: 5000 ns, 12000 cycles",
        "clock_nanosleep 0: 12000 ns, 28800 cycles",
        "poll 0: 3000000 ns, 7200000 cycles",
        "select 0: 20000 ns, 48000 cycles",
        "timerfd 1: 5000 ns, 12000 cycles",
        "timed out 110: 90000 ns, 216000 cycles",
        "woken 0: 250000 ns, 600000 cycles",
        "joined 0: 0 ns, 0 cycles",
        "2006",
    ] {
        assert_eq!(lines.next(), Some(line), "{run:?}");
    }
    assert!(lines.next().is_some_and(|line| line.starts_with("loop 0: 100")), "{run:?}");
    assert_eq!(clocked(folder.path(), program.to_str().unwrap()).stdout, run.stdout);
    let long = clocked(folder.path(), "sleep 1000000");
    assert!(long.stderr.contains("clocks have gone 1000000000000.0 us"), "{long:?}");
}

#[test]
fn a_client_that_cannot_be_clocked_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled_by_gcc(folder.path(), &["tests/disk/clocks.c", "-pthread"]);
    let alarm = format!("{} alarm", program.display());
    for (client, said) in [
        (&*alarm, "the client calls alarm, for which there is no simulated time"),
        ("sh -c 'sleep 1; sleep 1'", "it must be one program"),
        ("timeout 5 sleep 1", "it must be one program"),
    ] {
        clocked(folder.path(), client).said(2, &["--clocked: ", said]);
    }
    let run = ended(command().args(["disk", "--clocked", "--socket", "/nowhere/disk"]));
    assert_ne!(run.code, 0);
    assert!(run.stderr.contains("--run"), "{run:?}");
}

#[test]
fn qemu_io_tells_the_times_of_the_simulated_disk() {
    if !has("qemu-io") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let client = "qemu-io -f raw -c 'write -P 7 0 64k' -c 'read -P 7 0 64k' \"$uri\"";
    let run = clocked(folder.path(), client);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains("read 65536/65536"), "{run:?}");
    assert_eq!(clocked(folder.path(), client).stdout, run.stdout);
}

#[test]
fn nbdcopy_copies_in_simulated_time() {
    if !has("nbdcopy") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let from = folder.path().join("from");
    let data: Vec<u8> = (0..1_048_576_u32).map(|at| (at / 5 % 251) as u8).collect();
    std::fs::write(&from, data).unwrap();
    let run = clocked(folder.path(), &format!("nbdcopy {} \"$uri\"", from.display()));
    assert_eq!(run.code, 0, "{run:?}");
    let again = clocked(folder.path(), &format!("nbdcopy {} \"$uri\"", from.display()));
    assert_eq!(again.stderr, run.stderr, "all times");
}

#[test]
fn eight_drives_work_side_by_side() {
    if !has("fio") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let machine = folder.path().join("drives.toml");
    let text = "name = \"drives\"\ndoc = \"forth with drives\"\nbase = \"forth\"\n[disk.kind]\n\
                value = \"drives\"\ndoc = \"drives\"\nsource = \"mine\"\n";
    std::fs::write(&machine, text).unwrap();
    let rate = |depth: u32| {
        let output = folder.path().join("report");
        let client = format!(
            "fio --name=job --ioengine=nbd --uri=\"$uri\" --rw=randread --bs=4k --size=60m \
             --number_ios=400 --iodepth={depth} --thread --clocksource=clock_gettime \
             --output-format=json --output={}",
            output.display()
        );
        let options = ["--clocked", "-m", machine.to_str().unwrap()];
        let run = served_with("67108864", folder.path(), &options, &client);
        assert_eq!(run.code, 0, "{run:?}");
        let report = std::fs::read_to_string(output).unwrap();
        let report = &report[report.find('{').unwrap()..];
        let report: serde_json::Value = serde_json::from_str(report).unwrap();
        report["jobs"][0]["read"]["iops"].as_f64().unwrap()
    };
    let (one, sixteen) = (rate(1), rate(16));
    assert!(sixteen > 4.0 * one, "{sixteen} and {one} a second");
    // Neighbouring pages are one request to a drive: a track has 67.6 MB/s, and eight have more.
    let mut sunstar = command();
    sunstar.args(["run", "-q", "-m"]).arg(&machine).args(["-n", "2", "builtin:disk-read"]);
    let said = ended(sunstar.args(["1048576", "16"])).stdout;
    let rate = said.split(" ns, ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    assert!(rate.parse::<f64>().unwrap() > 200.0, "{said}");
}

/// A report of fio about random reads of 4 KB.
fn fio(folder: &Path, more: &str) -> serde_json::Value {
    let client = format!(
        "fio --name=job --ioengine=nbd --uri=\"$uri\" --rw=randread --bs=4k --size=512k \
         {more} --thread --clocksource=clock_gettime --output-format=json"
    );
    let run = clocked(folder, &client);
    assert_eq!(run.code, 0, "{run:?}");
    let from = run.stdout.find('{').unwrap();
    serde_json::from_str(&run.stdout[from..]).unwrap()
}

#[test]
fn fio_tells_the_latency_of_the_simulated_disk_twice_the_same() {
    if !has("fio") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let report = fio(folder.path(), "--iodepth=1");
    assert_eq!(fio(folder.path(), "--iodepth=1"), report);
    let reads = &report["jobs"][0]["read"];
    let mean = reads["lat_ns"]["mean"].as_f64().unwrap();
    let mut sunstar = command();
    sunstar.args(["run", "-q", "-m", "forth", "-n", "2", "builtin:disk-read", "4096", "128"]);
    let own = ended(&mut sunstar).stdout;
    let own = own.split("a request ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    let own: f64 = own.parse().unwrap();
    assert!((mean / own - 1.0).abs() < 0.02, "fio: {mean} ns, our own workload: {own} ns");
    // With sixteen under way there are 2.5 times as many in a time.
    let report = fio(folder.path(), "--iodepth=16");
    assert_eq!(fio(folder.path(), "--iodepth=16"), report);
    let of_16 = report["jobs"][0]["read"]["lat_ns"]["mean"].as_f64().unwrap();
    assert!((2.5..5.0).contains(&(16.0 * mean / of_16)), "{of_16} and {mean} ns");
    // With a rate it sleeps in between.
    let report = fio(folder.path(), "--rate_iops=2000");
    let rate = report["jobs"][0]["read"]["iops"].as_f64().unwrap();
    assert!((1_900.0..2_100.0).contains(&rate), "{rate} a second");
}

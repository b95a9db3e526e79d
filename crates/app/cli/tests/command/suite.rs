//! `sunstar bench suite`: every study runs on both machines, and says what it must.

use crate::runner::{command, ended, Ended};
use serde_json::Value;

fn suite(arguments: &str) -> Ended {
    ended(command().args(["bench", "suite"]).args(arguments.split_whitespace()))
}

/// Values of a column of a series, and its interrupts.
fn column(study: &Value, title: &str, name: &str) -> (Vec<f64>, u64) {
    let all = study["series"].as_array().unwrap();
    let series = all.iter().find(|series| series["title"] == title);
    let series = series.unwrap_or_else(|| panic!("no {title} in {study}"));
    let columns = series["columns"].as_array().unwrap();
    let at = columns.iter().position(|column| column == name).unwrap();
    let rows = series["rows"].as_array().unwrap().iter();
    (rows.map(|row| row[at].as_f64().unwrap()).collect(), series["interrupts"].as_u64().unwrap())
}

#[test]
fn all_studies_are_measured_on_both_machines() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("suite.html");
    let arguments = format!("-n 4 --largest 1024 --flood 200 --json --page {}", page.display());
    let ended = suite(&arguments);
    ended.wrote(&page);
    let told: Value = serde_json::from_str(&ended.stdout).unwrap();
    let studies = told["studies"].as_array().unwrap();
    let study = |name: &str| studies.iter().find(|study| study["name"] == name).unwrap();
    assert_eq!(studies.len(), 14);
    // Matching on the network interface needs no interrupt, and a message of 16 bytes, which is beyond the
    // header, is faster for it.
    let (generic, interrupts) = column(study("pingpong"), "redstorm", "latency_us");
    let (accelerated, none) = column(study("pingpong"), "redstorm-accelerated", "latency_us");
    assert!(accelerated[5] < generic[5] && interrupts > 0 && none == 0, "{told}");
    // Processes of a node are near, whichever kernel or firmware lies between.
    let (apart, _) = column(study("pairs"), "redstorm, SN", "mean_us");
    let (near, _) = column(study("pairs"), "redstorm, VN", "least_us");
    assert!(near[0] < apart[0] / 2.0, "{near:?} {apart:?}");
    // A barrier by the firmware is faster than by the hosts.
    let (hosts, _) = column(study("barrier"), "redstorm-accelerated", "barrier_us");
    let (firmware, _) = column(study("barrier"), "redstorm-accelerated, by firmware", "barrier_us");
    assert!(firmware.iter().zip(&hosts).all(|(nic, host)| nic < host), "{firmware:?} {hosts:?}");
    // All messages of the flood have been sent at its end, and some are not received.
    let (sent, _) = column(study("flood"), "redstorm", "sent");
    let (behind, _) = column(study("flood"), "redstorm", "behind");
    assert!(sent.last() == Some(&200.0) && behind.last() > Some(&0.0), "{sent:?} {behind:?}");
    assert_eq!(
        study("flood")["part"],
        "200 of the slides' 10000000 messages; all: --flood 10000000"
    );
    let page = std::fs::read_to_string(page).unwrap();
    for study in studies {
        let anchor = format!("id=\"{}\"", study["name"].as_str().unwrap());
        assert!(page.contains(&anchor), "{anchor}");
    }
    assert!(page.contains("--ranks 4 --largest 1024 --flood 200"));
}

#[test]
fn a_program_takes_the_place_of_a_study() {
    let told = suite("--only rate --original rate=examples/hello.c -n 2 --machine redstorm");
    assert_eq!((told.code, &*told.stderr), (0, ""));
    assert!(told.stdout.contains("hello from rank 1 of 2"), "{told:?}");
    for (arguments, sentence) in [
        ("--only rates", "there is no study \"rates\"; did you mean rate?"),
        ("--only bandwidths-of-all", "there are pingpong, sendrecv"),
        ("--original rate", "--original rate: wanted is STUDY=PROGRAM, e.g. streaming=./osu_bw"),
        ("--original rate=./nothing", "--original rate=./nothing: there is no such program"),
        ("-n 3", "allowed is an even number from 2 to 1024"),
    ] {
        let refused = suite(arguments);
        assert!(refused.code == 2 && refused.stderr.contains(sentence), "{arguments}: {refused:?}");
    }
}

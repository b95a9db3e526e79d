//! Faults of machines in files.

use crate::machines;
use des::{Duration, Time};
use machine::faults::{parse, set, Faults, Network, KINDS};
use machine::parameters::Parameters;
use models::MODELS;
use std::fmt;

const LAUNCH: Time = Time(1000);

fn parsed(texts: &[String]) -> Result<Faults, String> {
    parse(texts, 7, &Row, LAUNCH)
}

/// Eight nodes, each joined to the next.
struct Row;

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("row")
    }
}

impl Network for Row {
    fn nodes(&self) -> u32 {
        8
    }
    fn joins(&self, a: u32, b: u32) -> bool {
        a.abs_diff(b) == 1
    }
}

#[test]
fn the_image_has_what_was_asked_for_however_it_was_written() {
    let machine = Parameters::load(&MODELS, &machines().join("redstorm.toml")).unwrap();
    for text in ["pool.sources=3", " pool.sources = 3 "] {
        let mut machine = machine.clone();
        set(&mut machine, &[text.into()]).unwrap();
        assert_eq!(machine.number::<u32>("firmware.sources"), 3, "{text}");
        parsed(&[text.into()]).unwrap();
    }
    let mut given = machine.clone();
    given.set("firmware.sources=4").unwrap();
    set(&mut given, &["pool.sources=4".into(), "pool.sources=4".into()]).unwrap();
    let why = set(&mut given, &["pool.sources=3".into()]).unwrap_err();
    assert_eq!(why, "--fault pool.sources=3: --set firmware.sources=4 says otherwise");
    let twice = ["pool.sources=3", "pool.sources=4"].map(String::from);
    let why = set(&mut machine.clone(), &twice).unwrap_err();
    assert_eq!(why, "--fault pool.sources=4: --fault pool.sources=3 says otherwise");
    for text in ["pool.sources=0", "pool.sources=3@2", "pool.sources= x"] {
        let why = set(&mut machine.clone(), &[text.into()]).unwrap_err();
        assert!(why.starts_with(&format!("--fault {text}: a number from 1")), "{why}");
    }
}

/// Any text behind `--fault` is accepted or refused in one sentence.
#[test]
fn fuzz_faults() {
    let words =
        ["=", "@", "..", "#1", "#18446744073709551615", ":", "1e-9", "NaN", "inf", "-1", "0-1"];
    let times =
        ["18446744073709551615ps", "0ns", "1 us", "999999ms", "@0", "@7", "@8", "high", "low"];
    let names = KINDS.iter().map(|kind| kind.name);
    let mut target =
        fuzz::Target::new("--fault").words(words.into_iter().chain(times).chain(names));
    for kind in KINDS {
        target = target.seed(kind.example);
    }
    let machine = Parameters::load(&MODELS, &machines().join("redstorm.toml")).unwrap();
    target.few(1024).run(|bytes| {
        let text = String::from_utf8_lossy(bytes);
        let texts: Vec<String> = text.lines().map(String::from).collect();
        let said = set(&mut machine.clone(), &texts);
        let faults = parsed(&texts);
        for why in [said.err(), faults.as_ref().err().cloned()].into_iter().flatten() {
            assert!(why.starts_with("--fault "), "{why}");
        }
        let Ok(faults) = faults else { return };
        for nid in 0..8 {
            let pace = faults.pace(nid);
            assert!(pace.end(LAUNCH, Duration::from_us(1)) > LAUNCH);
            faults.interrupt_line(nid);
            faults.stuck_since(nid);
            faults.pools(Some(nid));
            faults.streams(nid);
        }
        let _ = (faults.loses(), faults.stalls(), faults.pools(None));
    });
}

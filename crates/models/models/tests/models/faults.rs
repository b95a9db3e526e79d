//! Faults of machines in files.

use crate::machines;
use des::{Duration, Time};
use machine::faults::{parse, set, FaultKind, Faults, Network, WrongFault, OF_ALL};
use machine::parameters::Parameters;
use models::MODELS;
use std::fmt;

const LAUNCH: Time = Time(1000);

fn parsed(texts: &[String]) -> Result<Faults, WrongFault> {
    parse(texts, 7, &Row, LAUNCH, MODELS.model("seastar").unwrap().fault_kinds())
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
    let why = set(&mut given, &["pool.sources=3".into()]).unwrap_err().to_string();
    assert_eq!(why, "--fault pool.sources=3: --set firmware.sources=4 says otherwise");
    let twice = ["pool.sources=3", "pool.sources=4"].map(String::from);
    let why = set(&mut machine.clone(), &twice).unwrap_err().to_string();
    assert_eq!(why, "--fault pool.sources=4: --fault pool.sources=3 says otherwise");
    for text in ["pool.sources=0", "pool.sources=3@2", "pool.sources= x"] {
        let why = set(&mut machine.clone(), &[text.into()]).unwrap_err().to_string();
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
    let kinds = || MODELS.model("seastar").unwrap().fault_kinds().all();
    let names = kinds().map(|kind| kind.name);
    let mut target =
        fuzz::Target::new("--fault").words(words.into_iter().chain(times).chain(names));
    for kind in kinds() {
        target = target.seed(kind.example);
    }
    let machine = Parameters::load(&MODELS, &machines().join("redstorm.toml")).unwrap();
    target.few(1024).run(|bytes| {
        let text = String::from_utf8_lossy(bytes);
        let texts: Vec<String> = text.lines().map(String::from).collect();
        let said = set(&mut machine.clone(), &texts);
        let faults = parsed(&texts);
        for why in [said.err(), faults.as_ref().err().cloned()].into_iter().flatten() {
            assert!(why.to_string().starts_with("--fault "), "{why}");
        }
        let Ok(faults) = faults else { return };
        for nid in 0..8 {
            let pace = faults.pace(nid);
            assert!(pace.end(LAUNCH, Duration::from_us(1)) > LAUNCH);
            faults.interrupt_line(nid);
            faults.stuck_since(nid);
            for kind in kinds() {
                let _ = (faults.number(kind, Some(nid)), faults.since(kind, nid));
            }
        }
        let _ = (faults.loses(), faults.stalls());
    });
}

/// Kinds of all machines, then those of each model.
fn owned() -> impl Iterator<Item = (String, &'static [&'static FaultKind])> {
    let of_models = MODELS.iter().filter(|model| !model.faults.is_empty());
    let of_models = of_models.map(|model| (format!("Model `{}`", model.name), model.faults));
    std::iter::once(("All machines".to_string(), OF_ALL)).chain(of_models)
}

/// A machine has one fault of a name, its example is right, and is about itself.
#[test]
fn kinds_are_told_apart_and_their_examples_are_right() {
    for model in MODELS.iter() {
        let all = || model.fault_kinds().all();
        for kind in all() {
            assert_eq!(all().filter(|other| other.name == kind.name).count(), 1, "{}", kind.name);
            assert!(kind.example.starts_with(&format!("{}=", kind.name)), "{}", kind.name);
            let said = parse(&[kind.example.into()], 7, &Row, LAUNCH, model.fault_kinds());
            said.unwrap_or_else(|why| panic!("{why}"));
        }
    }
}

/// Compares the page with the tables; with WRITE_REFERENCE set, it writes the page.
#[test]
fn the_page_says_what_the_tables_say() {
    let file = machines().join("../docs/reference/faults.md");
    let text = std::fs::read_to_string(&file).unwrap();
    let marks = ["<!-- kinds -->\n", "<!-- end of kinds -->"];
    let [start, end] = marks.map(|mark| text.find(mark).expect("the page has both marks"));
    let mut page = format!("{}\n", &text[..start + marks[0].len()]);
    for (owner, kinds) in owned() {
        page += &format!("### {owner}\n\n");
        page.extend(kinds.iter().map(|kind| kind.reference()));
    }
    page += &text[end..];
    if std::env::var_os("WRITE_REFERENCE").is_some() {
        return std::fs::write(&file, page).unwrap();
    }
    let hint = "WRITE_REFERENCE=1 cargo test -p models the_page_says mends it";
    assert!(page == text, "docs/reference/faults.md is not as the tables: {hint}");
}

/// A machine refuses the faults that it does not have, each by its name.
#[test]
fn a_machine_refuses_faults_of_others() {
    for model in MODELS.iter() {
        let others = owned().flat_map(|(_, kinds)| kinds);
        for kind in others.filter(|kind| model.fault_kinds().kind(kind.name).is_err()) {
            let refused =
                parse(&[format!("{}=1", kind.name)], 7, &Row, LAUNCH, model.fault_kinds());
            let (refused, name) = (refused.unwrap_err().to_string(), kind.name);
            // Then those that it has, or those that may be meant.
            let words = format!("machines of model {} have no {name}; ", model.name);
            let (_, theirs) = refused.split_once(&words).unwrap_or_else(|| panic!("{refused}"));
            // What it gives instead is not what it refuses.
            let theirs = ["theirs are ", "did you mean "]
                .iter()
                .find_map(|begin| theirs.strip_prefix(begin))
                .unwrap_or_else(|| panic!("{refused}"));
            let theirs = theirs.split(" (").next().unwrap().trim_end_matches('?');
            let mut listed = theirs.split(", ").flat_map(|name| name.split(" or "));
            let fits = |said: &str| {
                said == name || said.strip_suffix('*').is_some_and(|room| name.starts_with(room))
            };
            assert!(!listed.any(fits), "{refused}");
        }
    }
}

//! Other values of parameters, and faults, by their kinds.

use machine::faults::{FaultKind, Form, Scope};
use machine::models::Model;
use machine::parameters::quantity::ValueKind;
use machine::parameters::{Parameter, Row};
use models::MODELS;

/// Values that a parameter may have in place of its own, those first that change most.
pub fn others(row: &Row, parameter: &Parameter) -> Vec<String> {
    let own = &*parameter.text;
    let values: Vec<String> = match row.kind {
        ValueKind::Switch => ["on", "off"].map(String::from).to_vec(),
        ValueKind::Choice(words) => words.iter().map(|word| (*word).to_string()).collect(),
        kind => {
            let number = parameter.value.number().expect("words are no numbers");
            let numbers = match (number, kind) {
                (0, ValueKind::Duration) => vec![100_000, 1_000_000_000],
                (0, _) => vec![4, 64, 65_536, 1],
                (n, _) => vec![n * 2, n + n / 2, n / 2, n + 1, n - 1],
            };
            let unit = kind.smallest_unit();
            numbers.iter().map(|number| format!("{number}{unit}")).collect()
        }
    };
    let other = |text: &String| {
        row.parse(text).is_ok_and(|value| value != parameter.value) && text.as_str() != own
    };
    values.into_iter().filter(other).collect()
}

/// First words of the names of faults, in the order of the tables' rows.
const PARTS: [&str; 13] = [
    "link",
    "cable",
    "switch",
    "lane",
    "interrupt",
    "host",
    "pool",
    "bug",
    "quiz",
    "engine",
    "segment",
    "acknowledgement",
    "doorbell",
];

/// Models of docs/adding-a-nic.md: their faults are drawn for their own machines only, so that one more
/// changes no table of another machine.
const EXAMPLES: [&str; 2] = ["example", "queuepair"];

/// Kinds that the tables do not draw: one that does nothing to processes that the kernel serves, and that
/// random programs on the network interface have (`accelerated::random`).
const NOT_DRAWN: [&str; 1] = ["pool.match_entries"];

/// One kind of faults of each name, in the order of the tables' rows; that of the model if it has one.
pub fn all_faults(model: &Model) -> Vec<&'static FaultKind> {
    let others = MODELS.iter().filter(|other| !EXAMPLES.contains(&other.name));
    let others = others.flat_map(|model| model.fault_kinds().all());
    let mut all: Vec<&FaultKind> = Vec::new();
    for kind in model.fault_kinds().all().chain(others) {
        let drawn = !NOT_DRAWN.contains(&kind.name);
        if drawn && !all.iter().any(|had| had.name == kind.name) {
            all.push(kind);
        }
    }
    let part = |kind: &FaultKind| {
        let word = kind.name.split('.').next().expect("a name");
        PARTS.iter().position(|part| *part == word).expect("a part of machines")
    };
    all.sort_by_key(|kind| (part(kind), own_order(kind)));
    all
}

/// Place of a kind in the table of the model that has most of its part.
fn own_order(kind: &FaultKind) -> usize {
    let place = |model: &Model| model.fault_kinds().all().position(|had| had.name == kind.name);
    MODELS.iter().find_map(place).expect("a model's")
}

/// Values of a kind of faults: one that strikes often, and one that strikes at a place, or from a time on.
pub fn faults(kind: &FaultKind) -> Vec<String> {
    let often = if kind.name.ends_with("biterror") { "1e-4" } else { "0.05" };
    let values: Vec<String> = match kind.value {
        Form::Share => vec![often.into(), "#7".into()],
        Form::ShareTime => vec!["0.2:3us".into(), "#5:20us".into()],
        Form::ShareMaybeTime => vec!["0.2:50us".into(), "#3".into()],
        Form::Link => vec!["0-1".into()],
        Form::Node => vec!["1".into()],
        Form::Seed => vec!["7".into(), "12".into()],
        Form::Level => vec!["low".into(), "high".into()],
        Form::Factor => vec!["2.5".into(), "1.3".into()],
        Form::Pause => vec!["5us:40us".into(), "30us".into()],
        Form::Number { least, most } => {
            let few = [2, 8, 256, 1024].map(|few: u32| few.clamp(least, most));
            few.map(|few| few.to_string()).to_vec()
        }
    };
    let places = |at: usize| match kind.scope {
        Scope::Since => &["@20us"][..],
        Scope::Links | Scope::Nodes if at == 1 => &["@0", "@1@10us"],
        Scope::Boot if at == 1 => &["@1"],
        _ => &[""],
    };
    let mut all = Vec::new();
    for (at, value) in values.iter().enumerate() {
        all.extend(places(at).iter().map(|place| format!("{}={value}{place}", kind.name)));
    }
    all
}

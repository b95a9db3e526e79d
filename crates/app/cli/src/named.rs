//! Law of names: whatever has a name on a command line, and is mistyped by one letter, is told.

use crate::args::mistake::mistyped;
use crate::faults::FaultsOptions;
use crate::nic::{self, NicOptions};
use crate::{bench, faults, machines};
use machine::faults::ModelFaults;
use models::MODELS;
use std::path::Path;
use sunstar::root::Root;
use sunstar::usage_error::UsageError;

/// Names of a kind of which not each slip is tried.
const MANY: usize = 50;

/// Mistypes each of the names. `refuse` gives what is said of a name; nothing if it is another that there is.
fn check(kind: &str, names: &[String], refuse: impl Fn(&str) -> Option<String>) {
    assert!(names.len() > 2, "{kind}: {names:?}");
    for name in names {
        // There are many parameters: a few slips of each.
        let step = if names.len() > MANY { 9 } else { 1 };
        for wrong in mistyped(name).iter().step_by(step).filter(|wrong| !names.contains(wrong)) {
            let Some(said) = refuse(wrong) else { continue };
            let meant = said.split_once("did you mean ").map_or("", |(_, behind)| behind);
            let meant = meant.split('?').next().unwrap_or_default();
            let mut told = meant.split(", ").flat_map(|some| some.split(" or "));
            assert!(told.any(|one| one == name), "{kind} {name}, as {wrong}: {said}");
        }
    }
}

fn said<T>(result: Result<T, UsageError>) -> Option<String> {
    result.err().map(|why| why.to_string())
}

fn root() -> Root {
    Root::at(Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).expect("the repository"))
}

fn owned<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    names.into_iter().map(str::to_owned).collect()
}

#[test]
fn machines_are_told() {
    let root = root();
    let names = machines::names(&root).unwrap();
    check("machine", &names, |wrong| {
        // One with a dot is a file.
        said(machines::file(&root, wrong)).filter(|_| !wrong.contains('.'))
    });
}

#[test]
fn parameters_are_told() {
    let root = root();
    let machine = machines::load(&root, "redstorm").unwrap();
    let names: Vec<String> = machine.iter().map(|one| one.key.to_owned()).collect();
    check("parameter", &names, |wrong| {
        // A slip may lead to a parameter of another model.
        let other = MODELS.row(wrong).is_some();
        (!other).then(|| said(machine.clone().set(&format!("{wrong}=1"))))?
    });
}

#[test]
fn faults_are_told() {
    for model in MODELS.iter() {
        let own = ModelFaults { model: model.name, kinds: model.faults };
        let names = owned(own.all().map(|kind| kind.name));
        check("fault", &names, |wrong| own.kind(wrong).err().map(|why| why.to_string()));
    }
    let options = |name: Option<&str>, answer: Option<&str>| FaultsOptions {
        name: name.map(str::to_owned),
        machine: None,
        quiz: answer.map(|_| 1),
        answer: answer.map(str::to_owned),
        seen: answer.map(|_| "link 1 long.bond_errors 3".to_owned()),
    };
    let bugs = owned(faults::bugs().map(|bug| bug.name));
    check("bug", &bugs, |wrong| {
        let wrong = wrong.starts_with("bug.").then_some(wrong)?;
        said(faults::faults(&options(None, Some(wrong))))
    });
    let kinds = owned(MODELS.iter().flat_map(|model| model.faults).map(|kind| kind.name));
    check("kind of faults", &kinds, |wrong| {
        // What is a part of a name lists those that have it.
        let part = kinds.iter().any(|kind| kind.contains(wrong));
        if part {
            None
        } else {
            said(faults::faults(&options(Some(wrong), None)))
        }
    });
}

#[test]
fn workloads_stages_studies_and_axes_are_told() {
    let workloads = owned(machine::Program::builtin_names(&MODELS));
    check("workload", &workloads, |wrong| {
        machine::Program::builtin(&MODELS, wrong, &[], 2).err().map(|why| why.to_string())
    });
    let stages = owned(nic::diagnosis::STAGES.iter().map(|stage| stage.name).chain(["all"]));
    check("stage", &stages, |wrong| {
        let stage = wrong.to_owned();
        said(nic::nic(&NicOptions { stage, aids: false, faults: Vec::new(), seed: 1 }))
    });
    let studies = owned(bench::STUDIES.iter().map(|study| study.name));
    check("study", &studies, |wrong| said(bench::study(wrong)));
    let axes = owned(crate::sweep::NAMES).into_iter().filter(|name| name != "arg.");
    check("axis", &axes.collect::<Vec<_>>(), |wrong| said(crate::sweep::axis_of(wrong)));
}

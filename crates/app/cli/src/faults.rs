//! `sunstar faults`.

use crate::machines;
use crate::nic;
use crate::terminal::{self, Terminal};
use machine::faults::{hidden, FaultKind, Form, OF_ALL};
use machine::models::Model;
use machine::suggestion;
use models::MODELS;
use std::fmt::Write;
use sunstar::root::Root;
use sunstar::usage_error::UsageError;

/// Options of `sunstar faults`.
#[derive(clap::Args, Clone, Debug)]
pub struct FaultsOptions {
    /// Kinds whose name contains this
    #[arg(value_name = "KIND")]
    pub name: Option<String>,
    /// Only what this machine can have
    #[arg(short, long, value_name = "NAME|FILE")]
    pub machine: Option<String>,
    /// Inject a hidden bug of the RDMA NIC, and tell how to find it
    #[arg(long, value_name = "SEED", conflicts_with_all = ["name", "machine"])]
    pub quiz: Option<u64>,
    /// Check this answer to the quiz, e.g. bug.skew
    #[arg(long, value_name = "BUG", requires_all = ["quiz", "seen"])]
    pub answer: Option<String>,
    /// The line of the aids that led to it, e.g. 'link 1 long.bond_errors 3'
    #[arg(long, value_name = "LINE", requires = "answer")]
    pub seen: Option<String>,
}

/// Lists faults, or asks for one.
pub fn faults(options: &FaultsOptions) -> Result<u8, UsageError> {
    match (options.quiz, &options.answer) {
        (Some(seed), Some(answer)) => {
            check(seed, answer, options.seen.as_deref().unwrap_or_default())
        }
        (Some(seed), None) => ask(seed),
        (None, _) => list(options),
    }
}

fn ask(seed: u64) -> Result<u8, UsageError> {
    let stages: Vec<&str> = nic::diagnosis::STAGES.iter().map(|stage| stage.name).collect();
    let text = format!(
        "One of the RDMA NICs of machine forth, or its driver, has a bug. Look for it stage by \
         stage, by what the debugging aids say; without --fault they say what is right:\n\n    \
         sunstar nic STAGE --aids --fault quiz={seed}\n    sunstar nic STAGE --aids\n\nSTAGE is \
         {}, in this order. Bugs are listed by `sunstar faults bug`, and what the aids are by \
         docs/debugging.md. Then answer, with a line that only the bug makes them say:\n\n    \
         sunstar faults --quiz {seed} --answer bug.NAME --seen 'LINE'\n\nHow each bug is found \
         is told in docs/detective-stories.md: read it afterwards.\n",
        stages.join(", ")
    );
    terminal::write(&text)?;
    Ok(0)
}

fn check(seed: u64, answer: &str, seen: &str) -> Result<u8, UsageError> {
    let name = if answer.starts_with("bug.") { answer.into() } else { format!("bug.{answer}") };
    let kinds = with_bugs().map_or(&[][..], |model| model.faults);
    if !hidden::bugs(kinds).any(|bug| bug.name == name) {
        let names = hidden::bugs(kinds).map(|bug| bug.name);
        let advice =
            suggestion::question_or(&name, names, || "`sunstar faults bug` lists all".to_owned());
        let why = format!("there is no bug {answer}; {advice}");
        return Err(UsageError::sentence(why));
    }
    shows_a_bug(seed, seen)?;
    let hidden = hidden::find(kinds, seed).filter(|(bug, _)| bug.name == name);
    let right = hidden.is_some();
    let text = match hidden {
        Some((bug, node)) => format!("Right: it is {} on node {node}.\n", bug.name),
        None => format!("No, it is not {name}. Look again.\n"),
    };
    terminal::write(&text)?;
    Ok(u8::from(!right))
}

/// Refuses a line that the aids do not say with the bug, or say without it, too: an answer wants a reason.
fn shows_a_bug(seed: u64, seen: &str) -> Result<(), UsageError> {
    let line = seen.split_whitespace().collect::<Vec<_>>().join(" ");
    let label = line.split(' ').next().unwrap_or_default();
    let mut runs = nic::diagnosis::STAGES.iter().flat_map(|stage| stage.runs);
    let Some(run) = runs.find(|run| run.label == label) else {
        let why = format!("'{seen}' is no line of the aids; they begin as `config 1 bar_bytes`");
        return Err(UsageError::sentence(why));
    };
    let said =
        |faults: &[String]| nic::aids(run, faults).map(|text| text.lines().any(|one| one == line));
    if !said(&[format!("quiz={seed}")])? {
        let why = format!("the aids do not say '{line}' with --fault quiz={seed}");
        return Err(UsageError::sentence(why));
    }
    if said(&[])? {
        let why = format!("the aids say '{line}' without the bug, too: look for what differs");
        return Err(UsageError::sentence(why));
    }
    Ok(())
}

/// The model one of whose bugs a seed can hide.
fn with_bugs() -> Option<&'static Model> {
    MODELS.iter().find(|model| model.faults.iter().any(|kind| kind.value == Form::Seed))
}

/// The bugs that `--quiz` hides.
pub fn bugs() -> impl Iterator<Item = &'static FaultKind> {
    hidden::bugs(with_bugs().map_or(&[][..], |model| model.faults))
}

/// Lists the kinds of faults whose name contains `name`, with their expected effects.
fn list(options: &FaultsOptions) -> Result<u8, UsageError> {
    let (terminal, name) = (Terminal::of_stdout(), options.name.as_deref());
    let model = match &options.machine {
        None => None,
        Some(machine) => {
            let root = Root::find()?;
            Some(machines::read(&root, &machines::file(&root, machine)?)?.model())
        }
    };
    let named = |kind: &&FaultKind| name.is_none_or(|name| kind.name.contains(name));
    let own = |one: &&'static Model| model.is_none_or(|model| model.name == one.name);
    let of_models = MODELS.iter().filter(own).map(|model| (Some(model), model.faults));
    let mut out = String::new();
    for (model, kinds) in std::iter::once((None, OF_ALL)).chain(of_models) {
        let kinds: Vec<&FaultKind> = kinds.iter().copied().filter(named).collect();
        if kinds.is_empty() {
            continue;
        }
        // Writing into a string cannot fail.
        let _ = match model {
            Some(model) => writeln!(out, "Machines of model {}:\n", model.name),
            None => writeln!(out, "All machines:\n"),
        };
        kinds.iter().for_each(|kind| describe(&mut out, &terminal, kind));
    }
    if out.is_empty() {
        let name = name.unwrap_or_default();
        let of_models = MODELS.iter().filter(own).flat_map(|model| model.faults);
        let all = OF_ALL.iter().chain(of_models).map(|kind| kind.name);
        let advice = suggestion::question_or(name, all, || "`sunstar faults` lists all".to_owned());
        return Err(UsageError::sentence(format!("there is no fault like {name}; {advice}")));
    }
    if name.is_none() {
        out.push('\n');
        let how = "SHARE is a chance from 0 to 1 for each packet, bit or interrupt, by `--seed`, \
                   or #NUMBER for one of them, from 1 on each link or node. NODE is a node's id; \
                   behind link.* it stands for the links that leave it, and NODE-NODE for the \
                   link between two neighbours, both ways. Times have a unit and count from the \
                   launch of the program: @TIME is from then on, @TIME..TIME from one to the \
                   other. Without a node it happens everywhere, without a time always.";
        terminal::paragraph(&mut out, how, terminal.width);
    }
    terminal::write(&out)?;
    Ok(0)
}

fn describe(out: &mut String, terminal: &Terminal, kind: &FaultKind) {
    // Writing into a string cannot fail.
    let _ = writeln!(out, "{}", terminal.bold(kind.form()));
    terminal::paragraph(out, kind.what, terminal.width);
    if let Form::Number { least, most } = kind.value {
        terminal::paragraph(out, &format!("NUMBER is {least} to {most}."), terminal.width);
    }
    terminal::paragraph(out, &format!("Expected: {}", kind.expected), terminal.width);
    let _ = writeln!(out, "    {}", terminal.dim(format!("--fault {}", kind.example)));
}

//! `sunstar run`.

use crate::args::{Console, Gdb, Monitored, Part, RunOptions};
use crate::interrupt::{self, Reins};
use crate::outputs::{self, Named};
use crate::progress::{Line, Place};
use crate::streams::Output;
use crate::summary::{Extent, Facts, Refusals};
use crate::terminal::Terminal;
use crate::{firmware, keyboard, machines, summary, terminal};
use machine::bench::launch;
use machine::console;
use machine::firmware::profile::{Function, Profile, Summary};
use machine::firmware::symbols::Symbols;
use machine::models::Processor;
use machine::parameters::Parameters;
use machine::programs::Program;
use machine::report::Report;
pub use machine::Observers;
use machine::{Inspector, Options, Outcome, Progress, Shortcuts};
use models::myrinet::monitor::Monitor;
use models::seastar::debugger::Listener;
use rank::{Labels, Notes, Surroundings};
use serde_json::{json, Map, Value};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::Arc;
use sunstar::root::Root;
use sunstar::usage_error::UsageError;
use sunstar::{program, scratch};

mod hardware;
mod mpis;
mod told;

/// Version of the JSON: raised when a key that its readers need is new or has another meaning.
pub const FORMAT: u64 = 2;

/// Exit status of a run that went well, but whose results could not be written.
const EXIT_UNWRITTEN: u8 = 1;

/// A finished run.
pub struct Run {
    /// Outcome of the run.
    pub outcome: Outcome,
    /// The machine that it ran on.
    pub parameters: Parameters,
    /// Folder of the firmware's images; empty where there are none.
    pub firmware: PathBuf,
    /// Work of the programs' processes outside of the simulation.
    pub notes: Arc<Notes>,
    /// The MPI of its programs, in words; empty if they have none.
    mpi: String,
    /// Digest of each program's file, if JSON is asked for.
    digests: Vec<String>,
}

/// Runs the program, prints the summary after the program's own output, and gives the exit status.
pub fn run(root: &Root, options: &RunOptions) -> Result<u8, UsageError> {
    let json = Output::of("--json", options.json.as_deref())?;
    let run = execute(root, options, Observers::default())?;
    let facts = Facts {
        threads: options.threads,
        date: options.all.date,
        worked: run.notes.worked(),
        mpi: run.mpi.clone(),
        extent: match (options.brief, options.full) {
            (true, _) => Extent::Brief,
            (_, true) => Extent::Full,
            _ => Extent::Screenful,
        },
    };
    let summary = || summary::summary(&run.outcome.report, &facts, &Terminal::of_stdout());
    let printed = if options.quiet { Ok(()) } else { terminal::write(&summary()) };
    Ok(finish(options, &run, &json, printed))
}

/// Compiles the program if it is source, builds the machine, and runs the program with `observers`.
pub fn execute(root: &Root, options: &RunOptions, observers: Observers) -> Result<Run, UsageError> {
    rank::permitted(!files(options)?.is_empty())?;
    // A run may take long: what is wrong with the command is found out before it.
    let mut parameters = machines::chosen(root, &options.machine())?;
    machine::faults::set(&mut parameters, &options.faults)?;
    let rtl = hardware::choose(options, &mut parameters)?;
    check_files(options, &parameters, None)?;
    let Observers { profile, follow, mut watchers, .. } = observers;
    if let Some(file) = &options.trace {
        watchers.push(told::trace(options, &parameters, file)?);
    }
    let reins = Reins::default();
    interrupt::watch_signals(reins.clone())?;
    let folder = scratch::folder("")?;
    let notes = Arc::<Notes>::default();
    let (surroundings, labels) = surroundings(options, &notes)?;
    let named: Vec<program::Named> = options.parts().into_iter().map(Part::named).collect();
    let in_guests = match parameters.model().guests {
        true => program::for_guests(root, &named, parameters.model(), folder.path())?,
        false => None,
    };
    let program = match in_guests {
        Some(files) => {
            let input = match &options.input {
                None if options.monitor.is_none() => keyboard::of_run()?,
                given => given.clone(),
            };
            program::guests(root, &named, files, surroundings, input)?
        }
        None => program::programs(root, &named, surroundings, folder.path())?,
    };
    let guests = matches!(program, Program::Guests(_));
    let tables = told::tables(options, &parameters, guests)?;
    let processes = !program.executables().is_empty();
    let files = program.executables().iter().filter(|_| options.json.is_some());
    let digests = files.map(|file| digest_of(&file.path)).collect::<Result<_, _>>()?;
    let foreign = mpis::foreign(&program);
    let common = sunstar::options(root, &parameters, program, options.ranks)?;
    let firmware = common.places.firmware.clone();
    let elf = parameters.model().firmware.map_or_else(PathBuf::new, |of| firmware.join(of.elf));
    let listener = |gdb| listen(root, options.ranks, gdb, &parameters, &elf);
    let debugger = options.gdb.map(listener).transpose()?;
    let monitor = |monitored| open_monitor(&parameters, options.ranks, monitored);
    let monitor = options.monitor.as_ref().map(monitor).transpose()?;
    let inspector = debugger.or(monitor);
    reins.begun.store(true, Ordering::Relaxed);
    let (progress, launch) = (Arc::<Progress>::default(), launch(&parameters, guests));
    let place = Place::beside((processes || guests) && options.all.output.is_none());
    let line = Line::of(progress.clone(), launch, options.until, options.quiet, place);
    let outcome = machine::run(&Options {
        threads: usize::from(options.threads),
        seed: options.seed,
        compute: options.compute,
        faults: options.faults.clone(),
        shortcuts: Shortcuts {
            park: !options.no_park,
            translate: !options.no_translate,
            merge: !options.no_merge,
            cold_boot: options.cold_boot,
        },
        observers: Observers {
            profile: profile || options.functions,
            pcap: options.pcap.clone(),
            watchers,
            console: image_of_console(root, options, &parameters)?,
            inspector,
            judge: options.judge,
            check_types: options.check_types,
            meter: false,
            follow,
            tables,
            progress,
        },
        rtl,
        until: options.until,
        stop: reins.stop,
        writing: reins.writing,
        ..common
    })?;
    drop(line);
    if let Some(labels) = labels {
        labels.finish();
    }
    let report = &outcome.report;
    told::warn_of_types(&report.mismatches, options.check_types);
    if processes && !notes.used() && report.exit.code == 0 && report.exit.sentences.is_empty() {
        let programs = options.programs();
        console::say(&format!(
            "no process of {programs} has used MPI; is it built by `sunstar cc`?"
        ));
    }
    let mpi = mpis::all(&notes, foreign);
    Ok(Run { outcome, parameters, firmware, notes, mpi, digests })
}

/// Surroundings of each program's processes, and the printer that puts ranks before their lines.
fn surroundings(
    options: &RunOptions,
    notes: &Arc<Notes>,
) -> Result<(Vec<Surroundings>, Option<Arc<Labels>>), UsageError> {
    let print = |error, lines: &[u8]| {
        let text = String::from_utf8_lossy(lines);
        match error {
            true => console::pass_on(&text),
            false => console::print(&text).unwrap_or_else(|why| console::say(&why.to_string())),
        }
    };
    let labels = options.all.label.then(|| Labels::new(Box::new(print))).transpose();
    let labels =
        labels.map_err(|why| UsageError::sentence(format!("cannot label lines: {why}")))?;
    let output = match (&labels, &options.all.output) {
        (Some(labels), _) => rank::Output::Labelled(labels.clone()),
        (None, Some(file)) => rank::Output::Files(file.clone()),
        (None, None) => rank::Output::Shared,
    };
    let others = options.parts().into_iter().filter(|part| !part.processes.server);
    let crowd = Arc::new(rank::Crowd::new(others.map(|part| part.ranks).sum()));
    let network = Arc::new(rank::Network::default());
    let around = |(part, env): (Part, Vec<(OsString, OsString)>)| {
        let folder = part.processes.wdir;
        if let Some(folder) = folder.as_ref().filter(|folder| !folder.is_dir()) {
            return Err(UsageError::sentence(format!(
                "--wdir {}: there is no such folder",
                folder.display()
            )));
        }
        let (date, seed, notes) = (options.all.date.0, options.seed, notes.clone());
        let (server, crowd, output) = (part.processes.server, crowd.clone(), output.clone());
        let (network, errors) = (network.clone(), part.processes.initial_errhandler.into());
        // The program tells both.
        let (mpi, launcher) = Default::default();
        Ok(Surroundings {
            env,
            folder,
            date,
            seed,
            output,
            server,
            mpi,
            errors,
            crowd,
            network,
            launcher,
            notes,
        })
    };
    let parts = options.parts().into_iter().zip(options.environments()?);
    Ok((parts.map(around).collect::<Result<_, _>>()?, labels))
}

/// Opens the port for gdb, and prints it.
fn listen(
    root: &Root,
    ranks: u32,
    gdb: Gdb,
    parameters: &Parameters,
    elf: &Path,
) -> Result<Inspector, UsageError> {
    let listener = Listener::open(parameters, ranks, gdb.node, gdb.port);
    let listener = listener?;
    let sources = parameters.model().firmware.map(|firmware| firmware.sources);
    console::say(&invitation(&listener, sources.map(|folder| root.sources(folder)), elf));
    Ok(Inspector::new(listener))
}

/// Opens the monitor, which reads its commands when the run has begun.
fn open_monitor(
    parameters: &Parameters,
    ranks: u32,
    monitored: &Monitored,
) -> Result<Inspector, UsageError> {
    let monitor = Monitor::open(parameters, ranks, monitored.node, monitored.file.as_deref());
    Ok(Inspector::new(monitor?))
}

/// Sentence that says how to connect gdb.
fn invitation(listener: &Listener, sources: Option<PathBuf>, elf: &Path) -> String {
    // The firmware's debug information names its files from there.
    let sources = sources.filter(|folder| folder.is_dir());
    let directory = sources.map(|folder| format!("-d {} ", folder.display())).unwrap_or_default();
    format!(
        "the processor of node {} waits for: gdb-multiarch {directory}{} -ex 'target remote :{}'",
        listener.node(),
        elf.display(),
        listener.port()
    )
}

/// Writes the JSON that was asked for, after something else was printed, and ends as [`end`].
pub fn finish(
    options: &RunOptions,
    run: &Run,
    json: &Output,
    printed: Result<(), UsageError>,
) -> u8 {
    let written = json.write(|| Ok(format!("{:#}\n", json_of(options, run)?)));
    end(&run.outcome.report, [printed, written])
}

/// JSON of a run, for `--json`.
fn json_of(options: &RunOptions, run: &Run) -> Result<Value, UsageError> {
    let mut all = stamp(options);
    all.insert("format".into(), json!(FORMAT));
    if let Some(digest) = run.digests.first() {
        all.insert("program_digest".into(), json!(digest));
    }
    let parts = all.get_mut("parts").and_then(Value::as_array_mut).into_iter().flatten();
    for (part, digest) in parts.zip(&run.digests) {
        part["program_digest"] = json!(digest);
    }
    let report = &run.outcome.report;
    all.insert("own_work_seconds".into(), json!(run.notes.worked().as_secs_f64()));
    if let Some(refusals) = Refusals::of(report) {
        all.insert("refusals".into(), json!(refusals));
    }
    let report = serde_json::to_value(report).expect("a report has only strings as keys");
    if let Value::Object(report) = report {
        all.extend(report);
    }
    if options.functions {
        all["firmware"]["functions"] = functions(run)?;
    }
    Ok(Value::Object(all))
}

/// Cost of each function of the firmware on all nodes, the most expensive first.
fn functions(run: &Run) -> Result<Value, UsageError> {
    let symbols = Symbols::load(&run.firmware.join("seastar.elf"))?;
    let profiles: Vec<&Profile> = run.outcome.profiles.iter().collect();
    let functions = Summary::of(&profiles, &symbols).functions;
    let row = |function: &Function| {
        let (cycles, instructions) = (function.own.total(), function.own.instructions);
        json!({ "function": function.name, "cycles": cycles, "instructions": instructions })
    };
    Ok(functions.iter().map(row).collect())
}

/// Cycles of the firmware in these functions, on all nodes; None if none of them ran, or nothing was
/// recorded.
pub fn cycles_of(run: &Run, names: &[&str]) -> Result<Option<u64>, UsageError> {
    if run.outcome.profiles.is_empty() {
        return Ok(None);
    }
    let all = functions(run)?;
    let rows = all.as_array().into_iter().flatten();
    let own = rows.filter(|row| row["function"].as_str().is_some_and(|name| names.contains(&name)));
    let cycles: Vec<u64> = own.filter_map(|row| row["cycles"].as_u64()).collect();
    Ok((!cycles.is_empty()).then(|| cycles.iter().sum()))
}

/// Digest of a file's contents.
pub fn digest_of(file: &Path) -> Result<String, UsageError> {
    let bytes = std::fs::read(file).map_err(|why| UsageError::with_file("read", file, why))?;
    Ok(machine::digest(&bytes))
}

/// Prints the errors of a run, and then those of writing its results; returns the exit status.
pub fn end(report: &Report, written: impl IntoIterator<Item = Result<(), UsageError>>) -> u8 {
    for sentence in &report.exit.sentences {
        console::say(sentence);
    }
    if !report.exit.sentences.is_empty() {
        // Ranks were killed: what they have started has nobody any more.
        rank::end_orphans();
    }
    let code = interrupt::exit_status().unwrap_or(report.exit.code);
    written.into_iter().fold(u8::try_from(code).unwrap_or(EXIT_UNWRITTEN), unless_written)
}

/// `status`, but not success if something could not be written.
pub fn unless_written(status: u8, written: Result<(), UsageError>) -> u8 {
    match written {
        Ok(()) => status,
        Err(why) => {
            console::say(&why.to_string());
            status.max(EXIT_UNWRITTEN)
        }
    }
}

/// Checks before the run that there is a node `--node`.
pub fn check_node(root: &Root, options: &RunOptions, node: u32) -> Result<(), UsageError> {
    let parameters = machines::chosen(root, &options.machine())?;
    machine::check_node(&parameters, options.ranks, "--node", node)
}

/// Files of the programs that have one.
fn files(options: &RunOptions) -> Result<Vec<PathBuf>, UsageError> {
    let parts = options.parts();
    parts.iter().filter_map(|part| program::file(Path::new(&part.command[0])).transpose()).collect()
}

/// Files that a run writes, with the option that asks for each.
fn outputs(options: &RunOptions) -> impl Iterator<Item = Named<'_>> {
    let files = [
        ("--json", &options.json),
        ("--pcap", &options.pcap),
        ("--trace", &options.trace),
        ("--messages", &options.messages),
        ("--calls", &options.calls),
    ];
    let wave = options.rtl_wave.as_ref().map(|wave| ("--rtl-wave", &*wave.file));
    files.into_iter().filter_map(|(name, file)| Some((name, file.as_deref()?))).chain(wave)
}

/// Checks now that the files of a run, and `another`, can be written later.
pub fn check_files(
    options: &RunOptions,
    parameters: &Parameters,
    another: Option<Named>,
) -> Result<(), UsageError> {
    let wave = options.rtl_wave.as_ref().map(|wave| wave.file.clone());
    let files_only =
        [("--pcap", &options.pcap), ("--trace", &options.trace), ("--rtl-wave", &wave)];
    for (name, file) in files_only {
        if file.as_ref().is_some_and(|file| file.as_os_str() == "-") {
            return Err(UsageError::sentence(format!("{name} writes a file, not standard output")));
        }
    }
    check_model(options, parameters)?;
    let programs = files(options)?;
    let programs = programs.iter().map(|file| ("the program", &**file));
    let written: Vec<Named> = outputs(options).chain(another).collect();
    let read: Vec<Named> = outputs::files_of(parameters).chain(programs).collect();
    outputs::check(&written, &read)
}

/// Refuses options that this machine's model does not have.
fn check_model(options: &RunOptions, parameters: &Parameters) -> Result<(), UsageError> {
    if options.functions {
        firmware::required_with_ring(parameters, "--functions")?;
    }
    if options.gdb.is_some() {
        firmware::required_on(parameters, "--gdb", Processor::PowerPc)?;
    }
    if options.monitor.is_some() {
        firmware::required_on(parameters, "--monitor", Processor::Lanai)?;
    }
    let model = parameters.model();
    if options.pcap.is_some() && model.link_type.is_none() {
        return Err(UsageError::sentence(format!(
            "--pcap writes packets, and machine {} has none: its interfaces are of model {}",
            parameters.name(),
            model.name
        )));
    }
    Ok(())
}

/// Image of the program behind the switch's console, if its output is asked for.
fn image_of_console(
    root: &Root,
    options: &RunOptions,
    parameters: &Parameters,
) -> Result<Option<PathBuf>, UsageError> {
    let Some(Console::Switch) = options.console else { return Ok(None) };
    let model = parameters.model();
    let image = model.console.map(|image| firmware::console(root, image)).transpose()?;
    image.map(Some).ok_or_else(|| {
        UsageError::sentence(format!(
            "--console switch: machine {} has no switch with a console (model {}); forth-switch \
             has one",
            parameters.name(),
            model.name
        ))
    })
}

/// Head of the JSON: all that is needed to repeat the run (docs/reference/run-json.md).
pub fn stamp(options: &RunOptions) -> Map<String, Value> {
    let arguments = options.arguments().iter().map(|a| a.to_string_lossy()).collect::<Vec<_>>();
    let stamp = json!({
        "sunstar": env!("CARGO_PKG_VERSION"),
        "program": options.program().to_string_lossy(),
        "arguments": arguments,
        "environment": texts(&[&*options.all.genv, &*options.processes.env].concat()),
        "date": options.all.date.to_string(),
        "threads": options.threads,
    });
    let Value::Object(mut stamp) = stamp else { unreachable!("it is an object") };
    let folder = |folder: &Path| json!(folder.to_string_lossy());
    stamp.extend(options.processes.wdir.as_deref().map(|own| ("folder".into(), folder(own))));
    if !options.others.is_empty() {
        let part = |part: Part| {
            let words = texts(&part.command);
            let environment = texts(&[&*options.all.genv, &*part.processes.env].concat());
            let mut keys = json!({
                "ranks": part.ranks,
                "program": words[0],
                "arguments": words[1..],
                "environment": environment,
            });
            if let Some(own) = part.processes.wdir.as_deref() {
                keys["folder"] = folder(own);
            }
            keys
        };
        stamp.insert("parts".into(), options.parts().into_iter().map(part).collect());
    }
    stamp.extend(options.until.map(|until| ("until_ns".into(), json!(until.as_ns()))));
    stamp
}

fn texts(words: &[OsString]) -> Vec<String> {
    words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Writes a file, or to standard output if it is named `-`.
pub fn write(file: &Path, text: &str) -> Result<(), UsageError> {
    if file.as_os_str() == "-" {
        return terminal::write(text);
    }
    std::fs::write(file, text).map_err(|why| UsageError::with_file("write", file, why))
}

//! Inputs of a sweep's runs, kept unchanged while it runs: machine files, firmware, libraries and programs
//! are copied or compiled once, so that changes meanwhile do not get into half of the runs.

use super::plan::Point;
use crate::args::{MachineOptions, SweepOptions};
use crate::firmware::variant_if_any;
use crate::outputs::{self, Named};
use crate::{firmware, machines, run};
use machine::parameters::Parameters;
use models::MODELS;
use rank::Surroundings;
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use sunstar::program;
use sunstar::root::Root;
use sunstar::scratch::{self, Scratch};
use sunstar::usage_error::UsageError;

/// A program that is ready to run.
struct Program {
    /// The file that the user named.
    named: PathBuf,
    /// Argument of `sunstar run` that names it.
    word: String,
    /// Digest of its file, or its name if it is built in.
    digest: String,
    /// Its file, if that is the user's own, and the time of its last change.
    own: Option<(PathBuf, Option<SystemTime>)>,
}

/// All files that the points need.
pub struct Prepared {
    /// Holds copies and compiled programs.
    folder: Scratch,
    /// Machines by the name that the user gave: their files, and the contents.
    machines: BTreeMap<String, (PathBuf, Parameters)>,
    /// Digests of the images, by variant, or the error.
    firmware: BTreeMap<String, Result<String, UsageError>>,
    programs: BTreeMap<String, Program>,
    /// Digests of the simulator and its libraries.
    sunstar: Value,
}

impl Prepared {
    /// Prepares the parts that all points share.
    pub fn new(root: &Root) -> Result<Prepared, UsageError> {
        let folder = scratch::folder("sweep-")?;
        let copy = folder.path().join("root");
        let header = root.include().join("mpi.h");
        copy_file(&header, &copy.join("include/mpi.h"))?;
        make_folder(&copy.join("machines"))?;
        let mut sunstar = BTreeMap::new();
        for file in files_in(&root.library())? {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            copy_file(&file, &copy.join("build/lib").join(&name))?;
            sunstar.insert(name, run::digest_of(&file)?);
        }
        sunstar.insert("sunstar".into(), run::digest_of(Path::new("/proc/self/exe"))?);
        Ok(Prepared {
            folder,
            machines: BTreeMap::new(),
            firmware: BTreeMap::new(),
            programs: BTreeMap::new(),
            sunstar: json!(sunstar),
        })
    }

    /// The user's files that the points use.
    pub fn inputs(&self) -> Vec<Named<'_>> {
        let machines = self.machines.values().flat_map(|(_, read)| outputs::files_of(read));
        let programs =
            self.programs.values().map(|program| ("the program", program.named.as_path()));
        machines.chain(programs).collect()
    }

    /// Folder with the copy of the installation.
    pub fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }
    /// The folder of everything temporary.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Prepares the files that a point needs and no other did; returns its machine. The error concerns more
    /// than this point.
    pub fn add(&mut self, root: &Root, point: &Point) -> Result<Parameters, UsageError> {
        let name = &point.machine.machine;
        if !self.machines.contains_key(name) {
            let number = self.machines.len().to_string();
            let file = machines::file(root, name)?;
            let read = machines::read(root, &file)?;
            let copied = copy_machine(&read, &self.root().join(number))?;
            self.machines.insert(name.clone(), (copied, read));
        }
        let mut parameters = self.machines[name].1.clone();
        for assignment in &point.machine.overrides {
            parameters.set(assignment)?;
        }
        machine::faults::set(&mut parameters, &point.faults)?;
        let variant = variant_if_any(&parameters);
        if let Some(variant) = variant.filter(|variant| !self.firmware.contains_key(variant)) {
            let digests = match firmware::folder_if_any(root, &parameters) {
                Ok(built) => Ok(self.images(&built, &variant, firmware::images(&parameters))?),
                // An installation has only those that were built before: the point cannot be.
                Err(why) if !firmware::can_build(root) => Err(why),
                Err(why) => return Err(why),
            };
            self.firmware.insert(variant, digests);
        }
        let word = &point.command[0];
        if !word.starts_with(rank::BUILTIN_PREFIX) && !self.programs.contains_key(word) {
            let program = self.program(root, word)?;
            self.programs.insert(word.clone(), program);
        }
        Ok(parameters)
    }

    /// The digests of the images of a machine that was added, if it has firmware.
    fn images_of(&self, parameters: &Parameters) -> Option<&Result<String, UsageError>> {
        Some(&self.firmware[&variant_if_any(parameters)?])
    }

    /// Copies the images of a variant, and returns their digests.
    fn images(&self, built: &Path, variant: &str, names: &[&str]) -> Result<String, UsageError> {
        let copy = self.root().join("build/firmware").join(variant);
        for name in names {
            copy_file(&built.join(name), &copy.join(name))?;
        }
        // What is executed; the rest tells about it.
        let executed = names.iter().filter(|name| !name.ends_with(".elf"));
        let digests: Result<Vec<String>, UsageError> =
            executed.map(|name| run::digest_of(&copy.join(name))).collect();
        Ok(digests?.join("-"))
    }

    fn program(&self, root: &Root, word: &str) -> Result<Program, UsageError> {
        let folder = self.folder.path().join(format!("program-{}", self.programs.len()));
        make_folder(&folder)?;
        let named = program::Named { ranks: 1, command: vec![word.into()], mpi: None };
        let program = program::program(root, &named, Surroundings::default(), &folder)?;
        let [machine::Executable { path, .. }] = program.executables() else {
            unreachable!("a name without the prefix is a file's");
        };
        let changed = path.metadata().and_then(|found| found.modified()).ok();
        let own = (!path.starts_with(&folder)).then(|| (path.clone(), changed));
        let named = program::file(Path::new(word))?.unwrap_or_default();
        let word = path
            .to_str()
            .ok_or_else(|| UsageError::sentence(format!("the path of {word} is not text")))?
            .to_string();
        Ok(Program { named, word, digest: run::digest_of(path)?, own })
    }

    /// Machine of a point that was added, for its run.
    pub fn machine(&self, point: &Point) -> MachineOptions {
        let (file, _) = &self.machines[&point.machine.machine];
        let overrides = point.machine.overrides.clone();
        MachineOptions { machine: file.to_string_lossy().into_owned(), overrides }
    }

    /// Program and arguments of a point that was added, for its run.
    pub fn command(&self, point: &Point) -> Vec<String> {
        let mut command = point.command.clone();
        if let Some(program) = self.programs.get(&command[0]) {
            command[0] = program.word.clone();
        }
        command
    }

    /// Checks whether a point can be run, without running it.
    pub fn check(&self, point: &Point, parameters: &Parameters) -> Result<(), UsageError> {
        if let Some(Err(why)) = self.images_of(parameters) {
            return Err(why.clone());
        }
        let (name, arguments) = (&point.command[0], &point.command[1..]);
        if let Some(name) = name.strip_prefix(rank::BUILTIN_PREFIX) {
            let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
            machine::Program::builtin(&MODELS, name, &arguments, point.ranks)?;
        }
        machine::check(parameters, point.ranks, &point.faults, point.seed)
    }

    /// All that a point's result depends on.
    pub fn identity(
        &self,
        point: &Point,
        parameters: &Parameters,
        options: &SweepOptions,
    ) -> Value {
        let values: Vec<String> =
            parameters.iter().map(|p| format!("{}={:?}", p.key, p.value)).collect();
        let program = self.programs.get(&point.command[0]);
        json!({
            "sunstar": self.sunstar,
            "machine": parameters.name(),
            "parameters": machine::digest(values.join("\n").as_bytes()),
            "firmware": self.images_of(parameters).and_then(|images| images.as_ref().ok()),
            "program": program.map_or(&point.command[0], |program| &program.digest),
            "arguments": point.command[1..],
            "ranks": point.ranks,
            "seed": point.seed,
            "compute": point.compute,
            "faults": point.faults,
            "judge": options.judge,
            "until_ps": options.until.map(|until| until.0),
        })
    }

    /// Program of the user that was changed since it was read, if any.
    pub fn changed(&self, point: &Point) -> Option<&Path> {
        let (path, then) = self.programs.get(&point.command[0])?.own.as_ref()?;
        let now = path.metadata().and_then(|found| found.modified()).ok();
        (now != *then).then_some(path)
    }
}

/// Copies a machine file, and those that it builds on.
fn copy_machine(machine: &Parameters, folder: &Path) -> Result<PathBuf, UsageError> {
    let copy = |file: &Path| {
        let copy = folder.join(file.file_name().unwrap_or_default());
        copy_file(file, &copy).map(|()| copy)
    };
    // Beside it the copy finds what it builds on.
    machine.bases().try_for_each(|file| copy(file).map(drop))?;
    copy(machine.file())
}

fn files_in(folder: &Path) -> Result<Vec<PathBuf>, UsageError> {
    let failed = |why| UsageError::with_file("read", folder, why);
    let entries: Result<Vec<_>, _> = std::fs::read_dir(folder).map_err(failed)?.collect();
    let paths = entries.map_err(failed)?.into_iter().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = paths.filter(|path| path.is_file()).collect();
    files.sort();
    Ok(files)
}

fn copy_file(from: &Path, to: &Path) -> Result<(), UsageError> {
    make_folder(to.parent().unwrap_or(to))?;
    std::fs::copy(from, to).map(drop).map_err(|why| UsageError::with_file("copy", from, why))
}

fn make_folder(folder: &Path) -> Result<(), UsageError> {
    std::fs::create_dir_all(folder).map_err(|why| UsageError::with_file("make", folder, why))
}

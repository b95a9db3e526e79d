//! Matching units as RTL, in the place of their model: alone, beside the model in every cycle, or judged by
//! the specification.

use super::settings::{self, Settings};
use super::wave::{join, Part};
use abi::MessageId;
use alpu::{Alpu, Config, Inputs, Judge, Outputs, QueueKind};
use des::Clock;
use machine::console;
use machine::{Options, Wave};
use offload_nic::{Chip, Wrong};
use rtl::{DesignPaths, Pins, Unbuilt, Unit, UnitDesign};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Cycles that a waveform shows before the one that it is about, and behind it.
const BEFORE: u64 = 1000;
const AFTER: u64 = 1000;

/// Reference with which a unit is compared.
#[derive(Clone, Copy, Debug)]
enum Held {
    Nothing,
    Model,
    Specification,
}

/// The units of a run.
pub(super) struct Hardware {
    designs: [UnitDesign; 2],
    held: Held,
    clock: Clock,
    place: DesignPaths,
    /// Folder of sources from elsewhere.
    folder: Option<PathBuf>,
    wave: Option<Wave>,
    records: Arc<Mutex<Vec<Record>>>,
}

impl Hardware {
    /// Compiles what the parameters want, if anything.
    pub fn of(options: &Options, settings: &Settings) -> Result<Option<Hardware>, RtlError> {
        let (folder, wave) = (options.rtl.folder.clone(), options.rtl.wave.clone());
        let held = match settings::Unit::of(&options.parameters).rtl {
            "off" => return Ok(None),
            "on" => Held::Nothing,
            "check" if folder.is_some() => Held::Specification,
            _ => Held::Model,
        };
        let Some(units) = &settings.card.units else {
            return Err(RtlError::NoUnits);
        };
        let place = DesignPaths {
            root: options.places.root.clone(),
            built: options.places.built.clone(),
            told: console::say_on_terminal,
        };
        let build = |config| UnitDesign::build(&place, folder.as_deref(), config, false);
        let designs =
            build(&units.posted).and_then(|posted| Ok([posted, build(&units.unexpected)?]));
        let designs = designs.map_err(|why| match folder.clone() {
            Some(folder) => RtlError::Folder { folder, why },
            None => RtlError::Own(why),
        })?;
        let (clock, records) = (units.clock, Arc::default());
        Ok(Some(Hardware { designs, held, clock, place, folder, wave, records }))
    }

    /// Chips of a node.
    pub fn chips(&self, nid: u32) -> [Box<dyn Chip>; 2] {
        self.designs.map(|design| {
            let config = *design.config();
            let beside = match self.held {
                Held::Nothing => Beside::Nothing,
                Held::Model => Beside::Model(Box::new(Alpu::new(config))),
                Held::Specification => Beside::Judge(Box::new(Judge::new(&config))),
            };
            let record = self.wave.as_ref().map(|wave| Record {
                nid,
                config,
                message: wave.message,
                log: Vec::new(),
                about: None,
                end: 0,
            });
            Box::new(Socketed {
                unit: Unit::new(design),
                beside,
                cycle: 0,
                wrong: None,
                record,
                records: self.records.clone(),
            }) as Box<dyn Chip>
        })
    }

    /// Writes the waveform that was requested: of both units of the node that it is about, around one cycle.
    pub fn write_wave(&self) -> Result<(), WaveError> {
        let Some(wave) = &self.wave else { return Ok(()) };
        let records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        let about = |record: &&Record| record.about.is_some();
        let first = records.iter().filter(about).min_by_key(|record| (record.about, record.nid));
        let Some(&Record { nid, about: Some(cycle), config, .. }) = first else {
            let Some(message) = wave.message else {
                console::say("--rtl-wave: nothing is wrong, and no waveform is written");
                return Ok(());
            };
            return Err(WaveError::NoCopy(message));
        };
        let mut parts =
            [QueueKind::Posted, QueueKind::Unexpected].map(|kind| (kind, String::new()));
        let (mut from, mut to) = (u64::MAX, 0);
        for (kind, text) in &mut parts {
            let of = |record: &&Record| record.nid == nid && record.config.kind == *kind;
            let record = records.iter().find(of).expect("a node has both units");
            let design =
                UnitDesign::build(&self.place, self.folder.as_deref(), &record.config, true);
            let design = design?;
            let (first, last, drawn) = record
                .draw(design, self.clock, cycle, &wave.file)
                .ok_or_else(|| unwritten(&wave.file))?;
            (from, to, *text) = (from.min(first), to.max(last), drawn);
        }
        let of = |at: usize| Part { scope: name(parts[at].0), text: &parts[at].1 };
        let joined = join([of(0), of(1)]).ok_or_else(|| unwritten(&wave.file))?;
        std::fs::write(&wave.file, joined).map_err(|_| unwritten(&wave.file))?;
        let (file, unit) = (wave.file.display(), in_words(config.kind));
        console::say(&format!(
            "{file} has cycles {from} to {to} of both units of node {nid}; it is about cycle \
             {cycle} of the unit for {unit}"
        ));
        Ok(())
    }
}

fn unwritten(file: &Path) -> WaveError {
    WaveError::Unwritten(file.to_path_buf())
}

/// Units that are no RTL.
#[derive(Debug, thiserror::Error)]
pub(super) enum RtlError {
    #[error(
        "alpu.rtl (--rtl): nic.alpu is off, and without units there is no RTL; set nic.alpu to the \
         cells of a unit"
    )]
    NoUnits,
    #[error("--rtl-dir {}: {why}", folder.display())]
    Folder { folder: PathBuf, why: Unbuilt },
    #[error("alpu.rtl (--rtl): {0}")]
    Own(Unbuilt),
}

/// A waveform that there is not.
#[derive(Debug, thiserror::Error)]
pub(super) enum WaveError {
    #[error(
        "--rtl-wave: no unit has got a copy of the header of message {}:{}, and no waveform is \
         written",
        .0.source_nid, .0.serial
    )]
    NoCopy(MessageId),
    #[error("--rtl-wave: {0}")]
    Unbuilt(#[from] Unbuilt),
    #[error("--rtl-wave: {} cannot be written", .0.display())]
    Unwritten(PathBuf),
}

/// Scope of a unit in a waveform.
fn name(kind: QueueKind) -> &'static str {
    match kind {
        QueueKind::Posted => "posted",
        QueueKind::Unexpected => "unexpected",
    }
}

/// Purpose of a unit, in words.
fn in_words(kind: QueueKind) -> &'static str {
    match kind {
        QueueKind::Posted => "posted receives",
        QueueKind::Unexpected => "unexpected messages",
    }
}

/// Inputs of a unit, from which all that it did follows.
struct Record {
    nid: u32,
    config: Config,
    /// The message that a waveform is wanted of.
    message: Option<MessageId>,
    /// Cycles with a handshake.
    log: Vec<(u64, Inputs)>,
    /// The cycle that a waveform is about.
    about: Option<u64>,
    /// Last cycle of the unit.
    end: u64,
}

impl Record {
    /// Goes through it again: first and last cycle of the waveform around `about`, and the waveform. `None`
    /// if `file` cannot be written, in which it is kept meanwhile.
    fn draw(
        &self,
        design: UnitDesign,
        clock: Clock,
        about: u64,
        file: &Path,
    ) -> Option<(u64, u64, String)> {
        let (mut unit, mut model) = (Unit::new(design), Alpu::new(self.config));
        // Cycle 0 is over when the clock begins.
        let first = about.saturating_sub(BEFORE).max(1);
        let last = (about + AFTER).min(self.end).max(first);
        let mut log = self.log.iter().peekable();
        let (mut cycle, mut opened) = (0, false);
        while cycle <= last {
            if cycle == first && !opened {
                opened = unit.open_wave(file);
                if !opened {
                    return None;
                }
            }
            let given = log.next_if(|(at, _)| *at == cycle).map(|(_, inputs)| *inputs);
            if opened {
                let (begins, ends) = (clock.edge(cycle - 1).0, clock.edge(cycle).0);
                let inputs = given.unwrap_or_default();
                unit.show(&inputs, &model.outputs(), begins, begins.midpoint(ends));
            }
            match given {
                Some(inputs) => {
                    unit.clock(&inputs);
                    model.clock(&inputs);
                    cycle += 1;
                }
                None if opened => {
                    unit.advance(1);
                    model.advance(1);
                    cycle += 1;
                }
                None => {
                    let next = log.peek().map_or(first, |(at, _)| first.min(*at));
                    unit.advance(next - cycle);
                    model.advance(next - cycle);
                    cycle = next;
                }
            }
        }
        unit.close_wave();
        Some((first, last, std::fs::read_to_string(file).ok()?))
    }
}

/// Reference beside a unit.
enum Beside {
    Nothing,
    Model(Box<Alpu>),
    Judge(Box<Judge>),
}

/// A unit of RTL on its node.
struct Socketed {
    unit: Unit,
    beside: Beside,
    cycle: u64,
    wrong: Option<Wrong>,
    record: Option<Record>,
    records: Arc<Mutex<Vec<Record>>>,
}

/// Ports at which unit and model differ, in words.
fn difference(unit: &Pins, model: &Pins) -> String {
    let pairs = unit.ports().into_iter().zip(model.ports());
    let differing = pairs.filter(|((_, unit), (_, model))| unit != model);
    let words = differing.map(|((port, unit), (_, model))| {
        format!("{port} is {unit:#x}, and of the model {model:#x}")
    });
    words.collect::<Vec<_>>().join("; ")
}

impl Socketed {
    /// Checks the outputs and inputs of this cycle.
    fn look(&mut self, inputs: &Inputs) {
        if self.wrong.is_some() {
            return;
        }
        let held = match &mut self.beside {
            Beside::Nothing => Ok(()),
            Beside::Model(model) => {
                let (unit, model) = (self.unit.pins(), Pins::from(&model.outputs()));
                if unit == model {
                    Ok(())
                } else {
                    Err(difference(&unit, &model))
                }
            }
            Beside::Judge(judge) => {
                judge.cycle(inputs, &self.unit.outputs()).map_err(|why| why.to_string())
            }
        };
        let breach = self.unit.breach().map(str::to_owned);
        if let Some(what) = breach.or(held.err()) {
            self.refuse(what);
        }
    }

    fn refuse(&mut self, what: String) {
        let cycle = self.cycle;
        if let Some(record) = self.record.as_mut().filter(|record| record.message.is_none()) {
            record.about = Some(cycle);
        }
        self.wrong = Some(Wrong { cycle, what });
    }

    /// Both rest: the rest of the time changes nothing.
    fn rests(&self) -> bool {
        let beside = match &self.beside {
            Beside::Model(model) => model.is_at_rest(),
            Beside::Nothing | Beside::Judge(_) => true,
        };
        self.unit.is_at_rest() && beside
    }
}

impl Chip for Socketed {
    fn outputs(&self) -> Outputs {
        self.unit.outputs()
    }

    fn clock(&mut self, inputs: &Inputs) {
        self.look(inputs);
        if let Some(record) = &mut self.record {
            record.log.push((self.cycle, *inputs));
        }
        if let Beside::Model(model) = &mut self.beside {
            model.clock(inputs);
        }
        self.unit.clock(inputs);
        self.cycle += 1;
    }

    fn advance(&mut self, cycles: u64) {
        let end = self.cycle + cycles;
        if matches!(self.beside, Beside::Nothing) {
            self.unit.advance(cycles);
            self.cycle = end;
            return self.look(&Inputs::default());
        }
        while self.cycle < end && self.wrong.is_none() && !self.rests() {
            self.look(&Inputs::default());
            if let Beside::Model(model) = &mut self.beside {
                model.advance(1);
            }
            self.unit.advance(1);
            self.cycle += 1;
        }
        if self.cycle < end && self.wrong.is_none() {
            self.look(&Inputs::default());
            if let Beside::Judge(judge) = &self.beside
                && let Err(what) = judge.at_rest()
            {
                self.refuse(what.to_string());
            }
        }
        self.cycle = end;
    }

    fn is_at_rest(&self) -> bool {
        self.rests()
    }

    fn announce(&mut self, message: MessageId) {
        let wanted =
            |record: &&mut Record| record.message == Some(message) && record.about.is_none();
        if let Some(record) = self.record.as_mut().filter(wanted) {
            record.about = Some(self.cycle);
        }
    }

    fn wrong(&self) -> Option<&Wrong> {
        self.wrong.as_ref()
    }
}

/// A unit goes with its node; what it was given is wanted after that, also for the node's other one.
impl Drop for Socketed {
    fn drop(&mut self) {
        if let Some(record) = self.record.take() {
            let record = Record { end: self.cycle, ..record };
            self.records.lock().unwrap_or_else(PoisonError::into_inner).push(record);
        }
    }
}

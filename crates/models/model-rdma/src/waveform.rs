//! `--rtl-wave` with `--rtl-trigger`: the cycles around an event of a card, as a waveform of its RTL.

use super::settings::Settings;
use des::{Clock, Time};
use forth_nic::Params;
use machine::console;
use machine::parameters::quantity::{ParameterError, Value, ValueKind};
use machine::Wave;
use rtl::{Capture, Captured, DesignPaths, NicDesign, RecordError, Trigger, TriggerError, Unbuilt};
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::{fs, io};

/// A waveform of one of the cards.
#[derive(Debug)]
pub(super) struct Waveform {
    design: NicDesign,
    file: PathBuf,
    /// The only node that is looked at, if there is one.
    node: Option<u32>,
    capture: Capture,
    launch: Time,
    /// Files that the cards have written, by node.
    captured: Mutex<Vec<(u32, Captured)>>,
    failed: Mutex<Option<RecordError>>,
}

/// Reason for which there is no waveform.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoWave {
    #[error(
        "--rtl-wave of a card is about an event: add --rtl-trigger with one of {}, time=TIME or \
         PORT=VALUE (docs/waveforms.md)",
        rtl::EVENTS.map(|(name, _)| name).join(", ")
    )]
    Events,
    #[error("--rtl-trigger {text}: {why}")]
    Trigger { text: String, why: WrongTrigger },
    #[error("--rtl-wave: {0}")]
    Unbuilt(#[from] Unbuilt),
    #[error("--rtl-wave: {0}")]
    Unrecorded(#[from] RecordError),
    #[error("--rtl-wave: {}: {why}", file.display())]
    File { file: PathBuf, why: io::Error },
}

/// A trigger that no card can have.
#[derive(Debug, thiserror::Error)]
pub(super) enum WrongTrigger {
    #[error("{node} is no node; the run has nodes 0 to {last}")]
    Node { node: String, last: u32 },
    #[error(transparent)]
    Event(#[from] TriggerError),
    #[error("the time: {0}")]
    Time(#[from] ParameterError),
    #[error("the time is no time")]
    NoTime,
}

/// Reads `[NODE:]EVENT`; times are from the launch on.
fn parse(text: &str, nodes: u32, launch: Time) -> Result<(Option<u32>, Trigger), WrongTrigger> {
    let (node, event) = match text.split_once(':') {
        None => (None, text),
        Some((node, event)) => {
            let number = node.parse().ok().filter(|node| *node < nodes);
            let wrong = || WrongTrigger::Node { node: node.into(), last: nodes - 1 };
            let number = number.ok_or_else(wrong)?;
            (Some(number), event)
        }
    };
    let Some(time) = event.strip_prefix("time=") else {
        return Ok((node, Trigger::parse(event)?));
    };
    match ValueKind::Duration.parse(time)? {
        Value::Duration(time) => Ok((node, Trigger::Time(launch.0 + time.0))),
        _ => Err(WrongTrigger::NoTime),
    }
}

impl Waveform {
    /// Compiles the card with tracing.
    pub fn of(
        wave: &Wave,
        s: &Settings,
        launch: Time,
        place: &DesignPaths,
    ) -> Result<Waveform, NoWave> {
        let text = wave.trigger.as_deref().ok_or(NoWave::Events)?;
        let (node, trigger) = parse(text, s.nodes, launch)
            .map_err(|why| NoWave::Trigger { text: text.into(), why })?;
        let design = NicDesign::traced(place, &s.nic(0))?;
        let bus = Clock::from_hz(s.bus.hertz);
        let half = |clock: &Clock| clock.cycles(1).0 / 2;
        let [before, after] = wave.cycles.map(|cycles| bus.cycles(cycles).0);
        let halves = [half(&bus), half(&Clock::from_hz(s.lanes_hz))];
        let first = Arc::new(AtomicU64::new(u64::MAX));
        let file = wave.file.clone();
        let capture = Capture { trigger, before, after, halves, file: file.clone(), first };
        let (captured, failed) = (Mutex::default(), Mutex::default());
        Ok(Waveform { design, file, node, capture, launch, captured, failed })
    }

    /// A card is watched from its reset on.
    pub fn record(&self, nic: &mut rtl::Nic, params: &Params) {
        let nid = u32::from(params.source);
        if self.node.is_none_or(|node| node == nid) {
            // Each has a file of its own, until it is known which is first.
            let mut name = self.file.clone().into_os_string();
            name.push(format!(".{nid}"));
            nic.record(self.design, params, Capture { file: name.into(), ..self.capture.clone() });
        }
    }

    /// Takes what a card has recorded.
    pub fn take(&self, nid: u32, recorded: Result<Option<Captured>, RecordError>) {
        match recorded {
            Ok(None) => {}
            Ok(Some(captured)) => {
                self.captured.lock().unwrap_or_else(PoisonError::into_inner).push((nid, captured));
            }
            Err(why) => {
                let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
                failed.get_or_insert(why);
            }
        }
    }

    /// Keeps the file of the first card, and says what is in it.
    pub fn conclude(&self, end_ns: f64) -> Result<(), NoWave> {
        let mut all = self.captured.lock().unwrap_or_else(PoisonError::into_inner);
        all.sort_by_key(|(nid, captured)| (captured.at, *nid));
        for (_, later) in all.iter().skip(1) {
            let _ = fs::remove_file(&later.file);
        }
        if let Some(why) = self.failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(why.into());
        }
        let (file, trigger) = (self.file.display(), &self.capture.trigger);
        let Some((nid, first)) = all.first() else {
            let node =
                self.node.map_or("any card".into(), |node| format!("the card of node {node}"));
            console::say(&format!(
                "--rtl-wave: {file} is not written, as {trigger} has not come at {node} in \
                 {:.3} us; --rtl-trigger time=TIME shows any time, and the counters of --json - \
                 say what has come",
                end_ns / 1e3
            ));
            return Ok(());
        };
        fs::rename(&first.file, &self.file)
            .map_err(|why| NoWave::File { file: self.file.clone(), why })?;
        let [bus, lanes] = first.edges;
        console::say(&format!(
            "{file} has {bus} edges of the bus's clock and {lanes} of the lanes' of the card of \
             node {nid}, from {} ps to {} ps; the trigger, {trigger}, came at {} ps, \
             {:.3} us after the launch",
            first.from,
            first.to,
            first.at,
            Time(first.at).since(self.launch).as_ns() / 1e3
        ));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_for_no_waveform_is_one_sentence() {
        let trigger = |text: &str| match parse(text, 2, Time::ZERO) {
            Ok(_) => panic!("{text} is a trigger"),
            Err(why) => NoWave::Trigger { text: text.into(), why },
        };
        let events = rtl::EVENTS.map(|(name, _)| name).join(", ");
        let no_time = ValueKind::Duration.parse("soon").unwrap_err();
        let (text, file) = ("time=1".to_string(), PathBuf::from("wave.fst"));
        for (reason, sentence) in [
            (
                NoWave::Events,
                format!(
                    "--rtl-wave of a card is about an event: add --rtl-trigger with one of \
                     {events}, time=TIME or PORT=VALUE (docs/waveforms.md)"
                ),
            ),
            (
                trigger("2:crc"),
                "--rtl-trigger 2:crc: 2 is no node; the run has nodes 0 to 1".into(),
            ),
            (
                trigger("1:thunder"),
                format!(
                    "--rtl-trigger 1:thunder: an event is one of {events}, time=TIME or PORT=VALUE"
                ),
            ),
            (trigger("time=soon"), format!("--rtl-trigger time=soon: the time: {no_time}")),
            (
                NoWave::Trigger { text, why: WrongTrigger::NoTime },
                "--rtl-trigger time=1: the time is no time".into(),
            ),
            (
                Unbuilt::Files("no room".into()).into(),
                "--rtl-wave: RTL cannot be compiled: no room".into(),
            ),
            (
                RecordError::Open(file.clone()).into(),
                "--rtl-wave: wave.fst cannot be written".into(),
            ),
            (
                NoWave::File { file, why: io::Error::other("it is gone") },
                "--rtl-wave: wave.fst: it is gone".into(),
            ),
        ] {
            assert_eq!(reason.to_string(), sentence);
        }
    }
}

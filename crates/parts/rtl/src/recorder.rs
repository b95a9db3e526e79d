//! The recorder of a NIC: the cycles around a trigger, with all signals of the RTL, as a waveform (VCD).
//!
//! A second NIC, compiled with tracing, is given the same edges so much later as the file is to begin before
//! the trigger: no state of the past has to be kept but its inputs (docs/decisions/0126).

use crate::nic::{BusIn, BusOut, LinkIn, LinkOut, Waves};
use crate::trigger::{Seen, Sign, Trigger};
use std::collections::BTreeMap;
use std::ffi::{c_void, CString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// Orders of a recorder. Times are in picoseconds.
#[derive(Clone, Debug)]
pub struct Capture {
    /// The event that it waits for.
    pub trigger: Trigger,
    /// The file begins so long before the trigger, at least two cycles of either clock.
    pub before: u64,
    /// It ends so long after it.
    pub after: u64,
    /// Half a cycle of the bus's clock, and of the lanes'.
    pub halves: [u64; 2],
    /// Name of the file; it is written when the trigger comes.
    pub file: PathBuf,
    /// Time of the first trigger that any recorder of the run has seen; `u64::MAX` if none has. Recorders
    /// that are later stop.
    pub first: Arc<AtomicU64>,
}

/// A file that has been written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    #[allow(missing_docs)]
    pub file: PathBuf,
    /// Time of the trigger, in picoseconds.
    pub at: u64,
    /// First and last time in the file.
    pub from: u64,
    #[allow(missing_docs)]
    pub to: u64,
    /// Rising edges in it, of the bus's clock and of the lanes'.
    pub edges: [u64; 2],
}

/// Reason for which a waveform is not written.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum RecordError {
    /// The traced design does not open the file.
    #[error("{0} cannot be written")]
    Open(PathBuf),
    /// The trigger cannot be written into the file.
    #[error("{file}: {why}")]
    Mark { file: PathBuf, why: io::Error },
}

/// Something that is done to the second NIC.
#[derive(Clone, Copy, Debug)]
enum Step {
    SetBus(BusIn),
    SetLink(LinkIn),
    /// A clock, the lanes' if true, goes to a level.
    Level(bool, bool),
}

/// A recorder.
#[derive(Debug)]
pub(crate) struct Recorder {
    capture: Capture,
    waves: Waves,
    delete: unsafe extern "C" fn(*mut c_void),
    unit: *mut c_void,
    /// Steps to come, in their order: by time, and as they were given.
    steps: BTreeMap<(u64, u64), Step>,
    given: u64,
    now: u64,
    seen: Seen,
    /// The file, once the trigger has come.
    captured: Option<Captured>,
    /// Why there is no file.
    failed: Option<RecordError>,
    over: bool,
}

impl Recorder {
    /// `unit` is a NIC of the traced design that is in the state of the recorded one.
    pub fn new(
        capture: Capture,
        waves: Waves,
        unit: *mut c_void,
        delete: unsafe extern "C" fn(*mut c_void),
        bus_out: BusOut,
    ) -> Recorder {
        let margin = 4 * capture.halves[0].max(capture.halves[1]);
        let capture = Capture { before: capture.before.max(margin), ..capture };
        Recorder {
            capture,
            waves,
            delete,
            unit,
            steps: BTreeMap::new(),
            given: 0,
            now: 0,
            seen: Seen { bus_out, ..Seen::default() },
            captured: None,
            failed: None,
            over: false,
        }
    }

    /// The next edges are at `time`.
    pub fn set_time(&mut self, time: u64) {
        self.now = time;
    }
    pub fn is_over(&self) -> bool {
        self.over
    }
    /// Looks at the counters.
    pub fn counts(&self) -> bool {
        self.capture.trigger.counts()
    }

    /// An edge of the bus's clock has been.
    pub fn bus(&mut self, input: BusIn, out: BusOut, counts: Option<[u64; 6]>) {
        let before = self.seen.bus_out;
        let mut seen = Seen { bus_in: input, bus_out: out, ..self.seen };
        // The target has ended a write of which words are left. At a boundary of 128 bytes the card itself
        // does so if it has not the words of the next block.
        let written = before.request == 1 && before.request_write == 1;
        let left = before.words > u16::from(input.took);
        let would = before.write_on == 1 || before.addr % 128 != 120;
        seen.disconnects += u64::from(written && input.ended && !input.aborted && left && would);
        self.edge(false, Step::SetBus(input));
        self.look(seen, counts);
    }

    /// An edge of the lanes' clock has been.
    pub fn link(&mut self, input: LinkIn, out: LinkOut, counts: Option<[u64; 6]>) {
        self.edge(true, Step::SetLink(input));
        self.look(Seen { link_in: input, link_out: out, ..self.seen }, counts);
    }

    /// Something has been that the ports do not show.
    pub fn sign(&mut self, sign: Sign, time: u64) {
        self.now = time;
        let mut seen = self.seen;
        seen.signs[sign as usize] += 1;
        self.look(seen, None);
    }

    /// Inputs move half a cycle before the edge that takes them.
    fn edge(&mut self, lanes: bool, input: Step) {
        let half = self.capture.halves[usize::from(lanes)];
        self.give(self.now.saturating_sub(half), input);
        self.give(self.now, Step::Level(lanes, true));
        self.give(self.now + half, Step::Level(lanes, false));
    }

    fn give(&mut self, at: u64, step: Step) {
        self.given += 1;
        self.steps.insert((at, self.given), step);
    }

    fn look(&mut self, mut seen: Seen, counts: Option<[u64; 6]>) {
        seen.counts = counts.unwrap_or(seen.counts);
        let before = std::mem::replace(&mut self.seen, seen);
        if let Some(captured) = &self.captured {
            if self.now > captured.at + self.capture.after {
                self.end();
            }
            return;
        }
        if self.now > self.capture.first.load(Ordering::Relaxed) {
            self.over = true;
            self.steps.clear();
            return;
        }
        self.run(self.now.saturating_sub(self.capture.before), false);
        if self.capture.trigger.comes(&before, &seen, self.now) {
            self.capture.first.fetch_min(self.now, Ordering::Relaxed);
            self.open();
        }
    }

    /// Carries out the steps before `until`; all of a time are one moment of the file.
    fn run(&mut self, until: u64, written: bool) {
        while let Some(at) = self.next_step().filter(|at| *at < until) {
            while let Some((_, step)) =
                (self.next_step() == Some(at)).then(|| self.steps.pop_first()).flatten()
            {
                self.carry_out(step, written);
            }
            if let (true, Some(captured)) = (written, &mut self.captured) {
                captured.from = captured.from.min(at);
                captured.to = at;
                // SAFETY: the unit is alive, and its file open.
                unsafe { (self.waves.dump)(self.unit, at) }
            }
        }
    }

    /// Time of the next step.
    fn next_step(&self) -> Option<u64> {
        self.steps.first_key_value().map(|((at, _), _)| *at)
    }

    fn carry_out(&mut self, step: Step, written: bool) {
        // SAFETY: the unit is alive, and the structures are those of shim/nic.cpp.
        unsafe {
            match step {
                Step::SetBus(input) => (self.waves.set_bus)(self.unit, &input),
                Step::SetLink(input) => (self.waves.set_link)(self.unit, &input),
                Step::Level(lanes, up) => (self.waves.level)(self.unit, lanes.into(), up.into()),
            }
        }
        if let (Step::Level(lanes, true), true, Some(captured)) =
            (step, written, &mut self.captured)
        {
            captured.edges[usize::from(lanes)] += 1;
        }
    }

    fn open(&mut self) {
        let file = self.capture.file.clone();
        let captured = Captured { file, at: self.now, from: u64::MAX, to: 0, edges: [0; 2] };
        let name = CString::new(captured.file.as_os_str().as_bytes()).ok();
        // SAFETY: the unit is alive; the name is until the call is over.
        let opens = name
            .is_some_and(|name| unsafe { (self.waves.open)(self.unit, name.as_ptr().cast()) == 1 });
        if !opens {
            self.failed = Some(RecordError::Open(captured.file));
            self.over = true;
            return;
        }
        self.captured = Some(captured);
    }

    /// Writes what is left, and closes the file.
    fn end(&mut self) {
        let Some(captured) = self.captured.clone().filter(|_| !self.over) else { return };
        self.over = true;
        self.run(captured.at.saturating_add(self.capture.after + 1), true);
        self.steps.clear();
        // SAFETY: the unit is alive, and its file open.
        unsafe { (self.waves.end)(self.unit) }
    }

    /// The run is over: the file, if the trigger has come.
    pub fn finish(mut self) -> Result<Option<Captured>, RecordError> {
        self.end();
        if let Some(why) = self.failed.take() {
            return Err(why);
        }
        let Some(captured) = self.captured.take() else { return Ok(None) };
        self.mark(&captured)?;
        Ok(Some(captured))
    }

    /// Puts the trigger before the header, as a comment.
    fn mark(&self, captured: &Captured) -> Result<(), RecordError> {
        let failed = |why| RecordError::Mark { file: captured.file.clone(), why };
        let text = fs::read(&captured.file).map_err(failed)?;
        let trigger = &self.capture.trigger;
        let mark = format!("$comment trigger at {} ps: {trigger} $end\n", captured.at);
        let marked = [mark.as_bytes(), &text].concat();
        fs::write(&captured.file, marked).map_err(failed)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // SAFETY: the unit was given for good, and is not used again.
        unsafe { (self.delete)(self.unit) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_a_sentence() {
        let file = PathBuf::from("run/wave.vcd");
        let why = io::Error::other("it is full");
        let mark = RecordError::Mark { file: file.clone(), why };
        assert_eq!(mark.to_string(), "run/wave.vcd: it is full");
        assert_eq!(RecordError::Open(file).to_string(), "run/wave.vcd cannot be written");
    }
}

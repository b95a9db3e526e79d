//! The firmware's slices, from the recorder's observations: the function that each cycle belongs to.

use super::Track;
use crate::instruments::journal::Journal;
use des::Clock;
use std::rc::Rc;

/// Name of the slices in which the main loop found nothing to do, skipped or executed.
const IDLE: &str = "idle";

/// Draws what the processor executes.
pub struct Picture {
    journal: Rc<Journal>,
    clock: Clock,
    /// Cycle since reset up to which all has been drawn.
    cycle: u64,
    /// The functions that are open, each with its number for the recorder; the outermost first.
    open: Vec<usize>,
    idle: bool,
}

impl Picture {
    /// Picture without slices.
    pub fn new(journal: Rc<Journal>, clock: Clock) -> Picture {
        Picture { journal, clock, cycle: 0, open: Vec::new(), idle: false }
    }

    /// Begins the picture at this cycle since reset.
    pub fn begin_at(&mut self, cycle: u64) {
        self.cycle = cycle;
    }

    /// Checks that every cycle up to this one has been drawn once.
    pub fn check(&self, cycle: u64) {
        assert!(self.cycle == cycle, "cycle {} was drawn instead of {cycle}", self.cycle);
    }

    /// Adds cycles to the function that was shown last.
    pub fn pass(&mut self, cycles: u64) {
        self.cycle += cycles;
    }

    /// Shows idling from now on.
    pub fn show_idle(&mut self) {
        if !self.idle {
            self.close(0);
            self.begin(IDLE);
            self.idle = true;
        }
    }

    /// Shows the last function of `path` from now on; `name` has their names.
    pub fn show<'a>(&mut self, path: &[usize], name: impl Fn(usize) -> &'a str) {
        if std::mem::take(&mut self.idle) {
            self.end();
        }
        let common = self.open.iter().zip(path).take_while(|(open, new)| open == new).count();
        self.close(common);
        for &function in &path[common..] {
            self.begin(name(function));
            self.open.push(function);
        }
    }

    /// The function that is shown, if any.
    pub fn shown(&self) -> Option<usize> {
        self.open.last().copied()
    }

    fn close(&mut self, depth: usize) {
        while self.open.len() > depth {
            self.open.pop();
            self.end();
        }
    }
    fn begin(&self, name: &str) {
        let at = self.clock.edge(self.cycle);
        self.journal.watch(|watch| watch.begin(at, Track::Firmware, name, None));
    }
    fn end(&self) {
        let at = self.clock.edge(self.cycle);
        self.journal.watch(|watch| watch.end(at, Track::Firmware));
    }
}

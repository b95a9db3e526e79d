//! A guest's life on the timeline of its host's processor.

use super::line::Line;
use super::output_error::OutputError;
use super::Slot;
use des::{Duration, Time};
use guest::{Act, Ending, Location, Watch};
use host::Cpu;
use rank::Surroundings;
use std::cell::Cell;

/// Least time that a sleeping processor notices.
const AT_ONCE: Duration = Duration(1);
/// Picoseconds of a nanosecond, by which a guest's clock counts.
const NS: u64 = 1000;
/// Period at which a guest that serves others is checked.
const ROUND: Duration = Duration::from_us(1000);
/// Period at which a guest's program's output is looked for, in ns of its clock.
const LOOK_NS: u64 = 1_000_000;
/// Bytes of a word of the bus.
const WORD: u64 = 4;

/// Guest, or a test's substitute for one.
pub(super) trait Driven {
    fn boot(&mut self) -> Act;
    fn run(&mut self, now: u64) -> Act;
    fn answer(&mut self, now: u64, bytes: &[u8]) -> Act;
    fn interrupt(&mut self, now: u64) -> Act;
    /// Awaits a store of its card into that word, or none any more. True if one was awaited, and has not
    /// come.
    fn watch(&self, word: Option<u64>) -> bool;
    /// True if its kernel has been told of the line, and has not ended its handler.
    fn serves(&self) -> bool;
    /// True if all is ready for its program.
    fn is_ready(&self) -> bool;
    /// Files that it has left, after its end.
    fn kept(&self) -> guest::Kept;
    /// Prints its program's output.
    fn pass_on(&mut self) -> Result<(), OutputError>;
}

/// Driver of a guest.
pub(super) struct Life<'a, G> {
    cpu: &'a Cpu,
    guest: G,
    slot: Slot,
    line: &'a Line,
    ready: &'a Cell<bool>,
    /// Surroundings, which say when a server is not needed any more.
    around: Option<&'a Surroundings>,
    /// Time at which its program's output is looked for again.
    look: u64,
}

impl<'a, G: Driven> Life<'a, G> {
    pub fn new(
        cpu: &'a Cpu,
        guest: G,
        slot: Slot,
        line: &'a Line,
        ready: &'a Cell<bool>,
    ) -> Life<'a, G> {
        Life { cpu, guest, slot, line, ready, around: None, look: 0 }
    }

    /// Sets the surroundings of its program: others may wait for its end, or it may serve others.
    pub fn serve(&mut self, around: &'a Surroundings) {
        self.around = Some(around);
    }

    /// Files that it has left, after its end.
    pub fn kept(&self) -> guest::Kept {
        self.guest.kept()
    }

    /// Runs the guest from its boot to its end.
    pub fn run(&mut self) -> Ending {
        let mut act = self.guest.boot();
        let ending = loop {
            self.ready.set(self.guest.is_ready());
            act = match act {
                Act::Sleep(until) => match self.sleep(until, None) {
                    Ok(act) => act,
                    Err(ending) => break ending,
                },
                Act::Watch(until, watch) => match self.sleep(until, Some(watch)) {
                    Ok(act) => act,
                    Err(ending) => break ending,
                },
                Act::Store(place, bytes) => {
                    self.store(place, &bytes);
                    let now = self.tick();
                    self.guest.answer(now, &[])
                }
                Act::Load(place, len) => {
                    let bytes = self.load(place, len);
                    let now = self.tick();
                    self.guest.answer(now, &bytes)
                }
                Act::End(ending) => break ending,
            };
        };
        if let Some(around) = self.around.filter(|around| !around.server) {
            around.crowd.end(self.cpu.now());
        }
        match self.guest.pass_on() {
            Ok(()) => ending,
            Err(why) => why.into(),
        }
    }

    /// Waits for the next whole nanosecond: the time of the guest's clock.
    fn tick(&self) -> u64 {
        let now = self.cpu.now();
        let ns = now.0.div_ceil(NS);
        self.cpu.spend(Time(ns * NS).since(now));
        ns
    }

    /// Sleeps until that time of its clock, or until its card interrupts; if it looks at memory, until its
    /// first look behind a store of its card there.
    fn sleep(&mut self, until: u64, watch: Option<Watch>) -> Result<Act, Ending> {
        if until >= self.look {
            self.guest.pass_on()?;
            self.look = until.saturating_add(LOOK_NS);
        }
        let since = self.cpu.now().0.div_ceil(NS);
        let mut until = until;
        self.guest.watch(watch.map(|watch| watch.word));
        loop {
            if self.line.take(self.guest.serves()) {
                self.guest.watch(None);
                let now = self.tick();
                return Ok(self.guest.interrupt(now));
            }
            let now = self.cpu.now();
            let at = until.checked_mul(NS).map_or(Time::NEVER, Time);
            if at <= now {
                self.guest.watch(None);
                let now = self.tick();
                return Ok(self.guest.run(now));
            }
            let round = match self.around.filter(|around| around.server) {
                Some(around) if around.crowd.is_over(now) => return Err(Ending::Exited(0)),
                Some(_) => now + ROUND,
                None => Time::NEVER,
            };
            self.cpu.wait_until(AT_ONCE, at.min(round));
            if let Some(Watch { period, .. }) = watch.filter(|_| !self.guest.watch(None)) {
                let looks = self.cpu.now().0.div_ceil(NS).saturating_sub(since).div_ceil(period);
                until = until.min(since.saturating_add(looks.saturating_mul(period)));
            }
            self.guest.watch(watch.map(|watch| watch.word));
        }
    }

    /// Stores the bytes by posted writes of words or parts of words.
    fn store(&mut self, place: Location, data: &[u8]) {
        self.slot.stored(place, data);
        let mut addr = self.slot.address(place);
        let mut rest = data;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.len().min((WORD - addr % WORD) as usize));
            self.cpu.mmio_write(addr, piece);
            addr += piece.len() as u64;
            rest = after;
        }
    }

    /// Reads each word that has some of the bytes, one after the other.
    fn load(&self, place: Location, len: usize) -> Vec<u8> {
        let addr = self.slot.address(place);
        let skipped = (addr % WORD) as usize;
        let mut bytes = Vec::new();
        while bytes.len() < skipped + len {
            let word = self.cpu.mmio_read(addr - skipped as u64 + bytes.len() as u64);
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes[skipped..skipped + len].to_vec()
    }
}

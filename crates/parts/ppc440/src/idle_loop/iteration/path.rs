//! A known iteration with other values.
//!
//! After a message the polled words hold others than before, and so do the firmware's copies of them;
//! the loop goes on as ever. If an iteration still holds (`Iteration::stands`), only values can change its
//! course. So its steps are done on registers and words as they are, without time and without effects: if
//! they go the known way through the known places, they take as long as they took. If they also leave
//! everything but the items as it was, so do all that follow. If not, this may be the first of those, since
//! registers hold something else until the loop has set them.

use super::Iteration;
use crate::code::Text;
use crate::core::loops::View;
use crate::idle_loop::analysis::{is_branch, memory_access, Location, Step, Word};
use crate::instructions::{execute_plain, Kind};
use crate::registers::{Registers, Snapshot};
use crate::semantics::flow;
use bus::Bus;

/// Words in the cache that an iteration with other values can have.
const MOST: usize = 16;

/// The way of an iteration. The instructions that it goes through are in the text, for all cores.
#[derive(Clone)]
pub(super) struct Path {
    /// Straight pieces of lines: where each begins, and its instructions.
    pieces: Vec<(u32, u8)>,
    /// Address and destination of each load and store.
    spots: Vec<(u32, Spot)>,
}

/// Destination of a load or store of an iteration.
#[derive(Clone, Copy)]
enum Spot {
    /// This word in the cache, from this byte of it on.
    Word { index: u8, byte: u8, little: bool },
    /// The bus, with the next of the iteration's accesses.
    Bus { little: bool },
}

impl Path {
    /// The way that the steps have gone; `None` if they use more than `MOST` words.
    pub fn new(steps: &[Step], words: &[Word]) -> Option<Path> {
        let mut path = Path { pieces: Vec::new(), spots: Vec::new() };
        for step in steps {
            match path.pieces.last_mut() {
                Some((first, count))
                    if step.pc % 32 != 0
                        && first.wrapping_add(4 * u32::from(*count)) == step.pc =>
                {
                    *count += 1;
                }
                _ => path.pieces.push((step.pc, 1)),
            }
            let spot = match step.place {
                None => continue,
                Some(Location::Uncached { little, .. }) => Spot::Bus { little },
                Some(Location::Cached { offset, little }) => {
                    let index = words.iter().position(|word| word.offset == offset & !3)?;
                    let index = u8::try_from(index).ok().filter(|_| index < MOST)?;
                    Spot::Word { index, byte: offset as u8 & 3, little }
                }
            };
            path.spots.push((step.addr, spot));
        }
        Some(path)
    }
}

/// The iteration's words in the cache, in its order.
type Words = [[u8; 4]; MOST];

/// State between two iterations.
struct Between<'a, R> {
    registers: &'a R,
    words: &'a Words,
}

impl Iteration {
    /// True if the core, for which the iteration still holds, would now repeat it over and over: then it
    /// can be repeated, and what its first time changes for good is already there.
    pub fn follow<B: Bus>(&mut self, core: &mut View<'_>, bus: &mut B, text: &Text) -> bool {
        self.settled = false;
        let start = core.registers().snapshot();
        let mut words = [[0; 4]; MOST];
        for (value, word) in words.iter_mut().zip(&self.words) {
            *value = core.data_cache().word(word.offset);
        }
        let held = words;
        // It is tried on the core's own registers.
        let r = core.registers_mut();
        let mut goes = self.goes(bus, text, r, &mut words);
        let before = Between { registers: &start, words: &held };
        if goes && !self.stays(&before, &Between { registers: r, words: &words }) {
            let (first, left) = (r.snapshot(), words);
            let before = Between { registers: &first, words: &left };
            goes = self.goes(bus, text, r, &mut words)
                && self.stays(&before, &Between { registers: r, words: &words });
            r.restore(&first);
            words = left;
        }
        if !goes {
            r.restore(&start);
            return false;
        }
        self.leave(core, &start, &words);
        self.settled = true;
        self.registers = core.registers().snapshot();
        for word in &mut self.words {
            word.value = core.data_cache().word(word.offset);
        }
        true
    }

    /// Does its instructions, with items only by their values, and records what is
    /// read from and written to the bus. False if they do not go the known way.
    fn goes<B: Bus>(
        &mut self,
        bus: &mut B,
        text: &Text,
        r: &mut Registers,
        words: &mut Words,
    ) -> bool {
        let Some(path) = &self.path else { return false };
        let (mut spots, mut accesses) = (path.spots.iter(), self.accesses.iter_mut());
        for &(first, count) in &path.pieces {
            let Some(line) = text.line(first >> 5) else { return false };
            for (pc, op) in (first..).step_by(4).zip(line.ops(first, count)) {
                if r.pc != pc {
                    return false;
                }
                let Some(form) = memory_access(op.kind) else {
                    if is_branch(op.kind) {
                        r.pc = flow::follow(r, op);
                        continue;
                    }
                    if op.kind != Kind::Mbar && !execute_plain(r, op) {
                        return false;
                    }
                    r.pc = pc.wrapping_add(4);
                    continue;
                };
                let Some(&(addr, spot)) = spots.next() else { return false };
                let index = if form.indexed { r.get(op.rb) } else { op.imm };
                if r.get(op.ra).wrapping_add(index) != addr {
                    return false;
                }
                let len = usize::from(form.len);
                let (bytes, little) = match spot {
                    Spot::Word { index, byte, little } => {
                        (&mut words[usize::from(index)][usize::from(byte)..][..len], little)
                    }
                    Spot::Bus { little } => {
                        let Some((access, _, _)) = accesses.next() else { return false };
                        let bytes = &mut access.data[..len];
                        if !form.write && !bus.peek(access.addr, bytes) {
                            return false;
                        }
                        (bytes, little)
                    }
                };
                if form.write {
                    store(bytes, r.get(op.rt), little);
                } else {
                    let value = load(bytes, little);
                    let signed = matches!(op.kind, Kind::Lha | Kind::Lhax);
                    r.set(op.rt, if signed { value as i16 as u32 } else { value });
                }
                r.pc = pc.wrapping_add(4);
            }
        }
        r.pc == self.loop_head
    }

    /// True if everything that an iteration reads before writing is the same before and after, except items.
    fn stays(&self, before: &Between<'_, Snapshot>, after: &Between<'_, Registers>) -> bool {
        let mut words = self.words.iter().zip(before.words.iter().zip(after.words));
        after.registers.equal_in(before.registers, self.awaited & !u64::from(self.moving))
            && words.all(|(word, (a, b))| !word.same || a == b)
    }

    /// Leaves everything except items as it is after an iteration. Items are as they were at its start.
    fn leave(&self, core: &mut View<'_>, start: &Snapshot, after: &Words) {
        for register in (0..32).filter(|r| self.moving >> r & 1 != 0) {
            core.set_register(register, start.gpr(register));
        }
        for (word, value) in self.words.iter().zip(after) {
            if word.same {
                core.set_word(word.offset, *value);
            }
        }
    }
}

/// 1, 2 or 4 bytes of memory as a number.
#[inline(always)]
fn load(bytes: &[u8], little: bool) -> u32 {
    match *bytes {
        [a, b, c, d] if little => u32::from_le_bytes([a, b, c, d]),
        [a, b, c, d] => u32::from_be_bytes([a, b, c, d]),
        [a, b] if little => u16::from_le_bytes([a, b]).into(),
        [a, b] => u16::from_be_bytes([a, b]).into(),
        [a] => a.into(),
        _ => unreachable!("loads of a turn have 1, 2 or 4 bytes"),
    }
}

/// The last bytes of a number in memory order.
#[inline(always)]
fn store(bytes: &mut [u8], value: u32, little: bool) {
    let all = if little { value.to_le_bytes() } else { value.to_be_bytes() };
    match bytes.len() {
        4 => bytes.copy_from_slice(&all),
        len if little => bus::copy(bytes, &all[..len]),
        len => bus::copy(bytes, &all[4 - len..]),
    }
}

//! A known turn with other values.
//!
//! After a message the polled words hold others than before, and so do the firmware's copies of them;
//! the loop goes on as ever. If a turn stands (`Turn::stands`), only values can change its course. So
//! its steps are done on registers and words as they are, without time and without effects: if they
//! go the known way through the known places, they take as long as they took. If they also leave
//! everything but the items as it was, so do all that follow. If not, this may be the first of
//! those, since registers hold something else until the loop has set them.

use super::Turn;
use crate::analysis::{is_branch, memory_access, Place};
use crate::core::Core;
use crate::flow;
use crate::instructions::{execute_plain, Kind};
use crate::registers::Registers;
use bus::Bus;

/// Words in the cache that a turn with other values can have.
const MOST: usize = 16;

/// What the steps of a turn work on.
#[derive(Clone)]
struct Values {
    registers: Registers,
    /// The turn's words in the cache, in its order.
    words: [[u8; 4]; MOST],
}

impl Turn {
    /// True if the core, where the turn stands, would now go its way `turns` times over: then it can
    /// be repeated so often, and what its first time changes for good stands there already.
    pub fn follow<B: Bus>(&mut self, core: &mut Core, bus: &mut B, turns: u64) -> bool {
        if self.words.len() > MOST {
            return false;
        }
        self.settled = false;
        let mut start = Values { registers: core.registers.clone(), words: [[0; 4]; MOST] };
        for (value, word) in start.words.iter_mut().zip(&self.words) {
            *value = core.dcache.word(word.offset);
        }
        let mut first = start.clone();
        if !self.goes(bus, &mut first) {
            return false;
        }
        self.settled = self.stays(&start, &first);
        if !self.settled {
            if turns > 1 {
                let mut second = first.clone();
                self.settled = self.goes(bus, &mut second) && self.stays(&first, &second);
                if !self.settled {
                    return false;
                }
            }
            self.leave(core, &first);
        }
        self.registers = core.registers.snapshot();
        for word in &mut self.words {
            word.value = core.dcache.word(word.offset);
        }
        true
    }

    /// Does the steps, but for items with no more than their values, and writes down what is read
    /// from and written to the bus. False if they do not go the known way.
    fn goes<B: Bus>(&mut self, bus: &mut B, values: &mut Values) -> bool {
        let r = &mut values.registers;
        let mut accesses = self.accesses.iter_mut();
        for step in &self.steps {
            let op = &step.op;
            if r.pc != step.pc {
                return false;
            }
            let (Some(form), Some(place)) = (memory_access(op.kind), step.place) else {
                if is_branch(op.kind) {
                    r.pc = flow::follow(r, op);
                    continue;
                }
                if op.kind != Kind::Mbar && !execute_plain(r, op) {
                    return false;
                }
                r.pc = r.pc.wrapping_add(4);
                continue;
            };
            let index = if form.indexed { r.get(op.rb) } else { op.imm };
            if r.get(op.ra).wrapping_add(index) != step.addr {
                return false;
            }
            let len = usize::from(form.len);
            let (bytes, little) = match place {
                Place::Cached { offset, little } => {
                    let word = self.words.iter().position(|word| word.offset == offset & !3);
                    let Some(word) = word else { return false };
                    (&mut values.words[word][offset & 3..][..len], little)
                }
                Place::Uncached { little, .. } => {
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
            r.pc = r.pc.wrapping_add(4);
        }
        r.pc == self.head
    }

    /// What is no item is the same before and after.
    fn stays(&self, before: &Values, after: &Values) -> bool {
        let (a, b) = (&before.registers, &after.registers);
        a.others() == b.others()
            && (0..32).all(|r| self.moving >> r & 1 != 0 || a.get(r) == b.get(r))
            && self
                .words
                .iter()
                .zip(before.words.iter().zip(&after.words))
                .all(|(word, (a, b))| !word.same || a == b)
    }

    /// Leaves what is no item as it is after a turn.
    fn leave(&self, core: &mut Core, after: &Values) {
        let before = std::mem::replace(&mut core.registers, after.registers.clone());
        for register in (0..32).filter(|r| self.moving >> r & 1 != 0) {
            core.registers.set(register, before.get(register));
        }
        for (word, value) in self.words.iter().zip(after.words) {
            if word.same {
                core.dcache.set_word(word.offset, value);
            }
        }
    }
}

/// Bytes of memory as a number.
fn load(bytes: &[u8], little: bool) -> u32 {
    let join = |value: u32, byte: &u8| value << 8 | u32::from(*byte);
    if little {
        bytes.iter().rev().fold(0, join)
    } else {
        bytes.iter().fold(0, join)
    }
}

/// The last bytes of a number in memory order.
fn store(bytes: &mut [u8], value: u32, little: bool) {
    let len = bytes.len();
    if little {
        bytes.copy_from_slice(&value.to_le_bytes()[..len]);
    } else {
        bytes.copy_from_slice(&value.to_be_bytes()[4 - len..]);
    }
}

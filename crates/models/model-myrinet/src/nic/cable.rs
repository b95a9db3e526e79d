//! The card's end of its cable.

use crate::faults::{Cable, Fate};
use ::myrinet::{Signal, Slot, Wires};
use des::Time;

/// Signals that a card puts on its cable.
pub(super) struct Sent<'a>(pub &'a mut Vec<(Time, Signal)>);

impl Wires for Sent<'_> {
    fn put(&mut self, _: usize, at: Time, signal: Signal) {
        self.0.push((at, signal));
    }
}

/// Lets the cable have its faults. False if the slot is lost.
pub(super) fn carried(cable: &mut Option<Box<Cable>>, at: Time, slot: &mut Slot) -> bool {
    let Some(cable) = cable else { return true };
    match cable.carries(at, slot.len.into(), slot.ends) {
        Fate::Whole => {}
        Fate::Wrong(bit) => slot.bytes[bit as usize / 8] ^= 1 << (bit % 8),
        Fate::Lost => return false,
    }
    true
}

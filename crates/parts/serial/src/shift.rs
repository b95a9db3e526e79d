//! Words that arrive some bytes late.

use crate::Symbol;

/// Models the output of a receiver that has locked some bytes beside the beginning of words.
#[derive(Clone, Copy, Debug)]
pub struct Shifter {
    /// Bytes of a symbol, and those by which words are late.
    width: u8,
    late: u8,
    before: Symbol,
}

impl Shifter {
    /// Shifter for symbols of `width` bytes, late by less than that.
    pub fn new(width: u8, late: u8) -> Shifter {
        assert!(late < width, "a lane is late by less than a symbol");
        Shifter { width, late, before: Symbol::default() }
    }

    /// A cycle.
    pub fn shift(&mut self, symbol: Symbol) -> Symbol {
        let (width, ahead) = (self.width, self.width - self.late);
        let before = std::mem::replace(&mut self.before, symbol);
        let bytes = u64::from(symbol.bytes) << (8 * width) | u64::from(before.bytes);
        let control = u16::from(symbol.control) << width | u16::from(before.control);
        Symbol {
            bytes: (bytes >> (8 * ahead)) as u32 & (u32::MAX >> (32 - 8 * width)),
            control: (control >> ahead) as u8 & (0xFF >> (8 - width)),
        }
    }
}

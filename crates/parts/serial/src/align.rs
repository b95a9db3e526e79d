//! The alignment circuit of a lane: finds where words begin among the bytes that arrive.

use crate::Symbol;
use abi::forth::mark;

/// Takes a symbol a cycle and gives one, whose first byte is the first of what was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aligner {
    /// Bytes of a symbol.
    width: u8,
    previous: Symbol,
    /// Bytes by which words are late, once a comma has shown it.
    shift: Option<u8>,
    out: Option<Symbol>,
}

impl Aligner {
    /// Aligner for symbols of `width` bytes: 4, or 2 where four lanes share a word.
    pub fn new(width: u8) -> Aligner {
        Aligner { width, previous: Symbol::default(), shift: None, out: None }
    }
    /// The aligned symbol of the last edge; `None` as long as no comma was seen.
    pub fn output(&self) -> Option<Symbol> {
        self.out
    }

    /// Bytes by which words are late, once a comma has shown it.
    pub fn shift(&self) -> Option<u8> {
        self.shift
    }

    /// The clock's edge.
    pub fn clock(&mut self, symbol: Symbol) {
        let (bits, mask) = (8 * self.width, 0xFF >> (8 - self.width));
        let bytes = u64::from(symbol.bytes) << bits | u64::from(self.previous.bytes);
        let control = u16::from(symbol.control) << self.width | u16::from(self.previous.control);
        let comma = (0..self.width).find(|byte| {
            let is_control = control >> byte & 1 == 1;
            is_control && (bytes >> (8 * byte)) as u8 == mark::IDLE
        });
        self.shift = comma.or(self.shift);
        self.out = self.shift.map(|shift| Symbol {
            bytes: (bytes >> (8 * shift)) as u32 & (u32::MAX >> (32 - bits)),
            control: (control >> shift) as u8 & mask,
        });
        self.previous = symbol;
    }
}

//! The alignment circuit of a lane: finds where words begin among the bytes that arrive.

use crate::Symbol;
use abi::forth::mark;

/// Takes a symbol a cycle and gives one, whose first byte is the first of what was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Aligner {
    previous: Symbol,
    /// Bytes by which words are late, once a comma has shown it.
    shift: Option<u8>,
    out: Option<Symbol>,
}

impl Aligner {
    /// The aligned symbol of the last edge; `None` as long as no comma was seen.
    pub fn output(&self) -> Option<Symbol> {
        self.out
    }

    /// The clock's edge.
    pub fn clock(&mut self, symbol: Symbol) {
        let bytes = u64::from(symbol.bytes) << 32 | u64::from(self.previous.bytes);
        let control = u16::from(symbol.control) << 4 | u16::from(self.previous.control);
        let comma = (0..4).find(|byte| {
            let is_control = control >> byte & 1 == 1;
            is_control && (bytes >> (8 * byte)) as u8 == mark::IDLE
        });
        self.shift = comma.or(self.shift);
        self.out = self.shift.map(|shift| Symbol {
            bytes: (bytes >> (8 * shift)) as u32,
            control: (control >> shift & 0xF) as u8,
        });
        self.previous = symbol;
    }
}

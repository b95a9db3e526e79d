//! The lanes of a link side by side.

use crate::Symbol;

/// Symbols of all lanes of a link in a cycle: 64 bits with their flags. Each of two lanes has a symbol, a
/// single one has the first, and each of four has half of one, two bytes: lanes 0 and 1 the first.
pub type Symbols = [Symbol; 2];

/// True if a link may have so many lanes.
pub fn is_count(lanes: u8) -> bool {
    matches!(lanes, 1 | 2 | 4)
}

/// Bytes that a lane of `lanes` carries in a cycle.
pub fn lane_bytes(lanes: u8) -> u8 {
    if lanes == 4 {
        2
    } else {
        4
    }
}

/// Symbol of lane `lane` of `lanes`.
pub fn lane(symbols: &Symbols, lanes: u8, lane: u8) -> Symbol {
    if lanes < 4 {
        return symbols[usize::from(lane)];
    }
    let Symbol { bytes, control } = symbols[usize::from(lane / 2)];
    let upper = lane % 2;
    Symbol { bytes: bytes >> (16 * upper) & 0xFFFF, control: control >> (2 * upper) & 3 }
}

/// Lane `lane` of `lanes` carries `symbol`.
pub fn set_lane(symbols: &mut Symbols, lanes: u8, lane: u8, symbol: Symbol) {
    if lanes < 4 {
        symbols[usize::from(lane)] = symbol;
        return;
    }
    let (both, upper) = (&mut symbols[usize::from(lane / 2)], lane % 2);
    both.bytes = both.bytes & !(0xFFFF << (16 * upper)) | symbol.bytes << (16 * upper);
    both.control = both.control & !(3 << (2 * upper)) | symbol.control << (2 * upper);
}

/// True if no lane of `lanes` carries anything.
pub fn are_idle(symbols: &Symbols, lanes: u8) -> bool {
    (0..lanes).all(|n| lane(symbols, lanes, n).is_idle())
}

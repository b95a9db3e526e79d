//! Byte lanes: which bytes of a word a run of bytes moves.

use crate::WORD;

/// Lanes of the word at `addr` that a run of `bytes` from there on covers, bit 0 the lowest address.
pub(crate) fn of_run(addr: u64, bytes: u16) -> u8 {
    let first = addr % WORD;
    let len = (WORD - first).min(u64::from(bytes));
    (((1_u16 << len) - 1) << first) as u8
}

/// Words that a run of `bytes` at `addr` touches.
pub(crate) fn words(addr: u64, bytes: u16) -> u16 {
    ((addr % WORD + u64::from(bytes)).div_ceil(WORD)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_covers_what_it_reaches_of_each_word() {
        assert_eq!([of_run(0x10, 8), of_run(0x10, 100)], [0xFF, 0xFF]);
        assert_eq!([of_run(0x13, 2), of_run(0x13, 5), of_run(0x13, 6)], [0b1_1000, 0xF8, 0xF8]);
        assert_eq!([of_run(0x17, 1), of_run(0x10, 1)], [0x80, 0x01]);
        assert_eq!([words(0x10, 8), words(0x11, 8), words(0x17, 1), words(0x17, 2)], [1, 2, 1, 2]);
        assert_eq!([words(0, 4096), words(1, 4096)], [512, 513]);
    }
}

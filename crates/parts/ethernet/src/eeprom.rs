//! The serial memory that has the adapter's address (a 93C46 of 64 words), as its driver reads it: bit by
//! bit.

use crate::frame::Address;

/// Pins, as bits of the register.
const SELECT: u8 = 1 << 3;
const CLOCK: u8 = 1 << 2;
const IN: u8 = 1 << 1;
const OUT: u8 = 1;

/// Mode of the register in which the pins are the driver's.
const MODE: u8 = 0xC0;
const PROGRAMMING: u8 = 0x80;

/// Start bit, two of the command, six of the address.
const COMMAND_BITS: u32 = 9;
/// A start bit and READ.
const READ: u16 = 0b110;
/// The first words: the chip's name, and from here on the address.
const NAME: u16 = 0x8129;
const ADDRESS_AT: usize = 7;

/// The memory with its pins.
#[derive(Clone, Debug)]
pub(crate) struct Eeprom {
    words: [u16; 64],
    register: u8,
    command: u16,
    /// Bits of the command that have come, beginning with its start bit.
    bits: u32,
    /// Word that is shifted out, and the number of bits left.
    word: u16,
    left: u32,
    out: bool,
}

impl Eeprom {
    pub fn new(address: Address) -> Eeprom {
        let mut words = [0; 64];
        words[0] = NAME;
        for (word, pair) in words[ADDRESS_AT..].iter_mut().zip(address.chunks_exact(2)) {
            *word = u16::from_le_bytes([pair[0], pair[1]]);
        }
        Eeprom { words, register: 0, command: 0, bits: 0, word: 0, left: 0, out: true }
    }

    /// The register as it is read.
    pub fn register(&self) -> u8 {
        match self.register & MODE {
            PROGRAMMING => self.register & !OUT | u8::from(self.out),
            _ => self.register & MODE,
        }
    }

    /// Sets the pins, for the driver.
    pub fn store(&mut self, value: u8) {
        let rises = value & CLOCK != 0 && self.register & CLOCK == 0;
        self.register = value;
        if value & MODE != PROGRAMMING || value & SELECT == 0 {
            (self.command, self.bits, self.left, self.out) = (0, 0, 0, true);
        } else if rises {
            self.clock(value & IN != 0);
        }
    }

    fn clock(&mut self, bit: bool) {
        if self.left > 0 {
            self.out = self.word & 0x8000 != 0;
            self.word <<= 1;
            self.left -= 1;
        } else if self.bits > 0 || bit {
            // Zeros before the start bit are none of the command's.
            self.command = self.command << 1 | u16::from(bit);
            self.bits += 1;
            if self.bits == COMMAND_BITS {
                self.execute();
            }
        }
    }

    fn execute(&mut self) {
        if self.command >> 6 == READ {
            (self.word, self.left) = (self.words[usize::from(self.command & 0x3F)], 16);
            // A zero comes before the word.
            self.out = false;
        }
        (self.command, self.bits) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a driver reads: a command of `bits` bits, then 16 clocks.
    fn read(eeprom: &mut Eeprom, at: u16) -> u16 {
        eeprom.store(PROGRAMMING);
        for bit in (0..COMMAND_BITS + 2).rev() {
            let high = (READ << 6 | at) >> bit & 1 != 0;
            let pins = PROGRAMMING | SELECT | if high { IN } else { 0 };
            eeprom.store(pins);
            eeprom.store(pins | CLOCK);
        }
        eeprom.store(PROGRAMMING | SELECT);
        let mut word = 0;
        for _ in 0..16 {
            eeprom.store(PROGRAMMING | SELECT | CLOCK);
            word = word << 1 | u16::from(eeprom.register() & OUT);
            eeprom.store(PROGRAMMING | SELECT);
        }
        eeprom.store(0);
        word
    }

    #[test]
    fn words_are_read_bit_by_bit() {
        let mut eeprom = Eeprom::new([0x02, 0x53, 0x55, 0, 0, 7]);
        assert_eq!(read(&mut eeprom, 0), NAME);
        assert_eq!([7, 8, 9].map(|at| read(&mut eeprom, at)), [0x5302, 0x0055, 0x0700]);
        assert_eq!(read(&mut eeprom, 63), 0);
    }
}

//! The registers, for who looks at them and for tests.

use super::{Core, NONE, PC};

impl Core {
    /// All registers, as instructions would read them now: `r2` is the program counter.
    pub fn registers(&self) -> [u32; 32] {
        let mut registers = self.registers;
        registers[PC] = self.pc;
        registers
    }

    /// The flags: zero 1, negative 2, overflow 4, carry 8.
    pub fn flags(&self) -> u32 {
        self.flags
    }

    /// Sets the flags.
    pub fn set_flags(&mut self, flags: u32) {
        self.disturbed();
        self.flags = flags & 15;
    }

    /// Sets a register; `r0` and `r1` stay as they are, and `r2` is where it goes on, with no slot before.
    pub fn set_register(&mut self, number: usize, value: u32) {
        self.disturbed();
        if number == PC {
            (self.pc, self.next, self.late) = (value, value.wrapping_add(4), NONE);
        } else {
            self.put(number as u8, value);
        }
    }
}

//! Cores that differ only by a number that each was given, as two nodes after the same boot.

use crate::Core;
use bus::Copy16;

/// Places in which a core holds copies of such a number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copies {
    registers: Vec<usize>,
    cached: Vec<Copy16>,
}

impl Core {
    /// Places in which this core holds `mine` and `other`, which has executed the same, holds `theirs`;
    /// `None` if the cores differ in anything else.
    pub fn copies(&self, mine: u16, other: &Core, theirs: u16) -> Option<Copies> {
        let registers: Vec<usize> = (0..32).filter(|&n| self.gpr(n) != other.gpr(n)).collect();
        let told = |n: usize| self.gpr(n) == u32::from(mine) && other.gpr(n) == u32::from(theirs);
        if !registers.iter().all(|&n| told(n)) {
            return None;
        }
        let (data, theirs_data) = (&self.dcache.data[..], &other.dcache.data[..]);
        let copies = Copies { registers, cached: bus::copies(data, mine, theirs_data, theirs)? };
        let mut twin = self.clone();
        twin.set_copies(&copies, theirs);
        (twin.digest() == other.digest() && twin.now() == other.now()).then_some(copies)
    }

    /// Lets the copies hold `value`.
    pub fn set_copies(&mut self, copies: &Copies, value: u16) {
        self.disturb();
        for &register in &copies.registers {
            self.set_gpr(register, value.into());
        }
        for copy in &copies.cached {
            copy.write(&mut self.dcache.data[..], value);
        }
    }
}

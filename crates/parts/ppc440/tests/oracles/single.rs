//! A core that executes one short piece of code after the other, each from registers that a test
//! sets.

use crate::support::asm::END;
use crate::support::{core, Flat, OnAnyBus, ALL};
use des::Time;
use ppc440::{spr, Core, Stop, TlbEntry};

/// Address of the code, big-endian; a test may use memory from `FREE` on.
const CODE: u32 = 0x1000_0000;
const CODE_LEN: u32 = 4 << 20;
pub const FREE: u64 = CODE_LEN as u64;

pub struct Single {
    pub core: Core,
    pub flat: Flat,
    next: u32,
}

impl Single {
    /// Core with further memory of `len` bytes at `FREE`.
    pub fn new(len: usize) -> Single {
        let mut core = core(CODE);
        core.set_tlb_entry(0, TlbEntry::new(CODE, 0, 7, ALL));
        Single { core, flat: Flat::new(0, CODE_LEN as usize + len), next: 0 }
    }
    /// Executes `words`, which must reach their end.
    pub fn run(&mut self, words: &[u32]) -> &Core {
        assert!(self.next + 4 * words.len() as u32 + 4 < CODE_LEN, "too much code");
        self.flat.words_be(self.next.into(), words);
        let end = self.next + 4 * words.len() as u32;
        self.flat.words_be(end.into(), &[END]);
        self.core.resume_at(CODE + self.next);
        // The line may hold what was behind the code before.
        self.core.memory_changed();
        let stop = self.core.run_on(&mut self.flat, Time::NEVER);
        assert_eq!(stop, Stop::Fault);
        let fault = self.core.fault().unwrap();
        assert_eq!(fault.pc, CODE + end, "{words:x?}: {fault}");
        self.next = end + 4;
        &self.core
    }
    /// Sets general registers, CR and XER.
    pub fn set(&mut self, gpr: &[u32; 32], cr: u32, xer: u32) {
        for (register, value) in gpr.iter().enumerate() {
            self.core.set_gpr(register, *value);
        }
        self.core.set_cr(cr);
        self.core.set_spr(spr::XER, xer).unwrap();
    }
    pub fn gpr(&self) -> [u32; 32] {
        std::array::from_fn(|register| self.core.gpr(register))
    }
    pub fn xer(&self) -> u32 {
        self.core.spr(spr::XER).unwrap()
    }
}

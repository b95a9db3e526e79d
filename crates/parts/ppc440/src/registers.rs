//! The registers that a program sees, without those that only the system software sees (see `spr`).

use crate::timing::reg;

/// MSR: wait state, the core stops until an interrupt.
pub const MSR_WE: u32 = 0x0004_0000;
/// MSR: critical interrupts enabled.
pub const MSR_CE: u32 = 0x0002_0000;
/// MSR: external, decrementer and fixed interval interrupts enabled.
pub const MSR_EE: u32 = 0x0000_8000;
/// MSR: problem (user) state.
pub const MSR_PR: u32 = 0x0000_4000;
/// MSR: machine checks enabled.
pub const MSR_ME: u32 = 0x0000_1000;
/// MSR: debug interrupts enabled.
pub const MSR_DE: u32 = 0x0000_0200;
/// MSR: address space of instruction fetches.
pub const MSR_IS: u32 = 0x0000_0020;
/// MSR: address space of data accesses.
pub const MSR_DS: u32 = 0x0000_0010;
/// Bits that an MSR can hold; FP (no FPU), FE0, FE1 and DWE are kept but do nothing.
pub(crate) const MSR_MASK: u32 = 0x0006_ff30;

/// Condition register field bits.
pub(crate) const LT: u8 = 8;
pub(crate) const GT: u8 = 4;
pub(crate) const EQ: u8 = 2;

/// User registers, program counter and MSR. Index 32 of `gpr` always holds 0 and represents "RA =
/// 0"; the array is as long as an index can be, so that none needs a check.
#[derive(Clone, Hash)]
#[repr(C)]
pub(crate) struct Registers {
    /// The condition register, a field (LT GT EQ SO) an element.
    pub cr: [u8; 8],
    pub so: bool,
    pub ov: bool,
    pub ca: bool,
    /// Byte count of lswx, stswx and dlmzb (XER bits 25 to 31).
    pub count: u8,
    pub lr: u32,
    pub ctr: u32,
    pub pc: u32,
    pub msr: u32,
    /// A reservation of lwarx is held.
    pub reserved: bool,
    pub gpr: [u32; 256],
}

/// State visible to a program at some instant.
#[derive(Clone)]
pub(crate) struct Snapshot {
    gpr: [u32; 32],
    others: Others,
}

/// All but the general registers: PC, MSR, CR, LR, CTR, XER, and whether there is a reservation.
pub(crate) type Others = (u32, u32, [u8; 8], u32, u32, u32, bool);

impl Snapshot {
    pub fn gpr(&self, index: u8) -> u32 {
        self.gpr[usize::from(index)]
    }
}

/// Selects a bit (0 is the leftmost) of the condition register, quickly: its field, and the bit
/// in the field.
pub(crate) fn selector(index: u8) -> u8 {
    index >> 2 << 4 | 8 >> (index & 3)
}

impl Registers {
    pub fn snapshot(&self) -> Snapshot {
        let gpr = *self.gpr.first_chunk().expect("there are more than 32");
        Snapshot { gpr, others: self.others() }
    }
    /// True if all except the general registers are equal.
    pub fn equal_others(&self, snapshot: &Snapshot) -> bool {
        self.others() == snapshot.others
    }
    /// All but the general registers.
    pub fn others(&self) -> Others {
        (self.pc, self.msr, self.cr, self.lr, self.ctr, self.xer(), self.reserved)
    }
    /// Equal to `snapshot` in what instructions read that name the registers of `live` (a bit each, see
    /// `timing::reg`).
    pub fn equal_in(&self, snapshot: &Snapshot, live: u64) -> bool {
        let (pc, msr, cr, lr, ctr, xer, reserved) = snapshot.others;
        let names = |register: u8| live >> register & 1 != 0;
        (pc, msr, xer, reserved) == (self.pc, self.msr, self.xer(), self.reserved)
            && (lr == self.lr || !names(reg::LR))
            && (ctr == self.ctr || !names(reg::CTR))
            && (reg::CR..).zip(cr.iter().zip(&self.cr)).all(|(r, (a, b))| a == b || !names(r))
            && (0..).zip(snapshot.gpr.iter().zip(&self.gpr)).all(|(r, (a, b))| a == b || !names(r))
    }
    /// Restores the registers of a snapshot.
    pub fn restore(&mut self, snapshot: &Snapshot) {
        self.gpr[..32].copy_from_slice(&snapshot.gpr);
        let (pc, msr, cr, lr, ctr, xer, reserved) = snapshot.others;
        (self.pc, self.msr, self.cr, self.lr, self.ctr) = (pc, msr, cr, lr, ctr);
        self.reserved = reserved;
        self.set_xer(xer);
    }
    pub fn new() -> Registers {
        Registers {
            gpr: [0; 256],
            cr: [0; 8],
            so: false,
            ov: false,
            ca: false,
            count: 0,
            lr: 0,
            ctr: 0,
            pc: 0xffff_fffc,
            msr: 0,
            reserved: false,
        }
    }
    #[inline(always)]
    pub fn get(&self, index: u8) -> u32 {
        self.gpr[usize::from(index)]
    }
    #[inline(always)]
    pub fn set(&mut self, index: u8, value: u32) {
        self.gpr[usize::from(index)] = value;
    }
    /// Sets CR0 from a result.
    #[inline(always)]
    pub fn record(&mut self, value: u32) {
        self.cr[0] = self.compare((value as i32).cmp(&0));
    }
    #[inline(always)]
    pub fn compare(&self, order: std::cmp::Ordering) -> u8 {
        let bit = match order {
            std::cmp::Ordering::Less => LT,
            std::cmp::Ordering::Greater => GT,
            std::cmp::Ordering::Equal => EQ,
        };
        bit | u8::from(self.so)
    }
    #[inline(always)]
    pub fn overflow(&mut self, overflow: bool) {
        self.ov = overflow;
        self.so |= overflow;
    }
    /// Bit `index` (0 is the leftmost) of the condition register.
    #[inline(always)]
    pub fn cr_bit(&self, index: u8) -> bool {
        self.cr[usize::from(index >> 2) & 7] >> (3 - (index & 3)) & 1 != 0
    }
    /// The bit that a [`selector`] selects.
    #[inline(always)]
    pub fn selected(&self, selector: u8) -> bool {
        self.cr[usize::from(selector >> 4) & 7] & selector & 15 != 0
    }
    pub fn set_cr_bit(&mut self, index: u8, value: bool) {
        let mask = 8 >> (index & 3);
        let field = &mut self.cr[usize::from(index >> 2) & 7];
        *field = (*field & !mask) | if value { mask } else { 0 };
    }
    pub fn cr(&self) -> u32 {
        self.cr.iter().fold(0, |word, &field| word << 4 | u32::from(field))
    }
    /// Writes the fields of the condition register that `fields` (bit 7 is field 0) selects.
    pub fn set_cr(&mut self, word: u32, fields: u8) {
        for field in 0..8 {
            if fields & (0x80 >> field) != 0 {
                self.cr[field] = (word >> (28 - 4 * field) & 15) as u8;
            }
        }
    }
    pub fn xer(&self) -> u32 {
        u32::from(self.so) << 31
            | u32::from(self.ov) << 30
            | u32::from(self.ca) << 29
            | u32::from(self.count)
    }
    pub fn set_xer(&mut self, word: u32) {
        self.so = word >> 31 != 0;
        self.ov = word >> 30 & 1 != 0;
        self.ca = word >> 29 & 1 != 0;
        self.count = (word & 0x7f) as u8;
    }
}

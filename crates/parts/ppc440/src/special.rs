//! Special purpose registers, the time base and the timers. Time base and decrementer tick once a
//! core cycle.

use crate::core::{Core, Flow};
use crate::fault::FaultKind;
use crate::registers::MSR_EE;

/// Numbers of the special purpose registers that firmware and tests name.
pub mod spr {
    #![allow(missing_docs)]
    pub const XER: u32 = 1;
    pub const LR: u32 = 8;
    pub const CTR: u32 = 9;
    pub const DEC: u32 = 22;
    pub const SRR0: u32 = 26;
    pub const SRR1: u32 = 27;
    pub const PID: u32 = 48;
    pub const DECAR: u32 = 54;
    pub const CSRR0: u32 = 58;
    pub const CSRR1: u32 = 59;
    pub const DEAR: u32 = 61;
    pub const ESR: u32 = 62;
    pub const IVPR: u32 = 63;
    pub const USPRG0: u32 = 256;
    pub const SPRG4R: u32 = 260;
    pub const TBL_READ: u32 = 268;
    pub const TBU_READ: u32 = 269;
    pub const SPRG0: u32 = 272;
    pub const TBL: u32 = 284;
    pub const TBU: u32 = 285;
    pub const PIR: u32 = 286;
    pub const PVR: u32 = 287;
    pub const DBSR: u32 = 304;
    pub const DBCR0: u32 = 308;
    pub const IAC1: u32 = 312;
    pub const DAC1: u32 = 316;
    pub const DVC1: u32 = 318;
    pub const TSR: u32 = 336;
    pub const TCR: u32 = 340;
    pub const IVOR0: u32 = 400;
    pub const MCSRR0: u32 = 570;
    pub const MCSRR1: u32 = 571;
    pub const MCSR: u32 = 572;
    pub const INV0: u32 = 880;
    pub const ITV0: u32 = 884;
    pub const CCR1: u32 = 888;
    pub const DNV0: u32 = 912;
    pub const DTV0: u32 = 916;
    pub const DVLIM: u32 = 920;
    pub const IVLIM: u32 = 921;
    pub const RSTCFG: u32 = 923;
    pub const DCDBTRL: u32 = 924;
    pub const MMUCR: u32 = 946;
    pub const CCR0: u32 = 947;
    pub const ICDBDR: u32 = 979;
    pub const DBDR: u32 = 1011;
}

/// Timer status: decrementer, fixed interval.
pub(crate) const TSR_DIS: u32 = 0x0800_0000;
pub(crate) const TSR_FIS: u32 = 0x0400_0000;
/// Timer control: decrementer and fixed interval interrupt enable, auto reload.
pub(crate) const TCR_DIE: u32 = 0x0400_0000;
pub(crate) const TCR_FIE: u32 = 0x0080_0000;
const TCR_ARE: u32 = 0x0040_0000;
/// MMUCR: stores that miss do not allocate a line.
pub(crate) const MMUCR_SWOA: u32 = 0x0100_0000;
/// MMUCR: address space that tlbsx searches.
pub(crate) const MMUCR_STS: u32 = 0x0001_0000;
const MMUCR_MASK: u32 = 0x017d_00ff | MMUCR_STS;
/// CCR0: every misaligned access raises an alignment exception.
pub(crate) const CCR0_FLSTA: u32 = 0x0000_0100;
/// CCR0: stores are not gathered.
pub(crate) const CCR0_DSTG: u32 = 0x0020_0000;
/// CCR0: lines to fetch ahead of one that missed, and doublewords of one that must be there to be
/// kept if another misses.
pub(crate) const CCR0_ICSLC: u32 = 0x0000_000c;
pub(crate) const CCR0_ICSLT: u32 = 0x0000_0003;
/// CCR1: a flush always writes the whole line.
pub(crate) const CCR1_FFF: u32 = 0x0000_0800;

/// Processor version: a 440x5 core. The SeaStar's own value is not published.
const PVR: u32 = 0x5322_1850;

/// System registers. Debug registers are kept but do nothing: there are no debug exceptions.
#[derive(Clone, Default, Hash)]
pub(crate) struct Special {
    pub srr0: u32,
    pub srr1: u32,
    pub csrr0: u32,
    pub csrr1: u32,
    pub mcsrr0: u32,
    pub mcsrr1: u32,
    mcsr: u32,
    pub dear: u32,
    pub esr: u32,
    pub ivpr: u32,
    pub ivor: [u32; 16],
    usprg0: u32,
    sprg: [u32; 8],
    pub pid: u32,
    pub mmucr: u32,
    pub ccr0: u32,
    pub ccr1: u32,
    dbsr: u32,
    /// DBCR0 to 2, then IAC1 to 4, DAC1 and 2, DVC1 and 2 (SPR 308 to 319 without the gap at 311).
    debug: [u32; 12],
    dbdr: u32,
    pub tcr: u32,
    pub tsr: u32,
    decar: u32,
    /// Time base minus cycle.
    tb_offset: u64,
    /// Cycle at which the decrementer reaches 0, and whether that is still to come.
    dec_zero: u64,
    dec_armed: bool,
    /// Fixed intervals that had ended when the timers were last looked at.
    fit_seen: u64,
}

impl Special {
    fn time_base(&self, cycle: u64) -> u64 {
        cycle.wrapping_add(self.tb_offset)
    }
    /// The bit of the time base that the fixed interval timer watches: an interval ends whenever it
    /// becomes 1 (PPC440x5 manual, fixed interval timer).
    fn fit_bit(&self) -> u64 {
        1 << (12 + 4 * (self.tcr >> 24 & 3))
    }
    /// Number of times that bit has become 1 when the time base has counted up to `time_base`.
    fn fit_rises(&self, time_base: u64) -> u64 {
        time_base.wrapping_add(self.fit_bit()) / (2 * self.fit_bit())
    }
    /// Brings TSR up to `cycle`.
    pub fn update_timers(&mut self, cycle: u64) {
        if self.dec_armed && cycle >= self.dec_zero {
            self.tsr |= TSR_DIS;
            let reload = u64::from(self.decar);
            if self.tcr & TCR_ARE != 0 && reload != 0 {
                self.dec_zero += ((cycle - self.dec_zero) / reload + 1) * reload;
            } else {
                self.dec_armed = false;
            }
        }
        let intervals = self.fit_rises(self.time_base(cycle));
        if intervals != self.fit_seen {
            self.fit_seen = intervals;
            self.tsr |= TSR_FIS;
        }
    }
    /// First cycle at or after `cycle` at which a timer interrupt that is enabled in TCR is
    /// pending.
    pub fn next_timer(&self, cycle: u64) -> u64 {
        let mut next = u64::MAX;
        if self.tcr & TCR_DIE != 0 {
            if self.tsr & TSR_DIS != 0 {
                return cycle;
            }
            if self.dec_armed {
                next = self.dec_zero;
            }
        }
        if self.tcr & TCR_FIE != 0 {
            if self.tsr & TSR_FIS != 0 {
                return cycle;
            }
            let end = (2 * self.fit_seen + 1).wrapping_mul(self.fit_bit());
            next = next.min(end.wrapping_sub(self.tb_offset));
        }
        next.max(cycle)
    }
}

impl Core {
    /// First cycle at which a timer interrupt can be taken.
    pub(crate) fn timer_cycle(&self) -> u64 {
        if self.registers.msr & MSR_EE == 0 {
            u64::MAX
        } else {
            self.special.next_timer(self.pipeline.cycle())
        }
    }

    /// Reads a special purpose register; `None` if the 440 has none of that number. `cycle` is the
    /// present.
    pub(crate) fn read_special(&self, number: u32, cycle: u64) -> Option<u32> {
        let s = &self.special;
        let index = |first: u32| (number - first) as usize;
        Some(match number {
            spr::XER => self.registers.xer(),
            spr::LR => self.registers.lr,
            spr::CTR => self.registers.ctr,
            spr::DEC => s.dec_zero.saturating_sub(cycle) as u32,
            spr::SRR0 => s.srr0,
            spr::SRR1 => s.srr1,
            spr::PID => s.pid,
            spr::CSRR0 => s.csrr0,
            spr::CSRR1 => s.csrr1,
            spr::DEAR => s.dear,
            spr::ESR => s.esr,
            spr::IVPR => s.ivpr,
            spr::USPRG0 => s.usprg0,
            260..=263 => s.sprg[4 + index(260)],
            spr::TBL_READ => s.time_base(cycle) as u32,
            spr::TBU_READ => (s.time_base(cycle) >> 32) as u32,
            272..=279 => s.sprg[index(272)],
            spr::PIR => 0,
            spr::PVR => PVR,
            spr::DBSR => s.dbsr,
            308..=310 | 312..=319 => s.debug[index(308)],
            spr::TSR => s.tsr,
            spr::TCR => s.tcr,
            400..=415 => s.ivor[index(400)],
            spr::MCSRR0 => s.mcsrr0,
            spr::MCSRR1 => s.mcsrr1,
            spr::MCSR => s.mcsr,
            880..=883 => self.icache.victims.register(false, index(880)),
            884..=887 => self.icache.victims.register(true, index(884)),
            spr::CCR1 => s.ccr1,
            912..=915 => self.dcache.victims.register(false, index(912)),
            916..=919 => self.dcache.victims.register(true, index(916)),
            spr::DVLIM => self.dcache.victims.limits,
            spr::IVLIM => self.icache.victims.limits,
            // RSTCFG and the cache debug registers: dcread and icread are not modelled.
            923..=927 | spr::ICDBDR => 0,
            spr::MMUCR => s.mmucr,
            spr::CCR0 => s.ccr0,
            spr::DBDR => s.dbdr,
            _ => return None,
        })
    }

    /// Writes a special purpose register; `None` if the 440 has none of that number that can be
    /// written.
    pub(crate) fn write_special(&mut self, number: u32, value: u32, cycle: u64) -> Option<()> {
        let index = |first: u32| (number - first) as usize;
        let s = &mut self.special;
        match number {
            spr::XER => self.registers.set_xer(value),
            spr::LR => self.registers.lr = value,
            spr::CTR => self.registers.ctr = value,
            spr::DEC => {
                s.update_timers(cycle);
                s.dec_zero = cycle + u64::from(value);
                s.dec_armed = value != 0;
            }
            spr::DECAR => {
                // Earlier reloads used the old value.
                s.update_timers(cycle);
                s.decar = value;
            }
            spr::SRR0 => s.srr0 = value & !3,
            spr::SRR1 => s.srr1 = value,
            spr::PID => {
                s.pid = value & 0xff;
                self.tlb.forget();
            }
            spr::CSRR0 => s.csrr0 = value & !3,
            spr::CSRR1 => s.csrr1 = value,
            spr::DEAR => s.dear = value,
            spr::ESR => s.esr = value,
            spr::IVPR => s.ivpr = value & 0xffff_0000,
            spr::USPRG0 => s.usprg0 = value,
            272..=279 => s.sprg[index(272)] = value,
            spr::TBL | spr::TBU => self.write_time_base(number, value, cycle),
            spr::DBSR => s.dbsr &= !value,
            308..=310 | 312..=319 => s.debug[index(308)] = value,
            spr::TSR => {
                s.update_timers(cycle);
                s.tsr &= !value;
            }
            spr::TCR => {
                s.update_timers(cycle);
                s.tcr = value;
                s.fit_seen = s.fit_rises(s.time_base(cycle));
            }
            400..=415 => s.ivor[index(400)] = value & 0xfff0,
            spr::MCSRR0 => s.mcsrr0 = value & !3,
            spr::MCSRR1 => s.mcsrr1 = value,
            spr::MCSR => s.mcsr &= !value,
            880..=883 => self.icache.victims.set_register(false, index(880), value),
            884..=887 => self.icache.victims.set_register(true, index(884), value),
            spr::CCR1 => s.ccr1 = value,
            912..=915 => self.dcache.victims.set_register(false, index(912), value),
            916..=919 => self.dcache.victims.set_register(true, index(916), value),
            spr::DVLIM => self.dcache.victims.limits = value,
            spr::IVLIM => self.icache.victims.limits = value,
            spr::MMUCR => s.mmucr = value & MMUCR_MASK,
            spr::CCR0 => {
                s.ccr0 = value;
                // The fast path of loads and stores knows nothing of CCR0[FLSTA].
                self.tlb.forget();
            }
            spr::DBDR => s.dbdr = value,
            _ => return None,
        }
        self.refresh_limit();
        Some(())
    }

    fn write_time_base(&mut self, number: u32, value: u32, cycle: u64) {
        let s = &mut self.special;
        s.update_timers(cycle);
        let old = s.time_base(cycle);
        let new = match number {
            spr::TBL => old & !0xffff_ffff | u64::from(value),
            _ => old & 0xffff_ffff | u64::from(value) << 32,
        };
        s.tb_offset = new.wrapping_sub(cycle);
        // A bit that is written to 1 ends an interval, too.
        if !old & new & s.fit_bit() != 0 {
            s.tsr |= TSR_FIS;
        }
        s.fit_seen = s.fit_rises(new);
    }

    /// Records the fault of an access to a register that does not exist.
    pub(crate) fn no_special(&mut self, number: u32) -> Flow {
        self.stop(FaultKind::Spr { number }, None)
    }
}

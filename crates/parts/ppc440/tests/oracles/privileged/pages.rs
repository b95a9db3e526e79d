//! Cases' pages: writing and looking up TLB entries, and accesses and fetches through them.
//!
//! The TLB's entries have fixed places, so that no address ever has two translations, which the
//! manual forbids: an entry belongs to a window of effective addresses, and entries of one window
//! differ in address space or process id.

use super::{
    Entry, Generator, ADDRESS, BASE_MSR, BLOCK_BASE, CONSTANT, FRAMES, FRAMES_LEN, ICCCI, INDEX,
    RECOVERY,
};
use crate::random::value;
use crate::support::asm::*;
use ppc440::{spr, MSR_DS, MSR_PR, TLB_TS, TLB_VALID};

/// Loads and stores with displacement: primary opcode, bytes. Those with update are one above.
const DISPLACED: [(u32, u32); 7] = [(34, 1), (40, 2), (42, 2), (32, 4), (38, 1), (44, 2), (36, 4)];
/// Indexed ones, with update and without.
const INDEXED: [(u32, u32); 18] = [
    (87, 1),
    (279, 2),
    (343, 2),
    (23, 4),
    (790, 2),
    (534, 4),
    (215, 1),
    (407, 2),
    (151, 4),
    (918, 2),
    (662, 4),
    (119, 1),
    (311, 2),
    (375, 2),
    (55, 4),
    (247, 1),
    (439, 2),
    (183, 4),
];

/// Entries 0 and 1 map the program itself in the two address spaces.
const FIRST_DATA: u32 = 4;
const FIRST_CODE: u32 = 52;
const SIZES: [u32; 12] = [0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 7, 9];

/// Effective address and size of the window of an entry.
fn window(entry: u32) -> (u32, u32) {
    if entry >= FIRST_CODE {
        let number = entry - FIRST_CODE;
        return (0x2000_0000 + (number << 24), [0, 1, 2, 3][number as usize % 4]);
    }
    let number = (entry - FIRST_DATA) / 4;
    match SIZES[number as usize] {
        9 => (0x4000_0000, 9),
        size => (0x1000_0000 + (number << 24), size),
    }
}

impl Generator {
    /// Writes a whole entry of a data window.
    pub(super) fn tlb_write(&mut self) {
        let entry = FIRST_DATA + self.below(FIRST_CODE - FIRST_DATA);
        let (effective, size) = window(entry);
        // QEMU's pages are 4 KB: those of 1 KB must be congruent.
        let page: u32 = (1 << (10 + 2 * size)) - 1;
        let frame = FRAMES + self.below(FRAMES_LEN);
        self.write_entry(entry, effective, frame & !page.max(0xfff));
    }

    fn write_entry(&mut self, entry: u32, effective: u32, real: u32) {
        let (_, size) = window(entry);
        let (space, tid) = (self.below(2), self.below(4));
        let first = if entry < FIRST_CODE { entry & !3 } else { entry };
        let neighbours = if entry < FIRST_CODE { first..first + 4 } else { entry..entry + 1 };
        let clash = neighbours.into_iter().any(|other| {
            let e = self.tlb[other as usize];
            let same = e.tid == tid || e.tid == 0 || tid == 0;
            other != entry && e.valid && e.space == space && same
        });
        let valid = !clash && self.below(8) != 0;
        self.tlb[entry as usize] = Entry { valid, space, tid };
        let mut rights = self.below(64);
        if self.flag() {
            rights |= 0x3f & self.pick(&[0x1b, 0x3f, 0x03]);
        }
        // U0 to U3, M and G at random; no W, I for all or none. E is a bit that QEMU drops.
        let kind = self.below(32) << 11 & 0xf000 | self.below(4) << 8 & 0x300;
        let kind = if self.inhibited { kind | 0x400 } else { kind };
        let mut word0 = effective | size << 4;
        word0 |= if valid { TLB_VALID } else { 0 } | if space == 1 { TLB_TS } else { 0 };
        self.set(spr::MMUCR, tid | space << 16);
        self.push(li(ADDRESS, entry as i32));
        let order = self.pick(&[[0, 1, 2], [2, 1, 0], [1, 2, 0]]);
        // Not valid while its words do not fit together. QEMU would also go on with the old
        // translation if only space, id or rights change.
        self.constant(CONSTANT, word0 & !TLB_VALID);
        self.push(x(31, CONSTANT, ADDRESS, 0, 978));
        for word in order.into_iter().filter(|word| *word != 0).chain([0]) {
            self.constant(CONSTANT, [word0, real, kind | rights][word as usize]);
            self.push(x(31, CONSTANT, ADDRESS, word, 978));
        }
        self.push(ISYNC);
    }

    /// tlbre and tlbsx.
    pub(super) fn tlb_look(&mut self) {
        let (rt, entry) = (self.reg(), self.below(64));
        self.push(li(ADDRESS, entry as i32));
        if self.flag() {
            let word = self.below(3);
            self.push(x(31, rt, ADDRESS, word, 946));
            return self.push(mfspr(ADDRESS, spr::MMUCR));
        }
        let entry = FIRST_DATA + self.below(FIRST_CODE - FIRST_DATA);
        let address = self.effective(entry, 1);
        // QEMU searches both address spaces: only where they give the same.
        let tid = self.below(4);
        let first = entry & !3;
        let found: Vec<Entry> = (first..first + 4)
            .map(|other| self.tlb[other as usize])
            .filter(|e| e.valid && (e.tid == tid || e.tid == 0))
            .collect();
        let space = match found[..] {
            [] => self.below(2),
            [one] => one.space,
            _ => return,
        };
        self.set(spr::MMUCR, tid | space << 16);
        self.constant(ADDRESS, address);
        self.push(x(31, rt, 0, ADDRESS, 914) | 1);
        if found.is_empty() {
            // The register is undefined then.
            self.push(li(rt, 0));
        }
    }

    /// An effective address in an entry's window whose page, if there is one, shows frames.
    fn effective(&mut self, entry: u32, bytes: u32) -> u32 {
        let (effective, size) = window(entry);
        let page = 1 << (10 + 2 * size);
        let room = FRAMES_LEN.min(page) - bytes;
        let offset = self.below(room + 1) + if size == 9 { FRAMES } else { 0 };
        effective + offset
    }

    /// An address for an access of so many bytes: mostly in a window, which has a page or not.
    fn address(&mut self, bytes: u32) -> u32 {
        match self.below(12) {
            // Between windows.
            0 => 0x1080_0000 + self.below(0x1000),
            // In a page for supervisors in address space 0 only.
            1 => FRAMES + self.below(FRAMES_LEN - bytes),
            _ => {
                // A few entries, so that some are written and used many times.
                let entry = FIRST_DATA + self.below(FIRST_CODE - FIRST_DATA);
                self.effective(entry, bytes)
            }
        }
    }

    /// A load, store or cache operation.
    pub(super) fn access(&mut self) {
        let rt = self.reg();
        match self.below(10) {
            0..=2 => {
                let (op, bytes) = self.pick(&DISPLACED);
                let (address, update) = (self.address(bytes), self.below(2));
                let base = value(&mut self.random) as i16 as i32;
                self.constant(ADDRESS, address.wrapping_sub(base as u32));
                self.push(d(op + update, rt, ADDRESS, base));
            }
            3..=5 => {
                let (xo, bytes) = self.pick(&INDEXED);
                let (address, index) = (self.address(bytes), value(&mut self.random));
                self.constant(ADDRESS, address.wrapping_sub(index));
                self.constant(INDEX, index);
                self.push(x(31, rt, ADDRESS, INDEX, xo));
            }
            6 => self.cache_operation(),
            7 => self.multiple(),
            8 => {
                let address = self.address(4) & !3;
                self.constant(ADDRESS, address);
                self.push(x(31, rt, 0, ADDRESS, 20)); // lwarx
            }
            _ => self.reservation(),
        }
    }

    fn cache_operation(&mut self) {
        // QEMU's DEAR for dcbz is the line's address, not the operand's.
        let address = self.address(32) & !31;
        self.constant(ADDRESS, address);
        // dcbf, dcbst, dcbt, dcbtst, icbi, icbt, dcba, dcbz.
        let all = [86, 54, 278, 246, 982, 22, 758, 1014, 1014];
        let xo = self.pick(if self.inhibited { &all[..7] } else { &all });
        self.push(x(31, 0, 0, ADDRESS, xo));
        if !self.user() && self.msr & MSR_DS == 0 && self.below(4) == 0 {
            // dcbi would lose what QEMU, without caches, has stored: nothing after dcbf. QEMU's
            // dcbi loads before it stores, so that its exceptions are others.
            let address = FRAMES + self.below(FRAMES_LEN);
            self.constant(ADDRESS, address);
            self.push(x(31, 0, 0, ADDRESS, 86));
            self.push(x(31, 0, 0, ADDRESS, 470));
        }
    }

    fn multiple(&mut self) {
        let bytes = 4 * (1 + self.below(8));
        let address = self.address(bytes) & if self.flag() { !3 } else { !0 };
        if self.flag() {
            // lmw may overwrite r24 to r31, but not its own address.
            let (base, rt) = (1 + self.below(20), 32 - bytes / 4);
            let op = 46 + self.below(2);
            self.constant(base, address);
            self.push(d(op, rt, base, 0));
            let block = self.block();
            self.constant(BLOCK_BASE, block);
        } else {
            let (rt, xo) = (self.below(20), self.pick(&[597, 725]));
            self.constant(ADDRESS, address);
            self.push(x(31, rt, ADDRESS, bytes & 31, xo));
        }
    }

    /// lwarx and stwcx. where nothing comes between; or an alignment exception.
    fn reservation(&mut self) {
        if self.user() || self.msr & MSR_DS != 0 {
            return;
        }
        let (rt, rs) = (self.reg(), self.reg());
        let misaligned = if self.below(4) == 0 { 1 + self.below(3) } else { 0 };
        let address = FRAMES + 4 * self.below(1000) + misaligned;
        self.constant(ADDRESS, address);
        self.push(x(31, rt, 0, ADDRESS, 20));
        if misaligned == 0 {
            self.push(x(31, rs, 0, ADDRESS, 150) | 1);
        }
    }

    /// Code seen through another page, which may not be there or not executable.
    pub(super) fn fetch_elsewhere(&mut self) {
        let entry = FIRST_CODE + self.below(64 - FIRST_CODE);
        let (effective, size) = window(entry);
        let page = (1 << (10 + 2 * size)) - 1;
        // The routine is in one page of 1 KB; `write_entry` takes up to 17 instructions.
        let routine = (self.pc() + 4 * (18 + 3 + 7) + 63) & !63;
        let effective = effective | routine & 0xc00 & !page;
        if self.below(3) != 0 {
            self.write_entry(entry, effective, routine & !page);
        } else {
            // Whatever was there before would show something else.
            self.tlb[entry as usize].valid = false;
            self.push(li(ADDRESS, entry as i32));
            self.constant(CONSTANT, effective | size << 4);
            self.push(x(31, CONSTANT, ADDRESS, 0, 978));
        }
        // The instruction cache has effective addresses.
        self.push(ICCCI);
        self.set(RECOVERY, routine + 4 * 4);
        let user = if self.below(3) == 0 { MSR_PR } else { 0 };
        let msr = self.new_msr() | user;
        let target = effective | routine & page;
        self.return_to(target, msr);
        while self.pc() < routine {
            self.code.push(NOP);
        }
        // Not counted: it may not be executed.
        let (rt, ra) = (self.reg(), self.reg());
        self.code.extend([addi(rt, ra, 77), d(3, 31, rt, 0), add(ra, rt, ra), SC]);
        self.msr = BASE_MSR;
    }
}

//! Address translation: the 64-entry unified TLB, the shadow entry that reset leaves, and the page
//! map that makes repeated translations cheap.
//!
//! The page map models the shadow TLBs, but it is larger and is emptied at every change of the
//! TLB, so a changed entry is seen at once where the hardware would show it after the next context
//! synchronisation at the latest. Only the shadow entry of reset has the hardware's lifetime: until
//! the first context synchronisation.

use crate::registers::{MSR_DS, MSR_IS, MSR_PR};

/// One TLB entry as `tlbwe` writes it: the three words, and the TID that comes from MMUCR.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TlbEntry {
    /// Words 0 (page, valid, space, size), 1 (real page) and 2 (attributes and permissions).
    pub words: [u32; 3],
    /// Translation id; 0 matches every process id.
    pub tid: u8,
}

/// Word 0: the entry is valid.
pub const TLB_VALID: u32 = 0x200;
/// Word 0: address space.
pub const TLB_TS: u32 = 0x100;
/// Word 2: write-through.
pub const TLB_W: u32 = 0x800;
/// Word 2: caching inhibited.
pub const TLB_I: u32 = 0x400;
/// Word 2: guarded.
pub const TLB_G: u32 = 0x100;
/// Word 2: little-endian.
pub const TLB_E: u32 = 0x80;
/// Word 2: user may execute, write, read.
pub const TLB_USER: [u32; 3] = [0x20, 0x10, 0x08];
/// Word 2: supervisor may execute, write, read.
pub const TLB_SUPERVISOR: [u32; 3] = [0x04, 0x02, 0x01];

const WORD_MASKS: [u32; 3] = [0xffff_fff0, 0xffff_fc0f, 0x0000_ffbf];

impl TlbEntry {
    /// A valid entry for the page of `1 KB << 2 * size` bytes at `effective`, mapped to `real`.
    /// `attributes` is word 2: `TLB_W` and so on, and permissions.
    pub fn new(effective: u32, real: u64, size: u32, attributes: u32) -> TlbEntry {
        let word1 = real as u32 & 0xffff_fc00 | (real >> 32) as u32 & 15;
        TlbEntry {
            words: [effective & 0xffff_fc00 | TLB_VALID | size << 4, word1, attributes],
            tid: 0,
        }
    }
    /// The same in address space 1.
    pub fn in_space_1(mut self) -> TlbEntry {
        self.words[0] |= TLB_TS;
        self
    }
    /// Bits of an address within the page.
    fn bits(&self) -> u32 {
        10 + 2 * (self.words[0] >> 4 & 15)
    }
    /// Bits of an address that name the page.
    fn mask(&self) -> u32 {
        u32::MAX.checked_shl(self.bits()).unwrap_or(0)
    }
    fn matches(&self, effective: u32, space: bool, pid: u8) -> bool {
        let word = self.words[0];
        word & TLB_VALID != 0
            && (word & TLB_TS != 0) == space
            && (self.tid == 0 || self.tid == pid)
            && (word ^ effective) & self.mask() & 0xffff_fc00 == 0
    }
    fn real(&self, effective: u32) -> u64 {
        let mask = self.mask();
        u64::from(self.words[1] & 15) << 32 | u64::from(self.words[1] & mask | effective & !mask)
    }
}

/// Bits of an address within the page that reset maps.
const SHADOW_BITS: u32 = 12;

/// Permissions and attributes of a page.
pub(crate) mod page {
    pub const READ: u8 = 1;
    pub const WRITE: u8 = 2;
    pub const EXECUTE: u8 = 4;
    pub const LITTLE: u8 = 8;
    pub const INHIBITED: u8 = 16;
    pub const THROUGH: u8 = 32;
    pub const GUARDED: u8 = 64;
    pub const ALL: u8 = 127;
}

/// A translated address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Real {
    pub addr: u64,
    pub flags: u8,
    /// TID of the entry, for the tags of the instruction cache.
    pub tid: u8,
}

/// A piece of a page in the page map.
#[derive(Clone, Copy, Hash, PartialEq, Eq)]
pub(crate) struct Mapped {
    /// Number of the piece (0: none), and in the bits below that the flags.
    tag: u32,
    /// Real cache line number of its first byte.
    line: u32,
}

impl Mapped {
    const NONE: Mapped = Mapped { tag: 0, line: 0 };
    /// Offset of the tag and flags.
    pub const TAG: usize = std::mem::offset_of!(Mapped, tag);
    pub const LINE: usize = std::mem::offset_of!(Mapped, line);

    /// Permissions and attributes of the page (`page`).
    #[inline(always)]
    pub fn flags(self) -> u8 {
        self.tag as u8 & page::ALL
    }
}

/// Entries of the page map.
pub(crate) const PIECES: usize = 256;
/// Pieces are as large as the smallest page that is valid, from 1 KB to 64 KB.
const PIECE_BITS: [u32; 2] = [10, 16];

#[derive(Clone, Hash)]
#[repr(C)]
pub(crate) struct Tlb {
    entries: [TlbEntry; 64],
    /// Data translations, by the number of the piece, modulo their number.
    pub map: Box<[Mapped; PIECES]>,
    /// Changed whenever the translation of an instruction fetch may have changed.
    pub fetch_generation: u64,
    pub block_bits: u32,
    /// Lines of a piece, less one.
    block_lines: u32,
    /// The top 4 KB are mapped by the shadow entries of reset.
    shadow: bool,
}

impl Tlb {
    pub fn new() -> Tlb {
        Tlb {
            entries: [TlbEntry::default(); 64],
            shadow: true,
            map: Box::new([Mapped::NONE; PIECES]),
            block_bits: PIECE_BITS[0],
            block_lines: (1 << (PIECE_BITS[0] - 5)) - 1,
            fetch_generation: 1,
        }
    }
    /// A context-synchronising event: the shadow entries of reset go.
    pub fn synchronise(&mut self) {
        if self.shadow {
            self.shadow = false;
            self.forget();
        }
    }
    /// Translations may have changed.
    pub fn forget(&mut self) {
        self.map.fill(Mapped::NONE);
        self.fetch_generation += 1;
        let valid = self.entries.iter().filter(|entry| entry.words[0] & TLB_VALID != 0);
        let shadow = self.shadow.then_some(SHADOW_BITS);
        let smallest = valid.map(TlbEntry::bits).chain(shadow).min();
        self.block_bits = smallest.map_or(PIECE_BITS[0], |bits| bits.min(PIECE_BITS[1]));
        self.block_lines = (1 << (self.block_bits - 5)) - 1;
    }
    /// The MSR changed from `old` to `new`.
    pub fn msr_changed(&mut self, old: u32, new: u32) {
        let changed = old ^ new;
        if changed & (MSR_PR | MSR_DS) != 0 {
            self.map.fill(Mapped::NONE);
        }
        self.fetch_generation += u64::from(changed & (MSR_PR | MSR_IS) != 0);
    }
    /// No entry is valid.
    pub fn is_empty(&self) -> bool {
        self.entries.iter().all(|entry| entry.words[0] & TLB_VALID == 0)
    }
    pub fn entry(&self, index: usize) -> TlbEntry {
        self.entries[index & 63]
    }
    pub fn set_entry(&mut self, index: usize, entry: TlbEntry) {
        let mut entry = entry;
        for (word, mask) in entry.words.iter_mut().zip(WORD_MASKS) {
            *word &= mask;
        }
        self.entries[index & 63] = entry;
        self.forget();
    }
    /// Index of the entry that translates `effective`.
    pub fn search(&self, effective: u32, space: bool, pid: u8) -> Option<usize> {
        self.entries.iter().position(|entry| entry.matches(effective, space, pid))
    }
    /// Translates; `None` if no entry matches. The flags hold what mode `user` permits.
    pub fn translate(&self, effective: u32, space: bool, pid: u8, user: bool) -> Option<Real> {
        if self.shadow && effective >> SHADOW_BITS == u32::MAX >> SHADOW_BITS && !space {
            let flags = if user { 0 } else { page::READ | page::EXECUTE } | page::INHIBITED;
            return Some(Real { addr: effective.into(), flags, tid: 0 });
        }
        let entry = &self.entries[self.search(effective, space, pid)?];
        let word = entry.words[2];
        let rights = if user { TLB_USER } else { TLB_SUPERVISOR };
        let bits = [
            (rights[0], page::EXECUTE),
            (rights[1], page::WRITE),
            (rights[2], page::READ),
            (TLB_E, page::LITTLE),
            (TLB_I, page::INHIBITED),
            (TLB_W, page::THROUGH),
            (TLB_G, page::GUARDED),
        ];
        let flags = bits.iter().filter(|(bit, _)| word & bit != 0).fold(0, |all, (_, f)| all | f);
        Some(Real { addr: entry.real(effective), flags, tid: entry.tid })
    }
    /// A piece's tag without flags, and its place in the map.
    #[inline(always)]
    fn key(&self, effective: u32) -> (u32, usize) {
        let piece = effective >> self.block_bits;
        (1 << 31 | piece << page::ALL.count_ones(), piece as usize & (PIECES - 1))
    }
    /// The piece that holds a data address, if the map has it.
    #[inline(always)]
    pub fn mapped(&self, effective: u32) -> Option<Mapped> {
        let (key, place) = self.key(effective);
        let mapped = self.map[place];
        ((mapped.tag ^ key) & !u32::from(page::ALL) == 0).then_some(mapped)
    }
    /// The real cache line of an address in a piece.
    #[inline(always)]
    pub fn line(&self, piece: Mapped, effective: u32) -> u32 {
        piece.line + (effective >> 5 & self.block_lines)
    }
    /// The real address of an address in a piece.
    #[inline(always)]
    pub fn real(&self, piece: Mapped, effective: u32) -> u64 {
        u64::from(self.line(piece, effective)) << 5 | u64::from(effective & 31)
    }
    /// Remembers a data translation.
    pub fn remember(&mut self, effective: u32, real: Real) {
        let line = (real.addr >> self.block_bits << (self.block_bits - 5)) as u32;
        let (key, place) = self.key(effective);
        self.map[place] = Mapped { tag: key | u32::from(real.flags), line };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_from_1_kb_to_256_mb() {
        for (size, bytes) in
            [(0, 1 << 10), (1, 4 << 10), (3, 64 << 10), (5, 1 << 20), (9, 256 << 20)]
        {
            let mut tlb = Tlb::new();
            tlb.synchronise();
            let entry = TlbEntry::new(0x4000_0000, 0x3_8000_0000, size, TLB_SUPERVISOR[2]);
            tlb.set_entry(7, entry);
            let last = 0x4000_0000 + (bytes - 1);
            assert_eq!(tlb.search(last, false, 0), Some(7), "{bytes}");
            assert_eq!(tlb.search(last + 1, false, 0), None, "{bytes}");
            let real = tlb.translate(last, false, 0, false).unwrap();
            assert_eq!(real.addr, 0x3_8000_0000 + u64::from(bytes - 1));
            assert_eq!(real.flags, page::READ);
        }
    }

    #[test]
    fn space_and_process_id_tell_pages_apart() {
        let mut tlb = Tlb::new();
        let mut entry = TlbEntry::new(0x1000, 0x1000, 1, 0).in_space_1();
        entry.tid = 9;
        tlb.set_entry(0, entry);
        assert_eq!(tlb.search(0x1000, true, 9), Some(0));
        assert_eq!(tlb.search(0x1000, false, 9), None);
        assert_eq!(tlb.search(0x1000, true, 8), None);
    }

    #[test]
    fn reset_maps_the_top_page_until_a_synchronisation() {
        let mut tlb = Tlb::new();
        let flags = tlb.translate(0xffff_fffc, false, 0, false).unwrap().flags;
        assert_eq!(flags, page::READ | page::EXECUTE | page::INHIBITED);
        assert!(tlb.translate(0xffff_effc, false, 0, false).is_none());
        tlb.synchronise();
        assert!(tlb.translate(0xffff_fffc, false, 0, false).is_none());
    }
}

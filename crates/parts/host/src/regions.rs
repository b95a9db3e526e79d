//! Memory that is allocated piece by piece.

use bus::BusError;
use std::cell::Cell;

/// Bytes at consecutive addresses. Only blocks that were written to need memory of the simulator's: it is in
/// huge pages, so that one byte of a large allocation would cost a whole huge page.
const BLOCK: usize = 4096;
/// Blocks of a group, whose pointers are allocated when one of them is written to: of the 43 MB of a kernel's
/// pools few are ever touched.
const GROUP: usize = 64;

type Block = [u8; BLOCK];
type Group = [Option<Box<Block>>; GROUP];

/// Allocations at increasing addresses, which are never freed; an access must be within one of them.
#[derive(Debug)]
pub(crate) struct Regions {
    regions: Vec<Region>,
    /// Index of the allocation that was made or used last: mostly it is used again.
    recent: Cell<usize>,
    /// A multiple of the size of a block, at or below the first address.
    base: u64,
    next: u64,
    /// All memory from `base` on; what was never written to holds zeros.
    groups: Vec<Option<Box<Group>>>,
}

/// One allocation.
#[derive(Debug)]
struct Region {
    base: u64,
    len: usize,
}

impl Regions {
    /// Empty memory, whose first address is `base`.
    pub fn new(base: u64) -> Regions {
        let first = base - base % BLOCK as u64;
        let (regions, groups, recent) = Default::default();
        Regions { regions, recent, base: first, next: base, groups }
    }
    /// First address that is not allocated yet.
    pub fn end(&self) -> u64 {
        self.next
    }
    /// `len` zero bytes, aligned to `align` (a power of two); their address.
    pub fn alloc(&mut self, len: u64, align: u64) -> u64 {
        assert!(align.is_power_of_two(), "alignment {align} is not a power of two");
        let base = self.next.next_multiple_of(align);
        self.next = base + len.max(1);
        let len = usize::try_from(len).expect("the simulator has 64-bit addresses");
        self.recent.set(self.regions.len());
        self.regions.push(Region { base, len });
        base
    }
    /// Fills `buf` from `addr` on.
    pub fn read(&mut self, addr: u64, buf: &mut [u8]) -> Result<(), BusError> {
        let mut offset = self.offset(addr, buf.len(), false)?;
        let mut left = buf;
        while !left.is_empty() {
            let (piece, rest) = left.split_at_mut(left.len().min(BLOCK - offset % BLOCK));
            match self.block(offset / BLOCK) {
                None => piece.fill(0),
                Some(block) => bus::copy(piece, &block[offset % BLOCK..][..piece.len()]),
            }
            offset += piece.len();
            left = rest;
        }
        Ok(())
    }
    /// Stores `data` at `addr`.
    pub fn write(&mut self, addr: u64, data: &[u8]) -> Result<(), BusError> {
        let mut offset = self.offset(addr, data.len(), true)?;
        let mut left = data;
        while !left.is_empty() {
            let (piece, rest) = left.split_at(left.len().min(BLOCK - offset % BLOCK));
            let block = self.block_to_write(offset / BLOCK);
            bus::copy(&mut block[offset % BLOCK..][..piece.len()], piece);
            offset += piece.len();
            left = rest;
        }
        Ok(())
    }
    /// The block of that number, unless it was never written to.
    fn block(&self, number: usize) -> Option<&Block> {
        self.groups.get(number / GROUP)?.as_ref()?[number % GROUP].as_deref()
    }
    fn block_to_write(&mut self, number: usize) -> &mut Block {
        let group = number / GROUP;
        if group >= self.groups.len() {
            self.groups.resize_with(group + 1, || None);
        }
        let group = self.groups[group].get_or_insert_with(|| Box::new([const { None }; GROUP]));
        group[number % GROUP].get_or_insert_with(|| Box::new([0; BLOCK]))
    }
    /// Offset of `len` bytes at `addr`, which must lie in one allocation.
    fn offset(&self, addr: u64, len: usize, write: bool) -> Result<usize, BusError> {
        let holds = |region: &Region| {
            let within = addr.checked_sub(region.base).and_then(|at| usize::try_from(at).ok());
            within.and_then(|at| at.checked_add(len)).is_some_and(|end| end <= region.len)
        };
        if !self.regions.get(self.recent.get()).is_some_and(holds) {
            let after = self.regions.partition_point(|region| region.base <= addr);
            let found = after.checked_sub(1).filter(|index| holds(&self.regions[*index]));
            let why = "nothing is allocated there";
            self.recent.set(found.ok_or(BusError { addr, len, write, why })?);
        }
        Ok((addr - self.base) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use des::Random;

    #[test]
    fn what_is_written_is_read_and_all_else_is_zero() {
        let mut regions = Regions::new(1 << 20);
        let lens = [1, 64, BLOCK as u64 - 1, BLOCK as u64, 3 * BLOCK as u64 + 5, 1 << 20];
        let bases = lens.map(|len| regions.alloc(len, 64));
        let mut expected = lens.map(|len| vec![0u8; len as usize]);
        let mut random = Random::new(1);
        for turn in 0..20_000u32 {
            let which = random.below(lens.len() as u64) as usize;
            let (len, all) = (lens[which], &mut expected[which]);
            let first = random.below(len);
            let count = random.below((len - first).min(2 * BLOCK as u64)) + 1;
            let range = first as usize..(first + count) as usize;
            if turn % 2 == 0 {
                let bytes: Vec<u8> = range.clone().map(|_| random.below(256) as u8).collect();
                all[range].copy_from_slice(&bytes);
                regions.write(bases[which] + first, &bytes).unwrap();
            } else {
                let mut bytes = vec![1; range.len()];
                regions.read(bases[which] + first, &mut bytes).unwrap();
                assert_eq!(bytes, all[range], "{count} bytes at {first} of {len}");
            }
        }
    }

    #[test]
    fn only_what_is_written_needs_memory() {
        let mut regions = Regions::new(0x1000);
        let base = regions.alloc(1 << 34, 4096);
        let mut bytes = [1; 100];
        regions.read(base + (1 << 33), &mut bytes).unwrap();
        assert_eq!(bytes, [0; 100]);
        regions.write(base + (1 << 33) - 50, &[7; 100]).unwrap();
        let groups = regions.groups.iter().flatten();
        assert_eq!(groups.flat_map(|group| group.iter().flatten()).count(), 2);
    }

    #[test]
    fn an_access_stays_within_an_allocation() {
        let mut regions = Regions::new(0x1000);
        let (first, second) = (regions.alloc(100, 64), regions.alloc(28, 64));
        assert_eq!((first, second, regions.end()), (0x1000, 0x1080, 0x109c));
        for (addr, len) in [(0xfff, 1), (0x1000, 101), (0x1064, 1), (0x109c, 1), (u64::MAX, 2)] {
            assert!(regions.read(addr, &mut vec![0; len]).is_err());
            let error = regions.write(addr, &vec![0; len]).unwrap_err();
            assert_eq!((error.addr, error.len, error.write), (addr, len, true));
        }
        assert!(regions.write(0x1000, &[0; 100]).is_ok());
    }
}

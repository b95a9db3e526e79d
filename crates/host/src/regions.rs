//! Memory that is given out piece by piece.

use bus::BusError;

/// Bytes that stand together. Only blocks that were written to need memory of the simulator's: it stands in
/// huge pages, so that the operating system gives a lot for one byte of a large allocation.
const BLOCK: usize = 4096;

/// Allocations at increasing addresses that are never given back; an access stays within one of them.
#[derive(Debug)]
pub(crate) struct Regions {
    regions: Vec<Region>,
    next: u64,
}

/// One allocation.
#[derive(Debug)]
struct Region {
    base: u64,
    len: usize,
    /// Those that were never written to hold zeros.
    blocks: Vec<Option<Box<[u8]>>>,
}

impl Regions {
    /// Nothing allocated yet; the first address is `base`.
    pub fn new(base: u64) -> Regions {
        Regions { regions: Vec::new(), next: base }
    }
    /// The first address that is not given out yet.
    pub fn end(&self) -> u64 {
        self.next
    }
    /// `len` zero bytes, aligned to `align` (a power of two); their address.
    pub fn alloc(&mut self, len: u64, align: u64) -> u64 {
        assert!(align.is_power_of_two(), "alignment {align} is not a power of two");
        let base = self.next.next_multiple_of(align);
        self.next = base + len.max(1);
        let len = usize::try_from(len).expect("the simulator has 64-bit addresses");
        self.regions.push(Region { base, len, blocks: vec![None; len.div_ceil(BLOCK)] });
        base
    }
    /// Fills `buf` from `addr` on.
    pub fn read(&mut self, addr: u64, buf: &mut [u8]) -> Result<(), BusError> {
        let (region, mut offset) = self.region(addr, buf.len(), false)?;
        let mut left = buf;
        while !left.is_empty() {
            let (piece, rest) = left.split_at_mut(left.len().min(BLOCK - offset % BLOCK));
            match &region.blocks[offset / BLOCK] {
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
        let (region, mut offset) = self.region(addr, data.len(), true)?;
        let mut left = data;
        while !left.is_empty() {
            let (piece, rest) = left.split_at(left.len().min(BLOCK - offset % BLOCK));
            let first = offset - offset % BLOCK;
            let len = BLOCK.min(region.len - first);
            let block = region.blocks[offset / BLOCK].get_or_insert_with(|| vec![0; len].into());
            bus::copy(&mut block[offset % BLOCK..][..piece.len()], piece);
            offset += piece.len();
            left = rest;
        }
        Ok(())
    }
    /// The allocation that holds `len` bytes at `addr`, and where in it they are.
    fn region(
        &mut self,
        addr: u64,
        len: usize,
        write: bool,
    ) -> Result<(&mut Region, usize), BusError> {
        let after = self.regions.partition_point(|region| region.base <= addr);
        let found = after.checked_sub(1).and_then(|index| {
            let region = &mut self.regions[index];
            let offset = usize::try_from(addr - region.base).ok()?;
            let inside = offset.checked_add(len)? <= region.len;
            inside.then_some((region, offset))
        });
        found.ok_or(BusError { addr, len, write, why: "nothing is allocated there" })
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
        assert_eq!(regions.regions[0].blocks.iter().flatten().count(), 2);
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

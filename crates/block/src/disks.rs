//! Eight disks in memory, striped (marazakis2006 s2.4: RAID 0 over eight).

use crate::SECTOR;
use std::collections::HashMap;

/// Disks of the array.
pub const DISKS: u64 = 8;
/// Sectors of a stripe's part on a disk (assumed: 64 KB).
pub const STRIPE: u64 = 128;
/// Sectors of what a disk keeps together.
const CHUNK: u64 = 128;

/// A disk: what nobody has written is zero.
#[derive(Clone, Debug, Default)]
struct Disk {
    chunks: HashMap<u64, Vec<u8>>,
}

impl Disk {
    fn place(sector: u64) -> (u64, usize) {
        (sector / CHUNK, (sector % CHUNK * SECTOR) as usize)
    }
    fn read(&self, sector: u64, data: &mut [u8]) {
        let (chunk, at) = Disk::place(sector);
        match self.chunks.get(&chunk) {
            Some(bytes) => data.copy_from_slice(&bytes[at..at + data.len()]),
            None => data.fill(0),
        }
    }
    /// Writes zeroes; sectors that were never written are zeroes already.
    fn zero(&mut self, sector: u64, length: usize) {
        let (chunk, at) = Disk::place(sector);
        if let Some(bytes) = self.chunks.get_mut(&chunk) {
            bytes[at..at + length].fill(0);
        }
    }
    fn write(&mut self, sector: u64, data: &[u8]) {
        let (chunk, at) = Disk::place(sector);
        let bytes = self.chunks.entry(chunk).or_insert_with(|| vec![0; (CHUNK * SECTOR) as usize]);
        bytes[at..at + data.len()].copy_from_slice(data);
    }
}

/// The array.
#[derive(Clone, Debug)]
pub struct Array {
    disks: Vec<Disk>,
    sectors: u64,
    /// Sectors that each disk has read and written.
    pub moved: [u64; DISKS as usize],
}

impl Array {
    /// Of so many sectors.
    pub fn new(sectors: u64) -> Array {
        Array { disks: vec![Disk::default(); DISKS as usize], sectors, moved: [0; DISKS as usize] }
    }
    /// Disk, and sector of it, of a sector of the array.
    pub fn place(sector: u64) -> (usize, u64) {
        let (stripe, within) = (sector / STRIPE, sector % STRIPE);
        ((stripe % DISKS) as usize, stripe / DISKS * STRIPE + within)
    }
    /// True if all of the range is on it.
    pub fn holds(&self, sector: u64, sectors: u64) -> bool {
        sector <= self.sectors && sectors <= self.sectors - sector
    }
    /// Sectors of the array.
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// Pieces of a range, none across a stripe's border: bytes of the range, disk, and sector there.
    fn pieces(
        sector: u64,
        sectors: u64,
    ) -> impl Iterator<Item = (std::ops::Range<usize>, usize, u64)> {
        let (mut at, end) = (sector, sector + sectors);
        std::iter::from_fn(move || {
            if at == end {
                return None;
            }
            let next = end.min((at / STRIPE + 1) * STRIPE);
            let bytes = ((at - sector) * SECTOR) as usize..((next - sector) * SECTOR) as usize;
            let (disk, there) = Array::place(at);
            at = next;
            Some((bytes, disk, there))
        })
    }

    /// Sectors become zeroes.
    pub fn zero(&mut self, sector: u64, sectors: u64) {
        for (bytes, disk, there) in Array::pieces(sector, sectors) {
            self.disks[disk].zero(there, bytes.len());
        }
    }

    /// Reads sectors, as many as `data` has.
    pub fn read(&mut self, sector: u64, data: &mut [u8]) {
        for (bytes, disk, there) in Array::pieces(sector, data.len() as u64 / SECTOR) {
            self.moved[disk] += bytes.len() as u64 / SECTOR;
            self.disks[disk].read(there, &mut data[bytes]);
        }
    }
    /// Writes them.
    pub fn write(&mut self, sector: u64, data: &[u8]) {
        for (bytes, disk, there) in Array::pieces(sector, data.len() as u64 / SECTOR) {
            self.moved[disk] += bytes.len() as u64 / SECTOR;
            self.disks[disk].write(there, &data[bytes]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sector_is_on_one_disk_and_comes_back() {
        let mut array = Array::new(4096);
        let data: Vec<u8> = (0..3000 * SECTOR).map(|at| (at / SECTOR * 7 % 251) as u8).collect();
        array.write(37, &data);
        let mut back = vec![0; data.len()];
        array.read(37, &mut back);
        assert!(back == data);
        let (least, most) = (array.moved.iter().min(), array.moved.iter().max());
        assert!(most.zip(least).is_some_and(|(most, least)| most - least <= 4 * STRIPE));
        array.zero(100, 1000);
        array.read(37, &mut back);
        let zero =
            |sector: u64| back[((sector - 37) * SECTOR) as usize..][..SECTOR as usize].iter();
        assert!(zero(100).chain(zero(1099)).all(|byte| *byte == 0));
        assert!(back[63 * SECTOR as usize - 1] != 0 && back[1063 * SECTOR as usize] != 0);
        let mut zeroes = vec![1; SECTOR as usize];
        array.read(36, &mut zeroes);
        assert!(zeroes.iter().all(|byte| *byte == 0));
        let places: std::collections::HashSet<_> = (0..4096).map(Array::place).collect();
        assert_eq!(places.len(), 4096);
        assert!(array.holds(4095, 1) && !array.holds(4095, 2) && !array.holds(u64::MAX, 1));
    }
}

//! Eight disks, striped (marazakis2006 s2.4: RAID 0 over eight): memory, or drives with mechanics.

use crate::drive::{Drive, DriveCounts, DriveParams, Media};
use crate::SECTOR;
use std::collections::HashMap;

/// Disks of the array.
pub const DISKS: u64 = 8;
/// Sectors of a stripe's part on a disk (assumed: 64 KB).
pub const STRIPE: u64 = 128;
/// Sectors of what a disk keeps together.
const CHUNK: u64 = 128;

/// Contents of a disk: zero where nobody has written.
#[derive(Clone, Debug, Default)]
struct Platters {
    chunks: HashMap<u64, Vec<u8>>,
}

impl Platters {
    fn place(sector: u64) -> (u64, usize) {
        (sector / CHUNK, (sector % CHUNK * SECTOR) as usize)
    }
    fn read(&self, sector: u64, data: &mut [u8]) {
        let (chunk, at) = Platters::place(sector);
        match self.chunks.get(&chunk) {
            Some(bytes) => data.copy_from_slice(&bytes[at..at + data.len()]),
            None => data.fill(0),
        }
    }
    /// Writes zeroes; sectors that were never written are zeroes already.
    fn zero(&mut self, sector: u64, length: usize) {
        let (chunk, at) = Platters::place(sector);
        if let Some(bytes) = self.chunks.get_mut(&chunk) {
            bytes[at..at + length].fill(0);
        }
    }
    fn write(&mut self, sector: u64, data: &[u8]) {
        let (chunk, at) = Platters::place(sector);
        if !self.chunks.contains_key(&chunk) && data.iter().all(|byte| *byte == 0) {
            return;
        }
        let bytes = self.chunks.entry(chunk).or_insert_with(|| vec![0; (CHUNK * SECTOR) as usize]);
        bytes[at..at + data.len()].copy_from_slice(data);
    }
}

impl Media for Platters {
    fn keep(&mut self, sector: u64, data: &[u8]) {
        self.write(sector, data);
    }
}

/// Kind of the disks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DiskKind {
    /// Memory that takes no time and keeps everything.
    Memory,
    /// Drives.
    Drives(DriveParams),
}

/// The end of an operation on the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Time of it, in picoseconds.
    pub at: u64,
    /// Power has gone before.
    pub failed: bool,
}

#[derive(Clone, Debug)]
struct Disk {
    platters: Platters,
    drive: Option<Drive>,
}

/// The array.
#[derive(Clone, Debug)]
pub struct Array {
    disks: Vec<Disk>,
    sectors: u64,
    /// Time at which power goes, if it will.
    cut: Option<u64>,
    /// Power was gone, and no operation has failed for that yet: the next one does, so that its owner knows.
    untold: bool,
    /// Sectors that each disk has read and written.
    pub moved: [u64; DISKS as usize],
}

impl Array {
    /// Of so many sectors.
    pub fn new(sectors: u64, kind: DiskKind) -> Array {
        let drive = match kind {
            DiskKind::Memory => None,
            DiskKind::Drives(params) => Some(Drive::new(params)),
        };
        let disk = Disk { platters: Platters::default(), drive };
        Array {
            disks: vec![disk; DISKS as usize],
            sectors,
            cut: None,
            untold: false,
            moved: [0; DISKS as usize],
        }
    }
    /// Power of the disks goes at a time, and is back at once.
    pub fn set_power_cut(&mut self, at: u64) {
        self.cut = Some(at);
        self.drives().for_each(|(drive, _)| drive.set_power_until(at));
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
    /// Counts of all drives together.
    pub fn counts(&self) -> DriveCounts {
        let mut all = DriveCounts::default();
        for counts in self.disks.iter().filter_map(|disk| disk.drive.as_ref()).map(|d| d.counts) {
            all.hits += counts.hits;
            all.misses += counts.misses;
            all.seeks += counts.seeks;
            all.written += counts.written;
        }
        all
    }

    fn drives(&mut self) -> impl Iterator<Item = (&mut Drive, &mut Platters)> {
        self.disks.iter_mut().filter_map(|disk| Some((disk.drive.as_mut()?, &mut disk.platters)))
    }

    /// Power that has gone by `now` is back.
    fn wake(&mut self, now: u64) {
        if self.cut.is_some_and(|cut| cut <= now) {
            (self.cut, self.untold) = (None, true);
            self.drives().for_each(|(drive, platters)| drive.lose_power(platters));
        }
    }
    fn done(&mut self, at: u64) -> Done {
        let untold = std::mem::take(&mut self.untold);
        Done { at, failed: untold || self.cut.is_some_and(|cut| cut < at) }
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

    /// Sectors become zeroes, and have before it is done, with `fua`, whatever happens then.
    pub fn zero(&mut self, now: u64, sector: u64, sectors: u64, fua: bool) -> Done {
        self.wake(now);
        let mut at = now;
        for (bytes, disk, there) in Array::pieces(sector, sectors) {
            let Disk { platters, drive } = &mut self.disks[disk];
            match drive {
                Some(drive) => {
                    at = at.max(drive.put(now, there, &ZEROES[..bytes.len()], fua, platters));
                }
                None => platters.zero(there, bytes.len()),
            }
        }
        self.done(at)
    }

    /// Reads sectors, as many as `data` has.
    pub fn read(&mut self, now: u64, sector: u64, data: &mut [u8]) -> Done {
        self.wake(now);
        let mut at = now;
        for (bytes, disk, there) in Array::pieces(sector, data.len() as u64 / SECTOR) {
            let sectors = bytes.len() as u64 / SECTOR;
            self.moved[disk] += sectors;
            let Disk { platters, drive } = &mut self.disks[disk];
            let data = &mut data[bytes];
            let Some(drive) = drive else {
                platters.read(there, data);
                continue;
            };
            at = at.max(drive.read(now, there..there + sectors, platters));
            platters.read(there, data);
            for (sector, data) in (there..).zip(data.chunks_mut(SECTOR as usize)) {
                drive.cached(sector).into_iter().for_each(|cached| data.copy_from_slice(cached));
            }
        }
        self.done(at)
    }
    /// Writes them; with `fua` they are done when they stay, whatever happens.
    pub fn write(&mut self, now: u64, sector: u64, data: &[u8], fua: bool) -> Done {
        self.wake(now);
        let mut at = now;
        for (bytes, disk, there) in Array::pieces(sector, data.len() as u64 / SECTOR) {
            self.moved[disk] += bytes.len() as u64 / SECTOR;
            let Disk { platters, drive } = &mut self.disks[disk];
            match drive {
                Some(drive) => at = at.max(drive.put(now, there, &data[bytes], fua, platters)),
                None => platters.write(there, &data[bytes]),
            }
        }
        self.done(at)
    }
    /// All that was written before stays, whatever happens.
    pub fn flush(&mut self, now: u64) -> Done {
        self.wake(now);
        let at = self.drives().map(|(drive, platters)| drive.flush(now, platters)).max();
        self.done(at.unwrap_or(now))
    }
}

/// Zeroes for a stripe's part.
static ZEROES: [u8; (STRIPE * SECTOR) as usize] = [0; (STRIPE * SECTOR) as usize];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sector_is_on_one_disk_and_comes_back() {
        let mut array = Array::new(4096, DiskKind::Memory);
        let data: Vec<u8> = (0..3000 * SECTOR).map(|at| (at / SECTOR * 7 % 251) as u8).collect();
        array.write(0, 37, &data, false);
        let mut back = vec![0; data.len()];
        array.read(0, 37, &mut back);
        assert!(back == data);
        let (least, most) = (array.moved.iter().min(), array.moved.iter().max());
        assert!(most.zip(least).is_some_and(|(most, least)| most - least <= 4 * STRIPE));
        array.zero(0, 100, 1000, true);
        array.read(0, 37, &mut back);
        let zero =
            |sector: u64| back[((sector - 37) * SECTOR) as usize..][..SECTOR as usize].iter();
        assert!(zero(100).chain(zero(1099)).all(|byte| *byte == 0));
        assert!(back[63 * SECTOR as usize - 1] != 0 && back[1063 * SECTOR as usize] != 0);
        // Zeroes where nothing was written take no room.
        let chunks = |array: &Array| array.disks[0].platters.chunks.len();
        let before = chunks(&array);
        array.write(0, 3500, &vec![0; 500 * SECTOR as usize], false);
        assert_eq!(chunks(&array), before);
        let mut zeroes = vec![1; SECTOR as usize];
        array.read(0, 36, &mut zeroes);
        assert!(zeroes.iter().all(|byte| *byte == 0));
        let places: std::collections::HashSet<_> = (0..4096).map(Array::place).collect();
        assert_eq!(places.len(), 4096);
        assert!(array.holds(4095, 1) && !array.holds(4095, 2) && !array.holds(u64::MAX, 1));
    }
}

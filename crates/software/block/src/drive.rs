//! A drive: arm, rotation, zones of tracks, read-ahead and a write cache. Times are picoseconds.
//!
//! ```text
//! command ─ overhead ─► cache ── hit ──────────────────────────────► interface
//!                         └── miss ─► seek ─► rotation ─► track ───────┘  (the head reads on meanwhile)
//! write ─► cache, and done; later to the tracks: lost if power goes before, unless a flush has waited
//! write with FUA ─► seek ─► rotation ─► track, and done
//! ```

use crate::geometry::{Geometry, Pass, Reading};
use crate::SECTOR;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// Numbers of a data sheet. Times are in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriveParams {
    /// Sectors of the drive.
    pub sectors: u64,
    /// Surfaces.
    pub heads: u64,
    /// Sectors of a track, on the outermost and on the innermost one.
    pub track_sectors: [u64; 2],
    /// Time of a revolution.
    pub revolution: u64,
    /// Seeks: to the next track, over a third of all, over all.
    pub seek: [u64; 3],
    /// Time that a seek takes longer before a write.
    pub write_settle: u64,
    /// To another head of the same cylinder.
    pub switch: u64,
    /// The controller's, of each command.
    pub overhead: u64,
    /// Bytes a second between cache and host.
    pub interface: u64,
    /// Bytes of the cache: half is for reads, half for writes.
    pub cache: u64,
    /// Parts of it that read ahead of different readers.
    pub segments: usize,
}

/// Sectors written to the tracks at a time.
const RUN_MAX: u64 = 256;

/// Sectors that a reader has, and those that the head goes on to.
#[derive(Clone, Copy, Debug)]
struct Segment {
    first: u64,
    /// The last of them was read by `at`; the head reads on to `limit`, if it `runs`.
    end: u64,
    at: u64,
    limit: u64,
    runs: bool,
}

/// Sectors on their way from the write cache to the tracks.
#[derive(Clone, Debug)]
struct Run {
    first: u64,
    /// Time at which each is on its track, with what it is and when that came.
    sectors: Vec<(u64, u64, Box<[u8]>)>,
}

/// Counts of a drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DriveCounts {
    /// Reads out of the cache, and those that wanted the tracks.
    pub hits: u64,
    /// As above.
    pub misses: u64,
    /// Moves of the arm.
    pub seeks: u64,
    /// Sectors written to the tracks.
    pub written: u64,
}

/// The drive.
#[derive(Clone, Debug)]
pub struct Drive {
    params: DriveParams,
    geometry: Geometry,
    /// It takes the next command then.
    ready: u64,
    /// The arm is free then, over that cylinder.
    free: u64,
    cylinder: u64,
    segments: VecDeque<Segment>,
    /// The write cache: when a sector came, and what it is.
    dirty: BTreeMap<u64, (u64, Box<[u8]>)>,
    run: Option<Run>,
    /// Sector behind the last that was written to a track.
    swept: u64,
    /// Nothing is written to a track after that.
    power_until: u64,
    /// Counts since it was new.
    pub counts: DriveCounts,
}

/// Tracks, which keep sectors.
pub(crate) trait Media {
    /// A sector is there.
    fn keep(&mut self, sector: u64, data: &[u8]);
}

impl Drive {
    /// At rest, with nothing in its cache.
    pub fn new(params: DriveParams) -> Drive {
        Drive {
            params,
            geometry: Geometry::of(&params),
            ready: 0,
            free: 0,
            cylinder: 0,
            segments: VecDeque::new(),
            dirty: BTreeMap::new(),
            run: None,
            swept: 0,
            power_until: u64::MAX,
            counts: DriveCounts::default(),
        }
    }

    /// Power goes then: what is not on a track is lost.
    pub fn set_power_until(&mut self, until: u64) {
        self.power_until = until;
    }

    /// Power has gone, and is back.
    pub(crate) fn lose_power(&mut self, media: &mut impl Media) {
        let at = self.power_until;
        self.destage(at, media);
        self.end_run(u64::MAX, media);
        (self.run, self.power_until) = (None, u64::MAX);
        self.dirty.clear();
        self.segments.clear();
        (self.ready, self.free) = (at, at);
    }

    /// Sector in the write cache.
    pub(crate) fn cached(&self, sector: u64) -> Option<&[u8]> {
        self.dirty.get(&sector).map(|(_, data)| &data[..])
    }

    fn interface(&self, sectors: u64) -> u64 {
        let ps =
            u128::from(sectors * SECTOR) * 1_000_000_000_000 / u128::from(self.params.interface);
        ps as u64
    }

    /// Takes a command at `now`: the time at which it looks for the sectors.
    fn take(&mut self, now: u64, media: &mut impl Media) -> u64 {
        let at = now.max(self.ready) + self.params.overhead;
        self.destage(at, media);
        at
    }

    /// Reads sectors: the time at which the host has them.
    pub(crate) fn read(&mut self, now: u64, sectors: Range<u64>, media: &mut impl Media) -> u64 {
        let at = self.take(now, media);
        let there = at + self.interface(sectors.end - sectors.start);
        let all_dirty = sectors.clone().all(|sector| self.dirty.contains_key(&sector));
        let done = if all_dirty {
            self.counts.hits += 1;
            there
        } else if let Some(read) = self.in_segment(at, &sectors) {
            read.max(there)
        } else {
            self.counts.misses += 1;
            let pass = self.go(at, sectors.clone(), 0);
            self.remember(&sectors, pass.end);
            pass.end.max(there)
        };
        self.ready = done;
        done
    }

    /// The time at which the tracks have given sectors that the cache has, or that the head comes to.
    fn in_segment(&mut self, at: u64, sectors: &Range<u64>) -> Option<u64> {
        let ahead = self.ahead();
        let place = self.segments.iter().position(|segment| {
            let to = if segment.runs { segment.limit } else { segment.end };
            segment.first <= sectors.start && sectors.start <= to && sectors.end <= to + ahead
        })?;
        let segment = self.segments[place];
        if !segment.runs && sectors.end > segment.end {
            return None;
        }
        self.counts.hits += 1;
        let mut segment = self.segments.remove(place).expect("it was just found");
        let mut read = at;
        if segment.runs {
            // The head has waited at the limit, or goes on.
            let reading = self.reached(&segment, at);
            (segment.end, segment.at) = (reading.end, reading.since);
            if sectors.end > segment.end {
                let pass = self.geometry.pass(segment.at, segment.end..sectors.end);
                (read, segment.end, segment.at) = (pass.end, sectors.end, pass.end);
                (self.free, self.cylinder) = (pass.end, pass.cylinder);
            }
            segment.limit = segment.limit.max(sectors.end + ahead).min(self.params.sectors);
        }
        self.segments.push_front(segment);
        Some(read)
    }

    /// Sectors that a segment reads ahead.
    fn ahead(&self) -> u64 {
        self.params.cache / 2 / SECTOR / self.params.segments as u64
    }

    /// End of what a running segment has at a time, and when it came to that.
    fn reached(&self, segment: &Segment, at: u64) -> Reading {
        let reading = Reading { end: segment.end, since: segment.at };
        self.geometry.reached(reading, segment.limit, at)
    }

    /// The head stops to read ahead.
    fn stop_reading(&mut self, at: u64) {
        let Some(place) = self.segments.iter().position(|segment| segment.runs) else { return };
        let segment = self.segments[place];
        let Reading { end, since } = self.reached(&segment, at);
        self.segments[place] = Segment { end, at: since, runs: false, ..segment };
        self.cylinder = self.geometry.place(end.min(self.params.sectors - 1)).cylinder;
    }

    fn remember(&mut self, sectors: &Range<u64>, at: u64) {
        let limit = (sectors.end + self.ahead()).min(self.params.sectors);
        let (first, end) = (sectors.start, sectors.end);
        self.segments.push_front(Segment { first, end, at, limit, runs: true });
        self.segments.truncate(self.params.segments);
    }

    /// The arm goes to sectors, not before `at`, and passes over them.
    fn go(&mut self, at: u64, sectors: Range<u64>, settle: u64) -> Pass {
        let start = at.max(self.free);
        self.stop_reading(start);
        let to = self.geometry.place(sectors.start).cylinder;
        let distance = to.abs_diff(self.cylinder);
        self.counts.seeks += u64::from(distance > 0);
        let seek = if distance > 0 { self.geometry.seek(distance) } else { 0 };
        let pass = self.geometry.pass(start + seek + settle, sectors);
        (self.free, self.cylinder) = (pass.end, pass.cylinder);
        pass
    }

    /// Writes sectors from the first on: the time at which that is done, which with FUA (`true`) is when they
    /// are on their tracks.
    pub(crate) fn put(
        &mut self,
        now: u64,
        first: u64,
        data: &[u8],
        fua: bool,
        media: &mut impl Media,
    ) -> u64 {
        match fua {
            true => self.write_through(now, first, data, media),
            false => self.write(now, first, data, media),
        }
    }

    /// Writes a sector's worth or more from `first` on: the time at which the cache has it.
    fn write(&mut self, now: u64, first: u64, data: &[u8], media: &mut impl Media) -> u64 {
        let mut at = self.take(now, media);
        let count = data.len() as u64 / SECTOR;
        let room = self.params.cache / 2 / SECTOR;
        while !self.dirty.is_empty() && self.dirty.len() as u64 + count > room {
            self.start_run(self.free.max(at));
            at = at.max(self.free);
            self.end_run(u64::MAX, media);
        }
        let done = at + self.interface(count);
        for (sector, data) in (first..).zip(data.chunks(SECTOR as usize)) {
            self.dirty.insert(sector, (done, data.into()));
        }
        self.forget_read(&(first..first + count));
        self.ready = done;
        done
    }

    /// Writes sectors past the write cache (FUA): the time at which all are on their tracks.
    fn write_through(&mut self, now: u64, first: u64, data: &[u8], media: &mut impl Media) -> u64 {
        let at = self.take(now, media);
        // The arm ends what it is at; what the cache has of these sectors is older.
        self.end_run(u64::MAX, media);
        let sectors = first..first + data.len() as u64 / SECTOR;
        for sector in sectors.clone() {
            self.dirty.remove(&sector);
        }
        self.forget_read(&sectors);
        let there = at + self.interface(sectors.end - sectors.start);
        let pass = self.go(there, sectors.clone(), self.params.write_settle);
        let data = data.chunks(SECTOR as usize);
        for ((sector, time), data) in sectors.zip(&pass.times).zip(data) {
            if *time <= self.power_until {
                self.counts.written += 1;
                media.keep(sector, data);
            }
        }
        self.ready = pass.end;
        self.ready
    }

    /// Forgets what was read of sectors that are written.
    fn forget_read(&mut self, written: &Range<u64>) {
        self.segments
            .retain(|segment| segment.limit <= written.start || written.end <= segment.first);
    }

    /// Waits until all that was written is on the tracks: the time of that.
    pub(crate) fn flush(&mut self, now: u64, media: &mut impl Media) -> u64 {
        let at = self.take(now, media);
        self.destage(u64::MAX, media);
        self.ready = at.max(self.free);
        self.ready
    }

    // ---- from the write cache to the tracks --------------------------------------------------------------

    /// Writes to the tracks what there is time for before `until`, in the order of sectors.
    fn destage(&mut self, until: u64, media: &mut impl Media) {
        loop {
            self.end_run(until, media);
            let Some(first) = self.next_dirty() else { return };
            let start = self.free.max(self.dirty[&first].0);
            if self.run.is_some() || start >= until {
                return;
            }
            self.start_run(start);
        }
    }

    fn next_dirty(&self) -> Option<u64> {
        let behind = self.dirty.range(self.swept..).next();
        behind.or_else(|| self.dirty.iter().next()).map(|(sector, _)| *sector)
    }

    /// Starts to write the next sectors that were there at `start`.
    fn start_run(&mut self, start: u64) {
        if self.run.is_some() {
            return;
        }
        let Some(first) = self.next_dirty() else { return };
        let start = start.max(self.dirty[&first].0);
        let follows =
            (0..).zip(self.dirty.range(first..)).take_while(|(place, (sector, entry))| {
                **sector == first + place && entry.0 <= start && *place < RUN_MAX
            });
        let sectors: Vec<(u64, Box<[u8]>)> = follows.map(|(_, (_, entry))| entry.clone()).collect();
        let end = first + sectors.len() as u64;
        let pass = self.go(start, first..end, self.params.write_settle);
        let sectors = pass.times.into_iter().zip(sectors);
        let sectors = sectors.map(|(time, (came, data))| (time, came, data)).collect();
        self.run = Some(Run { first, sectors });
        self.swept = end;
    }

    /// Ends what is being written, if that is by `until`, or before power goes.
    fn end_run(&mut self, until: u64, media: &mut impl Media) {
        let last = self.run.as_ref().and_then(|run| run.sectors.last()).map(|(time, ..)| *time);
        let Some(run) = last.filter(|last| *last <= until).and_then(|_| self.run.take()) else {
            return;
        };
        for (sector, (time, came, data)) in (run.first..).zip(run.sectors) {
            if time <= self.power_until {
                self.counts.written += 1;
                media.keep(sector, &data);
            }
            // It may have been written again meanwhile.
            if self.dirty.get(&sector).is_some_and(|(newest, _)| *newest == came) {
                self.dirty.remove(&sector);
            }
        }
    }
}

//! Tracks of a drive: where sectors are, and when the head is over them.

use crate::DriveParams;
use std::ops::Range;

/// Zones with tracks of the same length.
const ZONES: u64 = 16;
/// Time by which a track begins later than the head needs, so that it is not missed by a hair.
const GUARD: u64 = 1_000_000;

#[derive(Clone, Copy, Debug)]
struct Zone {
    first: u64,
    cylinder: u64,
    /// Sectors of a track.
    track: u64,
}

/// The tracks.
#[derive(Clone, Debug)]
pub(crate) struct Geometry {
    zones: Vec<Zone>,
    heads: u64,
    revolution: u64,
    /// By which a track begins later than the one before, on the same cylinder and on the next.
    skew: [u64; 2],
    /// Sectors of the drive.
    sectors: u64,
    /// Seek over `d` cylinders: `seek[0] + seek[1] * sqrt(d - 1) + seek[2] * (d - 1)`.
    seek: [f64; 3],
}

/// Place of a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub cylinder: u64,
    /// Time of a revolution at which its beginning is under the head, and at which the next sector's is.
    begins: u64,
    ends: u64,
    /// Sectors from here to the end of the track.
    left: u64,
}

/// The head passes over sectors.
#[derive(Clone, Debug)]
pub(crate) struct Pass {
    /// Time at which each has passed.
    pub times: Vec<u64>,
    /// The last of these.
    pub end: u64,
    pub cylinder: u64,
}

/// A head that reads ahead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    /// The sector before which it is.
    pub end: u64,
    /// Time since when it is there.
    pub since: u64,
}

impl Geometry {
    pub fn of(params: &DriveParams) -> Geometry {
        let [outer, inner] = params.track_sectors;
        let track = |zone: u64| outer - outer.saturating_sub(inner) * zone / (ZONES - 1);
        let all: u64 = (0..ZONES).map(track).sum();
        // Cylinders of a zone: as many as the drive's sectors want.
        let cylinders = params.sectors.div_ceil(all * params.heads);
        let (mut first, mut zones) = (0, Vec::new());
        for zone in 0..ZONES {
            zones.push(Zone { first, cylinder: zone * cylinders, track: track(zone) });
            first += cylinders * params.heads * track(zone);
        }
        Geometry {
            zones,
            heads: params.heads,
            revolution: params.revolution,
            skew: [params.switch + GUARD, params.seek[0] + GUARD],
            sectors: params.sectors,
            seek: seek_of(params.seek, cylinders * ZONES),
        }
    }

    /// Place of a sector.
    pub fn place(&self, sector: u64) -> Place {
        let behind = self.zones.partition_point(|zone| zone.first <= sector);
        let zone = self.zones[behind - 1];
        let within = sector - zone.first;
        let (track, index) = (within / zone.track, within % zone.track);
        let cylinder = zone.cylinder + track / self.heads;
        let head = track % self.heads;
        let begins_late = u128::from(cylinder)
            * u128::from((self.heads - 1) * self.skew[0] + self.skew[1])
            + u128::from(head * self.skew[0]);
        let start = (begins_late % u128::from(self.revolution)) as u64;
        let angle = |index: u64| start + index * self.revolution / zone.track;
        Place {
            cylinder,
            begins: angle(index) % self.revolution,
            ends: angle(index + 1) % self.revolution,
            left: zone.track - index,
        }
    }

    /// Time of a seek over so many cylinders, at least one.
    pub fn seek(&self, cylinders: u64) -> u64 {
        let far = (cylinders - 1) as f64;
        (self.seek[0] + self.seek[1] * far.sqrt() + self.seek[2] * far) as u64
    }

    /// From `at` on the head waits over the first sector's track, and passes over all of them.
    pub fn pass(&self, at: u64, sectors: Range<u64>) -> Pass {
        let (mut now, mut times) = (at, Vec::with_capacity((sectors.end - sectors.start) as usize));
        let (mut next, mut cylinder, mut left) = (sectors.start, 0, 0);
        while next < sectors.end {
            let place = self.place(next);
            if left == 0 {
                let changes = !times.is_empty();
                let same = changes && place.cylinder == cylinder;
                now += if changes { self.skew[usize::from(!same)] - GUARD } else { 0 };
                now += self.turns_to(now, place.begins);
                left = place.left;
            }
            now += self.turns_to(now, place.ends);
            times.push(now);
            (next, cylinder, left) = (next + 1, place.cylinder, left - 1);
        }
        Pass { times, end: now, cylinder }
    }

    /// The head at `at` that has read ahead until `from`, and reads on to `limit`.
    pub fn reached(&self, from: Reading, limit: u64, at: u64) -> Reading {
        let limit = limit.min(self.sectors);
        if from.end >= limit || at <= from.since {
            return from;
        }
        let times = self.pass(from.since, from.end..limit).times;
        let read = times.partition_point(|time| *time <= at);
        let since = if read == 0 { from.since } else { times[read - 1] };
        Reading { end: from.end + read as u64, since }
    }

    /// From `now` until the head is over that part of the track.
    fn turns_to(&self, now: u64, angle: u64) -> u64 {
        (angle + self.revolution - now % self.revolution) % self.revolution
    }
}

/// Coefficients of the seek: through its three values.
fn seek_of([track, average, full]: [u64; 3], cylinders: u64) -> [f64; 3] {
    let [track, average, full] = [track, average, full].map(|ps| ps as f64);
    let (third, all) = ((cylinders / 3) as f64, (cylinders - 1) as f64);
    let (root_third, root_all) = (third.sqrt(), all.sqrt());
    let bend = root_all / root_third;
    let linear = (full - track - bend * (average - track)) / (all - bend * third);
    [track, (average - track - linear * third) / root_third, linear]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive_tests::CAVIAR;

    const MS: u64 = 1_000_000_000;

    #[test]
    fn seeks_take_what_the_data_sheet_says_and_grow() {
        let geometry = Geometry::of(&CAVIAR);
        let cylinders = geometry.zones[1].cylinder * ZONES;
        let near = |ps: u64, ms: f64| (ps as f64 / MS as f64 - ms).abs() < 0.01;
        assert!(near(geometry.seek(1), 2.0));
        assert!(near(geometry.seek(cylinders / 3), 8.9));
        assert!(near(geometry.seek(cylinders), 21.0));
        assert!((1..cylinders).all(|far| geometry.seek(far) <= geometry.seek(far + 1)));
    }

    #[test]
    fn rotation_is_bounded_and_a_track_takes_a_revolution() {
        let geometry = Geometry::of(&CAVIAR);
        for at in (0..50).map(|step| step * 777_777_777) {
            for sector in [0, 1, 1099, 1100, 50_000_000, CAVIAR.sectors - 1] {
                let pass = geometry.pass(at, sector..sector + 1);
                assert!(pass.end - at <= CAVIAR.revolution + CAVIAR.revolution / 600);
            }
        }
        let pass = geometry.pass(0, 0..CAVIAR.track_sectors[0]);
        assert!(pass.times.is_sorted());
        assert_eq!(pass.end - pass.times[0], CAVIAR.revolution - CAVIAR.revolution / 1100);
    }

    #[test]
    fn sectors_that_follow_are_read_without_a_lost_revolution() {
        let geometry = Geometry::of(&CAVIAR);
        for first in [0, 70_000_000, CAVIAR.sectors - 20_000] {
            let pass = geometry.pass(0, first..first + 20_000);
            let longest = pass.times.windows(2).map(|two| two[1] - two[0]).max().unwrap();
            assert!(longest < CAVIAR.seek[0] + 2 * MS / 10, "{longest}");
        }
    }
}
